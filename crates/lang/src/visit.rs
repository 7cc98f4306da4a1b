//! What a rule may ask and note while the walk is at a node.

use std::ops::{Deref, DerefMut, Range};

use tree_sitter::Node;

use crate::OutlineLimits;
use crate::facts::DeclaredNode;
use crate::notes::{MAX_NAME, Notes};
use crate::rules::{Declared, Role, Rule, Table};
use model::{ReferenceKind, ScopeKind, SymbolKind};

/// The state of one walk.
pub(crate) struct Visit<'s> {
    pub(crate) notes: Notes<'s>,
    pub(crate) table: &'s Table,
    /// What the names in the current node are.
    pub(crate) role: Role,
    /// Where the names of declarations start: they are not uses.
    names: Bits,
    /// The places of names that were noted, or are known not to be uses.
    noted: Bits,
    /// The byte up to which rows were counted for macros, and how many there are.
    counted: (usize, usize),
    /// Where the declarations are in the tree, if facts are wanted.
    pub(crate) declared_nodes: Vec<DeclaredNode>,
    pub(crate) wants_facts: bool,
}

impl<'s> Deref for Visit<'s> {
    type Target = Notes<'s>;

    fn deref(&self) -> &Notes<'s> {
        &self.notes
    }
}

impl DerefMut for Visit<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.notes
    }
}

/// A set of places in the text: a bit for each byte costs less than a table of the names in it.
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Bits {
        Bits(vec![0; len / 64 + 1])
    }

    fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
    }

    fn contains(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

impl<'s> Visit<'s> {
    pub(crate) fn new(
        source: &'s str,
        table: &'s Table,
        limits: &'s OutlineLimits,
        separator: &'static str,
    ) -> Visit<'s> {
        // Only uses need to know what was noted.
        let noted = if limits.max_references > 0 { source.len() } else { 0 };
        Visit {
            notes: Notes::new(source, limits, separator),
            table,
            role: Role::Read,
            names: Bits::new(source.len()),
            noted: Bits::new(noted),
            counted: (0, 0),
            declared_nodes: Vec::new(),
            wants_facts: false,
        }
    }

    pub(crate) fn text(&self, node: Node<'_>) -> &'s str {
        self.slice(node.start_byte(), node.end_byte())
    }

    /// `function` or `method`, by where it is.
    pub(crate) fn callable(&self) -> SymbolKind {
        match self.scope_kind() {
            ScopeKind::Class => SymbolKind::Method,
            _ => SymbolKind::Function,
        }
    }

    /// A declaration that is the whole of `node`, called what `name` says.
    pub(crate) fn declared(&mut self, kind: SymbolKind, node: Node<'_>, name: Node<'_>) -> Option<Declared> {
        let text = self.text(name).trim();
        if text.is_empty() {
            return None;
        }
        self.name_at(name);
        Some(self.declared_as(kind, node, text.to_owned(), name.start_position().row))
    }

    /// A declaration whose name is not written as one word.
    pub(crate) fn declared_as(
        &mut self,
        kind: SymbolKind,
        node: Node<'_>,
        name: String,
        name_row: usize,
    ) -> Declared {
        let (start, start_row) = self.head(node);
        let head_end =
            node.child_by_field_name("body").map_or_else(|| node.end_byte(), |body| body.start_byte());
        Declared {
            kind,
            name,
            name_row,
            owner: None,
            start,
            start_row,
            end_row: self.last_row(node),
            head_end,
            signature: None,
            returns: None,
            decorators: Vec::new(),
            doc: None,
            opens: None,
            look_inside: true,
        }
    }

    /// A declaration with a field `name`.
    pub(crate) fn named(&mut self, kind: SymbolKind, node: Node<'_>) -> Option<Declared> {
        self.declared(kind, node, node.child_by_field_name("name")?)
    }

    /// The declaration among those around the current node's siblings that was made last.
    pub(crate) fn sibling(&self) -> Option<u32> {
        let level = self.scopes.len() as u32;
        let at = self.symbols.iter().rposition(|symbol| symbol.level <= level)?;
        (self.symbols[at].level == level).then_some(at as u32)
    }

    /// Where a declaration begins, after the attributes that the grammar puts inside it.
    pub(crate) fn head(&self, node: Node<'_>) -> (usize, usize) {
        let mut at = node;
        'down: loop {
            let mut cursor = at.walk();
            if !cursor.goto_first_child() {
                return (at.start_byte(), at.start_position().row);
            }
            loop {
                let child = cursor.node();
                match self.table.rule(child) {
                    Some(Rule::Attribute | Rule::Comment) => {}
                    _ if child.start_byte() == child.end_byte() => {}
                    _ if child.kind().ends_with("modifiers") => {
                        // Modifiers may be annotations only.
                        let end = child.end_byte();
                        let (start, row) = self.head_of_modifiers(child);
                        if start < end {
                            return (start, row);
                        }
                    }
                    _ if child.kind() == "modifier" || child.child_count() == 0 => {
                        return (child.start_byte(), child.start_position().row);
                    }
                    _ => {
                        at = child;
                        continue 'down;
                    }
                }
                if !cursor.goto_next_sibling() {
                    return (node.start_byte(), node.start_position().row);
                }
            }
        }
    }

    fn head_of_modifiers(&self, modifiers: Node<'_>) -> (usize, usize) {
        let mut cursor = modifiers.walk();
        if cursor.goto_first_child() {
            loop {
                let child = cursor.node();
                if !matches!(self.table.rule(child), Some(Rule::Attribute | Rule::Comment)) {
                    return (child.start_byte(), child.start_position().row);
                }
                if !cursor.goto_next_sibling() {
                    return (modifiers.end_byte(), modifiers.end_position().row);
                }
            }
        }
        (modifiers.start_byte(), modifiers.start_position().row)
    }

    /// The last row of a node that is not blank: some grammars give a node the blank lines after it.
    pub(crate) fn last_row(&self, node: Node<'_>) -> usize {
        let text = self.text(node);
        let blank = &text[text.trim_end().len()..];
        let rows = blank.matches('\n').count();
        node.end_position().row.saturating_sub(rows).max(node.start_position().row)
    }

    /// Notes that a declaration's name is here.
    pub(crate) fn name_at(&mut self, name: Node<'_>) {
        self.names.insert(name.start_byte());
        self.no_use(name);
    }

    /// Notes that the name here was declared together with what it belongs to.
    pub(crate) fn declared_at(&mut self, node: Node<'_>) {
        self.names.insert(node.start_byte());
    }

    /// Notes that the names in here are no uses, or were noted already.
    pub(crate) fn no_use(&mut self, node: Node<'_>) {
        if !self.wants_uses {
            return;
        }
        let end = node.end_byte().min(node.start_byte() + MAX_NAME);
        for at in node.start_byte()..end {
            self.noted.insert(at);
        }
    }

    pub(crate) fn is_name(&self, node: Node<'_>) -> bool {
        self.names.contains(node.start_byte())
    }

    /// Notes a use of the name that `name` is.
    pub(crate) fn refer(&mut self, kind: ReferenceKind, name: Node<'_>, qualifier: Option<Node<'_>>) {
        let text = self.text(name);
        let qualifier = qualifier.map(|node| self.text(node));
        self.refer_text(kind, name, text, qualifier);
    }

    /// The same where the name is only a part of the node.
    pub(crate) fn refer_text(
        &mut self,
        kind: ReferenceKind,
        at: Node<'_>,
        name: &str,
        qualifier: Option<&str>,
    ) {
        // A longer "name" is a whole expression.
        if !self.wants_uses || name.is_empty() || name.len() > MAX_NAME || name.contains('\n') {
            return;
        }
        self.no_use(at);
        self.notes.refer(kind, place(at), name, qualifier);
    }

    /// Notes a name that means a value, unless it was noted as something else. `through` is where the path
    /// begins that it is the last part of.
    pub(crate) fn value(&mut self, name: Node<'_>, role: Role, through: Option<usize>) {
        let start = name.start_byte();
        if !self.wants_uses || self.noted.contains(start) {
            return;
        }
        let text = self.text(name);
        let kind = match role {
            Role::Bind => return,
            Role::Pattern if !text.starts_with(char::is_uppercase) => return,
            Role::Write => ReferenceKind::Write,
            Role::Type => ReferenceKind::Type,
            _ => ReferenceKind::Read,
        };
        if text.is_empty() || text == "_" || text.len() > MAX_NAME {
            return;
        }
        let qualifier = through.map(|from| without_separator(self.slice(from, start)));
        self.notes.refer(kind, place(name), text, qualifier);
    }

    /// Notes a call of what `callee` says: `run`, `service.run`, `Service::run`.
    pub(crate) fn call(&mut self, callee: Node<'_>) {
        let kind = ReferenceKind::Call;
        self.use_path(kind, callee);
    }

    /// Notes a use of a name written as a path, from the fields that grammars give its last part.
    pub(crate) fn use_path(&mut self, kind: ReferenceKind, path: Node<'_>) {
        const LAST: [&str; 6] = ["name", "property", "attribute", "field", "method", "suffix"];
        const FIRST: [&str; 7] = ["object", "path", "scope", "value", "operand", "argument", "expression"];
        let mut path = path;
        // `f::<T>` and `(f)` are `f`.
        while let Some(inner) = match path.kind() {
            "generic_function" | "template_function" | "instantiation_expression" => path
                .child_by_field_name("function")
                .or_else(|| path.child_by_field_name("name"))
                .or_else(|| path.named_child(0)),
            "parenthesized_expression" | "non_null_expression" => path.named_child(0),
            "template_type" | "generic_type" | "generic_name" => {
                path.child_by_field_name("name").or_else(|| path.named_child(0))
            }
            _ => None,
        } {
            path = inner;
        }
        if path.named_child_count() == 0 {
            if path.is_named() {
                self.refer(kind, path, None);
            }
            return;
        }
        let Some(last) = LAST.iter().find_map(|field| path.child_by_field_name(field)) else { return };
        let first = FIRST.iter().find_map(|field| path.child_by_field_name(field));
        let last = match last.kind() {
            // `a::b::c` nests to the right in C++, to the left elsewhere.
            "qualified_identifier" => return self.use_path(kind, last),
            "template_method" | "template_function" | "generic_name" | "template_type" => {
                last.child_by_field_name("name").or_else(|| last.named_child(0)).unwrap_or(last)
            }
            _ => last,
        };
        self.refer(kind, last, first);
    }

    /// Notes a use of a macro that is not in the tree. They come in the order of the text.
    pub(crate) fn refer_macro(&mut self, part: Range<usize>) {
        let text = self.slice(part.start, part.end);
        let name = text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        // The closing part of a macro around a type.
        if name.is_empty() {
            return;
        }
        let (from, rows) = self.counted;
        let row = rows + self.slice(from, part.start).matches('\n').count();
        self.counted = (part.start, row);
        let column = part.start - self.slice(0, part.start).rfind('\n').map_or(0, |end| end + 1);
        let kind = if name.len() < text.len() { ReferenceKind::Call } else { ReferenceKind::Read };
        self.notes.refer(kind, (row, column), name, None);
    }

    pub(crate) fn import(&mut self, at: Node<'_>, module: &str, name: Option<&str>, alias: Option<&str>) {
        if let Some(used) = self.notes.import(at.start_position().row, module, name, alias) {
            self.refer_text(ReferenceKind::Import, at, used, name.map(|_| module.trim()));
        }
    }
}

/// The row and column where a node begins.
fn place(node: Node<'_>) -> (usize, usize) {
    let position = node.start_position();
    (position.row, position.column)
}

/// `a.b` of `a.b.`, as written in any language.
fn without_separator(path: &str) -> &str {
    const SEPARATORS: [&str; 8] = ["?->", "?.", "&.", "->", "::", ".", ":", "\\"];
    // The sign of a variable belongs to its name: `A::$b`.
    let path = path.trim_end_matches('$').trim_end();
    SEPARATORS.iter().find_map(|separator| path.strip_suffix(separator)).unwrap_or(path).trim_end()
}

/// The last row that has a part of the node: an end at the start of a row is the end of the row before.
pub(crate) fn end_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}
