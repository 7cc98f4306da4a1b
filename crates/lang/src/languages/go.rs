//! Go.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "go",
    extensions: &["go"],
    grammar: tree_sitter_go::LANGUAGE,
    rules: &[
        ("identifier", Rule::Name),
        ("field_identifier", Rule::Name),
        ("package_identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("function_declaration", Rule::On(common::function)),
        ("method_declaration", Rule::On(method)),
        ("method_elem", Rule::Declare(SymbolKind::Method)),
        ("type_declaration", Rule::Wrap(false)),
        ("const_declaration", Rule::Wrap(false)),
        ("var_declaration", Rule::Wrap(false)),
        ("type_spec", Rule::On(type_)),
        ("type_alias", Rule::Declare(SymbolKind::Type)),
        ("const_spec", Rule::On(constant)),
        ("var_spec", Rule::On(constant)),
        ("if_statement", Rule::Branch("if")),
        ("for_statement", Rule::Branch("for")),
        ("expression_switch_statement", Rule::Branch("switch")),
        ("type_switch_statement", Rule::Branch("switch")),
        ("select_statement", Rule::Branch("select")),
        ("import_spec", Rule::On(import)),
        ("call_expression", Rule::On(common::call)),
        ("composite_literal", Rule::On(literal)),
        ("type_identifier", Rule::On(common::type_name)),
        ("interpreted_string_literal", Rule::Skip),
        ("raw_string_literal", Rule::Skip),
    ],
    roles: ROLES,
    skim: Some(Dialect::Go),
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment_statement", "left", Role::Write),
    ("short_var_declaration", "left", Role::Write),
    ("range_clause", "left", Role::Write),
    ("receive_statement", "left", Role::Write),
    ("inc_statement", "", Role::Write),
    ("dec_statement", "", Role::Write),
    ("type_switch_statement", "alias", Role::Write),
    ("selector_expression", "field", Role::Member),
    ("expression_list", "", Role::Same),
    ("index_expression", "operand", Role::Same),
    ("slice_expression", "operand", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("unary_expression", "operand", Role::Same),
    // A plain name is a field, unless `literal` knows better; anything else is a value.
    ("literal_element", ">identifier", Role::Same),
    ("parameter_declaration", "name", Role::Bind),
    ("variadic_parameter_declaration", "name", Role::Bind),
    ("type_parameter_declaration", "name", Role::Bind),
    ("field_declaration", "name", Role::Bind),
    ("var_spec", "name", Role::Bind),
    ("const_spec", "name", Role::Bind),
    ("keyed_element", "key", Role::Bind),
    ("package_clause", "", Role::Bind),
];

/// `func (s *Server) Run()` is `Server.Run`.
fn method(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut at = node.child_by_field_name("receiver").and_then(|list| list.named_child(0));
    let mut owner = None;
    while let Some(part) = at {
        if part.kind() == "type_identifier" {
            owner = Some(visit.text(part).to_owned());
            break;
        }
        at = part.child_by_field_name("type").or_else(|| part.named_child(0));
    }
    let declared = visit.named(SymbolKind::Method, node);
    declared.map(|declared| declared.owner(owner).opens(ScopeKind::Function)).into()
}

fn type_(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let body = node.child_by_field_name("type");
    let (kind, long) = match body.map(|body| body.kind()) {
        Some("struct_type") => (SymbolKind::Struct, true),
        Some("interface_type") => (SymbolKind::Interface, true),
        _ => (SymbolKind::Type, false),
    };
    let Some(declared) = visit.named(kind, node) else { return Action::Enter };
    let end = declared.head_end;
    // `type T struct`, without what is in it.
    let keyword = body.filter(|_| long).and_then(|body| body.child(0)).map_or(end, |word| word.end_byte());
    let mut declared = declared.head_end(keyword).opens(ScopeKind::Class);
    declared.signature =
        Some(crate::text::one_line(&format!("type {}", visit.slice(declared.start, keyword))));
    Action::Declare(declared)
}

fn constant(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = if node.kind() == "const_spec" { SymbolKind::Const } else { SymbolKind::Variable };
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    if visit.text(name) == "_" {
        return Action::Enter;
    }
    common::constant(visit, kind, node, name, node.child_by_field_name("value")).into()
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(path) = node.child_by_field_name("path") {
        let alias = node.child_by_field_name("name").map(|name| visit.text(name));
        visit.import(path, common::unquoted(visit, path), None, alias);
    }
    Action::Skip
}

fn literal(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(of) = node.child_by_field_name("type") else { return Action::Enter };
    if of.kind() == "type_identifier" {
        visit.name_at(of);
        visit.refer(ReferenceKind::Instantiation, of, None);
    } else if let Some(body) = node.child_by_field_name("body") {
        keys(visit, of, body, MAX_ELIDED);
    }
    Action::Enter
}

/// How many literals inside each other may leave out their types.
const MAX_ELIDED: usize = 16;

/// The keys of maps and of lists are values, those of structs are fields. A literal inside another may leave out its
/// type, which the outer type then says.
fn keys(visit: &mut Visit<'_>, of: Node<'_>, body: Node<'_>, depth: usize) {
    let (key_type, value_type) = match of.kind() {
        "map_type" => (of.child_by_field_name("key"), of.child_by_field_name("value")),
        "slice_type" | "array_type" | "implicit_length_array_type" => {
            (None, of.child_by_field_name("element"))
        }
        _ => return,
    };
    if depth == 0 {
        return;
    }
    let inner = |visit: &mut Visit<'_>, of: Option<Node<'_>>, element: Node<'_>| match of {
        Some(of) if element.kind() == "literal_value" => keys(visit, of, element, depth - 1),
        _ => {}
    };
    let mut cursor = body.walk();
    for element in body.named_children(&mut cursor) {
        let parts = match element.kind() {
            "keyed_element" => (element.child_by_field_name("key"), element.child_by_field_name("value")),
            "literal_element" => (None, Some(element)),
            _ => continue,
        };
        if let Some(key) = parts.0.and_then(|key| key.named_child(0)) {
            if key.kind() == "identifier" {
                visit.value(key, Role::Read, None);
                visit.no_use(key);
            }
            inner(visit, key_type, key);
        }
        if let Some(value) = parts.1.and_then(|value| value.named_child(0)) {
            inner(visit, value_type, value);
        }
    }
}
