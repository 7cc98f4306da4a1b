//! JavaScript and JSX, and the rules that TypeScript shares.

use tree_sitter::Node;

use super::common;
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "javascript",
    interpreters: &["node", "nodejs", "bun", "qjs"],
    grammar: tree_sitter_javascript::LANGUAGE,
    rules: &[
        ("field_definition", Rule::On(field)),
        ("class_heritage", Rule::On(heritage)),
        ("jsx_opening_element", Rule::On(element)),
        ("jsx_self_closing_element", Rule::On(element)),
    ],
    shared: SHARED,
    shared_roles: SHARED_ROLES,
    roles: ROLES,
    skim: Some(Dialect::JavaScript),
    minified: true,
    ..Adapter::DEFAULT
};

/// The same for what only this language has.
const ROLES: &[Place] = &[
    ("field_definition", "property", Role::Bind),
    ("jsx_opening_element", "name", Role::Bind),
    ("jsx_self_closing_element", "name", Role::Bind),
    ("jsx_closing_element", "name", Role::Bind),
    ("jsx_attribute", "#0", Role::Bind),
    ("jsx_attribute", ">property_identifier", Role::Bind),
];

/// Where names are written, declared, or the end of a path.
pub(super) const SHARED_ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("augmented_assignment_expression", "left", Role::Write),
    ("update_expression", "argument", Role::Write),
    ("for_in_statement", "left", Role::Write),
    ("member_expression", "property", Role::Member),
    ("nested_identifier", "property", Role::Member),
    ("subscript_expression", "object", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("pair_pattern", "value", Role::Same),
    ("assignment_pattern", "left", Role::Same),
    ("object_assignment_pattern", "left", Role::Same),
    ("unary_expression", "argument", Role::Stepped),
    ("variable_declarator", "name", Role::Bind),
    ("formal_parameters", "", Role::Bind),
    ("arrow_function", "parameter", Role::Bind),
    ("catch_clause", "parameter", Role::Bind),
    ("pair", "key", Role::Bind),
    ("pair_pattern", "key", Role::Bind),
    ("export_specifier", "alias", Role::Bind),
    ("namespace_export", "", Role::Bind),
    ("assignment_pattern", "right", Role::Read),
    ("object_assignment_pattern", "right", Role::Read),
];

pub(super) const SHARED: &[(&str, Rule)] = &[
    ("identifier", Rule::Name),
    ("property_identifier", Rule::Name),
    ("private_property_identifier", Rule::Name),
    ("shorthand_property_identifier", Rule::Name),
    ("shorthand_property_identifier_pattern", Rule::Name),
    ("comment", Rule::Comment),
    ("decorator", Rule::Attribute),
    ("export_statement", Rule::On(export)),
    ("lexical_declaration", Rule::Wrap(true)),
    ("variable_declaration", Rule::Wrap(true)),
    ("expression_statement", Rule::Wrap(true)),
    ("function_declaration", Rule::On(common::function)),
    ("generator_function_declaration", Rule::On(common::function)),
    ("function_expression", Rule::On(function_expression)),
    ("generator_function", Rule::On(function_expression)),
    ("class_declaration", Rule::Open(SymbolKind::Class, ScopeKind::Class)),
    ("class", Rule::On(class_expression)),
    ("method_definition", Rule::On(method)),
    ("variable_declarator", Rule::On(variable)),
    ("assignment_expression", Rule::On(assignment)),
    ("pair", Rule::On(pair)),
    ("if_statement", Rule::Branch("if")),
    ("for_statement", Rule::Branch("for")),
    ("for_in_statement", Rule::Branch("for")),
    ("while_statement", Rule::Branch("while")),
    ("do_statement", Rule::Branch("do")),
    ("switch_statement", Rule::Branch("switch")),
    ("try_statement", Rule::Branch("try")),
    ("import_statement", Rule::On(import)),
    ("call_expression", Rule::On(call)),
    ("new_expression", Rule::On(new)),
    ("string", Rule::Skip),
    ("regex", Rule::Skip),
];

/// `export class A` wraps a class; `export … from` is an import.
fn export(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(source) = node.child_by_field_name("source") {
        let module = common::unquoted(visit, source);
        let mut cursor = node.walk();
        let clause = node.named_children(&mut cursor).find(|child| child.kind() == "export_clause");
        match clause {
            Some(clause) => specifiers(visit, module, clause),
            None => visit.import(source, module, Some("*"), None),
        }
        return Action::Skip;
    }
    let value = node.child_by_field_name("value");
    // `export default function () {}` has no name of its own.
    match value {
        Some(value) if is_function(value) && value.child_by_field_name("name").is_none() => {
            declare_value(visit, node, value, "default".to_owned(), value, None).into()
        }
        _ => Action::Wrap,
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "function_expression" | "arrow_function" | "generator_function")
}

/// `node` declares `name` as `value`: a function, a class, an object with members, or a plain value.
fn declare_value(
    visit: &mut Visit<'_>,
    node: Node<'_>,
    value: Node<'_>,
    name: String,
    name_node: Node<'_>,
    owner: Option<String>,
) -> Option<crate::rules::Declared> {
    let (kind, scope) = match value.kind() {
        "class" => (SymbolKind::Class, ScopeKind::Class),
        "object" => (SymbolKind::Const, ScopeKind::Class),
        _ if owner.is_some() => (SymbolKind::Method, ScopeKind::Function),
        _ => (visit.callable(), ScopeKind::Function),
    };
    if value.kind() != "object" {
        // The name that a function expression has inside is not another declaration.
        if let Some(inner) = value.child_by_field_name("name") {
            visit.name_at(inner);
        }
    }
    visit.declared_at(value);
    if name_node.child_count() == 0 {
        visit.name_at(name_node);
    }
    let body = value.child_by_field_name("body").map_or(value.start_byte(), |body| body.start_byte());
    let declared = visit.declared_as(kind, node, name, name_node.start_position().row);
    Some(declared.head_end(body).owner(owner).opens(scope))
}

fn variable(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(name) = node.child_by_field_name("name").filter(|name| name.kind() == "identifier") else {
        require(visit, node);
        return Action::Enter;
    };
    let value = node.child_by_field_name("value");
    let text = visit.text(name).to_owned();
    match value.map(unwrapped) {
        Some(value) if is_function(value) || value.kind() == "class" => {
            declare_value(visit, node, value, text, name, None).into()
        }
        Some(value) if value.kind() == "object" && visit.scope_kind() != ScopeKind::Function => {
            declare_value(visit, node, value, text, name, None).into()
        }
        _ if require(visit, node) => Action::Enter,
        _ => common::constant(visit, SymbolKind::Const, node, name, value).into(),
    }
}

/// `const a = require("b")` is an import.
fn require(visit: &mut Visit<'_>, node: Node<'_>) -> bool {
    let Some(mut value) = node.child_by_field_name("value") else { return false };
    while let Some(object) = value.child_by_field_name("object") {
        value = object;
    }
    value.kind() == "call_expression"
        && value.child_by_field_name("function").is_some_and(|callee| visit.text(callee) == "require")
}

/// What is called in place or cast is still the function.
fn unwrapped(mut node: Node<'_>) -> Node<'_> {
    while matches!(
        node.kind(),
        "parenthesized_expression" | "as_expression" | "satisfies_expression" | "type_assertion"
    ) {
        match node.named_child(0) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// `exports.a = function`, `A.prototype.b = function`, `this.c = () =>`.
fn assignment(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    else {
        return Action::Enter;
    };
    let right = unwrapped(right);
    let is_class = right.kind() == "class";
    if !is_function(right) && !is_class {
        return prototype(visit, node, left, right).into();
    }
    match left.kind() {
        "identifier" => {
            let name = visit.text(left).to_owned();
            declare_value(visit, node, right, name, left, None).into()
        }
        "member_expression" => {
            let Some(property) = left.child_by_field_name("property") else { return Action::Enter };
            let object = left.child_by_field_name("object").map_or("", |object| visit.text(object));
            let object = object.strip_suffix(".prototype").unwrap_or(object);
            let plain = object.len() < 100
                && object.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'))
                && !matches!(object, "exports" | "module.exports" | "module" | "this" | "self" | "window");
            let name = visit.text(property).to_owned();
            if name == "exports" && object == "module" {
                let name = right.child_by_field_name("name").map_or("exports", |name| visit.text(name));
                return declare_value(visit, node, right, name.to_owned(), left, None).into();
            }
            // `A.Template = class ATemplate`: the class has a name of its own.
            let own = right.child_by_field_name("name").filter(|_| is_class).map(|name| visit.text(name));
            let name = own.map_or(name, str::to_owned);
            let owner = (plain && !is_class).then(|| object.to_owned());
            declare_value(visit, node, right, name, property, owner).into()
        }
        _ => Action::Enter,
    }
}

/// `A.prototype.b = c` gives the class a method that was written elsewhere.
fn prototype(
    visit: &mut Visit<'_>,
    node: Node<'_>,
    left: Node<'_>,
    right: Node<'_>,
) -> Option<crate::rules::Declared> {
    let property = left.child_by_field_name("property").filter(|_| left.kind() == "member_expression")?;
    let owner = visit.text(left.child_by_field_name("object")?).strip_suffix(".prototype")?;
    let plain =
        owner.len() < 100 && owner.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.'));
    let elsewhere = matches!(right.kind(), "identifier" | "member_expression" | "assignment_expression");
    if !plain || !elsewhere {
        return None;
    }
    Some(visit.declared(SymbolKind::Method, node, property)?.owner(Some(owner.to_owned())))
}

/// `{ name: function () {} }`
fn pair(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let (Some(key), Some(value)) = (node.child_by_field_name("key"), node.child_by_field_name("value"))
    else {
        return Action::Enter;
    };
    if !is_function(value) || key.kind() == "computed_property_name" {
        return Action::Enter;
    }
    let name = common::unquoted(visit, key).to_owned();
    let declared = declare_value(visit, node, value, name, key, None);
    declared
        .map(|mut declared| {
            declared.kind = SymbolKind::Method;
            declared
        })
        .into()
}

/// A function expression with a name of its own, unless what it is assigned to has named it.
fn function_expression(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.child_by_field_name("name") {
        Some(name) if !visit.is_name(node) && !visit.is_name(name) => {
            let declared = visit.named(SymbolKind::Function, node);
            declared.map(|declared| declared.opens(ScopeKind::Function)).into()
        }
        _ => Action::Enter,
    }
}

fn class_expression(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    match node.child_by_field_name("name") {
        Some(name) if !visit.is_name(node) && !visit.is_name(name) => {
            let declared = visit.named(SymbolKind::Class, node);
            declared.map(|declared| declared.opens(ScopeKind::Class)).into()
        }
        _ => Action::Enter,
    }
}

pub(super) fn method(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    visit.named(SymbolKind::Method, node).map(|declared| declared.opens(ScopeKind::Function)).into()
}

/// A field is of interest when it is a function.
pub(super) fn field(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.child_by_field_name("property").or_else(|| node.child_by_field_name("name"));
    let (Some(name), Some(value)) = (name, node.child_by_field_name("value")) else { return Action::Enter };
    if !is_function(value) {
        return Action::Enter;
    }
    let text = visit.text(name).to_owned();
    declare_value(visit, node, value, text, name, None).into()
}

fn heritage(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(base) = node.named_child(0) {
        visit.use_path(ReferenceKind::Inheritance, base);
    }
    Action::Enter
}

fn import(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(source) = node.child_by_field_name("source") else { return Action::Skip };
    let module = common::unquoted(visit, source);
    let mut cursor = node.walk();
    let Some(clause) = node.named_children(&mut cursor).find(|child| child.kind() == "import_clause") else {
        visit.import(source, module, None, None);
        return Action::Skip;
    };
    let mut cursor = clause.walk();
    for part in clause.named_children(&mut cursor) {
        match part.kind() {
            "identifier" => visit.import(part, module, Some("default"), Some(visit.text(part))),
            "namespace_import" => {
                let alias = part.named_child(0).map(|alias| visit.text(alias));
                visit.import(part, module, Some("*"), alias);
            }
            "named_imports" => specifiers(visit, module, part),
            _ => {}
        }
    }
    Action::Skip
}

fn specifiers(visit: &mut Visit<'_>, module: &str, list: Node<'_>) {
    let mut cursor = list.walk();
    for specifier in list.named_children(&mut cursor) {
        if let Some(name) = specifier.child_by_field_name("name") {
            let alias = specifier.child_by_field_name("alias").map(|alias| visit.text(alias));
            visit.import(name, module, Some(visit.text(name)), alias);
        }
    }
}

fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some(callee) = node.child_by_field_name("function") else { return Action::Enter };
    if matches!(callee.kind(), "import" | "identifier") && matches!(visit.text(callee), "require" | "import")
    {
        let first = node.child_by_field_name("arguments").and_then(|list| list.named_child(0));
        if let Some(source) = first.filter(|first| first.kind() == "string") {
            visit.import(source, common::unquoted(visit, source), None, None);
            visit.no_use(callee);
        }
        return Action::Enter;
    }
    visit.call(callee);
    Action::Enter
}

fn new(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(class) = node.child_by_field_name("constructor") {
        visit.use_path(ReferenceKind::Instantiation, class);
    }
    Action::Enter
}

/// `<Component />` is a use; `<div>` is not.
pub(super) fn element(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(name) = node.child_by_field_name("name") {
        let text = visit.text(name);
        if text.starts_with(char::is_uppercase) || text.contains('.') {
            visit.use_path(ReferenceKind::Instantiation, name);
        }
    }
    Action::Enter
}
