//! Facts of Python, from the tree that Python itself would make.

use model::{DeclarationFacts, Parameter};
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_expr, walk_stmt};
use ruff_python_ast::{
    Arguments, Decorator, Expr, ExprContext, Number, Parameters, Stmt, StmtClassDef, StmtFunctionDef,
};
use ruff_python_parser::Parsed;
use ruff_text_size::Ranged;

use super::gather::{Draft, Gathered, List, doc, offset, short};
use super::shape;
use crate::languages::python::lines::Lines;
use crate::languages::python::print;
use crate::notes::line;

pub(crate) fn collect(
    source: &str,
    lines: &Lines,
    module: &Parsed<ruff_python_ast::Mod>,
    body: &[Stmt],
    into: &mut Gathered,
) {
    let mut reader =
        FactReader { source, lines, into, open: Vec::new(), names: Vec::new(), spans: Vec::new() };
    reader.docstring(body);
    for statement in body {
        reader.visit_stmt(statement);
    }
    reader.tokens(module);
}

struct FactReader<'s, 'g> {
    source: &'s str,
    lines: &'s Lines,
    into: &'g mut Gathered,
    /// The declarations around the current node, by their numbers.
    open: Vec<usize>,
    /// Their names, with whether each is a class.
    names: Vec<(String, bool)>,
    /// Bytes of the declarations, in the order of the text.
    spans: Vec<(usize, usize, usize)>,
}

impl<'s> FactReader<'s, '_> {
    fn current(&self) -> usize {
        self.open.last().copied().unwrap_or(0)
    }

    fn add(&mut self, list: List, name: impl Into<String>) {
        self.into.add(self.current(), list, name);
    }

    fn count(&mut self, number: fn(&mut DeclarationFacts) -> &mut u32, times: usize) {
        let current = self.current();
        if let Some(facts) = self.into.facts(current) {
            let number = number(facts);
            *number = number.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
        }
    }

    fn text(&self, part: &impl Ranged) -> &'s str {
        self.source.get(part.start().to_usize()..part.end().to_usize()).unwrap_or_default()
    }

    fn docstring(&mut self, body: &[Stmt]) -> Option<String> {
        let Some(Stmt::Expr(first)) = body.first() else { return None };
        let Expr::StringLiteral(string) = first.value.as_ref() else { return None };
        let text = string.value.to_str().trim();
        let lines =
            (line(self.lines.row(first.start().to_usize())), line(self.lines.row(first.end().to_usize())));
        self.into.comment(self.source, (first.start().to_usize(), first.end().to_usize()), lines);
        let mut text = text.to_owned();
        crate::text::truncate(&mut text, 4000);
        (!text.is_empty()).then_some(text)
    }

    fn declare(&mut self, facts: DeclarationFacts, range: (usize, usize), is_class: bool) {
        let number = self.into.declarations.len();
        self.names.push((facts.name.clone(), is_class));
        self.into.declarations.push(Draft { facts, ..Draft::default() });
        self.spans.push((range.0, range.1, number));
        self.open.push(number);
    }

    fn leave(&mut self) {
        self.open.pop();
        self.names.pop();
    }

    fn common(
        &mut self,
        name: &str,
        statement: &impl Ranged,
        decorators: &[Decorator],
        body: &[Stmt],
    ) -> DeclarationFacts {
        let start = decorators.last().map_or(statement.start().to_usize(), |last| {
            let after = last.end().to_usize();
            let rest = self.source.get(after..).unwrap_or_default();
            after + word(rest)
        });
        let end = statement.end().to_usize();
        let qualified: Vec<&str> = self.names.iter().map(|(name, _)| name.as_str()).chain([name]).collect();
        let mut qualified = qualified.join(".");
        crate::text::truncate(&mut qualified, 1000);
        let in_function = self.names.last().is_some_and(|(_, is_class)| !is_class);
        let around = shape::Around { in_function, ..shape::Around::default() };
        DeclarationFacts {
            name: name.to_owned(),
            qualified,
            lines: (line(self.lines.row(start)), line(self.lines.row(end))),
            bytes: (offset(start), offset(end)),
            decorators: decorators
                .iter()
                .take(100)
                .map(|decorator| short(&print::expression(self.source, &decorator.expression)))
                .collect(),
            visibility: shape::visibility(crate::Language::Python, name, &[], around).map(str::to_owned),
            doc: self.docstring(body).as_deref().and_then(doc),
            ..DeclarationFacts::default()
        }
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        let in_class = self.names.last().is_some_and(|(_, is_class)| *is_class);
        let common = self.common(&function.name.id, function, &function.decorator_list, &function.body);
        let kind = match (in_class, function.is_async) {
            (true, false) => "method",
            (true, true) => "async_method",
            (false, false) => "function",
            (false, true) => "async_function",
        };
        let list = print::parameters(self.source, &function.parameters);
        let return_type =
            function.returns.as_deref().map(|returns| short(&print::expression(self.source, returns)));
        let word = if function.is_async { "async def" } else { "def" };
        let arrow = return_type.as_deref().map(|returns| format!(" -> {returns}")).unwrap_or_default();
        let mut signature = format!("{word} {}{list}{arrow}", function.name.id);
        crate::text::truncate(&mut signature, 1000);
        let parameters = parameters(self.source, &function.parameters);
        let modifiers = if function.is_async { vec!["async".to_owned()] } else { Vec::new() };
        let facts = DeclarationFacts {
            kind: kind.to_owned(),
            signature,
            parameters,
            return_type,
            modifiers,
            is_async: function.is_async,
            ..common
        };
        self.declare(facts, (function.start().to_usize(), function.end().to_usize()), false);
        let number = self.current();
        for parameter in &*function.parameters {
            let name = parameter.name().id.as_str();
            let shown = parameter.annotation().map(|annotation| print::expression(self.source, annotation));
            if let Some(type_) =
                shown.or_else(|| parameter.default().and_then(|value| self.literal_type(value)))
            {
                self.into.typed(number, name, &type_);
            }
            if let Some(default) = parameter.default() {
                self.visit_expr(default);
            }
        }
        if let Some(returns) = &function.returns {
            self.into.typed(number, "return", &print::expression(self.source, returns));
        }
        self.visit_body(&function.body);
        self.leave();
    }

    fn class(&mut self, class: &StmtClassDef) {
        let common = self.common(&class.name.id, class, &class.decorator_list, &class.body);
        let arguments = class.arguments.as_deref();
        let list = arguments.map_or_else(String::new, |list| print::arguments(self.source, list));
        let mut signature = format!("class {}{list}", class.name.id);
        crate::text::truncate(&mut signature, 1000);
        let facts = DeclarationFacts {
            kind: "class".to_owned(),
            signature,
            extends: arguments.map(|list| self.bases(list)).unwrap_or_default(),
            ..common
        };
        self.declare(facts, (class.start().to_usize(), class.end().to_usize()), true);
        self.visit_body(&class.body);
        self.leave();
    }

    fn bases(&self, list: &Arguments) -> Vec<String> {
        let mut bases: Vec<String> = Vec::new();
        for base in list.args.iter().take(100) {
            let base = match base {
                Expr::Subscript(generic) => &generic.value,
                other => other,
            };
            if let Some(base) = path(base)
                && !bases.contains(&base)
            {
                bases.push(base);
            }
        }
        bases
    }

    fn assigned(&mut self, target: &Expr, value: &Expr) {
        if let (Some(left), Some(right)) = (path(target), path(value)) {
            self.add(List::Aliases, format!("{left}={right}"));
        }
        if let (Expr::Name(name), Some(type_)) = (target, self.literal_type(value)) {
            self.into.typed(self.current(), &name.id, &type_);
        }
    }

    /// The type that a literal or the call of a class shows.
    fn literal_type(&self, value: &Expr) -> Option<String> {
        let name = match value {
            Expr::StringLiteral(_) | Expr::FString(_) => "str",
            Expr::BytesLiteral(_) => "bytes",
            Expr::NumberLiteral(number) => match number.value {
                Number::Int(_) => "int",
                Number::Float(_) => "float",
                Number::Complex { .. } => "complex",
            },
            Expr::BooleanLiteral(_) => "bool",
            Expr::NoneLiteral(_) => "None",
            Expr::List(_) | Expr::ListComp(_) => "list",
            Expr::Dict(_) | Expr::DictComp(_) => "dict",
            Expr::Set(_) | Expr::SetComp(_) => "set",
            Expr::Tuple(_) => "tuple",
            Expr::Lambda(_) => "function",
            Expr::Call(call) => {
                let callee = path(&call.func)?;
                let last = callee.rsplit('.').next()?;
                return last.starts_with(char::is_uppercase).then_some(callee);
            }
            _ => return None,
        };
        Some(name.to_owned())
    }

    fn target(&mut self, target: &Expr) {
        match target {
            Expr::Attribute(_) | Expr::Subscript(_) => {
                if let Some(place) = place(target) {
                    self.add(List::Mutates, place);
                }
            }
            _ => {}
        }
    }

    /// Identifiers and comments are tokens.
    fn tokens(&mut self, module: &Parsed<ruff_python_ast::Mod>) {
        let spans = std::mem::take(&mut self.spans);
        let mut next = 0;
        let mut open: Vec<(usize, usize)> = Vec::new();
        for token in module.tokens() {
            let at = token.start().to_usize();
            while let Some((start, end, number)) = spans.get(next).copied().filter(|(start, ..)| *start <= at)
            {
                while open.last().is_some_and(|(outer, _)| *outer <= start) {
                    open.pop();
                }
                open.push((end, number));
                next += 1;
            }
            while open.last().is_some_and(|(end, _)| *end <= at) {
                open.pop();
            }
            match token.kind() {
                TokenKind::Name => {
                    let current = open.last().map_or(0, |(_, number)| *number);
                    self.into.add(current, List::Uses, self.text(token));
                }
                TokenKind::Comment => {
                    let row = line(self.lines.row(at));
                    self.into.comment(self.source, (at, token.end().to_usize()), (row, row));
                }
                _ => {}
            }
        }
        self.into.comments.sort_by_key(|comment| comment.start);
    }
}

impl<'a> SourceOrderVisitor<'a> for FactReader<'_, '_> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => return self.function(function),
            Stmt::ClassDef(class) => return self.class(class),
            Stmt::If(choice) => {
                let tests = choice.elif_else_clauses.iter().filter(|clause| clause.test.is_some()).count();
                self.count(|facts| &mut facts.branches, 1 + tests);
            }
            Stmt::Try(attempt) => self.count(|facts| &mut facts.branches, attempt.handlers.len()),
            Stmt::Match(choice) => self.count(|facts| &mut facts.branches, choice.cases.len()),
            Stmt::For(_) | Stmt::While(_) => self.count(|facts| &mut facts.loops, 1),
            Stmt::Break(_) => self.count(|facts| &mut facts.breaks, 1),
            Stmt::Continue(_) => self.count(|facts| &mut facts.continues, 1),
            Stmt::Return(back) => {
                self.count(|facts| &mut facts.returns, 1);
                let current = self.current();
                if let Some(facts) = self.into.facts(current) {
                    facts.returns_value |= back.value.is_some();
                }
            }
            Stmt::Raise(raise) => {
                if let Some(name) = raise.exc.as_deref().and_then(called) {
                    self.add(List::Throws, name);
                }
            }
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.assigned(target, &assign.value));
            }
            Stmt::AnnAssign(assign) => {
                if let Some(name) = path(&assign.target) {
                    let type_ = print::expression(self.source, &assign.annotation);
                    self.into.typed(self.current(), &name, &type_);
                }
                if let Some(value) = &assign.value {
                    self.assigned(&assign.target, value);
                }
            }
            _ => {}
        }
        walk_stmt(self, statement);
    }

    /// The names in annotations are types, which is another question than what is read.
    fn visit_annotation(&mut self, _: &'a Expr) {}

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => match name.ctx {
                ExprContext::Store => self.add(List::Writes, name.id.as_str()),
                ExprContext::Load => self.add(List::Reads, name.id.as_str()),
                _ => {}
            },
            Expr::Attribute(attribute) => match attribute.ctx {
                ExprContext::Load => {
                    if let Some(path) = path(expression) {
                        self.add(List::Reads, path);
                    }
                }
                ExprContext::Store => self.target(expression),
                _ => {}
            },
            Expr::Subscript(subscript) if subscript.ctx == ExprContext::Store => self.target(expression),
            Expr::Call(call) => {
                let callee = match call.func.as_ref() {
                    Expr::Attribute(attribute) => {
                        Some(path(&call.func).unwrap_or_else(|| attribute.attr.id.to_string()))
                    }
                    other => path(other),
                };
                if let Some(callee) = callee {
                    self.add(List::Calls, callee);
                }
                // What is called is not read; what it is reached through is.
                match call.func.as_ref() {
                    Expr::Name(_) => {}
                    Expr::Attribute(attribute) => self.visit_expr(&attribute.value),
                    other => self.visit_expr(other),
                }
                return self.visit_arguments(&call.arguments);
            }
            Expr::Named(named) => self.assigned(&named.target, &named.value),
            Expr::If(_) => self.count(|facts| &mut facts.branches, 1),
            Expr::Await(wait) => {
                if let Some(name) = called(&wait.value) {
                    self.add(List::Awaits, name);
                }
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.count(|facts| &mut facts.yields, 1);
                let current = self.current();
                if let Some(facts) = self.into.facts(current) {
                    facts.is_generator = true;
                }
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}

/// How far it is to the next word, over blanks and comments.
fn word(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'#' => at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at),
            byte if byte.is_ascii_alphabetic() => return at,
            _ => at += 1,
        }
    }
    0
}

fn parameters(source: &str, list: &Parameters) -> Vec<Parameter> {
    list.into_iter()
        .take(256)
        .map(|parameter| Parameter {
            name: parameter.name().id.to_string(),
            type_: parameter.annotation().map(|annotation| short(&print::expression(source, annotation))),
            default: parameter.default().map(|value| short(&print::expression(source, value))),
        })
        .collect()
}

/// Names with dots between them; `None` for what is more than that.
fn path(expression: &Expr) -> Option<String> {
    let mut parts = Vec::new();
    let mut at = expression;
    loop {
        match at {
            Expr::Name(name) => {
                parts.push(name.id.as_str());
                break;
            }
            Expr::Attribute(attribute) => {
                parts.push(attribute.attr.id.as_str());
                at = &attribute.value;
            }
            _ => return None,
        }
    }
    parts.reverse();
    Some(parts.join("."))
}

/// What is given a value: members and elements, `self.rows[].size`.
fn place(expression: &Expr) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut at = expression;
    loop {
        match at {
            Expr::Name(name) => {
                parts.push(name.id.to_string());
                break;
            }
            Expr::Attribute(attribute) => {
                parts.push(format!(".{}", attribute.attr.id));
                at = &attribute.value;
            }
            Expr::Subscript(subscript) => {
                parts.push("[]".to_owned());
                at = &subscript.value;
            }
            _ => return None,
        }
    }
    parts.reverse();
    Some(parts.concat())
}

/// What is raised or awaited: the callee of a call, or the name.
fn called(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Call(call) => match call.func.as_ref() {
            Expr::Attribute(attribute) => {
                Some(path(&call.func).unwrap_or_else(|| attribute.attr.id.to_string()))
            }
            other => path(other),
        },
        other => path(other),
    }
}
