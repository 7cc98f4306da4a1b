//! Expressions as `ast.unparse` prints them: one canonical text for all ways to write the same thing.

use tree_sitter::Node;
use unicode_normalization::UnicodeNormalization;

use super::literal;

/// How tightly an expression binds, in Python's order; a looser one inside a tighter place gets parentheses.
type Binding = u8;
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

/// Python itself refuses more parentheses than this.
const MAX_NESTING: usize = 200;

pub(super) fn expression(source: &str, node: Node<'_>) -> String {
    Printer { source, nesting: 0 }.print(node, TEST)
}

/// `(a, /, b: int=1, *c, d, **e)`
pub(super) fn parameters(source: &str, list: Node<'_>) -> String {
    format!("({})", Printer { source, nesting: 0 }.parameters(list))
}

/// `(Base, metaclass=Meta)`: what is positional comes first, as in a call.
pub(super) fn arguments(source: &str, list: Node<'_>) -> String {
    format!("({})", Printer { source, nesting: 0 }.arguments(list))
}

/// Python compares names in a normal form, and so prints them.
pub(super) fn identifier(text: &str) -> String {
    if text.is_ascii() { text.to_owned() } else { text.nfkc().collect() }
}

struct Printer<'s> {
    source: &'s str,
    nesting: usize,
}

impl Printer<'_> {
    fn text(&self, node: Node<'_>) -> &str {
        self.source.get(node.start_byte()..node.end_byte()).unwrap_or("")
    }

    /// What cannot be printed canonically is shown as written.
    fn as_written(&self, node: Node<'_>) -> String {
        self.text(node).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn print(&mut self, node: Node<'_>, place: Binding) -> String {
        if self.nesting > MAX_NESTING {
            return self.as_written(node);
        }
        self.nesting += 1;
        let (own, out) = self.bare(node);
        self.nesting -= 1;
        if place > own { format!("({out})") } else { out }
    }

    fn field(&mut self, node: Node<'_>, field: &str, place: Binding) -> String {
        node.child_by_field_name(field).map_or_else(String::new, |child| self.print(child, place))
    }

    /// The text without parentheses around it, and how tightly it binds.
    fn bare(&mut self, node: Node<'_>) -> (Binding, String) {
        let atom = |text: String| (ATOM, text);
        match node.kind() {
            "identifier" | "dotted_name" => atom(identifier(self.text(node))),
            "none" | "true" | "false" => atom(self.text(node).to_owned()),
            "ellipsis" => atom("...".into()),
            "integer" => {
                let text = self.text(node);
                let text =
                    if text.ends_with(['j', 'J']) { literal::float(text) } else { literal::integer(text) };
                atom(text.unwrap_or_else(|| self.as_written(node)))
            }
            "float" => atom(literal::float(self.text(node)).unwrap_or_else(|| self.as_written(node))),
            "string" | "concatenated_string" => {
                let plain = literal::value(self.source, node).map(|value| literal::repr(&value));
                atom(plain.or_else(|| self.format_string(node)).unwrap_or_else(|| self.as_written(node)))
            }
            "type" | "parenthesized_expression" => match first_named(node) {
                Some(inner) => {
                    self.nesting += 1;
                    let out = if self.nesting > MAX_NESTING {
                        atom(self.as_written(inner))
                    } else {
                        self.bare(inner)
                    };
                    self.nesting -= 1;
                    out
                }
                None => atom(self.as_written(node)),
            },
            "attribute" => {
                let object = node.child_by_field_name("object");
                let mut out = self.field(node, "object", ATOM);
                if object.map(innermost).is_some_and(|o| o.kind() == "integer" && !out.ends_with('j')) {
                    out.push(' ');
                }
                atom(format!("{out}.{}", self.field(node, "attribute", ATOM)))
            }
            "member_type" => {
                let parts = self.all(node, ATOM);
                atom(parts.join("."))
            }
            "subscript" => {
                let value = self.field(node, "value", ATOM);
                let mut cursor = node.walk();
                let items: Vec<Node<'_>> = node.children_by_field_name("subscript", &mut cursor).collect();
                let inside = self.subscript(node, &items);
                atom(format!("{value}[{inside}]"))
            }
            "generic_type" => {
                let mut cursor = node.walk();
                let mut parts = node.named_children(&mut cursor).filter(|child| !child.is_extra());
                let (Some(name), Some(list)) = (parts.next(), parts.next()) else {
                    return atom(self.as_written(node));
                };
                let name = self.print(name, ATOM);
                let mut cursor = list.walk();
                let items: Vec<Node<'_>> =
                    list.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
                let inside = self.subscript(list, &items);
                atom(format!("{name}[{inside}]"))
            }
            "slice" => atom(self.slice(node)),
            "call" => {
                let callee = self.field(node, "function", ATOM);
                let inside = match node.child_by_field_name("arguments") {
                    Some(list) if list.kind() == "argument_list" => self.arguments(list),
                    Some(generator) => self.print(generator, TEST),
                    None => String::new(),
                };
                atom(format!("{callee}({inside})"))
            }
            "keyword_argument" => {
                let name = self.field(node, "name", ATOM);
                atom(format!("{name}={}", self.field(node, "value", TEST)))
            }
            "list" => atom(format!("[{}]", self.items(node))),
            "list_pattern" => atom(format!("[{}]", self.items(node))),
            "set" => atom(format!("{{{}}}", self.items(node))),
            "dictionary" => atom(format!("{{{}}}", self.items(node))),
            "pair" => {
                let key = self.field(node, "key", TEST);
                atom(format!("{key}: {}", self.field(node, "value", TEST)))
            }
            "tuple" | "expression_list" | "tuple_pattern" | "pattern_list" => {
                let items = self.items(node);
                match node.named_child_count() {
                    0 => atom("()".into()),
                    1 if has_comma(node) => (TUPLE, format!("{items},")),
                    _ => (TUPLE, items),
                }
            }
            "list_splat" | "list_splat_pattern" | "splat_type" | "splat_pattern" => {
                atom(format!("*{}", self.only(node, EXPR)))
            }
            "dictionary_splat" => atom(format!("**{}", self.only(node, EXPR))),
            "list_comprehension" => atom(format!("[{}]", self.comprehension(node))),
            "set_comprehension" | "dictionary_comprehension" => {
                atom(format!("{{{}}}", self.comprehension(node)))
            }
            "generator_expression" => atom(format!("({})", self.comprehension(node))),
            "lambda" => {
                let parameters = node.child_by_field_name("parameters").map(|list| self.parameters(list));
                let body = self.field(node, "body", TEST);
                (
                    TEST,
                    match parameters.filter(|list| !list.is_empty()) {
                        Some(list) => format!("lambda {list}: {body}"),
                        None => format!("lambda: {body}"),
                    },
                )
            }
            "conditional_expression" => {
                let mut cursor = node.walk();
                let parts: Vec<Node<'_>> =
                    node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
                let [body, test, other] = parts[..] else { return atom(self.as_written(node)) };
                let (body, test) = (self.print(body, TEST + 1), self.print(test, TEST + 1));
                (TEST, format!("{body} if {test} else {}", self.print(other, TEST)))
            }
            "boolean_operator" => self.boolean(node),
            "not_operator" => (NOT, format!("not {}", self.field(node, "argument", NOT))),
            "unary_operator" => {
                let operator = node.child_by_field_name("operator").map_or("-", |node| node.kind());
                (FACTOR, format!("{operator}{}", self.field(node, "argument", FACTOR)))
            }
            "binary_operator" => self.binary(node),
            "union_type" => {
                let parts = self.all(node, EXPR);
                (EXPR, parts.join(" | "))
            }
            "comparison_operator" => self.comparison(node),
            "await" => (AWAIT, format!("await {}", self.only(node, ATOM))),
            "named_expression" => {
                let name = self.field(node, "name", ATOM);
                (1, format!("{name} := {}", self.field(node, "value", ATOM)))
            }
            "yield" => {
                let value = self.only(node, ATOM);
                let from = node.child(1).is_some_and(|word| word.kind() == "from");
                let word = if from { "yield from" } else { "yield" };
                (YIELD, if value.is_empty() { word.into() } else { format!("{word} {value}") })
            }
            _ => atom(self.as_written(node)),
        }
    }

    fn all(&mut self, node: Node<'_>, place: Binding) -> Vec<String> {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> =
            node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
        children.into_iter().map(|child| self.print(child, place)).collect()
    }

    fn items(&mut self, node: Node<'_>) -> String {
        self.all(node, TEST).join(", ")
    }

    fn only(&mut self, node: Node<'_>, place: Binding) -> String {
        first_named(node).map_or_else(String::new, |child| self.print(child, place))
    }

    /// A tuple needs no parentheses here.
    fn subscript(&mut self, node: Node<'_>, items: &[Node<'_>]) -> String {
        match items {
            [one] if !has_comma(node) => {
                let inner = innermost(*one);
                // `A[*b]` is a tuple of one.
                if inner.kind() == "list_splat" || inner.kind() == "splat_type" {
                    return format!("{},", self.print(inner, TEST));
                }
                if inner.kind() == "tuple" && inner.named_child_count() > 0 {
                    return self.bare(inner).1;
                }
                self.print(*one, TEST)
            }
            [one] => format!("{},", self.print(*one, TEST)),
            many => many.iter().map(|item| self.print(*item, TEST)).collect::<Vec<_>>().join(", "),
        }
    }

    fn slice(&mut self, node: Node<'_>) -> String {
        let mut cursor = node.walk();
        let mut parts = vec![String::new()];
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        for child in children {
            match child.kind() {
                ":" => parts.push(String::new()),
                "comment" => {}
                _ => {
                    let text = self.print(child, TEST);
                    if let Some(last) = parts.last_mut() {
                        *last = text;
                    }
                }
            }
        }
        // An empty step is none.
        if parts.len() == 3 && parts[2].is_empty() {
            parts.pop();
        }
        parts.join(":")
    }

    fn arguments(&mut self, list: Node<'_>) -> String {
        let mut cursor = list.walk();
        let children: Vec<Node<'_>> =
            list.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
        let (keywords, positional): (Vec<_>, Vec<_>) = children
            .into_iter()
            .partition(|child| matches!(child.kind(), "keyword_argument" | "dictionary_splat"));
        let mut out: Vec<String> = positional.into_iter().map(|child| self.print(child, TEST)).collect();
        for keyword in keywords {
            out.push(if keyword.kind() == "dictionary_splat" {
                format!("**{}", self.only(keyword, TEST))
            } else {
                self.print(keyword, TEST)
            });
        }
        out.join(", ")
    }

    fn parameters(&mut self, list: Node<'_>) -> String {
        let mut cursor = list.walk();
        let children: Vec<Node<'_>> =
            list.named_children(&mut cursor).filter(|child| !child.is_extra()).collect();
        children.into_iter().map(|child| self.parameter(child)).collect::<Vec<_>>().join(", ")
    }

    fn parameter(&mut self, node: Node<'_>) -> String {
        match node.kind() {
            "default_parameter" => {
                let name = self.field(node, "name", ATOM);
                format!("{name}={}", self.field(node, "value", TEST))
            }
            "typed_parameter" => {
                let name = first_named(node).map_or_else(String::new, |name| self.parameter(name));
                format!("{name}: {}", self.field(node, "type", TEST))
            }
            "typed_default_parameter" => {
                let (name, of) = (self.field(node, "name", ATOM), self.field(node, "type", TEST));
                format!("{name}: {of}={}", self.field(node, "value", TEST))
            }
            "list_splat_pattern" => format!("*{}", self.only(node, ATOM)),
            "dictionary_splat_pattern" => format!("**{}", self.only(node, ATOM)),
            "keyword_separator" => "*".into(),
            "positional_separator" => "/".into(),
            _ => self.print(node, ATOM),
        }
    }

    /// `f'…'`: the text between the braces is one part, however many literals it was written in.
    fn format_string(&mut self, node: Node<'_>) -> Option<String> {
        let mut cursor = node.walk();
        let strings: Vec<Node<'_>> = match node.kind() {
            "string" => vec![node],
            _ => node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect(),
        };
        let mut parts: Vec<(String, bool)> = Vec::new();
        let mut text = String::new();
        for string in strings {
            let prefix = self.text(string.child(0)?).trim_end_matches(['\'', '"']).to_ascii_lowercase();
            let (formatted, raw) = (prefix.contains('f'), prefix.contains('r'));
            let mut cursor = string.walk();
            let pieces: Vec<Node<'_>> = string.named_children(&mut cursor).collect();
            for piece in pieces {
                match piece.kind() {
                    "string_start" | "string_end" => {}
                    "interpolation" => {
                        text.push_str(self.shown(piece)?);
                        if !text.is_empty() {
                            parts.push((std::mem::take(&mut text), true));
                        }
                        parts.push((self.interpolation(piece)?, false));
                    }
                    _ if !formatted => {
                        let plain = literal::plain(self.text(piece), raw)?;
                        text.push_str(&plain.replace('{', "{{").replace('}', "}}"));
                    }
                    _ => text.push_str(&literal::plain(self.text(piece), raw)?),
                }
            }
        }
        if !text.is_empty() {
            parts.push((text, true));
        }
        Some(literal::formatted(&parts))
    }

    /// `{x = }` shows its own text, blanks and all.
    fn shown(&self, node: Node<'_>) -> Option<&str> {
        let mut cursor = node.walk();
        let Some(sign) = node.children(&mut cursor).find(|child| child.kind() == "=") else {
            return Some("");
        };
        let after = self.source.get(sign.end_byte()..node.end_byte())?;
        let blanks = after.len() - after.trim_start().len();
        self.source.get(node.start_byte() + 1..sign.end_byte() + blanks)
    }

    fn interpolation(&mut self, node: Node<'_>) -> Option<String> {
        let expression = node.child_by_field_name("expression")?;
        let value = self.print(expression, TEST + 1);
        // Python cannot print this either.
        if value.contains('\\') {
            return None;
        }
        let space = if value.starts_with('{') { " " } else { "" };
        let mut out = format!("{{{space}{value}");
        let conversion = node.child_by_field_name("type_conversion");
        let format = node.child_by_field_name("format_specifier");
        match conversion {
            Some(conversion) => out.push_str(self.text(conversion)),
            None if format.is_none() && !self.shown(node)?.is_empty() => out.push_str("!r"),
            None => {}
        }
        if let Some(format) = format {
            let mut from = format.start_byte();
            let mut cursor = format.walk();
            let inner: Vec<Node<'_>> = format.named_children(&mut cursor).collect();
            for part in inner {
                out.push_str(self.source.get(from..part.start_byte())?);
                out.push_str(&self.interpolation(part)?);
                from = part.end_byte();
            }
            out.push_str(self.source.get(from..format.end_byte())?);
        }
        out.push('}');
        Some(out)
    }

    fn comprehension(&mut self, node: Node<'_>) -> String {
        let mut out = self.field(node, "body", TEST);
        let mut cursor = node.walk();
        let clauses: Vec<Node<'_>> = node.named_children(&mut cursor).skip(1).collect();
        for clause in clauses {
            match clause.kind() {
                "for_in_clause" => {
                    let is_async = clause.child(0).is_some_and(|first| first.kind() == "async");
                    let target = self.field(clause, "left", TUPLE);
                    let over = self.field(clause, "right", TEST + 1);
                    let word = if is_async { "async for" } else { "for" };
                    out.push_str(&format!(" {word} {target} in {over}"));
                }
                "if_clause" => out.push_str(&format!(" if {}", self.only(clause, TEST + 1))),
                _ => {}
            }
        }
        out
    }

    /// `a or b or c` is one operation on three values.
    fn boolean(&mut self, node: Node<'_>) -> (Binding, String) {
        let word = operator(node).unwrap_or("and");
        let own = if word == "or" { OR } else { AND };
        let mut values = Vec::new();
        let mut at = node;
        loop {
            values.extend(at.child_by_field_name("right"));
            match at.child_by_field_name("left") {
                Some(left) if left.kind() == "boolean_operator" && operator(left) == Some(word) => at = left,
                left => {
                    values.extend(left);
                    break;
                }
            }
        }
        let values: Vec<String> = values
            .into_iter()
            .rev()
            .enumerate()
            .map(|(index, value)| {
                let place = usize::from(own) + 1 + index;
                self.print(value, place.min(usize::from(ATOM)) as Binding)
            })
            .collect();
        (own, values.join(&format!(" {word} ")))
    }

    fn binary(&mut self, node: Node<'_>) -> (Binding, String) {
        let operator = node.child_by_field_name("operator").map_or("+", |operator| operator.kind());
        let own = match operator {
            "|" => EXPR,
            "^" => BXOR,
            "&" => BAND,
            "<<" | ">>" => SHIFT,
            "+" | "-" => ARITH,
            "**" => POWER,
            _ => TERM,
        };
        let (left, right) = if operator == "**" { (own + 1, own) } else { (own, own + 1) };
        let left = self.field(node, "left", left);
        (own, format!("{left} {operator} {}", self.field(node, "right", right)))
    }

    fn comparison(&mut self, node: Node<'_>) -> (Binding, String) {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).filter(|child| !child.is_extra()).collect();
        let mut out: Vec<String> = Vec::new();
        for child in children {
            if child.is_named() {
                out.push(self.print(child, CMP + 1));
            } else {
                out.push(self.as_written(child));
            }
        }
        (CMP, out.join(" "))
    }
}

fn operator(node: Node<'_>) -> Option<&str> {
    node.child_by_field_name("operator").map(|operator| operator.kind())
}

fn first_named(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| !child.is_extra())
}

fn innermost(mut node: Node<'_>) -> Node<'_> {
    while matches!(node.kind(), "parenthesized_expression" | "type") {
        match first_named(node) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

fn has_comma(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| child.kind() == ",")
}
