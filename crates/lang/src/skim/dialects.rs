//! What words, arrows and braces mean in each language: which of them declare, and which open a function.

use super::lex::{Dialect, Token};
use super::{BlockKind, Head, Skimmer};

impl<'s> Skimmer<'s> {
    /// A word that may make what is being read a function, a type or a declaration.
    pub(super) fn word(&mut self, word: &str) {
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
                "function" if self.names(self.head.last) != NamedToken::No => self.declares(),
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
    fn names(&self, last: [Token<'s>; 4]) -> NamedToken {
        let mut last = last;
        if last[0] == Token::Word("async") {
            last = [last[1], last[2], last[3], Token::Start];
        }
        match last {
            [Token::Word("default"), ..] => NamedToken::Yes,
            [Token::Sign(b'='), Token::Word(_), ..] if self.is_outside_groups() => NamedToken::Yes,
            // `{ name: function`, but not `a ? b : function`.
            [Token::Sign(b':'), Token::Word(_) | Token::Text, Token::Start | Token::Sign(b','), _] => {
                NamedToken::Yes
            }
            [Token::Sign(b'=' | b':' | b'>'), ..] | [Token::Sign(b'('), Token::Sign(b'='), ..] => {
                NamedToken::Perhaps
            }
            _ => NamedToken::No,
        }
    }

    /// In scripts, a function that has a name if it is given one.
    pub(super) fn arrow(&mut self) {
        let named = match self.head.last {
            [Token::Sign(b')'), ..] => self.names(self.head.call),
            // The end of a type, not a parameter.
            [Token::Word(_), Token::Sign(b'.' | b'|' | b'&'), ..] => NamedToken::Perhaps,
            [Token::Word(_), before @ ..] if !self.head.returns => {
                self.names([before[0], before[1], before[2], Token::Start])
            }
            // After a type there is no telling.
            _ => match self.names(self.head.call) {
                NamedToken::No => NamedToken::Perhaps,
                named => named,
            },
        };
        if named != NamedToken::No {
            self.declares();
        }
        self.push(if named == NamedToken::Yes { Token::Arrow } else { Token::Sign(b'~') });
    }

    /// C#: `Type name(…)` before a body inside a function declares another.
    pub(super) fn local_function(&mut self) {
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

    /// What the brace that comes now opens.
    pub(super) fn kind(&self, around: bool) -> BlockKind {
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
                        if is_record { BlockKind::Declaration } else { BlockKind::Other }
                    }
                    Token::Word(name) if ends && !head.assigns && !is_attribute(name) => BlockKind::Function,
                    _ => BlockKind::Other,
                }
            }
            Dialect::Java => match (head.call[0], head.last[0]) {
                _ if head.is_type => BlockKind::Declaration,
                // `new List<A>() {`
                (Token::Sign(b'>'), Token::Sign(b')')) => BlockKind::Declaration,
                (Token::Word(name), Token::Sign(b')')) if around && !is_control(name) => {
                    BlockKind::Declaration
                }
                (Token::Word(name), Token::Sign(b')') | Token::Word(_))
                    if !around && !head.assigns && !is_control(name) =>
                {
                    BlockKind::Function
                }
                _ => BlockKind::Other,
            },
            // A type has members, and of a member all but the head can go: accessors are not declared.
            Dialect::CSharp if around || head.is_type || head.assigns || !self.is_outside_groups() => {
                BlockKind::Other
            }
            Dialect::CSharp => BlockKind::Function,
            Dialect::Php if head.is_function && self.is_outside_groups() => BlockKind::Function,
            Dialect::Php => BlockKind::Other,
            Dialect::Go => match head.last[0] {
                Token::Word("interface") if !self.lexer.closes_next() => BlockKind::Declaration,
                Token::Word("interface" | "struct") => BlockKind::Other,
                _ if self.blocks.is_empty() && self.groups.is_empty() && head.is_function => {
                    BlockKind::Function
                }
                _ => BlockKind::Other,
            },
            Dialect::Rust => {
                if head.is_function && self.is_outside_groups() {
                    BlockKind::Function
                } else {
                    BlockKind::Other
                }
            }
            Dialect::JavaScript | Dialect::TypeScript => self.script(),
        }
    }

    fn script(&self) -> BlockKind {
        let head = &self.head;
        let after_type = head.returns
            && matches!(head.last[0], Token::Word(_) | Token::Sign(b']'))
            && head.last[0] != Token::Word("extends")
            && self.dialect == Dialect::TypeScript;
        match head.last[0] {
            _ if head.is_type && self.is_outside_groups() => BlockKind::Declaration,
            Token::Arrow => BlockKind::Function,
            Token::Sign(b'~') | Token::Word("else" | "try" | "finally" | "do") => BlockKind::Part,
            Token::Sign(b')') => self.script_call(),
            _ if after_type => self.script_call(),
            _ => BlockKind::Other,
        }
    }

    /// `name(…) {`
    fn script_call(&self) -> BlockKind {
        match self.head.call {
            [Token::Word("function"), before @ ..] => {
                match self.names([before[0], before[1], before[2], Token::Start]) {
                    NamedToken::Yes => BlockKind::Function,
                    _ => BlockKind::Part,
                }
            }
            [Token::Sign(b'*'), Token::Word("function"), ..] => BlockKind::Part,
            [Token::Word(name), ..] if is_control(name) => BlockKind::Part,
            // A block after a statement without a semicolon.
            [Token::Word(_), Token::Word("new"), ..] => BlockKind::Other,
            [Token::Word(_) | Token::Text | Token::Sign(b']'), ..] => BlockKind::Function,
            _ => BlockKind::Other,
        }
    }
}

#[derive(PartialEq)]
enum NamedToken {
    Yes,
    No,
    Perhaps,
}

fn is_control(word: &str) -> bool {
    matches!(word, "if" | "for" | "while" | "switch" | "catch" | "with" | "await" | "synchronized" | "try")
}

/// What comes before a value in C#.
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
