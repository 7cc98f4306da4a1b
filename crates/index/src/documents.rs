//! Paths and types of all documents, in memory: ties are broken by them and filters ask for them.
//!
//! Read when first needed, since neither opening an index nor most searches need it, and from then on carried
//! from snapshot to snapshot with only the changes.

use std::sync::{Arc, OnceLock};

use model::filter::{Admit, ChunkFacts, DocumentFacts, Verdict};
use model::{DocType, IndexKind};

use crate::catalog::Catalog;

pub(crate) struct Documents {
    catalog: Arc<Catalog>,
    table: OnceLock<Table>,
}

#[derive(Clone, Default)]
struct Table {
    /// Everything up to this commit is in it.
    generation: u64,
    /// Rows by `doc_id`, in pages that tables share as long as nothing on them changes.
    pages: Vec<Arc<Vec<Option<Row>>>>,
}

#[derive(Clone)]
struct Row {
    path: Arc<str>,
    doc_type: DocType,
}

const PAGE: usize = 512;

impl Row {
    fn facts(&self) -> DocumentFacts<'_> {
        DocumentFacts { path: &self.path, doc_type: self.doc_type }
    }
}

impl Documents {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Documents {
        Documents { catalog, table: OnceLock::new() }
    }

    /// Documents of these numbers and paths.
    #[cfg(test)]
    pub(crate) fn of(catalog: Arc<Catalog>, paths: impl Iterator<Item = (u32, String)>) -> Documents {
        let mut table = Table::default();
        for (doc, path) in paths {
            table.put(doc.into(), &path, DocType::Md);
        }
        Documents { catalog, table: table.into() }
    }

    /// The same for a later snapshot.
    pub(crate) fn advanced(&self) -> Documents {
        let later = Documents::new(self.catalog.clone());
        if let Some(table) = self.table.get() {
            let mut table = table.clone();
            if table.read(&self.catalog).is_ok() {
                let _ = later.table.set(table);
            }
        }
        later
    }

    /// Reads the table now, so that no search has to wait for it.
    pub(crate) fn warm(&self) {
        self.table();
    }

    pub(crate) fn path(&self, doc: u32) -> &str {
        self.table().row(doc).map_or("", |row| &row.path)
    }

    /// Path and type.
    pub(crate) fn get(&self, doc: u32) -> Option<(&str, DocType)> {
        self.table().row(doc).map(|row| (&*row.path, row.doc_type))
    }

    /// The paths of all documents.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.table().pages.iter().flat_map(|page| page.iter().flatten()).map(|row| &*row.path)
    }

    fn table(&self) -> &Table {
        self.table.get_or_init(|| {
            let mut table = Table::default();
            if let Err(error) = table.read(&self.catalog) {
                tracing::warn!(%error, "the documents cannot be read");
            }
            table
        })
    }
}

impl Table {
    fn read(&mut self, catalog: &Catalog) -> Result<(), crate::IndexError> {
        // Taken before reading: what is committed meanwhile is read again next time.
        let generation = catalog.generation();
        catalog.document_names(self.generation, |doc_id, path, doc_type| self.put(doc_id, path, doc_type))?;
        self.generation = generation;
        Ok(())
    }

    fn put(&mut self, doc_id: i64, path: &str, doc_type: DocType) {
        let number = doc_id as usize / PAGE;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || Arc::new(vec![None; PAGE]));
        }
        let page = Arc::make_mut(&mut self.pages[number]);
        page[doc_id as usize % PAGE] = Some(Row { path: path.into(), doc_type });
    }

    fn row(&self, doc: u32) -> Option<&Row> {
        self.pages.get(doc as usize / PAGE)?[doc as usize % PAGE].as_ref()
    }
}

/// Asks a filter at most once per document, and about chunks only where the document does not decide.
pub(crate) struct Admission<'a> {
    table: &'a Table,
    admit: &'a dyn Admit,
    /// Where all chunks are of one kind.
    kind: IndexKind,
    verdicts: Vec<Option<Verdict>>,
}

impl<'a> Admission<'a> {
    pub(crate) fn new(documents: &'a Documents, admit: &'a dyn Admit, kind: IndexKind) -> Admission<'a> {
        let table = documents.table();
        Admission { table, admit, kind, verdicts: vec![None; table.pages.len() * PAGE] }
    }

    /// Whether a chunk of a document passes.
    pub(crate) fn admits(&mut self, doc: u32) -> bool {
        self.admits_kind(doc, self.kind)
    }

    /// The same where chunks are of both kinds.
    pub(crate) fn admits_kind(&mut self, doc: u32, kind: IndexKind) -> bool {
        match self.verdict(doc) {
            Verdict::Refused => false,
            Verdict::Admitted => true,
            Verdict::PerChunk => self
                .table
                .row(doc)
                .is_some_and(|row| self.admit.chunk(&ChunkFacts { document: row.facts(), kind })),
        }
    }

    /// What the filter says about a whole document.
    pub(crate) fn verdict(&mut self, doc: u32) -> Verdict {
        let Some(known) = self.verdicts.get_mut(doc as usize) else { return Verdict::Refused };
        *known.get_or_insert_with(|| {
            self.table.row(doc).map_or(Verdict::Refused, |row| self.admit.document(&row.facts()))
        })
    }
}
