//! What the operations do, in the plainest way: a map from paths to bytes. It shares no code with the product.

use std::collections::BTreeMap;

use super::operation::{StoreAnswer, StoreOperation, StoreWriteMode};

/// The files of one project.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct StoreModel {
    pub files: BTreeMap<String, Vec<u8>>,
}

impl StoreModel {
    /// Carries an operation out.
    pub fn apply(&mut self, operation: &StoreOperation) -> StoreAnswer {
        let done = match operation {
            StoreOperation::Write { path, content, mode, offset } => {
                self.write(path, content, *mode, *offset)
            }
            StoreOperation::Delete { path, recursive } => self.delete(path, *recursive),
            StoreOperation::Rename { from, to, overwrite } => self.rename(from, to, *overwrite),
            StoreOperation::Read { path } => self.read(path),
            StoreOperation::Stat { path } => Ok(match self.files.get(path) {
                Some(content) => StoreAnswer::File(content.len()),
                None if path.is_empty() || self.is_directory(path) => StoreAnswer::Directory,
                None => StoreAnswer::Nothing,
            }),
            StoreOperation::List => Ok(StoreAnswer::Files(
                self.files.iter().map(|(path, content)| (path.clone(), content.len())).collect(),
            )),
        };
        done.unwrap_or_else(|code| StoreAnswer::Refused(code.to_owned()))
    }

    pub(super) fn write(
        &mut self,
        path: &str,
        content: &str,
        mode: StoreWriteMode,
        offset: i64,
    ) -> Result<StoreAnswer, &'static str> {
        if offset < 0 || (mode == StoreWriteMode::Truncate && offset != 0) {
            return Err("INVALID_OFFSET");
        }
        if self.is_directory(path) {
            return Err("IS_DIRECTORY");
        }
        if self.has_file_above(path) {
            return Err("NOT_DIRECTORY");
        }
        let old = self.files.get(path).cloned().unwrap_or_default();
        let new = match mode {
            StoreWriteMode::Truncate => content.as_bytes().to_vec(),
            StoreWriteMode::Append => [old.as_slice(), content.as_bytes()].concat(),
            StoreWriteMode::Overwrite => {
                let at = offset as usize;
                if at > old.len() {
                    return Err("INVALID_OFFSET");
                }
                let mut new = old;
                let end = at + content.len();
                if end > new.len() {
                    new.resize(end, 0);
                }
                new[at..end].copy_from_slice(content.as_bytes());
                new
            }
        };
        self.files.insert(path.to_owned(), new);
        Ok(StoreAnswer::Written(content.len()))
    }

    pub(super) fn delete(&mut self, path: &str, recursive: bool) -> Result<StoreAnswer, &'static str> {
        if path.is_empty() {
            return Err("PERMISSION_DENIED");
        }
        if self.files.remove(path).is_some() {
            return Ok(StoreAnswer::Deleted(1));
        }
        let below = self.below(path);
        match (below.is_empty(), recursive) {
            (true, _) => Err("NOT_FOUND"),
            (false, false) => Err("NOT_EMPTY"),
            (false, true) => {
                for path in &below {
                    self.files.remove(path);
                }
                Ok(StoreAnswer::Deleted(below.len()))
            }
        }
    }

    pub(super) fn rename(
        &mut self,
        from: &str,
        to: &str,
        overwrite: bool,
    ) -> Result<StoreAnswer, &'static str> {
        if from.is_empty() || to.is_empty() {
            return Err("INVALID_PATH");
        }
        if from == to {
            return Ok(StoreAnswer::Moved(0));
        }
        let is_file = self.files.contains_key(from);
        let sources = if is_file { vec![from.to_owned()] } else { self.below(from) };
        if sources.is_empty() {
            return Err("NOT_FOUND");
        }
        if !is_file && to.starts_with(&format!("{from}/")) {
            return Err("INVALID_PATH");
        }
        if self.has_file_above(to) {
            return Err("NOT_DIRECTORY");
        }
        let replaces = is_file && overwrite && self.files.contains_key(to);
        if self.is_directory(to) || (self.files.contains_key(to) && !replaces) {
            return Err("ALREADY_EXISTS");
        }
        for source in &sources {
            let content = self.files.remove(source).unwrap_or_default();
            self.files.insert(format!("{to}{}", &source[from.len()..]), content);
        }
        Ok(StoreAnswer::Moved(sources.len()))
    }

    fn read(&self, path: &str) -> Result<StoreAnswer, &'static str> {
        match self.files.get(path) {
            Some(content) => Ok(StoreAnswer::Content(String::from_utf8_lossy(content).into_owned())),
            None if self.is_directory(path) => Err("IS_DIRECTORY"),
            None => Err("NOT_FOUND"),
        }
    }

    pub(super) fn below(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        self.files.keys().filter(|each| each.starts_with(&prefix)).cloned().collect()
    }

    pub(super) fn is_directory(&self, path: &str) -> bool {
        !self.below(path).is_empty()
    }

    fn has_file_above(&self, path: &str) -> bool {
        path.match_indices('/').skip(1).any(|(at, _)| self.files.contains_key(&path[..at]))
    }
}
