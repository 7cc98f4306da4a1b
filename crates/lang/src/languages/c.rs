//! C, and the rules that C++ shares.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::{common, lost, macros};
use crate::rules::{Action, Adapter, Declared, Place, Role, Rule};
use crate::skim::Dialect;
use crate::visit::Visit;
use model::{ScopeKind, SymbolKind};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "c",
    extensions: &["c"],
    grammar: tree_sitter_c::LANGUAGE,
    rules: &[],
    shared: SHARED,
    macros: macros::find,
    recover,
    shared_roles: SHARED_ROLES,
    skim: Some(Dialect::C),
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
pub(super) const SHARED_ROLES: &[Place] = &[
    ("assignment_expression", "left", Role::Write),
    ("update_expression", "argument", Role::Write),
    ("field_expression", "field", Role::Member),
    ("subscript_expression", "argument", Role::Same),
    ("pointer_expression", "argument", Role::Same),
    ("parenthesized_expression", "", Role::Same),
    ("init_declarator", "declarator", Role::Same),
    ("pointer_declarator", "declarator", Role::Same),
    ("array_declarator", "declarator", Role::Same),
    ("function_declarator", "declarator", Role::Same),
    ("parenthesized_declarator", "", Role::Same),
    ("attributed_declarator", "#0", Role::Same),
    ("field_designator", "", Role::Same),
    ("declaration", "declarator", Role::Bind),
    ("parameter_declaration", "declarator", Role::Bind),
    ("field_declaration", "declarator", Role::Bind),
    ("function_definition", "declarator", Role::Bind),
    ("type_definition", "declarator", Role::Bind),
    ("parameter_list", "", Role::Bind),
    ("enumerator", "name", Role::Bind),
    ("initializer_pair", "designator", Role::Bind),
    ("attribute", "", Role::Bind),
];

pub(super) const SHARED: &[(&str, Rule)] = &[
    ("identifier", Rule::Name),
    ("field_identifier", Rule::Name),
    ("comment", Rule::Comment),
    ("attribute_declaration", Rule::Attribute),
    ("function_definition", Rule::On(function)),
    ("declaration", Rule::On(declaration)),
    ("struct_specifier", Rule::On(record)),
    ("union_specifier", Rule::On(record)),
    ("enum_specifier", Rule::On(record)),
    ("type_definition", Rule::On(typedef)),
    ("preproc_def", Rule::On(macro_)),
    ("preproc_function_def", Rule::On(macro_)),
    ("preproc_if", Rule::Branch("#if")),
    ("preproc_ifdef", Rule::On(ifdef)),
    ("if_statement", Rule::Branch("if")),
    ("for_statement", Rule::Branch("for")),
    ("while_statement", Rule::Branch("while")),
    ("do_statement", Rule::Branch("do")),
    ("switch_statement", Rule::Branch("switch")),
    ("preproc_include", Rule::On(include)),
    ("call_expression", Rule::On(common::call)),
    ("type_identifier", Rule::On(common::type_name)),
    ("string_literal", Rule::Skip),
    ("preproc_arg", Rule::Skip),
];

/// The name in a declarator, through pointers, arrays and parameters; and whether it is a function's.
fn declarator(node: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut at = node;
    let mut is_function = false;
    // Hostile declarators nest without end.
    for _ in 0..64 {
        match at.kind() {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "qualified_identifier"
            | "operator_name"
            | "destructor_name"
            | "template_function"
            | "operator_cast"
            | "primitive_type" => {
                return Some((at, is_function || at.kind() == "operator_cast"));
            }
            "function_declarator" => {
                let inner = at.child_by_field_name("declarator")?;
                // `(*name)(…)` is a pointer to a function.
                is_function = !(inner.kind() == "parenthesized_declarator"
                    && inner.named_child(0).is_some_and(|child| child.kind() == "pointer_declarator"));
                at = inner;
            }
            "parenthesized_declarator" | "reference_declarator" | "attributed_declarator" => {
                let mut cursor = at.walk();
                at = at.named_children(&mut cursor).find(|child| {
                    child.kind().ends_with("declarator") || child.kind().ends_with("identifier")
                })?;
            }
            _ => at = at.child_by_field_name("declarator")?,
        }
    }
    None
}

/// `A::B::run` is `run` of `A.B`. The template arguments of a specialisation are no part of its name.
fn split_name<'t>(visit: &Visit<'_>, node: Node<'t>) -> (Node<'t>, Option<String>) {
    let mut owner = String::new();
    let mut at = node;
    for _ in 0..64 {
        match at.kind() {
            "qualified_identifier" => {
                if let Some(scope) = at.child_by_field_name("scope") {
                    let scope = scope.child_by_field_name("name").unwrap_or(scope);
                    if !owner.is_empty() {
                        owner.push('.');
                    }
                    owner.push_str(visit.text(scope));
                }
                match at.child_by_field_name("name") {
                    Some(name) => at = name,
                    None => break,
                }
            }
            "template_function" | "template_type" | "template_method" => {
                match at.child_by_field_name("name") {
                    Some(name) => at = name,
                    None => break,
                }
            }
            _ => break,
        }
    }
    (at, Some(owner).filter(|owner| !owner.is_empty()))
}

pub(super) fn function(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some((name, _)) = node.child_by_field_name("declarator").and_then(declarator) else {
        return Action::Enter;
    };
    callable(visit, node, name).into()
}

fn callable(visit: &mut Visit<'_>, node: Node<'_>, name: Node<'_>) -> Option<Declared> {
    let (name, owner) = split_name(visit, name);
    // An unknown macro before `namespace a {` makes it look like a function, one around a type gives that type's name.
    if matches!(
        visit.text(name),
        "namespace"
            | "class"
            | "struct"
            | "union"
            | "enum"
            | "template"
            | "using"
            | "noexcept"
            | "int"
            | "void"
            | "char"
            | "bool"
            | "long"
            | "double"
            | "float"
            | "unsigned"
    ) {
        return None;
    }
    let kind = if owner.is_some() { SymbolKind::Method } else { visit.callable() };
    let mut declared = if name.kind() == "operator_cast" {
        // `operator const char*() const`: up to the parameters.
        let whole = visit.text(name);
        let text = whole.split('(').next().unwrap_or(whole);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        visit.declared_as(kind, node, text, name.start_position().row)
    } else {
        visit.declared(kind, node, name)?
    };
    if declared.name.contains(char::is_whitespace) {
        declared.name = declared.name.split_whitespace().collect::<Vec<_>>().join(" ").replace("~ ", "~");
    }
    // Constructors list their initialisers before the body.
    let mut cursor = node.walk();
    let list = node.named_children(&mut cursor).find(|child| child.kind() == "field_initializer_list");
    let end = list.map_or(declared.head_end, |list| list.start_byte());
    Some(declared.head_end(end).owner(owner).opens(ScopeKind::Function))
}

/// Prototypes are declarations of functions; variables are left out.
pub(super) fn declaration(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if visit.scope_kind() == ScopeKind::Function {
        return Action::Enter;
    }
    match node.child_by_field_name("declarator").and_then(declarator) {
        Some((name, true)) => match callable(visit, node, name) {
            Some(mut declared) => {
                declared.opens = None;
                Action::Declare(declared)
            }
            None => Action::Enter,
        },
        // The comment in front belongs to the type that is declared in it.
        _ => Action::Wrap,
    }
}

pub(super) fn record(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if node.child_by_field_name("body").is_none() {
        return Action::Enter;
    }
    let kind = match node.kind() {
        "struct_specifier" => SymbolKind::Struct,
        "union_specifier" => SymbolKind::Union,
        "enum_specifier" => SymbolKind::Enum,
        _ => SymbolKind::Class,
    };
    let Some(name) = node.child_by_field_name("name") else { return Action::Enter };
    let (name, owner) = split_name(visit, name);
    let declared = visit.declared(kind, node, name);
    declared.map(|declared| declared.owner(owner).opens(ScopeKind::Class)).into()
}

/// `typedef struct { … } A, *B;` declares `A` and `B`; the first is the symbol.
fn typedef(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let Some((name, _)) = node.child_by_field_name("declarator").and_then(declarator) else {
        return Action::Enter;
    };
    // In a text with errors it is a part of the type: `typedef __signed__ char name`.
    if name.kind() == "primitive_type" && node.has_error() {
        return Action::Enter;
    }
    let body = node.child_by_field_name("type").and_then(|of| of.child_by_field_name("body"));
    let anonymous = node
        .child_by_field_name("type")
        .filter(|of| body.is_some() && of.child_by_field_name("name").is_none());
    let kind = match anonymous.map(|of| of.kind()) {
        Some("struct_specifier") => SymbolKind::Struct,
        Some("union_specifier") => SymbolKind::Union,
        Some("enum_specifier") => SymbolKind::Enum,
        _ => SymbolKind::Type,
    };
    let Some(mut declared) = visit.declared(kind, node, name) else { return Action::Enter };
    if let Some(body) = body {
        let head = visit.slice(declared.start, body.start_byte()).trim_end();
        declared.signature = Some(crate::text::one_line(&format!("{head} {}", declared.name)));
        declared.opens = anonymous.map(|_| ScopeKind::Class);
    }
    Action::Declare(declared)
}

fn macro_(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let value = node.child_by_field_name("value");
    let Some(declared) = visit.named(SymbolKind::Macro, node) else { return Action::Skip };
    let long = value.filter(|value| value.end_byte() - value.start_byte() > 80);
    let end = long.map_or(declared.head_end, |value| value.start_byte());
    Action::Declare(declared.head_end(end).leaf())
}

/// A header's guard is no condition.
fn ifdef(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.child_by_field_name("name").map(|name| visit.text(name));
    let mut cursor = node.walk();
    let first = node
        .named_children(&mut cursor)
        .find(|child| child.kind() != "comment" && child.kind() != "identifier");
    let guard = first
        .filter(|first| first.kind() == "preproc_def")
        .and_then(|define| define.child_by_field_name("name"))
        .is_some_and(|defined| Some(visit.text(defined)) == name);
    if guard { Action::Enter } else { Action::Branch("#ifdef") }
}

fn include(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(path) = node.child_by_field_name("path") {
        visit.import(path, common::unquoted(visit, path), None, None);
    }
    Action::Skip
}

/// Macros that stand for half a declaration derail the grammar. What begins a line and opens a body is a function,
/// with the types of its parameters inside the parentheses or, as in old C, after them.
pub(super) fn recover(visit: &mut Visit<'_>) {
    static FUNCTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?m)^(?:[A-Za-z_][\w \t*&:<>,]*[ \t*&\n])?(?P<name>[A-Za-z_]\w*)[ \t]*\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)(?:[ \t]*\n(?:[ \t]+[^;{}()\n]+;[^\n;]*\n)+|[^;{}()=]*)\{",
        )
        .ok()
    });
    if let Some(pattern) = FUNCTION.as_ref() {
        lost::find(visit, pattern);
    }
}
