//! What declarations say of themselves, per language, on labelled texts.

use lang::{Language, OutlineLimits, facts};
use model::{DeclarationFacts, Fact, FileFacts, Knowledge};

fn of(language: Language, source: &str) -> FileFacts {
    facts(language, source, &OutlineLimits::default())
}

fn named<'f>(found: &'f FileFacts, qualified: &str) -> &'f DeclarationFacts {
    found.declarations.iter().find(|each| each.qualified == qualified).unwrap_or_else(|| {
        let names: Vec<&str> = found.declarations.iter().map(|each| each.qualified.as_str()).collect();
        panic!("{qualified} is not among {names:?}")
    })
}

fn parameters(declaration: &DeclarationFacts) -> Vec<&str> {
    declaration.parameters.iter().map(|parameter| parameter.name.as_str()).collect()
}

/// Branches, loops, breaks, continues, returns.
fn counts(declaration: &DeclarationFacts) -> (u32, u32, u32, u32, u32) {
    let DeclarationFacts { branches, loops, breaks, continues, returns, .. } = declaration;
    (*branches, *loops, *breaks, *continues, *returns)
}

const PYTHON: &str = r#""""About files."""
import os
from .db import query as q

LIMIT = 10

class Service(base.Handler, Generic[T]):
    """Serves."""
    @route("/x")
    async def run(self, item: str, retries: int = 2, *rest, flag=False, **more) -> list[str]:
        """Runs it."""
        rows = await self.db.fetch(item)
        for row in rows:  # each row
            if row.bad:
                continue
            elif not row:
                break
            self.seen[row.id] = row
            self.count += 1
        try:
            self.last = rows
            alias = self.last
            return [r.name for r in rows] if rows else []
        except (KeyError, ValueError) as error:
            raise ServiceError(error) from error

    def _each(self):
        yield from self.seen

def __hidden(): raise
"#;

#[test]
fn c012_facts_of_python() {
    let found = of(Language::Python, PYTHON);
    assert_eq!(found.imports, [".db", "os"]);
    let service = named(&found, "Service");
    assert_eq!(
        (service.kind.as_str(), service.extends.as_slice()),
        ("class", &["base.Handler".to_owned(), "Generic".to_owned()][..])
    );
    assert_eq!(service.calls, Vec::<String>::new());
    let run = named(&found, "Service.run");
    assert_eq!(run.kind, "async_method");
    assert_eq!(parameters(run), ["self", "item", "retries", "rest", "flag", "more"]);
    assert_eq!(run.parameters[2].type_.as_deref(), Some("int"));
    assert_eq!(run.parameters[2].default.as_deref(), Some("2"));
    assert_eq!(run.decorators, ["route('/x')"]);
    assert_eq!(run.return_type.as_deref(), Some("list[str]"));
    assert_eq!(run.calls, ["ServiceError", "self.db.fetch"]);
    assert_eq!(run.awaits, ["self.db.fetch"]);
    assert_eq!(run.throws, ["ServiceError"]);
    assert_eq!(run.writes, ["alias", "r", "row", "rows"]);
    assert_eq!(run.mutates, ["self.count", "self.last", "self.seen[]"]);
    assert_eq!(run.aliases, ["alias=self.last", "self.last=rows"]);
    assert!(run.reads.contains(&"row.bad".to_owned()) && !run.reads.contains(&"ServiceError".to_owned()));
    assert_eq!(counts(run), (4, 1, 1, 1, 1));
    assert!(run.is_async && run.returns_value && !run.is_generator);
    assert_eq!(run.doc.as_deref(), Some("Runs it."));
    assert!(run.types.iter().any(|each| each.name == "flag" && each.type_ == "bool"), "{:?}", run.types);
    assert!(named(&found, "Service._each").is_generator);
    assert_eq!(named(&found, "Service._each").visibility.as_deref(), Some("protected"));
    assert_eq!(named(&found, "__hidden").visibility.as_deref(), Some("private"));
    let rest = &found.declarations[0];
    assert!(rest.is_module() && rest.writes == ["LIMIT"] && rest.branches == 0, "{rest:?}");
    let texts: Vec<&str> = found.comments.iter().map(|comment| comment.text.as_str()).collect();
    assert_eq!(texts, ["About files.", "Serves.", "Runs it.", "each row"]);
}

const JAVASCRIPT: &str = r"
import fs from 'fs';
const { exec } = require('child_process');
/** Runs a command.
 * @returns {Promise<void>} nothing */
export async function runUnsafe(req, { shell = true, ...rest }, [first], ...others) {
  const cmd = req.body.cmd;
  let copy = cmd, other;
  if (!cmd) throw new BadRequest('none');
  for (const part of cmd.split(' ')) {
    if (part === '-') continue;
    this.parts[0] = part;
    this.count++;
  }
  switch (cmd) { case 'a': break; default: copy += 'x'; }
  await exec(cmd);
  await Promise.all([load()]);
  return cmd ? copy : rest.a?.b;
}
class Store extends Base.Inner {
  #count = 0;
  static make() { return new Store(); }
  * each() { yield this.#count; }
}
const handler = async (req) => { try { await next(); } catch (error) { throw error; } };
";

#[test]
fn c012_facts_of_javascript() {
    let found = of(Language::JavaScript, JAVASCRIPT);
    assert_eq!(found.imports, ["child_process", "fs"]);
    let run = named(&found, "runUnsafe");
    assert_eq!(parameters(run), ["req", "shell", "rest", "first", "others"]);
    assert_eq!(run.calls, ["BadRequest", "Promise.all", "cmd.split", "exec", "load"]);
    assert_eq!(run.awaits, ["Promise.all", "exec"]);
    assert_eq!(run.throws, ["BadRequest"]);
    assert_eq!(run.writes, ["cmd", "copy", "part"]);
    assert_eq!(run.mutates, ["this.count", "this.parts[]"]);
    assert_eq!(run.aliases, ["cmd=req.body.cmd", "copy=cmd"]);
    assert!(run.reads.contains(&"req.body".to_owned()), "{:?}", run.reads);
    assert_eq!(counts(run), (5, 1, 1, 1, 1));
    assert!(run.is_async && run.returns_value);
    assert!(run.doc.as_deref().is_some_and(|doc| doc.contains("@returns")), "{:?}", run.doc);
    assert!(run.modifiers.contains(&"export".to_owned()), "{:?}", run.modifiers);
    assert_eq!(named(&found, "Store").extends, ["Base.Inner"]);
    assert_eq!(named(&found, "Store.make").calls, ["Store"]);
    assert!(named(&found, "Store.each").is_generator);
    let handler = named(&found, "handler");
    assert_eq!((parameters(handler), handler.is_async), (vec!["req"], true));
    assert_eq!((handler.throws.as_slice(), handler.branches), (&["error".to_owned()][..], 1));
}

const TYPESCRIPT: &str = r"
@Component({ selector: 'a' })
export class View extends Base<string> implements Shown, Other {
  private count: number = 0;
  constructor(private readonly api: Api, size?: number) { super(); this.size = size; }
  @Input() protected async load(id: string, more: string[] = []): Promise<Row> {
    const rows: Row[] = await this.api.get<Row>(id);
    return rows[0];
  }
}
export interface Row extends Item { id: string; find(by: string): Row }
export type Name = string | undefined;
";

#[test]
fn c012_facts_of_typescript() {
    let found = of(Language::TypeScript, TYPESCRIPT);
    let view = named(&found, "View");
    assert_eq!(view.extends, ["Base", "Shown", "Other"]);
    assert_eq!(view.decorators, ["Component({ selector: 'a' })"]);
    let load = named(&found, "View.load");
    assert_eq!(load.decorators, ["Input()"]);
    assert_eq!((load.visibility.as_deref(), load.is_async), (Some("protected"), true));
    assert_eq!(load.return_type.as_deref(), Some("Promise<Row>"));
    assert_eq!(parameters(load), ["id", "more"]);
    assert_eq!(load.parameters[1].type_.as_deref(), Some("string[]"));
    assert_eq!(load.awaits, ["this.api.get"]);
    assert!(load.types.iter().any(|each| each.name == "rows" && each.type_ == "Row[]"), "{:?}", load.types);
    let constructor = named(&found, "View.constructor");
    assert_eq!(parameters(constructor), ["api", "size"]);
    assert_eq!(constructor.mutates, ["this.size"]);
    assert_eq!(constructor.aliases, ["this.size=size"]);
    assert_eq!(named(&found, "Row").extends, ["Item"]);
}

const RUST: &str = r#"
use std::fs::read_to_string;
/// A store.
#[derive(Debug, Clone)]
pub(crate) struct Store { rows: Vec<String>, size: usize }
impl Load for Store {
    #[inline]
    async fn load(&mut self, path: &Path, (low, high): (u32, u32)) -> Result<String, Error> {
        let text = read_to_string(path)?;
        let rows = self.rows;
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() { continue; }
            match index { 0 => break, _ if low > high => self.size += 1, _ => self.rows[index] = line.to_owned() }
        }
        while let Some(x) = next() { loop { break; } }
        client.fetch(path).await;
        if text.is_empty() { panic!("empty") } else { return Ok(text) }
    }
}
pub fn plain() -> u8 { 1 }
"#;

#[test]
fn c012_facts_of_rust() {
    let found = of(Language::Rust, RUST);
    assert_eq!(found.imports, ["std::fs"]);
    let store = named(&found, "Store");
    assert_eq!(
        (store.decorators.as_slice(), store.visibility.as_deref()),
        (&["derive(Debug, Clone)".to_owned()][..], Some("internal"))
    );
    assert_eq!(store.doc.as_deref(), Some("A store."));
    let load = found.declarations.iter().find(|each| each.name == "load").unwrap();
    assert_eq!(parameters(load), ["self", "path", "low", "high"]);
    assert_eq!(load.return_type.as_deref(), Some("Result<String, Error>"));
    assert_eq!(load.decorators, ["inline"]);
    assert_eq!(load.visibility.as_deref(), Some("public"));
    assert_eq!(load.awaits, ["client.fetch"]);
    assert_eq!(load.throws, ["panic"]);
    assert_eq!(load.writes, ["index", "line", "rows", "text"]);
    assert_eq!(load.mutates, ["self.rows[]", "self.size"]);
    assert_eq!(load.aliases, ["rows=self.rows"]);
    assert_eq!(counts(load), (5, 3, 2, 1, 1));
    let of_trait = found.declarations.iter().find(|each| each.kind == "impl").unwrap();
    assert_eq!(of_trait.extends, ["Load"]);
    assert_eq!(named(&found, "plain").visibility.as_deref(), Some("public"));
}

#[test]
fn c012_facts_of_go_java_and_c() {
    let found = of(
        Language::Go,
        "package a\nimport \"os\"\nfunc (s *Server) Run(a, b int, c ...string) (int, error) {\n\tx, y := a, s.rows\n\tfor _, r := range c {\n\t\tif r == \"\" { continue }\n\t\tswitch r { case \"a\": break; default: s.n[r] = x }\n\t}\n\tos.Exit(y)\n\tpanic(\"x\")\n\treturn 1, nil\n}\n",
    );
    let run = named(&found, "Server.Run");
    assert_eq!(parameters(run), ["a", "b", "c"]);
    assert_eq!(run.return_type.as_deref(), Some("(int, error)"));
    assert_eq!(run.calls, ["os.Exit", "panic"]);
    assert_eq!(run.throws, ["panic"]);
    assert_eq!(
        (run.writes.clone(), run.mutates.clone()),
        (vec!["r".into(), "x".into(), "y".into()], vec!["s.n[]".to_owned()])
    );
    assert_eq!(run.aliases, ["x=a", "y=s.rows"]);
    assert_eq!(counts(run), (3, 1, 1, 1, 1));

    let found = of(
        Language::Java,
        "import java.util.List;\n/** Doc. */\npublic class A extends B implements C, D {\n  @Override @Test(timeout = 5)\n  protected static int run(final String name, int... more) throws IOException {\n    int x = this.size; x++;\n    for (String m : names) { if (m == null) continue; }\n    while (true) { try { db.query(m); break; } catch (E e) { throw new IllegalStateException(e); } }\n    this.rows[0] = x;\n    return x > 1 ? x : y;\n  }\n}\n",
    );
    let run = named(&found, "A.run");
    assert_eq!(named(&found, "A").extends, ["B", "C", "D"]);
    assert_eq!(parameters(run), ["name", "more"]);
    assert_eq!(run.decorators, ["Override", "Test(timeout = 5)"]);
    assert_eq!((run.visibility.as_deref(), run.return_type.as_deref()), (Some("protected"), Some("int")));
    assert_eq!(run.throws, ["IllegalStateException"]);
    assert_eq!(run.calls, ["IllegalStateException", "db.query"]);
    assert_eq!(run.mutates, ["this.rows[]"]);
    assert_eq!(run.aliases, ["x=this.size"]);
    assert_eq!(counts(run), (3, 2, 1, 1, 1));

    let found = of(
        Language::C,
        "#include <stdio.h>\n/* Adds. */\nstatic int add(const char *name, int (*call)(int), struct row rows[]) {\n  int n = 0, *p = name;\n  do { if (n) break; } while (0);\n  for (;;) { n += 1; p->next = rows; rows[0] = 1; continue; }\n  switch (n) { case 1: case 2: return call(n); default: break; }\n  return n ? printf(\"x\") : 0;\n}\n",
    );
    let add = named(&found, "add");
    assert_eq!(found.imports, ["stdio.h"]);
    assert_eq!(parameters(add), ["name", "call", "rows"]);
    assert_eq!((add.visibility.as_deref(), add.return_type.as_deref()), (Some("private"), Some("int")));
    assert_eq!(add.calls, ["call", "printf"]);
    assert_eq!(add.writes, ["n", "p"]);
    assert_eq!(add.mutates, ["p.next", "rows[]"]);
    assert_eq!(add.aliases, ["p.next=rows", "p=name"]);
    assert_eq!(counts(add), (5, 2, 2, 1, 2));
    assert_eq!(add.doc.as_deref(), Some("Adds."));
}

/// A filter asks this before it says that nothing matches.
#[test]
fn what_is_not_read_is_known() {
    assert_eq!(Language::Python.knowledge(Fact::Throws), Knowledge::Exact);
    assert_eq!(Language::C.knowledge(Fact::Async), Knowledge::NotInLanguage);
    assert_eq!(Language::Haskell.knowledge(Fact::Reads), Knowledge::Unknown);
    for language in Language::ALL {
        assert_ne!(language.knowledge(Fact::Kind), Knowledge::Unknown, "{language}");
    }
}

#[test]
fn a_text_that_does_not_parse_says_so() {
    let found = of(Language::Python, "def f(:\n    pass\n");
    assert!(found.shortfall.is_some());
    assert_eq!(found.declarations.len(), 1);
    let found = of(Language::JavaScript, "function a() { return 1 }\nfunction b( {\n");
    assert!(!found.error_lines.is_empty());
    assert_eq!(named(&found, "a").returns, 1);
}

/// Names and texts without end stay within limits.
#[test]
fn hostile_texts_stay_within_limits() {
    let many: String = (0..100_000).map(|n| format!("a{n} = b{n};")).collect();
    let found = of(Language::Java, &format!("class A {{ void f() {{ {many} }} }}"));
    let f = named(&found, "A.f");
    assert!(f.writes.len() <= 2000 && f.uses.len() <= 2000 && f.aliases.len() <= 2000);
    let attributes = "#[a] fn f() {}\n".repeat(20_000);
    assert!(of(Language::Rust, &attributes).declarations.len() <= 50_001);
    let comments = "// word\n\n".repeat(200_000);
    let bytes: usize = of(Language::Go, &comments).comments.iter().map(|comment| comment.text.len()).sum();
    assert!(bytes <= 512 * 1024, "{bytes}");
    let parameters: String = (0..5000).map(|n| format!("a{n},\n")).collect();
    assert_eq!(
        named(&of(Language::JavaScript, &format!("function f({parameters}) {{}}")), "f").parameters.len(),
        256
    );
}

/// The table of the documentation is the one that filters ask.
#[test]
fn the_documented_table_is_what_filters_ask() {
    let documented = include_str!("../../../../docs/languages.md");
    let mut missing = Vec::new();
    for language in Language::ALL {
        let of = |wanted: Knowledge| -> Vec<&str> {
            Fact::ALL
                .iter()
                .filter(|fact| language.knowledge(**fact) == wanted)
                .map(|fact| fact.name())
                .collect()
        };
        let groups =
            [Knowledge::Exact, Knowledge::Approximate, Knowledge::NotInLanguage, Knowledge::Unknown].map(of);
        let most = groups.iter().map(Vec::len).max().unwrap_or(0);
        let mut is_told = false;
        let cells: Vec<String> = groups
            .iter()
            .map(|facts| {
                let is_rest = facts.len() == most && !is_told;
                is_told |= is_rest;
                if is_rest { "the rest".to_owned() } else { facts.join("; ") }
            })
            .collect();
        let row = format!("| {language} | {} |", cells.join(" | "));
        if !documented.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/languages.md lacks these rows:\n{}", missing.join("\n"));
}
