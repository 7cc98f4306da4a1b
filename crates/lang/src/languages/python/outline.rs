//! Declarations, and the control flow around them.

use ruff_python_ast::{
    Decorator, ElifElseClause, ExceptHandler, Expr, Identifier, Stmt, StmtClassDef, StmtFunctionDef,
    StmtImportFrom,
};
use ruff_text_size::Ranged;

use super::lines::Lines;
use super::print;
use crate::notes::{Front, Notes, Scope};
use crate::rules::Declared;
use crate::{OutlineLimits, text};
use model::{ScopeKind, SymbolKind};

pub(super) struct Reader<'s> {
    pub(super) notes: Notes<'s>,
    pub(super) lines: Lines,
    comments: &'s [u32],
}

impl<'s> Reader<'s> {
    pub(super) fn new(source: &'s str, limits: &'s OutlineLimits, comments: &'s [u32]) -> Reader<'s> {
        Reader { notes: Notes::new(source, limits, "."), lines: Lines::new(source), comments }
    }

    pub(super) fn text(&self, part: &impl Ranged) -> &'s str {
        self.notes.slice(part.start().to_usize(), part.end().to_usize())
    }

    pub(super) fn body(&mut self, body: &[Stmt]) {
        for statement in body {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.function(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::If(branch) => self.under("if", |reader| {
                reader.read(&branch.test);
                reader.body(&branch.body);
                for (index, clause) in branch.elif_else_clauses.iter().enumerate() {
                    reader.clause(index, clause);
                }
            }),
            Stmt::For(each) => self.under(if each.is_async { "async_for" } else { "for" }, |reader| {
                reader.write(&each.target);
                reader.read(&each.iter);
                reader.body(&each.body);
                reader.body(&each.orelse);
            }),
            Stmt::While(until) => self.under("while", |reader| {
                reader.read(&until.test);
                reader.body(&until.body);
                reader.body(&until.orelse);
            }),
            Stmt::With(with) => self.under(if with.is_async { "async_with" } else { "with" }, |reader| {
                for item in &with.items {
                    reader.read(&item.context_expr);
                    reader.write_some(item.optional_vars.as_deref());
                }
                reader.body(&with.body);
            }),
            Stmt::Try(attempt) => self.under(if attempt.is_star { "try_star" } else { "try" }, |reader| {
                reader.body(&attempt.body);
                for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                    reader.read_some(handler.type_.as_deref());
                    reader.write_name(handler.name.as_ref());
                    reader.body(&handler.body);
                }
                reader.body(&attempt.orelse);
                reader.body(&attempt.finalbody);
            }),
            Stmt::Match(choice) => self.under("match", |reader| {
                reader.read(&choice.subject);
                for case in &choice.cases {
                    reader.pattern(&case.pattern);
                    reader.read_some(case.guard.as_deref());
                    reader.body(&case.body);
                }
            }),
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.import(alias, self.text(&alias.name), None);
                }
            }
            Stmt::ImportFrom(import) => self.import_from(import),
            _ if self.notes.wants_uses => self.simple(statement),
            _ => {}
        }
    }

    fn under(&mut self, label: &'static str, inside: impl FnOnce(&mut Self)) {
        self.notes.labels.push(label);
        inside(self);
        self.notes.labels.pop();
    }

    /// In Python's tree every `elif` is in the `else` of the one before.
    fn clause(&mut self, index: usize, clause: &ElifElseClause) {
        let labels = self.notes.labels.len();
        let times = index + usize::from(clause.test.is_some());
        self.notes.labels.extend(std::iter::repeat_n("if", times));
        self.read_some(clause.test.as_ref());
        self.body(&clause.body);
        self.notes.labels.truncate(labels);
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        let kind = match (self.notes.scope_kind(), function.is_async) {
            (ScopeKind::Class, false) => SymbolKind::Method,
            (ScopeKind::Class, true) => SymbolKind::AsyncMethod,
            (_, false) => SymbolKind::Function,
            (_, true) => SymbolKind::AsyncFunction,
        };
        let source = self.notes.source;
        let declared = Declared {
            signature: Some(print::parameters(source, &function.parameters)),
            returns: function.returns.as_deref().map(|returns| print::expression(source, returns)),
            ..self.declared(kind, &function.name, function, &function.decorator_list, &function.body)
        };
        self.decorated(&function.decorator_list);
        self.inside(declared, function, ScopeKind::Function, |reader| {
            reader.type_parameters(function.type_params.as_deref());
            reader.parameters(&function.parameters);
            reader.types(function.returns.as_deref());
            reader.body(&function.body);
        });
    }

    fn class(&mut self, class: &StmtClassDef) {
        let source = self.notes.source;
        let arguments = class.arguments.as_deref();
        let declared = Declared {
            signature: Some(arguments.map_or_else(|| "()".into(), |list| print::arguments(source, list))),
            ..self.declared(SymbolKind::Class, &class.name, class, &class.decorator_list, &class.body)
        };
        self.decorated(&class.decorator_list);
        self.bases(arguments);
        self.inside(declared, class, ScopeKind::Class, |reader| {
            reader.type_parameters(class.type_params.as_deref());
            reader.base_arguments(arguments);
            reader.body(&class.body);
        });
    }

    fn decorated(&mut self, decorators: &[Decorator]) {
        for decorator in decorators {
            self.read(&decorator.expression);
        }
    }

    fn declared(
        &self,
        kind: SymbolKind,
        name: &Identifier,
        statement: &impl Ranged,
        decorators: &[Decorator],
        body: &[Stmt],
    ) -> Declared {
        let start = match decorators.last() {
            Some(last) => self.word_after(last.end().to_usize()),
            None => statement.start().to_usize(),
        };
        Declared {
            kind,
            name: name.id.to_string(),
            name_row: self.lines.row(name.start().to_usize()),
            owner: None,
            start,
            start_row: self.lines.row(start),
            end_row: self.lines.row(statement.end().to_usize()),
            head_end: start,
            signature: None,
            returns: None,
            decorators: decorators
                .iter()
                .map(|decorator| print::expression(self.notes.source, &decorator.expression))
                .collect(),
            // No comment in front is documentation.
            doc: Some(docstring(body).unwrap_or_default()),
            opens: None,
            look_inside: true,
        }
    }

    fn inside(
        &mut self,
        declared: Declared,
        statement: &impl Ranged,
        kind: ScopeKind,
        inside: impl FnOnce(&mut Self),
    ) {
        let row = self.front(statement.start().to_usize());
        let scopes = self.notes.scopes.len();
        if let Some(symbol) = self.notes.declare(declared, Front { row, comment: None, head: None }) {
            self.notes.scopes.push(Scope { symbol, kind });
        }
        inside(self);
        self.notes.scopes.truncate(scopes);
    }

    /// The first row of the comments that are directly in front of what begins here. What is indented deeper belongs
    /// to the block before.
    fn front(&self, start: usize) -> usize {
        let (mut row, column) = self.lines.place(start);
        let mut left = self.comments.partition_point(|comment| (*comment as usize) < start);
        while left > 0 && row > 0 {
            left -= 1;
            let (above, indent) = self.lines.place(self.comments[left] as usize);
            let line_start = self.lines.start(above);
            let alone = self.notes.slice(line_start, line_start + indent).trim().is_empty();
            if above + 1 != row || !alone || indent > column {
                break;
            }
            row = above;
        }
        row
    }

    /// The next word, after blanks and comments.
    fn word_after(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(byte) = self.notes.source.as_bytes().get(at) {
            match byte {
                b'#' => {
                    let rest = &self.notes.source.as_bytes()[at..];
                    at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                byte if byte.is_ascii_alphabetic() => return at,
                _ => at += 1,
            }
        }
        from
    }

    fn import_from(&mut self, import: &StmtImportFrom) {
        let named = import.module.as_ref().map_or("", |module| self.text(module));
        let module = format!("{}{named}", ".".repeat(import.level as usize));
        for alias in &import.names {
            self.import(alias, &module, Some(self.text(&alias.name)));
        }
    }
}

fn docstring(body: &[Stmt]) -> Option<String> {
    let Stmt::Expr(first) = body.first()? else { return None };
    let Expr::StringLiteral(string) = first.value.as_ref() else { return None };
    // Python's lines end at more characters than at `\n`.
    let breaks =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    let text = string.value.to_str().trim_start_matches(is_space);
    let mut first = text.split(breaks).next()?.trim_end_matches(is_space).to_owned();
    text::truncate(&mut first, 1000);
    (!first.is_empty()).then_some(first)
}

/// What `str.strip` takes away.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}
