//! The one walk over the tree: by cursor and with its own stack, since source may nest deeper than any thread's.

use std::ops::Range;

use tree_sitter::{Node, Tree, TreeCursor};

use crate::facts::DeclaredNode;
use crate::notes::{Front, Scope};
use crate::rules::{Action, Child, Declared, Role, Rule};
use crate::visit::Visit;

/// What is known about the children of one node while the walk is among them.
#[derive(Default, Clone, Copy)]
struct Frame {
    lead: Option<LeadLines>,
    wrap: Option<Wrap>,
    /// The row on which the previous sibling ended.
    last_row: Option<usize>,
    /// How many scopes and labels there were before the node that this frame belongs to.
    scopes: usize,
    labels: usize,
    /// Where the node's parts are listed, 0 if they are not; and what the node itself is.
    place: u16,
    role: Role,
    /// The node's bytes, and where the path begins that it is the end of.
    bytes: (usize, usize),
    through: usize,
    is_member: bool,
    /// How many named children came before, and whether there is more than one.
    index: u32,
    several: bool,
}

/// Comments and attributes that may belong to the next declaration.
#[derive(Clone, Copy)]
struct LeadLines {
    start_row: usize,
    end_row: usize,
    /// Bytes of the comments among them.
    comment: Option<(usize, usize)>,
}

/// A node such as `export` around the declaration to come.
#[derive(Clone, Copy)]
struct Wrap {
    lead: LeadLines,
    /// Where the declaration's text begins, if the wrapper is a part of it.
    head: Option<(usize, usize)>,
}

/// `macros` are parts of the text that the tree does not have; their names are uses where the walk passes them.
pub(crate) fn walk(tree: &Tree, visit: &mut Visit<'_>, macros: &[Range<usize>]) {
    let mut cursor = tree.walk();
    let mut macros = if visit.wants_uses { macros } else { &[] }.iter().peekable();
    let mut frames: Vec<Frame> = Vec::with_capacity(64);
    let mut frame = Frame::default();
    if !cursor.goto_first_child() {
        return;
    }
    loop {
        let node = cursor.node();
        while let Some(passed) = macros.next_if(|passed| passed.start < node.start_byte()) {
            visit.refer_macro(passed.clone());
        }
        let outer = (visit.scopes.len(), visit.labels.len());
        let (role, is_member) =
            if frame.place == 0 { (Role::Read, false) } else { part(visit, &frame, &cursor, node) };
        visit.role = role;
        let through = is_member.then_some(frame.through);
        let inside = enter(visit, node, &mut frame, through);
        frame.index += u32::from(node.is_named());
        frame.last_row = Some(crate::visit::end_row(node));
        if let Some(around) = inside
            && cursor.goto_first_child()
        {
            let mut inner = Frame { wrap: around, scopes: outer.0, labels: outer.1, ..Frame::default() };
            if visit.wants_uses {
                inner.place = visit.table.place(node);
                if inner.place != 0 {
                    inner.role = role;
                    inner.bytes = (node.start_byte(), node.end_byte());
                    inner.through = through.unwrap_or(inner.bytes.0);
                    inner.is_member = is_member;
                    inner.several = node.named_child_count() > 1;
                }
            }
            frames.push(std::mem::replace(&mut frame, inner));
            continue;
        }
        visit.scopes.truncate(outer.0);
        visit.labels.truncate(outer.1);
        while !cursor.goto_next_sibling() {
            visit.scopes.truncate(frame.scopes);
            visit.labels.truncate(frame.labels);
            let Some(up) = frames.pop() else { return };
            frame = up;
            cursor.goto_parent();
        }
    }
}

/// What the names in a child are, and whether it is the last part of a path.
fn part(visit: &Visit<'_>, frame: &Frame, cursor: &TreeCursor<'_>, node: Node<'_>) -> (Role, bool) {
    let child = Child {
        field: cursor.field_id().map(std::num::NonZero::get),
        kind: node.kind_id(),
        index: frame.index,
        several: frame.several,
    };
    let role = match visit.table.role(frame.place, &child) {
        Role::Same => return (frame.role, frame.is_member),
        Role::Member => return (frame.role, true),
        // `f(name = value)` is no assignment in some languages.
        Role::Write if frame.role == Role::Bind => Role::Bind,
        Role::Stepped => {
            let text = visit.slice(frame.bytes.0, frame.bytes.1);
            let step = ["++", "--"].iter().any(|step| text.starts_with(step) || text.ends_with(step));
            if step || text.starts_with("delete") { Role::Write } else { frame.role }
        }
        Role::Matched => {
            let after = visit.slice(node.end_byte(), visit.source.len()).trim_start();
            let equals = after.strip_prefix('=').is_some_and(|more| !more.starts_with(['=', '>', '~']));
            if equals || after.starts_with("<-") { Role::Write } else { frame.role }
        }
        other => other,
    };
    (role, false)
}

/// Notes what the node is. None if there is nothing to look for inside; else the wrapper that its children are in.
fn enter(
    visit: &mut Visit<'_>,
    node: Node<'_>,
    frame: &mut Frame,
    through: Option<usize>,
) -> Option<Option<Wrap>> {
    let Some(rule) = visit.table.rule(node) else {
        if node.is_named() {
            frame.lead = None;
        }
        return Some(None);
    };
    let declared = match rule {
        Rule::Skip => {
            frame.lead = None;
            return None;
        }
        Rule::Name => {
            frame.lead = None;
            visit.value(node, visit.role, through);
            return None;
        }
        Rule::Comment => {
            note_lead(frame, node, Some((node.start_byte(), node.end_byte())));
            return None;
        }
        Rule::Attribute => {
            note_lead(frame, node, None);
            return Some(None);
        }
        Rule::Wrap(is_head) => return Some(Some(wrap(visit, frame, node, is_head))),
        Rule::Branch(label) => {
            visit.labels.push(label);
            frame.lead = None;
            return Some(None);
        }
        Rule::Declare(kind) => visit.named(kind, node),
        Rule::Open(kind, scope) => visit.named(kind, node).map(|declared| declared.opens(scope)),
        Rule::On(act) => match act(visit, node) {
            Action::Enter => {
                frame.lead = None;
                return Some(None);
            }
            Action::Skip => {
                frame.lead = None;
                return None;
            }
            Action::Branch(label) => {
                visit.labels.push(label);
                frame.lead = None;
                return Some(None);
            }
            Action::Wrap => return Some(Some(wrap(visit, frame, node, true))),
            Action::Lead(doc) => {
                note_lead(frame, node, doc);
                return None;
            }
            Action::Reopen(symbol, kind) => {
                frame.lead = None;
                visit.scopes.push(Scope { symbol, kind });
                return Some(None);
            }
            Action::Declare(declared) => Some(declared),
        },
    };
    let lead = take_lead(frame, node);
    let around = frame.wrap.take();
    let Some(declared) = declared else { return Some(None) };
    let (opens, look_inside, start) = (declared.opens, declared.look_inside, declared.start);
    let head = around.and_then(|wrap| wrap.head);
    let number = visit.declare(declared, Front { row: lead.start_row, comment: lead.comment, head });
    if let Some(symbol) = number.filter(|_| visit.wants_facts) {
        visit.declared_nodes.push(DeclaredNode {
            symbol,
            id: node.id(),
            bytes: (node.start_byte(), node.end_byte()),
            head: start,
            comment: lead.comment,
        });
    }
    if let (Some(kind), Some(symbol)) = (opens, number) {
        visit.scopes.push(Scope { symbol, kind });
    }
    look_inside.then_some(None)
}

/// What the children of a wrapper are in; a wrapper in a wrapper begins where the outer one does.
fn wrap(visit: &Visit<'_>, frame: &mut Frame, node: Node<'_>, is_head: bool) -> Wrap {
    let lead = take_lead(frame, node);
    let outer = frame.wrap.take().and_then(|wrap| wrap.head);
    Wrap { lead, head: outer.or_else(|| is_head.then(|| visit.head(node))) }
}

fn note_lead(frame: &mut Frame, node: Node<'_>, comment: Option<(usize, usize)>) {
    let start_row = node.start_position().row;
    let end_row = crate::visit::end_row(node);
    // A comment behind something on its line belongs to that.
    if comment.is_some() && frame.lead.is_none() && frame.last_row == Some(start_row) {
        return;
    }
    frame.lead = Some(match frame.lead {
        Some(lead) if lead.end_row + 1 >= start_row => LeadLines {
            start_row: lead.start_row,
            end_row,
            comment: match (lead.comment, comment) {
                (Some((start, _)), Some((_, end))) => Some((start, end)),
                (before, now) => before.or(now),
            },
        },
        _ => LeadLines { start_row, end_row, comment },
    });
}

/// The lead of this node: its own, or its wrapper's.
fn take_lead(frame: &mut Frame, node: Node<'_>) -> LeadLines {
    let row = node.start_position().row;
    let own = frame.lead.take().filter(|lead| lead.end_row + 1 >= row);
    match (own, frame.wrap) {
        (Some(own), Some(wrap)) => LeadLines {
            start_row: own.start_row.min(wrap.lead.start_row),
            end_row: own.end_row,
            comment: wrap.lead.comment.or(own.comment),
        },
        (Some(own), None) => own,
        (None, Some(wrap)) => wrap.lead,
        (None, None) => LeadLines { start_row: row, end_row: row, comment: None },
    }
}

/// Adds a declaration found by other means than the tree.
pub(crate) fn add(visit: &mut Visit<'_>, declared: Declared) {
    let row = declared.start_row;
    visit.declare(declared, Front { row, comment: None, head: None });
}
