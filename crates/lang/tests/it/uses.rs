//! What is read and written, in each programming language.

use lang::{Language, OutlineLimits, ReferenceKind, parse};

/// The reads and writes as words: `a` for a read, `a=` for a write, `q.a` for what was reached through `q`.
fn values(language: Language, source: &str) -> String {
    let parsed = parse(language, source, &OutlineLimits::default());
    assert_eq!(parsed.shortfall, None, "{language}: {source}");
    let words: Vec<String> = parsed
        .references
        .iter()
        .filter(|r| matches!(r.kind, ReferenceKind::Read | ReferenceKind::Write))
        .map(|r| {
            let through = r.qualifier.as_ref().map_or(String::new(), |q| format!("{q}."));
            let mark = if r.kind == ReferenceKind::Write { "=" } else { "" };
            format!("{through}{}{mark}", r.name)
        })
        .collect();
    words.join(" ")
}

fn check(language: Language, rows: &[(&str, &str)]) {
    for (source, expected) in rows {
        assert_eq!(values(language, source), *expected, "{language}: {source}");
    }
}

#[test]
fn python() {
    check(
        Language::Python,
        &[
            ("x = 1\n", "x="),
            ("x += y\n", "x= y"),
            ("a, (b, *c) = d\n", "a= b= c= d"),
            ("self.x.y = z\n", "self self.x self.x.y= z"),
            ("a[i] = b.c\n", "a= i b b.c"),
            ("del a, b.c, d[e]\n", "a= b b.c= d= e"),
            ("for k, v in items: print(k)\n", "k= v= items k"),
            ("[x for x in xs if x]\n", "x x= xs x"),
            ("with open(p) as f: pass\n", "p f="),
            ("try: pass\nexcept E as e: pass\n", "E e="),
            ("def f(a, b=c, *d, e: T = g, **h): return a\n", "c g a"),
            ("lambda a, b=c: a + b\n", "c a b"),
            ("f(a, key=b, *c)\n", "a b c"),
            ("global g\n", "g="),
            ("if (n := m): pass\n", "n= m"),
            ("x: a.T = 1\n", "x= a"),
            ("@deco\ndef f(): nonlocal_ = 'x' # y\n", "deco nonlocal_="),
            ("f'{a} {b.c!r}'\n", "a b b.c"),
            ("match p:\n    case P(x=0, y=q) | A.B: pass\n    case [r, *s]: pass\n", "p P q= A A.B r= s="),
            ("import a.b as c\nfrom d import e\nclass A(B): pass\n", ""),
            ("g(a).h(b)\n", "a b"),
        ],
    );
}

#[test]
fn javascript() {
    check(
        Language::JavaScript,
        &[
            ("let a = b, { c, d: e = f } = g;", "b f g"),
            ("a = b; a.b.c += d; a[i]++;", "a= b a a.b a.b.c= d a= i"),
            ("[a, b.c] = [d]; ({ e, f: g } = h);", "a= b b.c= d e= g= h"),
            ("for (const x of xs) {} for (y in ys) {}", "x= xs y= ys"),
            ("function f(a, { b }, ...c) { return a; }", "a"),
            ("const f = (a) => a; const g = a => ({ a, b: c });", "a a c"),
            ("delete a.b; typeof c;", "a a.b= c"),
            ("try {} catch (e) { e; } `x${y}`; 'z';", "e y"),
            ("export { a as b }; class A { #p = q; m() { this.#p = 1; } }", "a q this.#p="),
        ],
    );
    check(Language::JavaScript, &[("const a = <B c={d}>{e}</B>;", "d e"), ("import a, { b } from 'c';", "")]);
}

#[test]
fn typescript() {
    let rows = [
        ("function f(this: A, a?: B, public c = d): void { a = c as E; }", "d a= c"),
        ("enum E { A = x, B } interface I { p: T; m(q: U): void }", "x"),
        ("class A { private x: T = y; constructor(readonly z: U) { this.x! = z; } }", "y this.x= z"),
    ];
    check(Language::TypeScript, &rows);
    check(Language::Tsx, &rows);
    check(Language::Tsx, &[("const a = <div id={b} {...c}/>;", "b c")]);
}

#[test]
fn rust() {
    check(
        Language::Rust,
        &[
            ("fn f(a: A, (b, c): (B, C)) { let d = a; let E { e, f: g } = h; }", "a h"),
            ("fn f() { x = y; *p += q.r; s.t[i] = u; }", "x= y p= q q.r s s.t= i u"),
            ("fn f() { for (i, v) in xs { v; } }", "i= v= xs v"),
            (
                "fn f() { match a { Some(b) if b > c => b, MAX => A::B, None => d } }",
                "a Some b c b MAX A A.B None d",
            ),
            ("fn f() { if let Some(x) = y { g(x, |z| z + w); } }", "Some y x z w"),
            ("struct S { a: T } fn f() -> S { S { a, b: c, ..d } }", "a c d"),
            ("fn f() { 'l: loop { break 'l; } println!(\"{}\", a); }", "a"),
        ],
    );
}

#[test]
fn go() {
    check(
        Language::Go,
        &[
            ("package p\nfunc f(a, b int) (c int) { d, e := a, b; return c }\n", "d= e= a b c"),
            ("package p\nfunc (r *R) f() { r.x.y = z; *p = q; a[i]++ }\n", "r r.x r.x.y= z p= q a= i"),
            ("package p\nfunc f() { for k, v := range m { use(k) } }\n", "k= v= m k"),
            ("package p\nvar x = T{A: b, C: d.e}\n", "b d d.e"),
            ("package p\nvar x = map[K]int{A: b, q.C: d, \"s\": e}\n", "A b q q.C d e"),
            ("package p\nvar x = [...]string{Zero: a, One + 1: b}\n", "Zero a One b"),
            ("package p\nvar x = map[K]T{A: {B: c}, D: {E: f}}\n", "A c D f"),
            ("package p\nvar x = map[K]map[L]T{A: {B: {C: d}}}\n", "A B d"),
            ("package p\nvar x = map[T]int{{A: b}: c}\nvar y = []map[K]int{{A: b}}\n", "b c A b"),
        ],
    );
}

#[test]
fn java() {
    check(
        Language::Java,
        &[
            (
                "package a.b; class A { int x = y; void f(int a) { int b = a; x = b; this.x += z; } }",
                "y a x= b this.x= z",
            ),
            (
                "class A { void f() { for (T t : ts) { t.u[i]++; } try {} catch (E e) { g(e); } } }",
                "t= ts t t.u= i e",
            ),
            ("class A { void f() { run((a, b) -> a + c); map(d -> d); X::y; } }", "a c d X X.y"),
        ],
    );
}

#[test]
fn c_and_cpp() {
    let rows = [
        (
            "int f(int a, char *b[]) { int c = a, *d; c = b[0]; *d += e->g.h; return c; }",
            "a c= b d= e e.g e->g.h c",
        ),
        ("void f(void) { for (int i = 0; i < n; i++) x[i].y = &z; }", "i n i= x i x[i].y= z"),
        ("enum e { A = B, C }; struct s { int m; }; struct s v = { .m = w };", "B w"),
    ];
    check(Language::C, &rows);
    check(Language::Cpp, &rows);
    check(
        Language::Cpp,
        &[
            ("A::A(int b) : c_(b), d_(e) {}", "A c_= b d_= e"),
            ("void f() { for (auto& x : xs) { auto [a, b] = x; ns::g = a; } }", "x= xs x ns ns.g= a"),
            ("void f() { auto l = [a, &b](int c) { return a + c; }; }", "a b a c"),
        ],
    );
}

#[test]
fn csharp() {
    check(
        Language::CSharp,
        &[
            (
                "class A { int x = y; void F(int a, B b) { int c = a; x = c; this.x += b.D.E; i++; -j; } }",
                "y a x= c this.x= b b.D b.D.E i= j",
            ),
            ("class A { void F() { foreach (var x in xs) { G(name: x, (T)y); } } }", "x= xs x y"),
            ("namespace N.M { [Attr(P = q)] class A { int P => z[k]; } }", "q z k"),
        ],
    );
}

#[test]
fn ruby() {
    check(
        Language::Ruby,
        &[
            ("def f(a, b = c, *d, e: g, &h)\n  i = a\n  @x += i\nend\n", "c g i= a @x= i"),
            ("a, (b, *c) = d\n$g = e[f]\n", "a= b= c= d $g= e f"),
            ("xs.each { |x, y| z << x }\nfor i in j do k end\n", "xs z x i= j k"),
            ("a.b = c\na[d] ||= \"#{e} f\"\n", "a a.b= c a= d e"),
            ("begin\nrescue E => e\n  e\nend\nA::B\n", "E e= e A A.B"),
        ],
    );
}

#[test]
fn php() {
    check(
        Language::Php,
        &[
            ("<?php function f($a, $b = C) { $c = $a; $c->d[$e] .= $g; return $c; }", "C c= a c $c.d= e g c"),
            ("<?php foreach ($xs as $k => $v) { [$a, $b] = $v; } unset($q);", "xs k= v= a= b= v q="),
            (
                "<?php class A { public $p = self::Q; function f() { $this->p = A::$s; B::C; } }",
                "self.Q this $this.p= A A.s B B.C",
            ),
        ],
    );
}

#[test]
fn kotlin() {
    check(
        Language::Kotlin,
        &[
            ("fun f(a: A) {\n  val b = a\n  c = b\n  d.e.g += h\n  i++\n}\n", "a c= b d d.e d.e.g= h i="),
            ("fun f() {\n  for (x in xs) { g(name = x) { y -> y + z } }\n}\n", "x= xs x y z"),
            ("class A(val p: P) {\n  val q = r\n  fun f() { a[i] = \"${s} t\" }\n}\n", "r a= i s"),
        ],
    );
}

#[test]
fn swift() {
    check(
        Language::Swift,
        &[
            ("func f(_ a: A, with b: B) {\n  let c = a\n  d = c\n  e.g.h += b\n}\n", "a d= c e e.g e.g.h= b"),
            ("func f() {\n  for x in xs { g(name: x) }\n  if let y = z { y.w }\n}\n", "x= xs x z y y.w"),
        ],
    );
}

#[test]
fn scala() {
    check(
        Language::Scala,
        &[
            ("def f(a: A, b: B = c): D = { val d = a; e = d; g.h = b }", "c a e= d g g.h= b"),
            ("def f = for (x <- xs) yield x match { case Some(y) => y; case Z => w }", "x= xs x y Z w"),
            ("def f = g(n = 1, m)", "m"),
        ],
    );
}

#[test]
fn bash_and_lua() {
    check(
        Language::Bash,
        &[("x=1\ny=\"$x ${z[i]}\"\nfor f in $xs; do echo \"$f\"; done\nunset q\n", "x= y= x z f= xs f q=")],
    );
    check(
        Language::Lua,
        &[
            ("local a, b = c, d\na = b\ne.f.g = h[i]\n", "c d a= b e e.f e.f.g= h i"),
            (
                "function m.f(a) for k, v in pairs(t) do x[k] = v end for i = 1, n do end end\n",
                "m k= v= t x= k v i= n",
            ),
            ("return { a = b, [c] = d }\n", "b c d"),
        ],
    );
}

#[test]
fn haskell() {
    check(
        Language::Haskell,
        &[
            ("f :: a -> b\nf (Just x) y = g x z\nf _ _ = w\n", "x z w"),
            ("f = case a of\n  Left b -> b\n  Right _ -> M.c\n", "a b M.c"),
        ],
    );
}

#[test]
fn elixir() {
    check(
        Language::Elixir,
        &[
            (
                "defmodule A do\n  def f(a, %{b: c}) when a > d do\n    e = a\n    {g, h} = c\n  end\nend\n",
                "a d e= a g= h= c",
            ),
            ("fn x -> x + y end\n\"#{z}\"\n", "x y z"),
        ],
    );
}

#[test]
fn zig() {
    check(
        Language::Zig,
        &[
            (
                "fn f(a: u8) void {\n    var b: u8 = a;\n    b = c;\n    d.e.g += h[i];\n}\n",
                "a b= c d d.e d.e.g= h i",
            ),
            ("fn f() void {\n    for (xs) |x| {\n        _ = x;\n    }\n}\n", "xs x= x"),
        ],
    );
}

#[test]
fn sql() {
    check(Language::Sql, &[("UPDATE t SET a = b + 1 WHERE c.d = e;", "a= b c c.d e")]);
}

/// Whatever is found first, uses are listed as they stand in the text.
#[test]
fn uses_are_in_the_order_of_the_text() {
    let source = "a(b).c(d)[e].f(g, h(i))\n";
    for language in [Language::Python, Language::JavaScript, Language::Rust, Language::Ruby, Language::CSharp]
    {
        let parsed = parse(language, source, &OutlineLimits::default());
        let places: Vec<_> = parsed.references.iter().map(|r| (r.line, r.column)).collect();
        assert!(places.is_sorted(), "{language}: {places:?}");
        assert!(places.len() >= 8, "{language}: {places:?}");
    }
}

#[test]
fn no_uses_are_collected_when_none_are_wanted() {
    let limits = OutlineLimits { max_references: 0, ..OutlineLimits::default() };
    let parsed = parse(Language::Python, "import a\ndef f(): return g(a)\n", &limits);
    assert_eq!((parsed.references.len(), parsed.shortfall), (0, None));
    assert_eq!((parsed.symbols.len(), parsed.imports.len()), (1, 1));
}
