//! A shorter text with the same outline: the insides of functions that declare nothing are left out.
//!
//! Most of a file is the insides of its functions, and a parser takes as long for them as for the rest. Where only
//! declarations are asked for, a look at words and braces tells which of them cannot matter. Line ends stay, so that
//! every declaration keeps its lines. What the look does not understand it leaves alone.

mod lex;
mod strings;

use std::ops::Range;

pub(crate) use lex::Dialect;
use lex::{Lexer, Token};

/// A shorter inside is not worth the copy.
const WORTH: usize = 24;

/// What can be left out, in order, none in another; none if the braces do not match, or there is nothing.
pub(crate) fn skim(dialect: Dialect, source: &str) -> Option<Vec<Range<usize>>> {
    let mut skimmer = Skimmer {
        lexer: Lexer::new(source, dialect),
        dialect,
        blocks: Vec::new(),
        groups: Vec::new(),
        branches: Vec::new(),
        left_out: Vec::new(),
        head: Head::default(),
        awaits_name: false,
    };
    skimmer.run()?;
    (!skimmer.left_out.is_empty()).then_some(skimmer.left_out)
}

/// The text without these parts, but with their line ends.
pub(crate) fn without(source: &str, left_out: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(source.len());
    let mut from = 0;
    for part in left_out {
        out.push_str(source.get(from..part.start).unwrap_or(""));
        let inside = source.as_bytes().get(part.clone()).unwrap_or_default();
        out.extend(std::iter::repeat_n('\n', memchr::memchr_iter(b'\n', inside).count()));
        from = part.end;
    }
    out.push_str(source.get(from..).unwrap_or(""));
    out
}

struct Skimmer<'s> {
    lexer: Lexer<'s>,
    dialect: Dialect,
    /// Braces that are open.
    blocks: Vec<Block<'s>>,
    /// Parentheses and square brackets that are open.
    groups: Vec<Group<'s>>,
    /// What was open before each `#if` that is open.
    branches: Vec<(Vec<Block<'s>>, Vec<Group<'s>>)>,
    /// In order, none in another.
    left_out: Vec<Range<usize>>,
    head: Head<'s>,
    /// The last word makes a declaration if a name follows.
    awaits_name: bool,
}

#[derive(Clone)]
struct Block<'s> {
    /// The first byte inside.
    start: usize,
    /// Whether the inside may be left out: it is in a function that the outline has.
    may_go: bool,
    in_function: bool,
    /// Something inside is declared.
    declares: bool,
    /// The brackets and the head around the brace.
    groups: usize,
    head: Head<'s>,
}

#[derive(Clone)]
struct Group<'s> {
    /// The tokens before the bracket, the nearer one first.
    before: [Token<'s>; 4],
    angles: Angles<'s>,
}

/// Type arguments in TypeScript, as far as they can be told from comparisons: what they belong to counts as if they
/// were not there.
#[derive(Clone, Copy)]
struct Angles<'s> {
    open: usize,
    before: [Token<'s>; 4],
}

/// The statement so far.
#[derive(Clone)]
struct Head<'s> {
    /// The last tokens, the latest first. What stands in brackets is one token, the closing bracket.
    last: [Token<'s>; 4],
    /// What stood before the last parentheses.
    call: [Token<'s>; 4],
    /// `class`, `struct` and the like.
    is_type: bool,
    /// `fn` and `func`.
    is_function: bool,
    assigns: bool,
    /// `): Type` in TypeScript.
    returns: bool,
    angles: Angles<'s>,
}

impl Default for Head<'_> {
    fn default() -> Self {
        Head {
            last: [Token::Start; 4],
            call: [Token::Start; 4],
            is_type: false,
            is_function: false,
            assigns: false,
            returns: false,
            angles: Angles { open: 0, before: [Token::Start; 4] },
        }
    }
}

impl<'s> Skimmer<'s> {
    fn run(&mut self) -> Option<()> {
        loop {
            let value = self.is_value();
            let Some(token) = self.lexer.next(value) else { break };
            if self.awaits_name {
                self.awaits_name = false;
                if matches!(token, Token::Word(_) | Token::Sign(b'<' | b'!' | b'{' | b'*')) {
                    self.declares();
                }
            }
            match token {
                Token::Word(word) => {
                    self.word(word);
                    self.push(token);
                }
                Token::Sign(b'(' | b'[') => {
                    self.groups.push(Group { before: self.head.last, angles: self.head.angles });
                    self.head.angles.open = 0;
                    self.push(token);
                }
                Token::Sign(b')' | b']') => {
                    let inside = self.blocks.last().map_or(0, |block| block.groups);
                    if self.groups.len() <= inside {
                        return None;
                    }
                    let group = self.groups.pop()?;
                    self.head.last = group.before;
                    self.head.angles = group.angles;
                    if token == Token::Sign(b')') {
                        self.head.call = group.before;
                        self.head.returns = false;
                    }
                    self.push(token);
                }
                Token::Sign(b'{') => self.open(),
                Token::Sign(b'}') => self.close()?,
                Token::Sign(b';') if self.is_outside_groups() => self.head = Head::default(),
                Token::Directive(name) => self.directive(name),
                Token::Arrow if self.dialect.is_script() => self.arrow(),
                Token::Arrow => {
                    if self.dialect == Dialect::CSharp {
                        self.local_function();
                        self.head.assigns |= self.is_outside_groups();
                    }
                    self.push(token);
                }
                Token::Sign(sign @ (b'<' | b'>')) if self.dialect == Dialect::TypeScript => self.angle(sign),
                Token::Sign(sign) => {
                    match sign {
                        b'=' if self.is_outside_groups() => {
                            self.head.assigns = true;
                            self.head.returns = false;
                        }
                        b':' => self.head.returns = self.head.last[0] == Token::Sign(b')'),
                        b'?' | b',' if self.head.angles.open == 0 => self.head.returns = false,
                        _ => {}
                    }
                    self.push(token);
                }
                Token::Text | Token::Start => self.push(token),
            }
        }
        (self.blocks.is_empty() && self.groups.is_empty()).then_some(())
    }

    fn push(&mut self, token: Token<'s>) {
        let [first, second, third, _] = self.head.last;
        self.head.last = [token, first, second, third];
    }

    fn angle(&mut self, sign: u8) {
        let angles = &mut self.head.angles;
        match sign {
            b'<' if angles.open == 0 => *angles = Angles { open: 1, before: self.head.last },
            b'<' => angles.open += 1,
            _ if angles.open == 1 => {
                angles.open = 0;
                self.head.last = angles.before;
                return;
            }
            _ => angles.open = angles.open.saturating_sub(1),
        }
        self.push(Token::Sign(sign));
    }

    fn is_outside_groups(&self) -> bool {
        self.groups.len() == self.blocks.last().map_or(0, |block| block.groups)
    }

    /// Whether a `/` now would divide.
    fn is_value(&self) -> bool {
        match self.head.last[0] {
            Token::Word(word) => !matches!(
                word,
                "return"
                    | "typeof"
                    | "case"
                    | "in"
                    | "of"
                    | "delete"
                    | "void"
                    | "throw"
                    | "new"
                    | "do"
                    | "else"
                    | "instanceof"
                    | "yield"
                    | "await"
            ),
            Token::Text | Token::Sign(b']' | b'}') => true,
            Token::Sign(b')') => !matches!(self.head.call[0], Token::Word("if" | "while" | "for" | "with")),
            _ => false,
        }
    }

    /// What is being read is a part of the outline.
    fn declares(&mut self) {
        if let Some(block) = self.blocks.last_mut() {
            block.declares = true;
        }
    }

    fn word(&mut self, word: &str) {
        let after_dot = self.head.last[0] == Token::Sign(b'.');
        if after_dot && word != "prototype" || word == "class" && self.head.last[0] == Token::Sign(b':') {
            return;
        }
        match self.dialect {
            Dialect::C => match word {
                "struct" | "union" | "enum" | "class" | "namespace" => self.head.is_type = true,
                "typedef" | "using" | "template" | "concept" => self.declares(),
                _ => {}
            },
            Dialect::Java => {
                if matches!(word, "class" | "interface" | "enum" | "record") {
                    self.head.is_type |= self.is_outside_groups();
                    self.awaits_name = true;
                }
            }
            Dialect::CSharp => match word {
                // Not `where T : class`, `where T : A, class`.
                "class" | "struct" | "interface" | "enum" | "record" | "namespace"
                    if !matches!(self.head.last[0], Token::Sign(b':' | b',')) =>
                {
                    self.head.is_type |= self.is_outside_groups();
                }
                _ => {}
            },
            Dialect::Php => match (word, self.head.last) {
                ("include" | "include_once" | "require" | "require_once", _) => self.declares(),
                ("class", [Token::Sign(b'>'), Token::Sign(b'-'), ..]) => {}
                ("class" | "interface" | "trait" | "enum", _) => self.awaits_name = true,
                (_, [Token::Word("function"), ..] | [Token::Sign(b'&'), Token::Word("function"), ..]) => {
                    self.head.is_function |= self.is_outside_groups();
                    self.declares();
                }
                _ => {}
            },
            Dialect::Go => {
                let starts_line = self.blocks.is_empty()
                    && self.groups.is_empty()
                    && self.lexer.is_at_line_start(word.len());
                if starts_line {
                    self.head = Head { is_function: word == "func", ..Head::default() };
                }
                if word == "type" && self.head.last[0] != Token::Sign(b'(') {
                    self.declares();
                }
            }
            Dialect::Rust => match word {
                "fn" if self.is_outside_groups() => {
                    self.head.is_function = true;
                    self.awaits_name = true;
                }
                "struct" | "enum" | "union" | "trait" | "impl" | "mod" | "type" | "use" | "macro_rules"
                | "extern" => {
                    self.awaits_name = true;
                }
                _ => {}
            },
            Dialect::JavaScript | Dialect::TypeScript => match word {
                "class" => {
                    self.head.is_type |= self.is_outside_groups();
                    self.declares();
                }
                "import" | "require" | "prototype" => self.declares(),
                "function" if self.names(self.head.last) != Named::No => self.declares(),
                "function" => self.awaits_name = true,
                "interface" | "type" | "enum" | "namespace" | "module" | "abstract"
                    if self.dialect == Dialect::TypeScript =>
                {
                    self.head.is_type |= self.is_outside_groups() && word != "type" && word != "abstract";
                    self.awaits_name = true;
                }
                _ => {}
            },
        }
    }

    /// Whether a function after these tokens has a name from them.
    fn names(&self, last: [Token<'s>; 4]) -> Named {
        let mut last = last;
        if last[0] == Token::Word("async") {
            last = [last[1], last[2], last[3], Token::Start];
        }
        match last {
            [Token::Word("default"), ..] => Named::Yes,
            [Token::Sign(b'='), Token::Word(_), ..] if self.is_outside_groups() => Named::Yes,
            // `{ name: function`, but not `a ? b : function`.
            [Token::Sign(b':'), Token::Word(_) | Token::Text, Token::Start | Token::Sign(b','), _] => {
                Named::Yes
            }
            [Token::Sign(b'=' | b':' | b'>'), ..] | [Token::Sign(b'('), Token::Sign(b'='), ..] => {
                Named::Perhaps
            }
            _ => Named::No,
        }
    }

    /// In scripts, a function that has a name if it is given one.
    fn arrow(&mut self) {
        let named = match self.head.last {
            [Token::Sign(b')'), ..] => self.names(self.head.call),
            // The end of a type, not a parameter.
            [Token::Word(_), Token::Sign(b'.' | b'|' | b'&'), ..] => Named::Perhaps,
            [Token::Word(_), before @ ..] if !self.head.returns => {
                self.names([before[0], before[1], before[2], Token::Start])
            }
            // After a type there is no telling.
            _ => match self.names(self.head.call) {
                Named::No => Named::Perhaps,
                named => named,
            },
        };
        if named != Named::No {
            self.declares();
        }
        self.push(if named == Named::Yes { Token::Arrow } else { Token::Sign(b'~') });
    }

    /// C#: `Type name(…)` before a body inside a function declares another.
    fn local_function(&mut self) {
        let around = self.blocks.last().is_some_and(|block| block.in_function);
        let ends = matches!(self.head.last[0], Token::Sign(b')' | b'>') | Token::Word(_));
        let named = match self.head.call {
            [Token::Word("new" | "base" | "this"), ..] => true,
            [Token::Word("using" | "lock" | "fixed" | "foreach"), ..] => false,
            [Token::Word(name), before, ..] if !is_control(name) => match before {
                Token::Word(before) => !is_operator(before),
                // `List<A> name(`, `A[] name(`, `A? name(`, `(A, B) name(`, `name<T>(`
                Token::Sign(sign) => matches!(sign, b'>' | b']' | b'?' | b')' | b'*'),
                _ => false,
            },
            [Token::Sign(b'>'), ..] => true,
            _ => false,
        };
        if around && ends && named && self.is_outside_groups() {
            self.declares();
        }
    }

    fn open(&mut self) {
        if self.dialect == Dialect::CSharp {
            self.local_function();
        }
        let around = self.blocks.last().is_some_and(|block| block.in_function);
        let kind = self.kind(around);
        if kind == Kind::Function && (around || self.dialect != Dialect::C) || kind == Kind::Declaration {
            self.declares();
        }
        let head = std::mem::take(&mut self.head);
        self.blocks.push(Block {
            start: self.lexer.at,
            may_go: kind == Kind::Function || kind == Kind::Part && around,
            in_function: kind == Kind::Function || kind != Kind::Declaration && around,
            declares: false,
            groups: self.groups.len(),
            head,
        });
    }

    fn kind(&self, around: bool) -> Kind {
        let head = &self.head;
        let after_call = head.last[0] == Token::Sign(b')');
        match self.dialect {
            Dialect::C => {
                let ends = after_call
                    || matches!(
                        head.last[0],
                        Token::Word("const" | "override" | "noexcept" | "final" | "volatile")
                    );
                match head.call[0] {
                    _ if around => {
                        let is_record = head.is_type && matches!(head.last[0], Token::Word(_));
                        if is_record { Kind::Declaration } else { Kind::Other }
                    }
                    Token::Word(name) if ends && !head.assigns && !is_attribute(name) => Kind::Function,
                    _ => Kind::Other,
                }
            }
            Dialect::Java => match (head.call[0], head.last[0]) {
                _ if head.is_type => Kind::Declaration,
                // `new List<A>() {`
                (Token::Sign(b'>'), Token::Sign(b')')) => Kind::Declaration,
                (Token::Word(name), Token::Sign(b')')) if around && !is_control(name) => Kind::Declaration,
                (Token::Word(name), Token::Sign(b')') | Token::Word(_))
                    if !around && !head.assigns && !is_control(name) =>
                {
                    Kind::Function
                }
                _ => Kind::Other,
            },
            // A type has members, and of a member all but the head can go: accessors are not declared.
            Dialect::CSharp if around || head.is_type || head.assigns || !self.is_outside_groups() => {
                Kind::Other
            }
            Dialect::CSharp => Kind::Function,
            Dialect::Php if head.is_function && self.is_outside_groups() => Kind::Function,
            Dialect::Php => Kind::Other,
            Dialect::Go => match head.last[0] {
                Token::Word("interface") if !self.lexer.closes_next() => Kind::Declaration,
                Token::Word("interface" | "struct") => Kind::Other,
                _ if self.blocks.is_empty() && self.groups.is_empty() && head.is_function => Kind::Function,
                _ => Kind::Other,
            },
            Dialect::Rust => {
                if head.is_function && self.is_outside_groups() {
                    Kind::Function
                } else {
                    Kind::Other
                }
            }
            Dialect::JavaScript | Dialect::TypeScript => self.script(),
        }
    }

    fn script(&self) -> Kind {
        let head = &self.head;
        let after_type = head.returns
            && matches!(head.last[0], Token::Word(_) | Token::Sign(b']'))
            && head.last[0] != Token::Word("extends")
            && self.dialect == Dialect::TypeScript;
        match head.last[0] {
            _ if head.is_type && self.is_outside_groups() => Kind::Declaration,
            Token::Arrow => Kind::Function,
            Token::Sign(b'~') | Token::Word("else" | "try" | "finally" | "do") => Kind::Part,
            Token::Sign(b')') => self.script_call(),
            _ if after_type => self.script_call(),
            _ => Kind::Other,
        }
    }

    /// `name(…) {`
    fn script_call(&self) -> Kind {
        match self.head.call {
            [Token::Word("function"), before @ ..] => {
                match self.names([before[0], before[1], before[2], Token::Start]) {
                    Named::Yes => Kind::Function,
                    _ => Kind::Part,
                }
            }
            [Token::Sign(b'*'), Token::Word("function"), ..] => Kind::Part,
            [Token::Word(name), ..] if is_control(name) => Kind::Part,
            // A block after a statement without a semicolon.
            [Token::Word(_), Token::Word("new"), ..] => Kind::Other,
            [Token::Word(_) | Token::Text | Token::Sign(b']'), ..] => Kind::Function,
            _ => Kind::Other,
        }
    }

    fn close(&mut self) -> Option<()> {
        let block = self.blocks.pop()?;
        if self.groups.len() != block.groups {
            return None;
        }
        let end = self.lexer.at - 1;
        if self.dialect.is_script() && block.may_go && self.lexer.is_called_next() {
            // A function that is called where it stands has no name, and what is in it stands elsewhere.
            self.left_out.retain(|part| part.start < block.start);
            if block.declares {
                self.declares();
            }
        } else if block.declares {
            self.declares();
        } else if block.may_go && end >= block.start + WORTH && self.lexer.has_line_end(block.start, end) {
            while self.left_out.last().is_some_and(|part| part.start >= block.start) {
                self.left_out.pop();
            }
            self.left_out.push(block.start..end);
        }
        if self.is_outside_groups() && !self.lexer.opens_next() {
            self.head = Head::default();
        } else {
            self.head = block.head;
        }
        self.push(Token::Sign(b'}'));
        Some(())
    }

    /// Each branch begins where the first did, whatever that opened and closed.
    fn directive(&mut self, name: &str) {
        match name {
            "define" | "include" | "import" => self.declares(),
            "if" | "ifdef" | "ifndef" => self.branches.push((self.blocks.clone(), self.groups.clone())),
            "else" | "elif" => {
                if let Some((blocks, groups)) = self.branches.last() {
                    (self.blocks, self.groups) = (blocks.clone(), groups.clone());
                }
            }
            "endif" => {
                self.branches.pop();
            }
            _ => {}
        }
    }
}

#[derive(PartialEq)]
enum Named {
    Yes,
    No,
    Perhaps,
}

#[derive(PartialEq)]
enum Kind {
    /// The inside of a function that the outline has.
    Function,
    /// Statements inside another.
    Part,
    /// Members are declared inside.
    Declaration,
    Other,
}

fn is_control(word: &str) -> bool {
    matches!(word, "if" | "for" | "while" | "switch" | "catch" | "with" | "await" | "synchronized" | "try")
}

/// What stands before a value in C#.
fn is_operator(word: &str) -> bool {
    matches!(
        word,
        "new"
            | "return"
            | "await"
            | "throw"
            | "in"
            | "is"
            | "as"
            | "else"
            | "case"
            | "when"
            | "out"
            | "ref"
            | "yield"
    )
}

fn is_attribute(word: &str) -> bool {
    matches!(word, "__attribute__" | "__attribute" | "__declspec" | "alignas" | "_Alignas")
}
