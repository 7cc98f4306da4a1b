//! What a reading of a file has found so far, whichever parser it is read with.

use crate::rules::Declared;
use crate::text::{doc_line, one_line};
use crate::{Language, OutlineLimits, ParsedSource, Shortfall};
use model::{Import, Reference, ReferenceKind};
use model::{ScopeKind, Symbol};

pub(crate) struct Notes<'s> {
    pub(crate) source: &'s str,
    pub(crate) limits: &'s OutlineLimits,
    pub(crate) separator: &'static str,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) references: Vec<Reference>,
    pub(crate) imports: Vec<Import>,
    pub(crate) shortfall: Option<Shortfall>,
    /// The declarations around what is being read, outermost first.
    pub(crate) scopes: Vec<Scope>,
    /// The control flow around it.
    pub(crate) labels: Vec<&'static str>,
    /// Whether uses are wanted at all.
    pub(crate) wants_uses: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) symbol: u32,
    pub(crate) kind: ScopeKind,
}

/// What comes in front of a declaration and belongs to it.
#[derive(Clone, Copy)]
pub(crate) struct Front {
    /// The first row of its comments and attributes; its own first row if there are none.
    pub(crate) row: usize,
    /// Bytes of the comments among them.
    pub(crate) comment: Option<(usize, usize)>,
    /// Where the declaration's text begins (byte and row), if something such as `export` is a part of it.
    pub(crate) head: Option<(usize, usize)>,
}

impl<'s> Notes<'s> {
    pub(crate) fn new(source: &'s str, limits: &'s OutlineLimits, separator: &'static str) -> Notes<'s> {
        Notes {
            source,
            limits,
            separator,
            symbols: Vec::new(),
            references: Vec::new(),
            imports: Vec::new(),
            shortfall: None,
            scopes: Vec::new(),
            labels: Vec::new(),
            wants_uses: limits.max_references > 0,
        }
    }

    pub(crate) fn slice(&self, start: usize, end: usize) -> &'s str {
        self.source.get(start..end).unwrap_or("")
    }

    /// What encloses the part that is being read.
    pub(crate) fn scope_kind(&self) -> ScopeKind {
        self.scopes.last().map_or(ScopeKind::Module, |scope| scope.kind)
    }

    pub(crate) fn parent(&self) -> Option<&Symbol> {
        self.scopes.last().and_then(|scope| self.symbols.get(scope.symbol as usize))
    }

    /// Notes a declaration, unless a limit forbids it; what is declared in it comes after its scope is opened.
    pub(crate) fn declare(&mut self, declared: Declared, front: Front) -> Option<u32> {
        // A name that the parser made up to repair the text.
        if declared.name.is_empty() {
            return None;
        }
        let limits = self.limits;
        if self.scopes.len() >= limits.max_depth {
            self.shortfall.get_or_insert(Shortfall::TooDeep { limit: limits.max_depth });
            return None;
        }
        if self.symbols.len() >= limits.max_symbols {
            self.shortfall.get_or_insert(Shortfall::TooMany { what: "symbols", limit: limits.max_symbols });
            return None;
        }
        let (start, start_row) = front.head.unwrap_or((declared.start, declared.start_row));
        let doc = declared.doc.or_else(|| {
            let (start, end) = front.comment?;
            doc_line(self.slice(start, end))
        });
        let doc = doc.filter(|line| !line.is_empty());
        let signature =
            declared.signature.unwrap_or_else(|| one_line(self.slice(start, declared.head_end.max(start))));
        let around = self.parent().map(|parent| parent.qualified.clone());
        let owned = declared.owner.is_some();
        let parent = match (around, declared.owner) {
            (Some(around), Some(owner)) => Some(format!("{around}{}{owner}", self.separator)),
            (around, owner) => around.or(owner),
        };
        let qualified = match &parent {
            Some(parent) => format!("{parent}{}{}", self.separator, declared.name),
            None => declared.name.clone(),
        };
        let scope_kind = if owned { ScopeKind::Class } else { self.scope_kind() };
        let is_conditional = !self.labels.is_empty();
        self.symbols.push(Symbol {
            kind: declared.kind,
            name: declared.name,
            qualified,
            signature,
            returns: declared.returns,
            decorators: declared.decorators,
            doc,
            start_line: line(start_row),
            end_line: line(declared.end_row.max(start_row)),
            name_line: line(declared.name_row),
            lead_line: line(front.row.min(start_row)),
            parent,
            scope_kind,
            is_conditional,
            decl_context: is_conditional.then(|| self.labels.join(">")),
            level: self.scopes.len() as u32,
        });
        Some(self.symbols.len() as u32 - 1)
    }

    /// Notes a use at a row and a column, both from 0.
    pub(crate) fn refer(
        &mut self,
        kind: ReferenceKind,
        at: (usize, usize),
        name: &str,
        qualifier: Option<&str>,
    ) {
        let limit = self.limits.max_references;
        if self.references.len() >= limit {
            self.shortfall.get_or_insert(Shortfall::TooMany { what: "references", limit });
            return;
        }
        self.references.push(Reference {
            name: name.to_owned(),
            qualifier: qualifier
                .filter(|text| !text.is_empty() && text.len() <= 100 && !text.contains('\n'))
                .map(str::to_owned),
            kind,
            line: line(at.0),
            column: line(at.1),
            within: self.scopes.last().map(|scope| scope.symbol),
        });
    }

    /// Notes an import; what of it is a use is returned. None if it is no import that could be meant.
    pub(crate) fn import<'n>(
        &mut self,
        row: usize,
        module: &'n str,
        name: Option<&'n str>,
        alias: Option<&str>,
    ) -> Option<&'n str> {
        if self.imports.len() >= self.limits.max_symbols || module.len() > 1000 {
            return None;
        }
        let module = module.trim();
        self.imports.push(Import {
            module: module.to_owned(),
            name: name.map(str::to_owned),
            alias: alias.map(str::to_owned),
            line: line(row),
        });
        Some(name.filter(|name| *name != "*").unwrap_or(module))
    }

    /// Everything that was found, in order.
    pub(crate) fn finish(mut self, language: Language) -> ParsedSource {
        self.sort();
        ParsedSource {
            language,
            symbols: self.symbols,
            imports: self.imports,
            references: self.references,
            shortfall: self.shortfall,
        }
    }

    /// The order of an outline and of the text, and the references' indices moved along.
    fn sort(&mut self) {
        // Whatever contains a name was noted before what comes in front of it: `b` before `a` in `a().b()`.
        if !self.references.is_sorted_by_key(|reference| (reference.line, reference.column)) {
            self.references.sort_by_key(|reference| (reference.line, reference.column));
        }
        let key = |symbol: &Symbol| (symbol.start_line, symbol.end_line);
        let mut order: Vec<u32> = (0..self.symbols.len() as u32).collect();
        let sorted = self.symbols.is_sorted_by(|a, b| {
            key(a) < key(b)
                || key(a) == key(b) && (&a.qualified, a.kind.as_str()) <= (&b.qualified, b.kind.as_str())
        });
        if sorted {
            return;
        }
        order.sort_by(|a, b| {
            let (a, b) = (&self.symbols[*a as usize], &self.symbols[*b as usize]);
            key(a)
                .cmp(&key(b))
                .then_with(|| (&a.qualified, a.kind.as_str()).cmp(&(&b.qualified, b.kind.as_str())))
        });
        let mut place = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old as usize] = new as u32;
        }
        for reference in &mut self.references {
            reference.within = reference.within.map(|old| place[old as usize]);
        }
        let mut symbols: Vec<Option<Symbol>> =
            std::mem::take(&mut self.symbols).into_iter().map(Some).collect();
        self.symbols = order.iter().filter_map(|old| symbols[*old as usize].take()).collect();
    }
}

/// Longer names are ignored.
pub(crate) const MAX_NAME: usize = 200;

/// Rows count from 0, lines from 1.
pub(crate) fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1) + 1
}
