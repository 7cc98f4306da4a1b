//! Rules that several languages share.

use tree_sitter::Node;

use crate::rules::{Action, Declared};
use crate::visit::Visit;
use model::ReferenceKind;
use model::{ScopeKind, SymbolKind};

/// A leaf that is the name of a type: a use of it, unless it is the one being declared.
pub(super) fn type_name(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if !visit.is_name(node) {
        visit.refer(ReferenceKind::Type, node, None);
    }
    Action::Skip
}

/// A call with a field `function`.
pub(super) fn call(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(callee) = node.child_by_field_name("function") {
        visit.call(callee);
    }
    Action::Enter
}

/// A call with a field `name` and perhaps an `object` or `scope`.
pub(super) fn call_by_name(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    if let Some(name) = node.child_by_field_name("name") {
        let of = node.child_by_field_name("object").or_else(|| node.child_by_field_name("scope"));
        visit.refer(ReferenceKind::Call, name, of);
    }
    Action::Enter
}

/// A function or method, by where it is.
pub(super) fn function(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = visit.callable();
    visit.named(kind, node).map(|declared| declared.opens(ScopeKind::Function)).into()
}

/// A list of the types that a type extends: each a use by inheritance.
pub(super) fn bases(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let mut cursor = node.walk();
    for base in node.named_children(&mut cursor) {
        if !base.kind().contains("argument") {
            base_type(visit, base);
        }
    }
    Action::Enter
}

pub(super) fn base_type(visit: &mut Visit<'_>, base: Node<'_>) {
    let mut cursor = base.walk();
    let mut node = base;
    // A list of types, or a type in its wrappers: go to the first name.
    for _ in 0..8 {
        match node.kind() {
            "type_list" => {
                for each in node.named_children(&mut cursor) {
                    base_type(visit, each);
                }
                return;
            }
            kind if kind.ends_with("identifier") && node.named_child_count() == 0 => {
                visit.name_at(node);
                return visit.refer(ReferenceKind::Inheritance, node, None);
            }
            kind if kind.contains("identifier") || kind.contains("member") || kind.contains("qualified") => {
                return visit.use_path(ReferenceKind::Inheritance, node);
            }
            _ => match node.named_child(0) {
                Some(child) => node = child,
                None => return,
            },
        }
    }
}

/// The text of a string literal without its quotes.
pub(super) fn unquoted<'s>(visit: &Visit<'s>, node: Node<'_>) -> &'s str {
    visit.text(node).trim_matches(['"', '\'', '`', '<', '>'])
}

/// A constant or variable outside functions; its value may be long and is not its signature.
pub(super) fn constant(
    visit: &mut Visit<'_>,
    kind: SymbolKind,
    node: Node<'_>,
    name: Node<'_>,
    value: Option<Node<'_>>,
) -> Option<Declared> {
    if visit.scope_kind() == ScopeKind::Function {
        return None;
    }
    let declared = visit.declared(kind, node, name)?;
    let long = value.filter(|value| {
        value.end_byte() - value.start_byte() > 80 || value.end_position().row > value.start_position().row
    });
    let end = long.map_or(declared.head_end, |value| value.start_byte());
    Some(declared.head_end(end))
}

/// Where the first child of one of these kinds begins: the end of a signature whose body is in no field.
pub(super) fn body_start(node: Node<'_>, kinds: &[&str]) -> Option<usize> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| kinds.contains(&child.kind())).map(|child| child.start_byte())
}

/// The types named in the fields `type` and `returns`, for grammars in which a type's name is a plain identifier.
pub(super) fn typed(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    for field in ["type", "returns"] {
        let mut at = node.child_by_field_name(field);
        for _ in 0..8 {
            let Some(part) = at else { break };
            match part.kind() {
                "identifier" | "name" => {
                    visit.refer(ReferenceKind::Type, part, None);
                    break;
                }
                "qualified_name" => {
                    visit.use_path(ReferenceKind::Type, part);
                    break;
                }
                _ => at = part.child_by_field_name("type").or_else(|| part.named_child(0)),
            }
        }
    }
    Action::Enter
}

pub(super) fn last_named(node: Node<'_>) -> Option<Node<'_>> {
    node.named_child(u32::try_from(node.named_child_count().checked_sub(1)?).ok()?)
}
