//! Declarations that are hard to see: after errors, between macros, in the notations of one language.

use lang::{Language, OutlineLimits, parse};

/// What a grammar loses in a text that it does not understand is found again by its first words.
#[test]
fn declarations_after_an_error() {
    for (language, source, expected) in [
        (
            Language::C,
            "local unsigned f(a, b)\n    unsigned a; /* c */\n    int b;\n{\n    return a;\n}\n)\nint ZEXPORT g(int a)\n{\n}\n",
            ["1 f", "8 g"],
        ),
        (Language::Cpp, "MACRO_BEGIN\nnamespace detail\n{\nclass A { };\n}\n", ["2 detail", "4 A"]),
        (
            Language::TypeScript,
            "const a = <<< b\nexport interface A<B>\n  extends C {\n}\nexport type D =\n  | E\n",
            ["2 A", "5 D"],
        ),
    ] {
        let parsed = parse(language, source, &OutlineLimits::default());
        let found: Vec<String> = parsed
            .symbols
            .iter()
            .filter(|s| s.name != "a")
            .map(|s| format!("{} {}", s.name_line, s.name))
            .collect();
        assert_eq!(found, expected, "{language}: {:?}", parsed.shortfall);
    }
}

#[test]
fn an_annotation_class_of_kotlin() {
    let source = "@Target(A.B)\nannotation class Required\n";
    let parsed = parse(Language::Kotlin, source, &OutlineLimits::default());
    let found: Vec<_> =
        parsed.symbols.iter().map(|s| (s.kind.as_str(), s.name.as_str(), s.name_line)).collect();
    assert_eq!(found, [("class", "Required", 2)]);
}

/// Kinds and qualified names, without the trees: `class a.B`.
fn declared(language: Language, source: &str) -> Vec<String> {
    let parsed = parse(language, source, &OutlineLimits::default());
    let outline = parse(language, source, &OutlineLimits { max_references: 0, ..OutlineLimits::default() });
    assert_eq!(outline.symbols, parsed.symbols, "{language}: {source}");
    parsed.symbols.iter().map(|symbol| format!("{} {}", symbol.kind, symbol.qualified)).collect()
}

/// A parser does not see what the preprocessor would make of these names.
#[test]
fn macros_between_the_words_of_a_declaration() {
    const BOTH: &[(&str, &[&str])] = &[
        ("struct EXPORT_A point {\n  int x;\n};", &["struct point"]),
        ("enum DEPRECATED_ENUM color { RED };", &["enum color"]),
        ("union ALIGNED(16) bits {\n  int a;\n};", &["union bits"]),
        ("API_EXPORT int run(int a);\nint next(void);", &["function run", "function next"]),
        ("API_EXPORT int run(int a)\n{\n  return a;\n}", &["function run"]),
        ("DEPRECATED(\"a, (b)\") void run(int a);", &["function run"]),
        ("API_EXPORT struct point *make(int a);", &["function make"]),
        ("API_EXPORT size_t count(const char *a);", &["function count"]),
        ("int ZEXPORT run(int a)\n{\n  return a;\n}", &["function run"]),
        ("point_t *CALLBACK run(int a);", &["function run"]),
        ("static HRESULT WINAPI run(int a)\n{\n  return a;\n}", &["function run"]),
        ("void run(const char *a, ...) PRINTF_LIKE(1, 2);", &["function run"]),
        ("int run(int a) NOTHROW PURE\n{\n  return a;\n}", &["function run"]),
        ("BEGIN_DECLS\n\nint run(int a);\n\nEND_DECLS", &["function run"]),
        ("DEFINE_LIST(a, b)\nstatic int run(int a)\n{\n  return a;\n}", &["function run"]),
        ("extern EXPORT_IT(int) run (long);", &["function run"]),
        ("PyAPI_FUNC(PyObject *) run(int a);", &["function run"]),
        ("void run(char *NONNULL a, char * RESTRICT NULLABLE b) {\n  a * FACTOR;\n}", &["function run"]),
        ("typedef unsigned char bool;", &["type bool"]),
        // These are types, names and calls.
        ("void run(void) {\n  EACH(a) stop(a);\n  go();\n}", &["function run"]),
        ("struct STAT buffer;\nstruct STAT run(void);", &["function run"]),
        ("const HANDLE run(int a);\nSTATUS stop(void);", &["function run", "function stop"]),
        (
            "int run(int a) {\n  if (a) RETURN_IT(a);\n  while (a) CONTINUE_IT;\n  return a;\n}",
            &["function run"],
        ),
    ];
    for (source, expected) in BOTH {
        assert_eq!(declared(Language::C, source), *expected, "{source}");
        assert_eq!(declared(Language::Cpp, source), *expected, "{source}");
    }
    const CPP: &[(&str, &[&str])] = &[
        ("class PROTOBUF_EXPORT X final : public Y {\n public:\n  int a();\n};", &["class X", "method X.a"]),
        ("class EXPORT X {\n  int a();\n};\nclass EXPORT Z;", &["class X", "method X.a"]),
        ("class EXPORT LATE_BOUND(1) a::X<int> : Y {\n  int a();\n};", &["class a.X", "method a.X.a"]),
        ("class [[nodiscard]] EXPORT X {\n  int a();\n};", &["class X", "method X.a"]),
        ("class NAME final {\n  int a();\n};", &["class NAME", "method NAME.a"]),
        ("template <typename T>\nclass EXPORT X {\n  T a();\n};", &["class X", "method X.a"]),
        ("enum class EXPORT Color : int { A };", &["enum Color"]),
        (
            "class X {\n public:\n  EXPORT_IT std::string a() const LOCKS(mutex_);\n  EXPORT_IT ~X();\n  REINIT void b() final;\n};",
            &["class X", "method X.a", "method X.~X", "method X.b"],
        ),
        ("EXPORT_IT std::vector<int> a::X::run(int b) const {\n  return {};\n}", &["method a.X.run"]),
        ("class X {\n  Q_OBJECT\n public:\n  void a();\n};", &["class X", "method X.a"]),
        ("OPEN_SPACE(a)\nnamespace b {\nclass X {};\n}", &["namespace b", "class b.X"]),
    ];
    for (source, expected) in CPP {
        assert_eq!(declared(Language::Cpp, source), *expected, "{source}");
    }
}

/// They are uses all the same, where they are written.
#[test]
fn macros_of_a_declaration_are_uses() {
    let source = "class API_EXPORT X {\n  API_EXPORT int a() LOCKS(m);\n};\n";
    let parsed = parse(Language::Cpp, source, &OutlineLimits::default());
    let uses: Vec<String> = parsed
        .references
        .iter()
        .map(|r| {
            let within = r.within.map_or("-", |at| &parsed.symbols[at as usize].name);
            format!("{}:{} {} {} in {within}", r.line, r.column, r.kind.as_str(), r.name)
        })
        .collect();
    assert_eq!(uses, ["1:7 read API_EXPORT in X", "2:3 read API_EXPORT in X", "2:22 call LOCKS in X"]);
    assert_eq!(parsed.shortfall, None);
    assert_eq!(parsed.symbols[0].signature, "class API_EXPORT X");
}

#[test]
fn constructors_of_haskell() {
    for (source, expected) in [
        (
            "data Tree a = Leaf | Node { left :: Tree a, value :: a } | a :+: b\n  deriving Show\n",
            &[
                "type Tree",
                "constructor Tree.Leaf",
                "constructor Tree.Node",
                "property Tree.left",
                "property Tree.value",
                "constructor Tree.:+:",
            ][..],
        ),
        (
            "newtype Id = MakeId { getId :: Int }\n",
            &["struct Id", "constructor Id.MakeId", "property Id.getId"],
        ),
        (
            "data G a where\n  G1 :: Int -> G Int\n  G2, G3 :: G a\n",
            &["type G", "constructor G.G1", "constructor G.G2", "constructor G.G3"],
        ),
        ("data E = forall x. Show x => MkE !x\n", &["type E", "constructor E.MkE"]),
    ] {
        let mut found = declared(Language::Haskell, source);
        let mut expected: Vec<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{source}");
    }
}

/// Quotes, blanks around dots and what follows a name are no part of it.
#[test]
fn names_of_sql() {
    for (source, expected) in [
        ("CREATE TABLE \"order items\" (id int);", "table order items"),
        ("CREATE TABLE [dbo].[Order Details] (id int);", "table dbo.Order Details"),
        ("CREATE PROCEDURE dbo.[My Proc] @a int AS SELECT 1;", "procedure dbo.My Proc"),
        ("CREATE TABLE a . b (id int);", "table a.b"),
        ("CREATE TABLE \"a\".\"b\"\"c\" (id int);", "table a.b\"c"),
        ("CREATE TABLE `a`.`b-c` (id int);", "table a.b-c"),
        ("CREATE TABLE t$x (id int);", "table t$x"),
        ("CREATE TABLE #tmp (id int);", "table tmp"),
        ("CREATE TABLE @extschema@.parts (id int);", "table @extschema@.parts"),
        ("CREATE TABLE app.users -- the users\n(id int);", "table app.users"),
        ("CREATE TRIGGER \"t r\" AFTER INSERT ON x BEGIN SELECT 1; END;", "trigger t r"),
        ("CREATE VIRTUAL TABLE words USING fts5(a);", "table words"),
        ("CREATE FUNCTION x.y(a int) RETURNS int AS $$ SELECT 1 $$ LANGUAGE sql;", "function x.y"),
    ] {
        assert_eq!(declared(Language::Sql, source), [expected], "{source}");
    }
}
