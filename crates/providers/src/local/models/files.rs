//! The files of a model, as a child of this program reads them before it gives up the right to open any.

// Files of extras, outside every served folder.
#![allow(clippy::disallowed_methods)]

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Which model a child runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelKind {
    Pictures,
    Speech,
    Passages,
}

impl ModelKind {
    /// As the command line of the child names it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            ModelKind::Pictures => "pictures",
            ModelKind::Speech => "speech",
            ModelKind::Passages => "passages",
        }
    }

    pub(super) fn parse(name: &str) -> Option<ModelKind> {
        [ModelKind::Pictures, ModelKind::Speech, ModelKind::Passages]
            .into_iter()
            .find(|kind| kind.as_str() == name)
    }

    /// Names of its files in the extra's folder.
    pub(super) fn files(self) -> &'static [&'static str] {
        match self {
            ModelKind::Pictures => &["detection.onnx", "recognition.onnx"],
            ModelKind::Speech => &["encoder.onnx", "decoder.onnx", "vocabulary.json", "generation.json"],
            ModelKind::Passages => &["model.onnx", "vocabulary.txt"],
        }
    }

    /// Words that a child is started with.
    pub(super) fn arguments(self, folder: &Path, threads: usize) -> Vec<OsString> {
        vec![self.as_str().into(), folder.into(), threads.to_string().into()]
    }
}

/// The bytes of a model's files, in the order of [`ModelKind::files`].
pub(super) fn read(kind: ModelKind, folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let named = |name: &&str| {
        let path: PathBuf = folder.join(name);
        std::fs::read(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    };
    kind.files().iter().map(named).collect()
}
