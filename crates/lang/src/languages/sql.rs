//! SQL: what a script creates.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::lost::{self, Extent};
use crate::notes::{MAX_NAME, line};
use crate::rules::{Action, Adapter, Place, Role, Rule};
use crate::visit::Visit;
use crate::walk;
use model::ReferenceKind;
use model::SymbolKind;

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "sql",
    extensions: &["sql", "psql", "ddl", "dml", "pgsql"],
    grammar: tree_sitter_sequel::LANGUAGE,
    recover,
    rules: &[
        ("identifier", Rule::Name),
        ("comment", Rule::Comment),
        ("marginalia", Rule::Comment),
        ("statement", Rule::Wrap(true)),
        ("create_table", Rule::On(create)),
        ("create_view", Rule::On(create)),
        ("create_materialized_view", Rule::On(create)),
        ("create_function", Rule::On(create)),
        ("create_trigger", Rule::On(create)),
        ("create_type", Rule::On(create)),
        ("create_index", Rule::On(create)),
        ("create_sequence", Rule::On(create)),
        ("create_schema", Rule::On(create)),
        ("create_database", Rule::On(create)),
        ("create_role", Rule::On(create)),
        ("relation", Rule::On(relation)),
        ("invocation", Rule::On(invocation)),
        ("literal", Rule::Skip),
    ],
    roles: ROLES,
    ..Adapter::DEFAULT
};

/// Where names are written, declared, or the end of a path.
const ROLES: &[Place] = &[
    ("assignment", "left", Role::Write),
    ("field", "name", Role::Member),
    ("object_reference", "name", Role::Member),
    ("column_definition", "name", Role::Bind),
    ("function_argument", ">identifier", Role::Bind),
    ("relation", "alias", Role::Bind),
    ("term", "alias", Role::Bind),
    ("cte", "#0", Role::Bind),
];

fn create(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let kind = match node.kind() {
        "create_table" => SymbolKind::Table,
        "create_function" => SymbolKind::Function,
        "create_trigger" => SymbolKind::Trigger,
        "create_type" => SymbolKind::Type,
        "create_index" => SymbolKind::Index,
        "create_sequence" => SymbolKind::Sequence,
        "create_schema" | "create_database" => SymbolKind::Schema,
        "create_role" => SymbolKind::Role,
        _ => SymbolKind::View,
    };
    let mut cursor = node.walk();
    let mut children = node.named_children(&mut cursor);
    let name = match kind {
        SymbolKind::Index => node.child_by_field_name("column"),
        _ => children.find(|child| matches!(child.kind(), "object_reference" | "identifier")),
    };
    let Some(name) = name else { return Action::Enter };
    visit.name_at(name);
    // The grammar begins some names too late and ends some too early: `[Order Details]`, `t$x`.
    let before = visit.slice(0, name.start_byte());
    let start = before.strip_suffix(['[', '"', '`']).unwrap_or(before).len();
    let Some(called) = Name::read(visit.slice(start, visit.source.len())) else { return Action::Enter };
    let declared = visit.declared_as(kind, node, called.bare, name.start_position().row);
    let end = super::common::body_start(node, &["column_definitions", "create_query", "function_body"]);
    let end = end.unwrap_or(declared.head_end);
    Action::Declare(declared.head_end(end).owner(called.owner))
}

fn relation(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.named_child(0).and_then(|object| object.child_by_field_name("name"));
    if let Some(name) = name {
        visit.refer(ReferenceKind::Type, name, None);
    }
    Action::Enter
}

fn invocation(visit: &mut Visit<'_>, node: Node<'_>) -> Action {
    let name = node.named_child(0).and_then(|object| object.child_by_field_name("name"));
    if let Some(name) = name {
        visit.refer(ReferenceKind::Call, name, None);
    }
    Action::Enter
}

/// SQL has more dialects than any grammar knows. What a statement creates is in its first words all the same.
fn recover(visit: &mut Visit<'_>) {
    static CREATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r#"(?im)^[ \t]*CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:UNIQUE|GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|EXTERNAL|VIRTUAL|CONSTRAINT|MATERIALIZED)\s+)*(TABLE|VIEW|FUNCTION|PROCEDURE|TRIGGER|TYPE|INDEX|SEQUENCE|SCHEMA)\s+(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(#{0,2}[\w"`\[])"#,
        )
        .ok()
    });
    let Some(create) = CREATE.as_ref() else { return };
    let source = visit.source;
    let known: std::collections::HashSet<u32> = visit.symbols.iter().map(|symbol| symbol.name_line).collect();
    let (mut at, mut row) = (0, 0);
    for found in create.captures_iter(source) {
        let (Some(word), Some(name)) = (found.get(1), found.get(2)) else { continue };
        row += source[at..name.start()].matches('\n').count();
        at = name.start();
        if known.contains(&line(row)) {
            continue;
        }
        let kind = match word.as_str().to_ascii_uppercase().as_str() {
            "TABLE" => SymbolKind::Table,
            "VIEW" => SymbolKind::View,
            "PROCEDURE" => SymbolKind::Procedure,
            "TRIGGER" => SymbolKind::Trigger,
            "TYPE" => SymbolKind::Type,
            "INDEX" => SymbolKind::Index,
            "SEQUENCE" => SymbolKind::Sequence,
            "SCHEMA" => SymbolKind::Schema,
            _ => SymbolKind::Function,
        };
        let Some(called) = Name::read(source[name.start()..].trim_start_matches('#')) else { continue };
        let whole = found.get(0).map_or("", |all| all.as_str());
        let extent = Extent {
            start: name.end() - whole.trim_start().len(),
            name: name.range(),
            end: statement_end(source, name.end()),
            row,
        };
        let declared = lost::declared(source, kind, called.bare, &extent, &['$', ';', '\n']);
        walk::add(visit, declared.owner(called.owner));
    }
}

/// The name of what a statement creates: `[dbo].[Order Details]` is `Order Details` of `dbo`.
#[derive(Debug, PartialEq)]
struct Name {
    owner: Option<String>,
    bare: String,
}

impl Name {
    /// The name that a text begins with.
    fn read(text: &str) -> Option<Name> {
        let (mut bare, mut rest) = part(text)?;
        let mut owners: Vec<String> = Vec::new();
        while let Some((next, behind)) =
            rest.trim_start().strip_prefix('.').and_then(|more| part(more.trim_start()))
        {
            owners.push(std::mem::replace(&mut bare, next));
            rest = behind;
        }
        let owner = (!owners.is_empty()).then(|| owners.join("."));
        Some(Name { owner, bare })
    }
}

/// One part of a name without its quotes, and what is behind it. A quote inside is written twice.
fn part(text: &str) -> Option<(String, &str)> {
    let close = match text.chars().next()? {
        '[' => ']',
        quote @ ('"' | '`') => quote,
        _ => {
            let end = text.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '#' | '@'));
            let (name, rest) = text.split_at(end.unwrap_or(text.len()));
            return (!name.is_empty()).then(|| (name.to_owned(), rest));
        }
    };
    let mut name = String::new();
    let mut inside = text[1..].char_indices().take(MAX_NAME).peekable();
    while let Some((at, c)) = inside.next() {
        match c {
            _ if c == close => match inside.next_if(|(_, next)| *next == close) {
                Some(_) => name.push(close),
                None => return (!name.is_empty()).then(|| (name, &text[at + 2..])),
            },
            '\n' => return None,
            _ => name.push(c),
        }
    }
    None
}

/// The first semicolon outside a body between dollars; bodies are texts to SQL. Looks only so far.
fn statement_end(source: &str, from: usize) -> usize {
    const MAX_STATEMENT: usize = 50_000;
    let limit = (from..=source.len().min(from + MAX_STATEMENT)).rev().find(|at| source.is_char_boundary(*at));
    let source = &source[..limit.unwrap_or(from)];
    let mut at = from;
    while let Some(next) = source.get(at..).and_then(|rest| rest.find([';', '$'])).map(|next| at + next) {
        if source.as_bytes()[next] == b';' {
            return next + 1;
        }
        let tag_end = source[next + 1..].find('$').map(|length| next + 1 + length);
        let tag = tag_end.map(|end| &source[next..=end]).filter(|tag| {
            tag.len() < 66 && tag[1..tag.len() - 1].chars().all(|c| c.is_alphanumeric() || c == '_')
        });
        at = match tag {
            Some(tag) => match source[next + tag.len()..].find(tag) {
                Some(close) => next + 2 * tag.len() + close,
                None => return from,
            },
            None => next + 1,
        };
    }
    from
}
