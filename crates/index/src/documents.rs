//! Paths and types of all documents, in memory: ties are broken by them and filters ask for them.
//!
//! Read when first needed, since neither opening an index nor most searches need it, and from then on carried
//! from snapshot to snapshot with only the changes.

use std::sync::{Arc, OnceLock};

use model::DocType;

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

/// Asks a filter at most once per document.
pub(crate) struct Admission<'a> {
    table: &'a Table,
    admit: &'a dyn Fn(&str, DocType) -> bool,
    /// Unknown, no, yes.
    answers: Vec<u8>,
}

impl<'a> Admission<'a> {
    pub(crate) fn new(documents: &'a Documents, admit: &'a dyn Fn(&str, DocType) -> bool) -> Admission<'a> {
        let table = documents.table();
        Admission { table, admit, answers: vec![0; table.pages.len() * PAGE] }
    }

    pub(crate) fn admits(&mut self, doc: u32) -> bool {
        let Some(answer) = self.answers.get_mut(doc as usize) else { return false };
        if *answer == 0 {
            let row = self.table.row(doc);
            *answer = 1 + u8::from(row.is_some_and(|row| (self.admit)(&row.path, row.doc_type)));
        }
        *answer == 2
    }
}
