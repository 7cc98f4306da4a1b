//! Shortens a text without changing its outline: function bodies that declare nothing are left out.
//!
//! Most of a file is function bodies, and parsing them takes most of the time. Where only declarations are wanted, a scan of
//! words and braces tells which bodies cannot contain any. Line ends stay, so every declaration keeps its line numbers.
//! Anything that the scan does not understand is left as it is.

mod dialects;
mod lex;
mod strings;

use std::ops::Range;

pub(crate) use lex::{Dialect, Lexer, Token};

/// A shorter inside is not worth the copy.
const WORTH: usize = 24;

/// Open blocks and brackets that are kept for branches, all together; a text that needs more is read whole.
const MAX_KEPT: usize = 100_000;

/// What can be left out, in order, none in another; none if the braces do not match, or there is nothing.
pub(crate) fn skim(dialect: Dialect, source: &str) -> Option<Vec<Range<usize>>> {
    let mut skimmer = Skimmer {
        lexer: Lexer::new(source, dialect),
        dialect,
        blocks: Vec::new(),
        groups: Vec::new(),
        branches: Vec::new(),
        kept: 0,
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
    /// How much was copied for them.
    kept: usize,
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
    /// The last tokens, the latest first. What is in brackets is one token, the closing bracket.
    last: [Token<'s>; 4],
    /// What came before the last parentheses.
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
                Token::Directive(name) => self.directive(name)?,
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

    fn open(&mut self) {
        if self.dialect == Dialect::CSharp {
            self.local_function();
        }
        let around = self.blocks.last().is_some_and(|block| block.in_function);
        let kind = self.kind(around);
        if kind == BlockKind::Function && (around || self.dialect != Dialect::C)
            || kind == BlockKind::Declaration
        {
            self.declares();
        }
        let head = std::mem::take(&mut self.head);
        self.blocks.push(Block {
            start: self.lexer.at,
            may_go: kind == BlockKind::Function || kind == BlockKind::Part && around,
            in_function: kind == BlockKind::Function || kind != BlockKind::Declaration && around,
            declares: false,
            groups: self.groups.len(),
            head,
        });
    }

    fn close(&mut self) -> Option<()> {
        let block = self.blocks.pop()?;
        if self.groups.len() != block.groups {
            return None;
        }
        let end = self.lexer.at - 1;
        if self.dialect.is_script() && block.may_go && self.lexer.is_called_next() {
            // A function that is called where it is written has no name, and what is in it is declared elsewhere.
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
    fn directive(&mut self, name: &str) -> Option<()> {
        match name {
            "define" | "include" | "import" => self.declares(),
            "if" | "ifdef" | "ifndef" => {
                self.keep(self.blocks.len() + self.groups.len())?;
                self.branches.push((self.blocks.clone(), self.groups.clone()));
            }
            "else" | "elif" => {
                if let Some((blocks, groups)) = self.branches.last() {
                    let (blocks, groups) = (blocks.clone(), groups.clone());
                    self.keep(blocks.len() + groups.len())?;
                    (self.blocks, self.groups) = (blocks, groups);
                }
            }
            "endif" => {
                self.branches.pop();
            }
            _ => {}
        }
        Some(())
    }

    /// None when too much is kept.
    fn keep(&mut self, more: usize) -> Option<()> {
        self.kept += more + 1;
        (self.kept <= MAX_KEPT).then_some(())
    }
}

#[derive(PartialEq)]
enum BlockKind {
    /// The inside of a function that the outline has.
    Function,
    /// Statements inside another.
    Part,
    /// Members are declared inside.
    Declaration,
    Other,
}
