use crate::{Language, OutlineLimits, ParsedSource, ReferenceKind, Shortfall, parse};

fn outline(source: &str) -> ParsedSource {
    parse(Language::Python, source, &OutlineLimits::default())
}

fn signature(header: &str) -> String {
    let parsed = outline(&format!("{header}:\n    pass\n"));
    parsed.symbols.first().map_or_else(String::new, |symbol| symbol.signature.clone())
}

/// Case 28 of the repo contract.
#[test]
fn r029_r030_nested_and_conditional_declarations() {
    let source = "\
if FLAG:
    def under_if():
        return 1

class Outer:
    def method(self):
        def local_fn():
            return 2
        class Local:
            async def run(self):
                return 3
        return local_fn

def top():
    if True:
        def under_nested_if():
            pass
";
    let parsed = outline(source);
    let rows: Vec<String> = parsed
        .symbols
        .iter()
        .map(|s| {
            format!(
                "{} {} {}-{} parent={} scope={} conditional={} context={}",
                s.kind,
                s.qualified,
                s.start_line,
                s.end_line,
                s.parent.as_deref().unwrap_or("-"),
                s.scope_kind.as_str(),
                s.is_conditional,
                s.decl_context.as_deref().unwrap_or("-"),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "function under_if 2-3 parent=- scope=module conditional=true context=if",
            "class Outer 5-12 parent=- scope=module conditional=false context=-",
            "method Outer.method 6-12 parent=Outer scope=class conditional=false context=-",
            "function Outer.method.local_fn 7-8 parent=Outer.method scope=function conditional=false context=-",
            "class Outer.method.Local 9-11 parent=Outer.method scope=function conditional=false context=-",
            "async_method Outer.method.Local.run 10-11 parent=Outer.method.Local scope=class conditional=false context=-",
            "function top 14-17 parent=- scope=module conditional=false context=-",
            "function top.under_nested_if 16-17 parent=top scope=function conditional=true context=if",
        ]
    );
}

#[test]
fn r028_signatures_as_python_prints_them() {
    for (header, expected) in [
        ("class Service(Base, metaclass = Meta)", "(Base, metaclass=Meta)"),
        ("class Plain", "()"),
        ("def f(self, item: str, retries: int = 2) -> str", "(self, item: str, retries: int=2)"),
        ("def f(a, /, b, *, c = \"x\", **k)", "(a, /, b, *, c='x', **k)"),
        ("def f(a = (1), b = (1,), c = 0xff, d = 1e3)", "(a=1, b=(1,), c=255, d=1000.0)"),
        ("def f(a = (x or y) and z, b = -x ** 2, c = not(x))", "(a=(x or y) and z, b=-x ** 2, c=not x)"),
        ("def f(a: Dict[str, Tuple[int, ...]] = {})", "(a: Dict[str, Tuple[int, ...]]={})"),
        ("def f(a=lambda x, y=1: (x, y))", "(a=lambda x, y=1: (x, y))"),
        ("def f(a: int | None = None, b=x[1:, ::2])", "(a: int | None=None, b=x[1:, ::2])"),
        ("def f(a='it\\'s', b=b'\\x00', c=u'x')", "(a=\"it's\", b=b'\\x00', c=u'x')"),
        ("def f(a=f\"x{y!r:>{w}}\" 'z', b=A[*c])", "(a=f'x{y!r:>{w}}z', b=A[*c,])"),
        ("def f(a=sum(x for x in y if x))", "(a=sum((x for x in y if x)))"),
    ] {
        assert_eq!(signature(header), expected, "{header}");
    }
}

#[test]
fn branches_are_labelled_as_python_nests_them() {
    let source = "\
if a:
    pass
elif b:
    def in_elif(): pass
else:
    def in_else(): pass
async def f():
    async with x:
        async for y in z:
            def deep(): pass
try:
    pass
except* E:
    def in_except(): pass
";
    let contexts: Vec<_> = outline(source)
        .symbols
        .into_iter()
        .map(|symbol| format!("{} {}", symbol.name, symbol.decl_context.unwrap_or_default()))
        .collect();
    assert_eq!(
        contexts,
        ["in_elif if>if", "in_else if>if", "f ", "deep async_with>async_for", "in_except try_star"]
    );
}

#[test]
fn r037_what_python_cannot_parse_has_no_outline() {
    for source in [
        "def broken(:\n pass\n",
        "def f():\n    pass\nprint 'x'\n",
        "def f(): pass\n\0",
        "def f(): pass\nraise E, 'x'\n",
        "def f(): pass\nx = 0777\n",
    ] {
        let parsed = outline(source);
        assert!(parsed.symbols.is_empty() && parsed.references.is_empty(), "{source:?}");
        assert!(matches!(parsed.shortfall, Some(Shortfall::SyntaxError { .. })), "{source:?}");
    }
}

#[test]
fn what_only_the_grammar_refuses_is_read() {
    for source in
        ["def f():\n    (a.\n  b)\n    print >> c, 'd'\n", "from __future__ import *\ndef f():\n    pass\n"]
    {
        let parsed = outline(source);
        assert_eq!(parsed.shortfall, None, "{source}");
        assert_eq!(parsed.symbols.len(), 1, "{source}");
    }
}

#[test]
fn docs_decorators_and_leads() {
    let source = "\
# About f.
@wraps(g)
@cache
def f():
    # no doc yet
    'First \\'line\\'.\\n\\nMore.'


class C:
    \"\"\"
    Second line.
    \"\"\"
";
    let parsed = outline(source);
    let [f, c] = &parsed.symbols[..] else { panic!("{:?}", parsed.symbols) };
    assert_eq!((f.lead_line, f.start_line, f.end_line), (1, 4, 6));
    assert_eq!(f.decorators, ["wraps(g)", "cache"]);
    assert_eq!(f.doc.as_deref(), Some("First 'line'."));
    assert_eq!((c.lead_line, c.start_line, c.end_line), (9, 9, 12));
    assert_eq!(c.doc.as_deref(), Some("Second line."));
}

#[test]
fn imports_calls_and_types() {
    let source = "\
import os.path as p, sys
from ..pkg import a as b, c
from m import *
class K(base.Base, Generic[T]):
    def run(self, x: Optional[T]) -> None:
        p.join(Thing(x))
";
    let parsed = outline(source);
    let imports: Vec<_> = parsed
        .imports
        .iter()
        .map(|i| format!("{} {:?} {:?} {}", i.module, i.name.as_deref(), i.alias.as_deref(), i.line))
        .collect();
    assert_eq!(
        imports,
        [
            "os.path None Some(\"p\") 1",
            "sys None None 1",
            "..pkg Some(\"a\") Some(\"b\") 2",
            "..pkg Some(\"c\") None 2",
            "m Some(\"*\") None 3",
        ]
    );
    let uses: Vec<_> = parsed
        .references
        .iter()
        .filter(|r| r.kind != ReferenceKind::Import)
        .map(|r| {
            let within = r.within.map_or("-", |index| parsed.symbols[index as usize].qualified.as_str());
            format!("{} {} {}:{} in {within}", r.kind.as_str(), r.name, r.line, r.column)
        })
        .collect();
    assert_eq!(
        uses,
        [
            "read base 4:9 in K",
            "inheritance Base 4:14 in -",
            "inheritance Generic 4:20 in -",
            "read T 4:28 in K",
            "type Optional 5:22 in K.run",
            "type T 5:31 in K.run",
            "read p 6:9 in K.run",
            "call join 6:11 in K.run",
            "instantiation Thing 6:16 in K.run",
            "read x 6:22 in K.run",
        ]
    );
}

/// Checked with Python 3.11's `ast.unparse`.
#[test]
fn f_strings_are_printed_in_the_quotes_that_need_no_escapes() {
    for (written, printed) in [
        (r#"f"{a}\n""#, r#"f'{a}\n'"#),
        (r#"rf"x \({a}\)""#, r#"f'x \\({a}\\)'"#),
        (r#"f"{a}'s \"b\"""#, "f'''{a}'s \"b\"'''"),
        (r#"f"{a}'s \"b\" c""#, "f\"\"\"{a}'s \"b\" c\"\"\""),
        (r#"f'{a}' "b{{" f'{c!r:>{d}}'"#, "f'{a}b{{{{{c!r:>{d}}'"),
        ("f'{a = }'", "f'a = {a!r}'"),
        ("f'{a=:x}'", "f'a={a:x}'"),
        ("f'{1 if a else 2}'", "f'{(1 if a else 2)}'"),
    ] {
        let source = format!("@d({written})\ndef f(): pass\n");
        let parsed = parse(Language::Python, &source, &OutlineLimits::default());
        assert_eq!(parsed.symbols[0].decorators, [format!("d({printed})")], "{written}");
    }
}
