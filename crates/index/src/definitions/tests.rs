use proptest::prelude::*;

use super::*;

/// How strongly the text defines `NAME`.
fn strength(path: &str, text: &str) -> Option<Strength> {
    let mut found = None;
    definitions(text, Family::of(path), &mut |definition| {
        if &text[definition.start..definition.end] == "NAME" {
            found = found.max(Some(definition.strength));
        }
    });
    found
}

#[test]
fn definitions_in_many_languages() {
    for (path, text) in [
        ("a.rs", "fn NAME() {"),
        ("a.rs", "    pub(crate) async fn NAME<T>(x: T) -> T {"),
        ("a.rs", "pub struct NAME;"),
        ("a.rs", "#[derive(Debug)] pub enum NAME<'a> {"),
        ("a.rs", "macro_rules! NAME {"),
        ("a.rs", "pub(crate) unsafe trait NAME: Sized {"),
        ("a.py", "def NAME(self):"),
        ("a.py", "    async def NAME():"),
        ("a.py", "class NAME(Base):"),
        ("a.ts", "export default class NAME extends X {"),
        ("a.ts", "export const NAME = (a) => a"),
        ("a.ts", "export type NAME<T> = T | null"),
        ("a.js", "  NAME: function () {"),
        ("a.js", "exports.NAME = thing"),
        ("a.js", "app.NAME = function (fn) {"),
        ("a.js", "  async NAME(request) {"),
        ("a.js", "  get NAME() {"),
        ("a.js", "  static async NAME(a, b) {"),
        ("a.js", "export function* NAME(a) {"),
        ("a.go", "func NAME() error {"),
        ("a.go", "func (r *Reader) NAME(p []byte) (int, error) {"),
        ("a.go", "type NAME struct {"),
        ("a.go", "type (\n\tNAME struct {"),
        ("A.java", "    public static List<String> NAME(int a) {"),
        (
            "A.java",
            "    @Override public <T> T NAME(Map<String, T> a,\n            int b) throws IOException {",
        ),
        ("A.java", "public @interface Other {}\npublic abstract class NAME<T> extends X {"),
        ("A.cs", "    public int NAME(string x)\n    {"),
        ("A.cs", "    public int NAME(string x) => x.Length;"),
        ("a.c", "static int\nNAME(void)\n{"),
        ("a.c", "static struct foo *NAME(int a,\n\t\tint b)\n{"),
        ("a.c", "#define NAME 1"),
        ("a.c", "#  define NAME(x) x"),
        ("a.h", "struct NAME {"),
        ("a.h", "struct NAME\n{"),
        ("a.h", "typedef struct NAME {"),
        ("a.h", "typedef struct {\n  int x;\n} NAME;"),
        ("a.hpp", "class FMT_API NAME final : public base {"),
        ("a.cc", "void Cache::NAME(const Slice& key) const {"),
        ("a.cc", "template <typename T> inline auto NAME(T x) -> int {"),
        ("a.sql", "CREATE TABLE IF NOT EXISTS main.NAME ("),
        ("a.sql", "create or replace function NAME(x int)"),
        ("a.clj", "(defn NAME [x]"),
        ("a.rb", "  def self.NAME(x)"),
        ("a.rb", "  module NAME"),
        ("a.kt", "data class NAME(val x: Int)"),
        ("a.kt", "public suspend inline fun <T> List<T>.NAME(x: Int) {"),
        ("a.swift", "public func NAME<T>(_ x: T) -> Int {"),
        ("a.scala", "  implicit final case class NAME(x: Int)\n  case class NAME(x: Int)"),
        ("a.lua", "function M.NAME(x)"),
        ("a.lua", "local function NAME(x)"),
        ("a.php", "    public static function NAME($x)"),
        ("a.sh", "NAME() {"),
        ("a.sh", "function NAME {"),
        ("a.hs", "NAME :: Int -> Int"),
        ("a.hs", "class (Eq a) => NAME a where"),
        ("a.hs", "newtype NAME a = Name { get :: a }"),
        ("a.zig", "pub const NAME = struct {"),
        ("a.ex", "  defp NAME(x) do"),
        ("a.r", "NAME <- function(x) {"),
    ] {
        assert_eq!(strength(path, text), Some(Strength::Whole), "{text}");
    }
}

#[test]
fn values_and_declarations_are_less() {
    for (path, text) in [
        ("a.py", "NAME = 3"),
        ("a.rs", "pub const NAME: u32 = 1;"),
        ("A.java", "    private final Map<String, X> NAME = new HashMap<>();"),
        ("A.java", "    private int NAME;"),
        ("A.java", "    Foo NAME(Bar x);"),
        ("A.cs", "    public int NAME { get; set; }"),
        ("a.h", "typedef unsigned long NAME;"),
        ("a.h", "typedef int (*NAME)(void *);"),
        ("a.cc", "using NAME = std::string;"),
        ("a.py", "    NAME = 3"),
    ] {
        assert_eq!(strength(path, text), Some(Strength::Value), "{text}");
    }
    for (path, text) in [
        ("a.h", "struct NAME;"),
        ("a.h", "int NAME(int a, int b);"),
        ("a.rs", "mod NAME;"),
        ("a.js", "  const NAME = 3;"),
        ("a.c", "  int NAME = 3;"),
    ] {
        let found = strength(path, text);
        assert!(found.is_some() && found < Some(Strength::Whole), "{text}: {found:?}");
    }
}

#[test]
fn uses_are_not_definitions() {
    for (path, text) in [
        ("a.py", "x = NAME()"),
        ("a.js", "// class NAME does this"),
        ("a.py", "# def NAME"),
        ("a.c", " * struct NAME {"),
        ("a.js", "return NAME(x) {"),
        ("a.js", "if (NAME(x)) {"),
        ("a.js", "foo.NAME(a)"),
        ("a.py", "import NAME"),
        ("a.js", "NAME == function"),
        ("a.rs", "let x = NAME;"),
        ("a.py", "NAME(x)"),
        ("a.c", "  NAME(x);"),
        ("a.c", "static void f(struct NAME *p) {"),
        ("a.c", "struct NAME *other(void) {"),
        ("a.c", "struct NAME x = {"),
        ("a.kt", "NAME(x) {"),
        ("a.rb", "NAME.each(x) {"),
        ("a.js", "  NAME.x = 3"),
        ("a.go", "NAME := f()"),
        ("a.py", "type = NAME"),
    ] {
        assert_eq!(strength(path, text), None, "{text}");
    }
}

#[test]
fn members_are_known() {
    let member = |path: &str, text: &str| definition_at(text, 0, Family::of(path)).unwrap().is_member;
    assert!(member("a.rs", "    fn x() {"));
    assert!(member("a.go", "func (r *R) X() {"));
    assert!(member("a.cc", "void A::x() {"));
    assert!(!member("a.rs", "fn x() {"));
}

#[test]
fn spaces_beyond_ascii_are_spaces() {
    assert_eq!(strength("a.py", "\u{3000}def NAME():"), Some(Strength::Whole));
}

#[test]
fn signs_beyond_ascii_before_a_name_are_whole() {
    assert_eq!(strength("a.c", "typedef ¡("), None);
    assert_eq!(strength("a.c", "typedef ¡NAME(int);"), Some(Strength::Value));
}

proptest! {
    #[test]
    fn any_text_is_survived(
        path in "(a.c|a.rs|a.kt)",
        text in "(\\PC|fn |struct |typedef |template|extern|#|\\(|\\)|<|>|\\{|\\}|::|:|=|;|\"|@|\\[|\\n|[a-z ]){0,40}",
    ) {
        definitions(&text, Family::of(&path), &mut |found| {
            assert!(found.start < found.end && text.get(found.start..found.end).is_some());
        });
    }
}
