//! Facts from a syntax tree and from what the outline's walk noted on it.

use std::collections::HashMap;

use model::{DeclarationFacts, Parameter, ReferenceKind, Symbol};
use tree_sitter::{Node, Tree};

use super::gather::{Draft, Gathered, List, doc, offset, short};
use super::kinds::{self, Meaning};
use super::shape::{self, Around, path};
use crate::Language;
use crate::notes::line;
use crate::rules::Rule;
use crate::visit::Visit;

/// Where a declaration of the outline is in the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeclaredNode {
    pub(crate) symbol: u32,
    /// The node's own number, bytes, and the place where it begins and ends (row and column).
    pub(crate) id: usize,
    pub(crate) bytes: (usize, usize),
    /// Where its text begins, after the attributes that the grammar puts inside it.
    pub(crate) head: usize,
    /// Bytes of the comments in front.
    pub(crate) comment: Option<(usize, usize)>,
}

/// Nodes of a declaration's head that are looked at.
const MAX_HEAD: usize = 2000;

/// Gathers the facts of a text whose outline was just made.
pub(crate) fn collect(language: Language, tree: &Tree, visit: &Visit<'_>, into: &mut Gathered) {
    let mut walk = Collector::new(language, visit, into);
    walk.nodes(tree);
    walk.references();
}

struct Collector<'v, 's, 'g> {
    language: Language,
    visit: &'v Visit<'s>,
    into: &'g mut Gathered,
    kinds: &'static [Option<Meaning>],
    /// By the node's number: which declaration of `into` it is.
    by_node: HashMap<usize, usize>,
    /// Bytes of the declarations, in the order in which they were met, each with its number in `into`.
    spans: Vec<(usize, usize, usize)>,
    /// Attributes, decorators and annotations: what they use is theirs.
    attributes: Vec<(usize, usize)>,
    /// The first byte of every row.
    rows: Vec<usize>,
    /// Lines of attributes, comments and decorators in front, by declaration.
    leads: Vec<(usize, u32)>,
}

impl<'v, 's, 'g> Collector<'v, 's, 'g> {
    fn new(language: Language, visit: &'v Visit<'s>, into: &'g mut Gathered) -> Collector<'v, 's, 'g> {
        let mut by_node = HashMap::new();
        let mut leads = Vec::new();
        for node in &visit.declared_nodes {
            let Some(symbol) = visit.symbols.get(node.symbol as usize) else { continue };
            let number = into.declarations.len();
            by_node.insert(node.id, number);
            leads.push((node.bytes.0, symbol.lead_line));
            let facts = draft(visit.source, symbol, node);
            into.declarations.push(Draft { facts, ..Draft::default() });
        }
        let source = visit.source;
        let rows = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', source.as_bytes()).map(|at| at + 1))
            .collect();
        Collector {
            language,
            visit,
            into,
            kinds: kinds::table(language),
            by_node,
            spans: Vec::new(),
            attributes: Vec::new(),
            rows,
            leads,
        }
    }

    /// One walk over all nodes, with the declarations around the current one on a stack.
    fn nodes(&mut self, tree: &Tree) {
        let mut cursor = tree.walk();
        let mut open: Vec<(usize, usize)> = Vec::new();
        loop {
            let node = cursor.node();
            while open.last().is_some_and(|(end, _)| *end <= node.start_byte()) {
                open.pop();
            }
            if let Some(number) = self.by_node.get(&node.id()).copied() {
                let outer = open.last().map(|(_, number)| *number);
                open.push((node.end_byte(), number));
                self.spans.push((node.start_byte(), node.end_byte(), number));
                self.head(node, number, outer);
            }
            let current = open.last().map_or(0, |(_, number)| *number);
            if node.is_error() || node.is_missing() {
                self.into.error(node.start_position().row);
            }
            let enter = self.node(node, current);
            if enter && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }

    /// Notes what a node says about the declaration it is in. False if nothing inside it can say more.
    fn node(&mut self, node: Node<'_>, current: usize) -> bool {
        if matches!(self.visit.table.rule(node), Some(Rule::Attribute)) {
            self.attribute(node);
        }
        let Some(meaning) = self.kinds.get(node.kind_id() as usize).copied().flatten() else { return true };
        let count = |into: &mut Gathered, number: fn(&mut DeclarationFacts) -> &mut u32| {
            if let Some(facts) = into.facts(current) {
                let number = number(facts);
                *number = number.saturating_add(1);
            }
        };
        match meaning {
            Meaning::Branch => count(self.into, |facts| &mut facts.branches),
            Meaning::Loop => count(self.into, |facts| &mut facts.loops),
            Meaning::Break => count(self.into, |facts| &mut facts.breaks),
            Meaning::Continue => count(self.into, |facts| &mut facts.continues),
            Meaning::Return => {
                count(self.into, |facts| &mut facts.returns);
                let has_value = named_child(node).is_some();
                if let Some(facts) = self.into.facts(current) {
                    facts.returns_value |= has_value;
                }
            }
            Meaning::Yield => {
                count(self.into, |facts| &mut facts.yields);
                // Java's `yield` gives a value to a `switch`, Ruby's calls a block.
                let generates = !matches!(self.language, Language::Java | Language::Ruby);
                if let Some(facts) = self.into.facts(current) {
                    facts.is_generator |= generates;
                }
            }
            Meaning::Throw => {
                if let Some(name) = named_child(node).and_then(|thrown| self.callee_or_path(thrown)) {
                    self.into.add(current, List::Throws, name);
                }
            }
            Meaning::Await => {
                if let Some(name) = named_child(node).and_then(|awaited| self.callee_or_path(awaited)) {
                    self.into.add(current, List::Awaits, name);
                }
            }
            Meaning::Assign(left, right) => self.assignment(node, current, left, right),
            Meaning::Bind(name, value) => self.binding(node, current, name, value),
            Meaning::Field(name) => {
                if let Some(name) = node.child_by_field_name(name) {
                    let type_ = self.declared_type(node).or_else(|| {
                        let value = node.child_by_field_name("value")?;
                        self.literal_type(value)
                    });
                    if let Some(type_) = type_ {
                        self.into.typed(current, self.visit.text(name), &type_);
                    }
                }
            }
            Meaning::Name => {
                if node.named_child_count() == 0 {
                    self.into.add(current, List::Uses, self.visit.text(node));
                    return false;
                }
            }
            Meaning::Comment => {
                let lines = (line(node.start_position().row), line(crate::visit::end_row(node)));
                let bytes = (node.start_byte(), node.end_byte());
                self.into.comment(self.visit.source, bytes, lines);
                return false;
            }
        }
        true
    }

    /// Parameters, types, modifiers: what is in front of the body.
    fn head(&mut self, node: Node<'_>, number: usize, outer: Option<usize>) {
        let Some(facts) = self.into.declarations.get(number).map(|draft| &draft.facts) else { return };
        let (kind, name, signature) = (facts.kind.clone(), facts.name.clone(), facts.signature.clone());
        let is_callable = matches!(
            kind.as_str(),
            "function"
                | "method"
                | "async_function"
                | "async_method"
                | "constructor"
                | "procedure"
                | "delegate"
                | "operator"
                | "record"
        );
        // The head is in front of the name; a signature may end with the name's own parameters.
        let before = signature.find(&name).map_or(signature.as_str(), |at| &signature[..at]);
        let mut modifiers = shape::modifiers(before);
        let holder = function_of(node);
        let is_async = modifiers.iter().any(|word| word == "async" || word == "suspend")
            || holder.is_some_and(|function| has_word(function, "async"));
        let is_star =
            matches!(holder.unwrap_or(node).kind(), "generator_function" | "generator_function_declaration")
                || node.kind() == "method_definition" && has_word(node, "*");
        if is_async && !modifiers.iter().any(|word| word == "async" || word == "suspend") {
            modifiers.push("async".to_owned());
        }
        let outer_kind = outer
            .and_then(|outer| self.into.declarations.get(outer))
            .map(|draft| (draft.facts.kind.clone(), draft.facts.signature.clone()));
        let around = Around {
            kind: outer_kind.as_ref().map(|(kind, _)| kind.as_str()).filter(|kind| is_type(kind)),
            in_trait: outer_kind
                .as_ref()
                .is_some_and(|(kind, signature)| kind == "impl" && signature.contains(" for ")),
            in_function: outer_kind.as_ref().is_some_and(|(kind, _)| {
                matches!(kind.as_str(), "function" | "method" | "async_function" | "async_method")
            }),
        };
        let visibility = shape::visibility(self.language, &name, &modifiers, around).map(str::to_owned);
        let parameters = if is_callable { self.parameters(node, holder) } else { Vec::new() };
        let return_type = is_callable.then(|| self.return_type(node, holder)).flatten();
        for parameter in &parameters {
            let default = || parameter.default.as_deref().and_then(literal_text);
            if let Some(type_) = parameter.type_.clone().or_else(default) {
                self.into.typed(number, &parameter.name, &type_);
            }
        }
        if let Some(type_) = &return_type {
            self.into.typed(number, "return", type_);
        }
        if let Some(facts) = self.into.facts(number) {
            facts.modifiers = modifiers;
            facts.visibility = visibility;
            facts.parameters = parameters;
            facts.return_type = return_type;
            facts.is_async = is_async;
            facts.is_generator |= is_star;
        }
    }

    fn parameters(&self, node: Node<'_>, holder: Option<Node<'_>>) -> Vec<Parameter> {
        const MAX: usize = 256;
        let holder = holder.unwrap_or(node);
        // `x => …`
        if let Some(single) = holder.child_by_field_name("parameter") {
            let name = self.visit.text(single).to_owned();
            return vec![Parameter { name, ..Parameter::default() }];
        }
        let Some(list) = parameter_list(holder) else { return Vec::new() };
        let mut found = Vec::new();
        let mut cursor = list.walk();
        for each in list.named_children(&mut cursor) {
            if each.is_extra() || matches!(self.visit.table.rule(each), Some(Rule::Attribute | Rule::Comment))
            {
                continue;
            }
            let type_ = self.declared_type(each);
            let default = ["value", "default_value", "right"]
                .iter()
                .find_map(|field| each.child_by_field_name(field))
                .filter(|_| each.kind() != "pair_pattern")
                .map(|value| short(self.visit.text(value)));
            for name in self.binding_names(each) {
                if found.len() < MAX {
                    found.push(Parameter { name, type_: type_.clone(), default: default.clone() });
                }
            }
        }
        found
    }

    fn return_type(&self, node: Node<'_>, holder: Option<Node<'_>>) -> Option<String> {
        let holder = holder.unwrap_or(node);
        let fields: &[&str] = match self.language {
            Language::Java | Language::C | Language::Cpp | Language::CSharp => {
                &["type", "returns", "return_type"]
            }
            _ => &["return_type", "result"],
        };
        let found = fields.iter().find_map(|field| holder.child_by_field_name(field))?;
        Some(type_text(self.visit.text(found))).filter(|text| !text.is_empty())
    }

    /// The names that a pattern or a parameter binds.
    fn binding_names(&self, node: Node<'_>) -> Vec<String> {
        let mut names = Vec::new();
        let mut todo = vec![node];
        let mut looked = 0;
        while let Some(at) = todo.pop() {
            looked += 1;
            if looked > MAX_HEAD {
                break;
            }
            let kind = at.kind();
            if at.named_child_count() == 0 {
                let is_name = kind.ends_with("identifier") && kind != "type_identifier"
                    || matches!(kind, "shorthand_property_identifier_pattern" | "self" | "this" | "name");
                let text = self.visit.text(at);
                // In a Rust pattern a capitalised name is what the value is compared with.
                let compared = self.language == Language::Rust && text.starts_with(char::is_uppercase);
                if is_name && !compared && text != "_" && text.len() <= 200 {
                    names.push(text.to_owned());
                }
                continue;
            }
            let mut children = Vec::new();
            let mut cursor = at.walk();
            if !cursor.goto_first_child() {
                continue;
            }
            let renamed = kind == "field_pattern" && at.child_by_field_name("pattern").is_some();
            loop {
                let child = cursor.node();
                let skipped = match cursor.field_name() {
                    Some("type" | "right" | "default_value" | "key" | "size" | "path" | "parameters") => true,
                    Some("value") => kind != "pair_pattern",
                    Some("name") => renamed,
                    _ => false,
                };
                let kind = child.kind();
                let is_other = kind.ends_with("type")
                    || kind.contains("annotation")
                    || kind.contains("modifier")
                    || kind.contains("decorator")
                    || kind.contains("attribute")
                    || kind.contains("comment");
                if child.is_named() && !skipped && !is_other {
                    children.push(child);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
            todo.extend(children.into_iter().rev());
        }
        names
    }

    fn declared_type(&self, node: Node<'_>) -> Option<String> {
        let is_part = matches!(node.kind(), "variable_declarator" | "init_declarator");
        let around = node.parent().filter(|_| is_part);
        let found = node.child_by_field_name("type").or_else(|| around?.child_by_field_name("type"))?;
        let text = type_text(self.visit.text(found));
        (!text.is_empty() && !matches!(text.as_str(), "var" | "auto")).then_some(text)
    }

    fn literal_type(&self, value: Node<'_>) -> Option<String> {
        let name = match value.kind() {
            "string"
            | "template_string"
            | "string_literal"
            | "raw_string_literal"
            | "interpreted_string_literal"
            | "concatenated_string"
            | "encapsed_string" => "string",
            "number"
            | "number_literal"
            | "integer_literal"
            | "int_literal"
            | "float_literal"
            | "decimal_integer_literal"
            | "hex_integer_literal"
            | "decimal_floating_point_literal"
            | "integer"
            | "float"
            | "real_literal" => "number",
            "true" | "false" | "boolean_literal" | "boolean" => "boolean",
            "null" | "nil" | "null_literal" => "null",
            "array" | "array_expression" | "array_creation_expression" | "initializer_list" => "array",
            "object" => "object",
            "regex" => "regexp",
            "char_literal" | "rune_literal" | "character_literal" => "char",
            "arrow_function"
            | "function_expression"
            | "closure_expression"
            | "lambda_expression"
            | "func_literal" => "function",
            "new_expression" => {
                let class = value.child_by_field_name("constructor")?;
                return path(self.visit.text(class));
            }
            "object_creation_expression" | "composite_literal" | "struct_expression" => {
                let type_ =
                    value.child_by_field_name("type").or_else(|| value.child_by_field_name("name"))?;
                return Some(short(self.visit.text(type_)));
            }
            _ => return None,
        };
        Some(name.to_owned())
    }

    fn binding(&mut self, node: Node<'_>, current: usize, name: &str, value: &str) {
        let value = node.child_by_field_name(value);
        let type_ = self.declared_type(node).or_else(|| self.literal_type(value?));
        let mut cursor = node.walk();
        let targets: Vec<Node<'_>> = node.children_by_field_name(name, &mut cursor).take(64).collect();
        let is_declared = self.by_node.contains_key(&node.id());
        for target in &targets {
            for bound in self.binding_names(*target) {
                if let Some(type_) = &type_ {
                    self.into.typed(current, &bound, type_);
                }
                if value.is_some() && !is_declared {
                    self.into.add(current, List::Writes, bound);
                }
            }
        }
        if let ([target], Some(value)) = (targets.as_slice(), value)
            && !is_declared
        {
            self.alias(current, *target, value);
        }
    }

    fn assignment(&mut self, node: Node<'_>, current: usize, left: &str, right: &str) {
        let operator = node.child_by_field_name("operator").map_or("=", |operator| self.visit.text(operator));
        let (Some(left), Some(right)) = (node.child_by_field_name(left), node.child_by_field_name(right))
        else {
            return;
        };
        if !matches!(operator, "=" | ":=") {
            return;
        }
        // Go writes lists on both sides.
        let is_list = left.kind() == "expression_list" && right.kind() == "expression_list";
        if is_list && left.named_child_count() == right.named_child_count() {
            let mut cursor = left.walk();
            let lefts: Vec<Node<'_>> = left.named_children(&mut cursor).take(64).collect();
            let mut cursor = right.walk();
            let rights: Vec<Node<'_>> = right.named_children(&mut cursor).take(64).collect();
            for (left, right) in lefts.into_iter().zip(rights) {
                self.assigned(current, left, right);
            }
        } else {
            self.assigned(current, left, right);
        }
    }

    fn assigned(&mut self, current: usize, left: Node<'_>, right: Node<'_>) {
        self.alias(current, left, right);
        if left.named_child_count() == 0
            && let Some(type_) = self.literal_type(right)
        {
            self.into.typed(current, self.visit.text(left), &type_);
        }
    }

    fn alias(&mut self, current: usize, left: Node<'_>, right: Node<'_>) {
        let is_literal =
            matches!(right.kind(), "true" | "false" | "null" | "nil" | "undefined" | "this" | "self")
                || right.kind().contains("literal");
        if is_literal || !is_path(right) {
            return;
        }
        // Elements have no names of their own.
        let named = |node: Node<'_>| path(self.visit.text(node)).filter(|path| !path.contains('['));
        if let (Some(left), Some(right)) = (named(left), named(right)) {
            self.into.add(current, List::Aliases, format!("{left}={right}"));
        }
    }

    /// What is thrown or awaited: the callee of a call, the class of a new object, or the name itself.
    fn callee_or_path(&self, node: Node<'_>) -> Option<String> {
        let mut at = node;
        for _ in 0..16 {
            let inner = match at.kind() {
                "parenthesized_expression"
                | "await_expression"
                | "as_expression"
                | "non_null_expression"
                | "try_expression"
                | "satisfies_expression" => at.named_child(0),
                "new_expression" => at.child_by_field_name("constructor"),
                "object_creation_expression" => at.child_by_field_name("type").or_else(|| at.named_child(0)),
                "generic_type" => at.named_child(0),
                "call_expression" | "call" | "invocation_expression" | "function_call_expression" => at
                    .child_by_field_name("function")
                    .or_else(|| at.child_by_field_name("method"))
                    .or_else(|| at.named_child(0)),
                "method_invocation" => {
                    let name = self.visit.text(at.child_by_field_name("name")?);
                    let object =
                        at.child_by_field_name("object").and_then(|object| path(self.visit.text(object)));
                    return Some(object.map_or(name.to_owned(), |object| format!("{object}.{name}")));
                }
                "generic_function" => at.child_by_field_name("function"),
                _ => None,
            };
            match inner {
                Some(inner) => at = inner,
                None => break,
            }
        }
        let text = self.visit.text(at);
        path(text).or_else(|| {
            let last =
                ["property", "field", "name"].iter().find_map(|field| at.child_by_field_name(field))?;
            path(self.visit.text(last))
        })
    }

    /// Attributes in front of a declaration are not in its node.
    fn attribute(&mut self, node: Node<'_>) {
        let bytes = (node.start_byte(), node.end_byte());
        if self.attributes.last().is_some_and(|(_, end)| bytes.0 < *end) {
            return;
        }
        self.attributes.push(bytes);
        let row = line(node.start_position().row);
        // In the order of the text; what holds the attribute is among the last that begin before it.
        let nodes = &self.visit.declared_nodes;
        let before = nodes.partition_point(|each| each.bytes.0 <= bytes.0);
        let holds = |index: &usize| nodes.get(*index).is_some_and(|each| bytes.1 <= each.head);
        let inside = (before.saturating_sub(32)..before).rev().find(holds);
        let number = match inside {
            Some(index) => Some(index),
            None => {
                let next = self.leads.partition_point(|(start, _)| *start < bytes.1);
                self.leads.get(next).filter(|(_, lead)| *lead <= row).map(|_| next)
            }
        };
        let Some(number) = number.map(|index| index + 1) else { return };
        let text = short(self.visit.text(node));
        let text = text.trim_start_matches(['@', '#', '!', '[']).trim_end_matches(']').trim().to_owned();
        if let Some(facts) = self.into.facts(number)
            && facts.decorators.len() < 100
        {
            facts.decorators.push(text);
        }
    }

    /// What the outline's references say.
    fn references(&mut self) {
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(self.visit.references.len());
        for (index, reference) in self.visit.references.iter().enumerate() {
            let row = reference.line.saturating_sub(1) as usize;
            let start = self.rows.get(row).copied().unwrap_or(0);
            order.push((start + reference.column.saturating_sub(1) as usize, index));
        }
        order.sort_unstable();
        let spans = std::mem::take(&mut self.spans);
        let attributes = std::mem::take(&mut self.attributes);
        let mut next = 0;
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (at, index) in order {
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
            let passed = attributes.partition_point(|(start, _)| *start <= at);
            if passed > 0 && attributes.get(passed - 1).is_some_and(|(_, end)| at < *end) {
                continue;
            }
            let current = open.last().map_or(0, |(_, number)| *number);
            self.reference(index, at, current);
        }
    }

    fn reference(&mut self, index: usize, at: usize, current: usize) {
        let Some(reference) = self.visit.references.get(index) else { return };
        let source = self.visit.source;
        let name = reference.name.as_str();
        // On the same line: a comment above may end with a full stop.
        let before = source.get(..at).unwrap_or_default().trim_end_matches([' ', '\t']);
        let is_member = before.ends_with('.') || before.ends_with("->") || before.ends_with("::");
        let through = reference.qualifier.as_deref().and_then(path);
        let dotted = match (&through, is_member) {
            (Some(through), _) => Some(format!("{through}.{name}")),
            (None, false) if reference.qualifier.is_none() => Some(name.to_owned()),
            (None, _) => None,
        };
        let after = source.get(at + name.len()..).unwrap_or_default();
        match reference.kind {
            // `super()` has no name of its own.
            ReferenceKind::Call if name == "super" && dotted.is_some() => {}
            // `A { … }` and `<A />` make a value and call nothing.
            ReferenceKind::Instantiation
                if matches!(self.language, Language::Rust | Language::Go) || before.ends_with('<') => {}
            ReferenceKind::Call | ReferenceKind::Instantiation => {
                self.throws_by_call(current, name);
                self.into.add(current, List::Calls, dotted.unwrap_or_else(|| name.to_owned()));
            }
            ReferenceKind::Inheritance => {
                if let Some(facts) = self.into.facts(current)
                    && facts.extends.len() < 100
                {
                    let base = dotted.unwrap_or_else(|| name.to_owned());
                    if !facts.extends.contains(&base) {
                        facts.extends.push(base);
                    }
                }
            }
            ReferenceKind::Read => {
                if let Some(dotted) = dotted {
                    self.into.add(current, List::Reads, dotted);
                }
            }
            ReferenceKind::Write => {
                let is_element = after.trim_start_matches([' ', '?', '.', '!']).starts_with('[');
                match dotted {
                    Some(dotted) if is_element => {
                        self.into.add(current, List::Mutates, format!("{dotted}[]"))
                    }
                    Some(dotted) if is_member || through.is_some() => {
                        self.into.add(current, List::Mutates, dotted);
                    }
                    Some(dotted) => self.into.add(current, List::Writes, dotted),
                    None => {}
                }
            }
            ReferenceKind::Import | ReferenceKind::Type => {}
        }
    }

    /// Languages without `throw` give up by calling something.
    fn throws_by_call(&mut self, current: usize, name: &str) {
        let throws = match self.language {
            Language::Rust => {
                matches!(name, "panic" | "unreachable" | "todo" | "unimplemented" | "unwrap" | "expect")
            }
            Language::Go => name == "panic",
            _ => false,
        };
        if throws {
            self.into.add(current, List::Throws, name);
        }
    }
}

fn draft(source: &str, symbol: &Symbol, node: &DeclaredNode) -> DeclarationFacts {
    let comment = node.comment.and_then(|(start, end)| source.get(start..end));
    DeclarationFacts {
        kind: symbol.kind.as_str().to_owned(),
        name: symbol.name.clone(),
        qualified: symbol.qualified.clone(),
        signature: symbol.signature.clone(),
        lines: (symbol.start_line, symbol.end_line),
        bytes: (offset(node.bytes.0), offset(node.bytes.1)),
        doc: comment.and_then(doc),
        ..DeclarationFacts::default()
    }
}

fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "class"
            | "struct"
            | "interface"
            | "trait"
            | "impl"
            | "enum"
            | "record"
            | "protocol"
            | "union"
            | "object"
            | "extension"
            | "actor"
    )
}

/// The function that a declaration such as `const a = () => …` gives a name to.
fn function_of(node: Node<'_>) -> Option<Node<'_>> {
    let mut value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"))?;
    for _ in 0..8 {
        match value.kind() {
            "arrow_function" | "function_expression" | "generator_function" => return Some(value),
            "parenthesized_expression" | "as_expression" | "satisfies_expression" | "type_assertion" => {
                value = value.named_child(0)?;
            }
            _ => return None,
        }
    }
    None
}

/// Whether a child of the node, before its body, is this word.
fn has_word(node: Node<'_>, word: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).take(16).any(|child| child.kind() == word)
}

fn named_child(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).take(8).find(|child| !child.is_extra())
}

/// The list of parameters in front of the body.
fn parameter_list(node: Node<'_>) -> Option<Node<'_>> {
    const LISTS: &[&str] = &[
        "parameters",
        "formal_parameters",
        "parameter_list",
        "function_value_parameters",
        "method_parameters",
        "class_parameters",
        "bracketed_parameter_list",
    ];
    if let Some(list) = node.child_by_field_name("parameters") {
        return Some(list);
    }
    let mut level = vec![node];
    let mut looked = 0;
    for _ in 0..5 {
        let mut below = Vec::new();
        for at in level {
            if let Some(list) = at.child_by_field_name("parameters") {
                return Some(list);
            }
            let mut cursor = at.walk();
            if !cursor.goto_first_child() {
                continue;
            }
            loop {
                let child = cursor.node();
                looked += 1;
                if looked > MAX_HEAD {
                    return None;
                }
                if LISTS.contains(&child.kind()) {
                    return Some(child);
                }
                if cursor.field_name() != Some("body") && child.is_named() {
                    below.push(child);
                }
                if !cursor.goto_next_sibling() {
                    break;
                }
            }
        }
        level = below;
    }
    None
}

/// Whether a node is a name or a path of names.
fn is_path(node: Node<'_>) -> bool {
    let kind = node.kind();
    kind.ends_with("identifier")
        || matches!(
            kind,
            "member_expression"
                | "field_expression"
                | "selector_expression"
                | "field_access"
                | "member_access_expression"
                | "navigation_expression"
                | "constant"
                | "instance_variable"
                | "reference_expression"
        )
}

/// A type as written, without what divides it from its name.
fn type_text(text: &str) -> String {
    short(text.trim_start_matches([':', '-', '>', ' ', '?']))
}

/// The type that the text of a default shows.
fn literal_text(text: &str) -> Option<String> {
    let first = text.chars().next()?;
    let name = match text {
        "true" | "false" => "boolean",
        "null" | "nil" | "nullptr" => "null",
        _ if matches!(first, '"' | '\'' | '`') => "string",
        _ if first.is_ascii_digit() => "number",
        _ if first == '[' => "array",
        _ if first == '{' => "object",
        _ => return None,
    };
    Some(name.to_owned())
}
