//! The lexical index as the derived indices keep it: opened, written and committed in step with the catalog.

use std::path::PathBuf;

use super::{State, THREADS, VERIFY_AT_OPEN, judge};
use crate::catalog::Catalog;
use crate::error::IndexError;
use crate::lexical::{Lexical, LexicalView, LexicalWriter, Verify};

pub(super) struct LexicalSide {
    pub(super) dir: PathBuf,
    pub(super) opened: Option<Lexical>,
    /// Opened by the first change: a server that only answers needs no writer's threads.
    pub(super) writer: Option<LexicalWriter>,
    pub(super) view: LexicalView,
    pub(super) dirty: bool,
    pub(super) state: State,
    /// Why it fell behind, if writing failed.
    pub(super) failure: Option<IndexError>,
}

impl LexicalSide {
    pub(super) fn new(dir: PathBuf) -> LexicalSide {
        LexicalSide {
            dir,
            opened: None,
            writer: None,
            view: LexicalView::default(),
            dirty: false,
            state: State::Behind,
            failure: None,
        }
    }

    /// Opens what is there, or makes it for a catalog that `is_new`.
    pub(super) fn open(
        &mut self,
        catalog: &Catalog,
        corpus: &str,
        is_new: bool,
        purged: u64,
    ) -> Result<(), IndexError> {
        if !Lexical::exists(&self.dir) {
            if is_new {
                self.opened = Some(Lexical::create(&self.dir, corpus)?);
                self.state = State::Current;
            } else {
                self.state = State::Broken("it is missing".to_owned());
            }
            return Ok(());
        }
        let loaded = Lexical::open(&self.dir, corpus).and_then(|opened| {
            let view = LexicalView::load(&opened, None, Verify::UpTo(VERIFY_AT_OPEN))?;
            Ok((opened, view))
        });
        match loaded {
            Ok((opened, view)) => {
                self.state = judge(catalog, view.generation, purged);
                self.opened = Some(opened);
                self.view = view;
            }
            Err(error) => self.state = State::Broken(error.to_string()),
        }
        Ok(())
    }

    /// True if there is a writer now; else it falls behind.
    pub(super) fn has_writer(&mut self) -> bool {
        match self.open_writer() {
            Ok(_) => true,
            Err(error) => {
                self.fail(error);
                false
            }
        }
    }

    fn open_writer(&mut self) -> Result<&mut LexicalWriter, IndexError> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            none => {
                let opened = self
                    .opened
                    .as_ref()
                    .ok_or(IndexError::Lexical { detail: "it is not open".to_owned() })?;
                Ok(none.insert(LexicalWriter::open(opened, THREADS)?))
            }
        }
    }

    /// Commits what was written, where there is something that the catalog's contents ask for.
    pub(super) fn commit(&mut self, generation: u64, content_generation: u64) -> Result<(), IndexError> {
        if self.dirty || self.view.generation < content_generation {
            self.open_writer()?.commit(generation)?;
            self.dirty = false;
        }
        if let Some(opened) = &self.opened {
            self.view = LexicalView::load(opened, Some(&self.view), Verify::Nothing)?;
        }
        Ok(())
    }

    pub(super) fn fail(&mut self, error: IndexError) {
        tracing::warn!(%error, "the lexical index fell behind");
        self.writer = None;
        self.state = State::Behind;
        self.failure = Some(error);
    }

    pub(super) fn failure(&mut self) -> IndexError {
        self.failure.take().unwrap_or(IndexError::Lexical { detail: "it cannot be written".to_owned() })
    }
}
