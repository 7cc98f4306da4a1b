//! Python, as CPython's own `ast` sees it.

mod literal;
mod print;
mod rescue;

use tree_sitter::Node;

use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::{Visit, line};
use crate::{Shortfall, text};
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "python",
    extensions: &["py", "pyi", "pyw"],
    file_names: &["sconstruct", "sconscript", "wscript", "snakefile"],
    interpreters: &["python", "pypy"],
    grammar: tree_sitter_python::LANGUAGE,
    all_or_nothing: true,
    rescue: rescue::rescue,
    rules: &[
        ("identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("decorated_definition", Rule::Wrap(false)),
        ("decorator", Rule::Attribute),
        ("function_definition", Rule::On(function)),
        ("class_definition", Rule::On(class)),
        ("block", Rule::On(block)),
        ("if_statement", Rule::Branch("if")),
        ("elif_clause", Rule::On(elif)),
        ("else_clause", Rule::On(else_)),
        ("for_statement", Rule::On(for_)),
        ("while_statement", Rule::Branch("while")),
        ("try_statement", Rule::On(try_)),
        ("with_statement", Rule::On(with)),
        ("match_statement", Rule::Branch("match")),
        ("import_statement", Rule::On(import)),
        ("import_from_statement", Rule::On(import_from)),
        ("future_import_statement", Rule::On(import_from)),
        ("call", Rule::On(call)),
        ("type", Rule::On(types)),
        ("dotted_name", Rule::On(dotted)),
        ("print_statement", Rule::On(print_)),
        ("exec_statement", Rule::On(refused)),
        ("raise_statement", Rule::On(raise)),
        ("integer", Rule::On(integer)),
        ("string", Rule::On(string)),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("dotted_name", "", Role::Same),
    ("assignment", "left", Role::Write),
    ("augmented_assignment", "left", Role::Write),
    ("for_statement", "left", Role::Write),
    ("for_in_clause", "left", Role::Write),
    ("delete_statement", "", Role::Write),
    ("global_statement", "", Role::Write),
    ("nonlocal_statement", "", Role::Write),
    ("named_expression", "name", Role::Write),
    ("as_pattern", "alias", Role::Write),
    ("except_clause", "alias", Role::Write),
    ("case_clause", ">case_pattern", Role::Write),
    ("attribute", "attribute", Role::Member),
    ("subscript", "value", Role::Same),
    ("tuple", "", Role::Same),
    ("list", "", Role::Same),
    ("expression_list", "", Role::Same),
    ("pattern_list", "", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("list_splat", "", Role::Same),
    ("as_pattern_target", "", Role::Same),
    ("parameters", "", Role::Bind),
    ("lambda_parameters", "", Role::Bind),
    ("default_parameter", "name", Role::Bind),
    ("typed_default_parameter", "name", Role::Bind),
    ("typed_parameter", "", Role::Bind),
    ("keyword_argument", "name", Role::Bind),
    ("keyword_pattern", "#0", Role::Bind),
    ("class_pattern", ">dotted_name", Role::Read),
    ("dict_pattern", "key", Role::Read),
];

fn function(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let is_async = node.child(0).is_some_and(|first| first.kind() == "async");
    let kind = match (visit.scope_kind(), is_async) {
        (ScopeKind::Class, false) => SymbolKind::Method,
        (ScopeKind::Class, true) => SymbolKind::AsyncMethod,
        (_, false) => SymbolKind::Function,
        (_, true) => SymbolKind::AsyncFunction,
    };
    let signature = node.child_by_field_name("parameters").map(|list| print::parameters(visit.source, list));
    let returns = node.child_by_field_name("return_type").map(|node| print::expression(visit.source, node));
    declaration(visit, node, kind, ScopeKind::Function, signature.unwrap_or_else(|| "()".into()), returns)
}

fn class(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let bases = node.child_by_field_name("superclasses");
    let signature = bases.map_or_else(|| "()".into(), |list| print::arguments(visit.source, list));
    if let Some(bases) = bases {
        let mut cursor = bases.walk();
        for base in bases.named_children(&mut cursor) {
            match base.kind() {
                "identifier" | "attribute" => visit.use_path(ReferenceKind::Inheritance, base),
                "subscript" => {
                    if let Some(value) = base.child_by_field_name("value") {
                        visit.use_path(ReferenceKind::Inheritance, value);
                    }
                }
                _ => {}
            }
        }
    }
    declaration(visit, node, SymbolKind::Class, ScopeKind::Class, signature, None)
}

fn declaration(
    visit: &mut Visit<'_>,
    node: Node<'_>,
    kind: SymbolKind,
    opens: ScopeKind,
    signature: String,
    returns: Option<String>,
) -> Action {
    let Some(mut declared) = visit.named(kind, node) else { return Action::Enter };
    declared.name = print::identifier(&declared.name);
    declared.end_row = last_row(node);
    declared.signature = Some(signature);
    declared.returns = returns;
    declared.doc = Some(docstring(visit, node).unwrap_or_default());
    declared.decorators = decorators(visit, node);
    Action::Declare(declared.opens(opens))
}

/// The row of the last token: the tree gives a block the comments that follow it, Python does not.
fn last_row(node: Node<'_>) -> usize {
    let mut node = node;
    loop {
        let last = (0..node.child_count())
            .rev()
            .filter_map(|index| node.child(index))
            .find(|child| !child.is_extra() && child.start_byte() < child.end_byte());
        match last {
            Some(child) => node = child,
            None => return node.end_position().row,
        }
    }
}

fn docstring(visit: &Visit<'_>, node: Node<'_>) -> Option<String> {
    let body = node.child_by_field_name("body")?;
    let mut cursor = body.walk();
    let first = body.named_children(&mut cursor).find(|child| !child.is_extra())?;
    if first.kind() != "expression_statement" || first.named_child_count() != 1 {
        return None;
    }
    let mut value = first.named_child(0)?;
    if first.child_count() > 1 && first.child(1).is_some_and(|comma| comma.kind() == ",") {
        return None;
    }
    while value.kind() == "parenthesized_expression" {
        value = value.named_child(0)?;
    }
    let text = literal::text(visit.source, value)?;
    // Python's lines end at more characters than at `\n`.
    let breaks =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut first = text.trim_matches(is_space).split(breaks).next()?.trim_matches(is_space).to_owned();
    text::truncate(&mut first, 1000);
    (!first.is_empty()).then_some(first)
}

/// What `str.strip` takes away.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn decorators(visit: &Visit<'_>, node: Node<'_>) -> Vec<String> {
    let Some(parent) = node.parent().filter(|parent| parent.kind() == "decorated_definition") else {
        return Vec::new();
    };
    let mut cursor = parent.walk();
    parent
        .named_children(&mut cursor)
        .filter(|child| child.kind() == "decorator")
        .filter_map(|decorator| decorator.named_child(0))
        .map(|expression| print::expression(visit.source, expression))
        .collect()
}

/// Python refuses a text that is indented a hundred times, which takes as many columns.
fn block(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    const MAX_LEVELS: usize = 100;
    if node.start_position().column < MAX_LEVELS || visit.shortfall.is_some() {
        return Action::Enter;
    }
    let mut levels = 0;
    let mut at = Some(node);
    while let Some(here) = at {
        at = here.parent();
        let own_line = at.is_some_and(|around| around.start_position().row < here.start_position().row);
        levels += usize::from(here.kind() == "block" && own_line);
    }
    if levels >= MAX_LEVELS { refused(visit, node) } else { Action::Enter }
}

/// In Python's tree every `elif` stands in the `else` of the one before.
fn elif(visit: &mut Visit<'_>, _: Node<'_>) -> Action {
    Action::Branch("if", visit.branches + 1)
}

fn else_(visit: &mut Visit<'_>, _: Node<'_>) -> Action {
    Action::Branch("if", visit.branches)
}

fn for_(_: &mut Visit<'_>, node: Node<'_>) -> Action {
    Action::Branch(if is_async(node) { "async_for" } else { "for" }, 1)
}

fn with(_: &mut Visit<'_>, node: Node<'_>) -> Action {
    Action::Branch(if is_async(node) { "async_with" } else { "with" }, 1)
}

fn is_async(node: Node<'_>) -> bool {
    node.child(0).is_some_and(|first| first.kind() == "async")
}

fn try_(_: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let star = node.children(&mut cursor).any(|clause| {
        clause.kind() == "except_group_clause"
            || clause.kind() == "except_clause" && clause.child(1).is_some_and(|star| star.kind() == "*")
    });
    Action::Branch(if star { "try_star" } else { "try" }, 1)
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    for name in node.children_by_field_name("name", &mut cursor) {
        let (path, alias) = aliased(visit, name);
        visit.import(name, path, None, alias);
    }
    Action::Skip
}

fn import_from(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let module = match node.child_by_field_name("module_name") {
        Some(module) => visit.text(module),
        None => "__future__",
    };
    let mut cursor = node.walk();
    for name in node.children_by_field_name("name", &mut cursor) {
        let (path, alias) = aliased(visit, name);
        visit.import(name, module, Some(path), alias);
    }
    let mut cursor = node.walk();
    if let Some(all) = node.named_children(&mut cursor).find(|child| child.kind() == "wildcard_import") {
        visit.import(all, module, Some("*"), None);
    }
    Action::Skip
}

fn aliased<'s>(visit: &Visit<'s>, name: Node<'_>) -> (&'s str, Option<&'s str>) {
    match (name.child_by_field_name("name"), name.child_by_field_name("alias")) {
        (Some(path), Some(alias)) => (visit.text(path), Some(visit.text(alias))),
        _ => (visit.text(name), None),
    }
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(callee) = node.child_by_field_name("function") {
        let name = callee.child_by_field_name("attribute").unwrap_or(callee);
        let upper = visit.text(name).trim_start_matches('_').chars().next().is_some_and(char::is_uppercase);
        let kind = if upper { ReferenceKind::Instantiation } else { ReferenceKind::Call };
        visit.use_path(kind, callee);
    }
    Action::Enter
}

/// An annotation: every name in it is a use of a type.
fn types(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    let mut depth = 0;
    loop {
        let here = cursor.node();
        let is_qualifier = cursor.field_name() == Some("object");
        if here.kind() == "identifier" {
            let kind = if is_qualifier { ReferenceKind::Read } else { ReferenceKind::Type };
            visit.refer(kind, here, None);
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if depth == 0 {
                return Action::Skip;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            cursor.goto_parent();
            depth -= 1;
        }
    }
}

/// In a pattern, `a` is bound and `a.b` is compared with.
fn dotted(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    if node.named_child_count() < 2 {
        return Action::Enter;
    }
    for name in node.named_children(&mut cursor) {
        let through = Some(node.start_byte()).filter(|start| *start < name.start_byte());
        visit.value(name, Role::Read, through);
    }
    Action::Skip
}

/// What the grammar reads and Python does not, or no longer.
fn refused(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    visit.shortfall = Some(Shortfall::SyntaxError { line: line(node.start_position().row) });
    Action::Skip
}

/// `print >> f, x` is an operation on a name, and a tuple.
fn print_(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.named_child(0) {
        Some(first) if first.kind() == "chevron" => Action::Enter,
        _ => refused(visit, node),
    }
}

fn raise(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.named_child(0) {
        Some(list) if list.kind() == "expression_list" => refused(visit, node),
        _ => Action::Enter,
    }
}

fn integer(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let text = visit.text(node);
    let octal = text.len() > 1 && text.starts_with('0') && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if text.ends_with(['l', 'L']) || octal && text.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return refused(visit, node);
    }
    Action::Skip
}

fn string(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let prefix = node.child(0).map_or("", |start| visit.text(start));
    match prefix.as_bytes() {
        [b'u' | b'U', b'r' | b'R', ..] => refused(visit, node),
        _ => Action::Enter,
    }
}

#[cfg(test)]
mod tests;
