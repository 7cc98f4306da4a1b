//! Expressions as `ast.unparse` prints them: one canonical text for all ways to write the same thing.

use ruff_python_ast::{
    Arguments, BoolOp, CmpOp, Comprehension, Expr, ExprBoolOp, ExprFString, FStringPart, InterpolatedElement,
    InterpolatedStringElement, Number, Operator, Parameter, ParameterWithDefault, Parameters, UnaryOp,
};
use ruff_text_size::Ranged;

use super::literal;

/// How tightly an expression binds, in Python's order; a looser one inside a tighter place gets parentheses.
type Binding = u8;
const NAMED: Binding = 1;
const TUPLE: Binding = 2;
const YIELD: Binding = 3;
const TEST: Binding = 4;
const OR: Binding = 5;
const AND: Binding = 6;
const NOT: Binding = 7;
const CMP: Binding = 8;
const EXPR: Binding = 9;
const BXOR: Binding = 10;
const BAND: Binding = 11;
const SHIFT: Binding = 12;
const ARITH: Binding = 13;
const TERM: Binding = 14;
const FACTOR: Binding = 15;
const POWER: Binding = 16;
const AWAIT: Binding = 17;
const ATOM: Binding = 18;

/// What is nested deeper is shown as written.
const MAX_NESTING: usize = 200;

pub(crate) fn expression(source: &str, node: &Expr) -> String {
    Printer { source, nesting: 0 }.print(node, TEST)
}

/// `(a, /, b: int=1, *c, d, **e)`
pub(crate) fn parameters(source: &str, list: &Parameters) -> String {
    format!("({})", Printer { source, nesting: 0 }.parameters(list))
}

/// `(Base, metaclass=Meta)`: what is positional comes first, as in a call.
pub(crate) fn arguments(source: &str, list: &Arguments) -> String {
    format!("({})", Printer { source, nesting: 0 }.arguments(list))
}

struct Printer<'s> {
    source: &'s str,
    nesting: usize,
}

impl<'s> Printer<'s> {
    fn text(&self, node: &impl Ranged) -> &'s str {
        self.source.get(node.start().to_usize()..node.end().to_usize()).unwrap_or("")
    }

    /// What cannot be printed canonically is shown as written.
    fn as_written(&self, node: &impl Ranged) -> String {
        self.text(node).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn print(&mut self, node: &Expr, place: Binding) -> String {
        if self.nesting > MAX_NESTING {
            return self.as_written(node);
        }
        self.nesting += 1;
        let (own, out) = self.bare(node);
        self.nesting -= 1;
        if place > own { format!("({out})") } else { out }
    }

    fn print_some(&mut self, node: Option<&Expr>) -> String {
        node.map_or_else(String::new, |node| self.print(node, TEST))
    }

    /// The text without parentheses around it, and how tightly it binds.
    fn bare(&mut self, node: &Expr) -> (Binding, String) {
        let atom = |text: String| (ATOM, text);
        match node {
            Expr::Name(name) => atom(name.id.to_string()),
            Expr::NoneLiteral(_) => atom("None".into()),
            Expr::BooleanLiteral(literal) => atom(if literal.value { "True" } else { "False" }.into()),
            Expr::EllipsisLiteral(_) => atom("...".into()),
            Expr::NumberLiteral(number) => {
                let text = self.text(number);
                let printed = match number.value {
                    Number::Int(_) => literal::integer(text),
                    _ => literal::float(text),
                };
                atom(printed.unwrap_or_else(|| self.as_written(node)))
            }
            Expr::StringLiteral(string) => atom(literal::repr(&literal::text(self.source, &string.value))),
            Expr::BytesLiteral(bytes) => atom(literal::repr(&literal::bytes(&bytes.value))),
            Expr::FString(string) => {
                atom(self.format_string(string).unwrap_or_else(|| self.as_written(node)))
            }
            Expr::Attribute(attribute) => {
                let mut out = self.print(&attribute.value, ATOM);
                // A dot would make a float of it.
                if is_integer(&attribute.value) {
                    out.push(' ');
                }
                atom(format!("{out}.{}", attribute.attr.id))
            }
            Expr::Subscript(subscript) => {
                let value = self.print(&subscript.value, ATOM);
                atom(format!("{value}[{}]", self.subscript(&subscript.slice)))
            }
            Expr::Slice(slice) => {
                let lower = self.print_some(slice.lower.as_deref());
                let upper = self.print_some(slice.upper.as_deref());
                let mut out = format!("{lower}:{upper}");
                if let Some(step) = &slice.step {
                    out.push(':');
                    out.push_str(&self.print(step, TEST));
                }
                atom(out)
            }
            Expr::Call(call) => {
                let callee = self.print(&call.func, ATOM);
                atom(format!("{callee}({})", self.arguments(&call.arguments)))
            }
            Expr::List(list) => atom(format!("[{}]", self.items(&list.elts))),
            Expr::Set(set) => atom(format!("{{{}}}", self.items(&set.elts))),
            Expr::Dict(dict) => {
                let items: Vec<String> = dict
                    .items
                    .iter()
                    .map(|item| match &item.key {
                        Some(key) => {
                            let key = self.print(key, TEST);
                            format!("{key}: {}", self.print(&item.value, TEST))
                        }
                        None => format!("**{}", self.print(&item.value, EXPR)),
                    })
                    .collect();
                atom(format!("{{{}}}", items.join(", ")))
            }
            Expr::Tuple(tuple) => match &tuple.elts[..] {
                [] => atom("()".into()),
                [one] => (TUPLE, format!("{},", self.print(one, TEST))),
                many => (TUPLE, self.items(many)),
            },
            Expr::Starred(starred) => atom(format!("*{}", self.print(&starred.value, EXPR))),
            Expr::ListComp(all) => {
                let element = self.print(&all.elt, TEST);
                atom(format!("[{element}{}]", self.clauses(&all.generators)))
            }
            Expr::SetComp(all) => {
                let element = self.print(&all.elt, TEST);
                atom(format!("{{{element}{}}}", self.clauses(&all.generators)))
            }
            Expr::DictComp(all) => {
                let element = match &all.key {
                    Some(key) => {
                        let key = self.print(key, TEST);
                        format!("{key}: {}", self.print(&all.value, TEST))
                    }
                    None => format!("**{}", self.print(&all.value, EXPR)),
                };
                atom(format!("{{{element}{}}}", self.clauses(&all.generators)))
            }
            Expr::Generator(all) => {
                let element = self.print(&all.elt, TEST);
                atom(format!("({element}{})", self.clauses(&all.generators)))
            }
            Expr::Lambda(lambda) => {
                let parameters = lambda.parameters.as_deref().map(|list| self.parameters(list));
                let body = self.print(&lambda.body, TEST);
                (
                    TEST,
                    match parameters.filter(|list| !list.is_empty()) {
                        Some(list) => format!("lambda {list}: {body}"),
                        None => format!("lambda: {body}"),
                    },
                )
            }
            Expr::If(choice) => {
                let (body, test) = (self.print(&choice.body, TEST + 1), self.print(&choice.test, TEST + 1));
                (TEST, format!("{body} if {test} else {}", self.print(&choice.orelse, TEST)))
            }
            Expr::BoolOp(all) => self.boolean(all),
            Expr::UnaryOp(one) => match one.op {
                UnaryOp::Not => (NOT, format!("not {}", self.print(&one.operand, NOT))),
                sign => (FACTOR, format!("{}{}", sign.as_str(), self.print(&one.operand, FACTOR))),
            },
            Expr::BinOp(both) => {
                let own = binding(both.op);
                let (left, right) = if both.op == Operator::Pow { (own + 1, own) } else { (own, own + 1) };
                let left = self.print(&both.left, left);
                (own, format!("{left} {} {}", both.op.as_str(), self.print(&both.right, right)))
            }
            Expr::Compare(compare) => {
                let mut out = self.print(&compare.left, CMP + 1);
                for (operator, value) in compare.ops.iter().zip(&compare.comparators) {
                    let value = self.print(value, CMP + 1);
                    out.push_str(&format!(" {} {value}", CmpOp::as_str(operator)));
                }
                (CMP, out)
            }
            Expr::Await(wait) => (AWAIT, format!("await {}", self.print(&wait.value, ATOM))),
            Expr::Named(named) => {
                let name = self.print(&named.target, ATOM);
                (NAMED, format!("{name} := {}", self.print(&named.value, ATOM)))
            }
            Expr::Yield(give) => match &give.value {
                Some(value) => (YIELD, format!("yield {}", self.print(value, ATOM))),
                None => (YIELD, "yield".into()),
            },
            Expr::YieldFrom(give) => (YIELD, format!("yield from {}", self.print(&give.value, ATOM))),
            Expr::TString(_) | Expr::IpyEscapeCommand(_) => atom(self.as_written(node)),
        }
    }

    fn items(&mut self, items: &[Expr]) -> String {
        let items: Vec<String> = items.iter().map(|item| self.print(item, TEST)).collect();
        items.join(", ")
    }

    /// A tuple needs no parentheses here.
    fn subscript(&mut self, inside: &Expr) -> String {
        match inside {
            Expr::Tuple(tuple) if !tuple.elts.is_empty() => self.bare(inside).1,
            // `A[*b]` is a tuple of one.
            Expr::Starred(_) => format!("{},", self.print(inside, TEST)),
            other => self.print(other, TEST),
        }
    }

    fn arguments(&mut self, list: &Arguments) -> String {
        let mut out: Vec<String> = list.args.iter().map(|value| self.print(value, TEST)).collect();
        for keyword in &list.keywords {
            let value = self.print(&keyword.value, TEST);
            out.push(match &keyword.arg {
                Some(name) => format!("{}={value}", name.id),
                None => format!("**{value}"),
            });
        }
        out.join(", ")
    }

    fn parameters(&mut self, list: &Parameters) -> String {
        let mut out = Vec::new();
        for parameter in &list.posonlyargs {
            out.push(self.parameter_with_default(parameter));
        }
        if !out.is_empty() {
            out.push("/".into());
        }
        for parameter in &list.args {
            out.push(self.parameter_with_default(parameter));
        }
        match &list.vararg {
            Some(rest) => out.push(format!("*{}", self.parameter(rest))),
            None if !list.kwonlyargs.is_empty() => out.push("*".into()),
            None => {}
        }
        for parameter in &list.kwonlyargs {
            out.push(self.parameter_with_default(parameter));
        }
        if let Some(rest) = &list.kwarg {
            out.push(format!("**{}", self.parameter(rest)));
        }
        out.join(", ")
    }

    fn parameter_with_default(&mut self, parameter: &ParameterWithDefault) -> String {
        let mut out = self.parameter(&parameter.parameter);
        if let Some(value) = &parameter.default {
            out.push('=');
            out.push_str(&self.print(value, TEST));
        }
        out
    }

    fn parameter(&mut self, parameter: &Parameter) -> String {
        match &parameter.annotation {
            Some(of) => format!("{}: {}", parameter.name.id, self.print(of, TEST)),
            None => parameter.name.id.to_string(),
        }
    }

    /// `f'…'`: the text between the braces is one part, however many literals it was written in.
    fn format_string(&mut self, string: &ExprFString) -> Option<String> {
        let mut parts: Vec<(String, bool)> = Vec::new();
        let mut text = String::new();
        for part in &string.value {
            let string = match part {
                FStringPart::Literal(literal) => {
                    text.push_str(&in_braces(&literal::part(self.source, literal)));
                    continue;
                }
                FStringPart::FString(string) => string,
            };
            let raw = string.flags.prefix().is_raw();
            for element in &string.elements {
                match element {
                    InterpolatedStringElement::Interpolation(piece) => {
                        text.push_str(shown(piece));
                        if !text.is_empty() {
                            parts.push((std::mem::take(&mut text), true));
                        }
                        parts.push((self.interpolation(piece)?, false));
                    }
                    InterpolatedStringElement::Literal(piece) => {
                        let plain = literal::plain(self.text(piece), raw);
                        text.push_str(&plain.unwrap_or_else(|| in_braces(&piece.value)));
                    }
                }
            }
        }
        if !text.is_empty() {
            parts.push((text, true));
        }
        Some(literal::formatted(&parts))
    }

    fn interpolation(&mut self, piece: &InterpolatedElement) -> Option<String> {
        let value = self.print(&piece.expression, TEST + 1);
        // Python cannot print this either.
        if value.contains('\\') {
            return None;
        }
        let space = if value.starts_with('{') { " " } else { "" };
        let mut out = format!("{{{space}{value}");
        match piece.conversion.to_char() {
            Some(letter) => out.extend(['!', letter]),
            None if piece.format_spec.is_none() && !shown(piece).is_empty() => out.push_str("!r"),
            None => {}
        }
        if let Some(format) = &piece.format_spec {
            out.push(':');
            for element in &format.elements {
                match element {
                    InterpolatedStringElement::Literal(text) => out.push_str(self.text(text)),
                    InterpolatedStringElement::Interpolation(piece) => {
                        out.push_str(&self.interpolation(piece)?);
                    }
                }
            }
        }
        out.push('}');
        Some(out)
    }

    fn clauses(&mut self, clauses: &[Comprehension]) -> String {
        let mut out = String::new();
        for clause in clauses {
            let target = self.print(&clause.target, TUPLE);
            let over = self.print(&clause.iter, TEST + 1);
            let word = if clause.is_async { "async for" } else { "for" };
            out.push_str(&format!(" {word} {target} in {over}"));
            for test in &clause.ifs {
                out.push_str(&format!(" if {}", self.print(test, TEST + 1)));
            }
        }
        out
    }

    /// `a or b or c` is one operation on three values.
    fn boolean(&mut self, all: &ExprBoolOp) -> (Binding, String) {
        let (own, word) = match all.op {
            BoolOp::Or => (OR, " or "),
            BoolOp::And => (AND, " and "),
        };
        let values: Vec<String> = all
            .values
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let place = usize::from(own) + 1 + index;
                self.print(value, place.min(usize::from(ATOM)) as Binding)
            })
            .collect();
        (own, values.join(word))
    }
}

/// `{x = }` shows its own text, blanks and all.
fn shown(piece: &InterpolatedElement) -> &str {
    piece.debug_text.as_ref().map_or("", |text| text.as_str())
}

/// Text as it is written between the braces of an f-string.
fn in_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

fn is_integer(node: &Expr) -> bool {
    match node {
        Expr::NumberLiteral(number) => matches!(number.value, Number::Int(_)),
        Expr::BooleanLiteral(_) => true,
        _ => false,
    }
}

fn binding(operator: Operator) -> Binding {
    match operator {
        Operator::BitOr => EXPR,
        Operator::BitXor => BXOR,
        Operator::BitAnd => BAND,
        Operator::LShift | Operator::RShift => SHIFT,
        Operator::Add | Operator::Sub => ARITH,
        Operator::Pow => POWER,
        Operator::Mult | Operator::MatMult | Operator::Div | Operator::Mod | Operator::FloorDiv => TERM,
    }
}
