//! A client's file: found, read whole, replaced in one step, with a copy of what it was.
#![allow(
    clippy::disallowed_methods,
    reason = "the user named this client, and its file is not content to be served"
)]

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::clients::{Home, KnownClient};
use super::config_file::{CannotEditEntry, EntryFormat};
use super::{ConnectArgs, steps};
use crate::config::{Loaded, files};
use crate::exit::Exit;
use crate::print::safe;

/// Claude Code keeps its history in the same file, which grows to megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// A file that is not there yet.
const NEW_MODE: u32 = 0o600;

pub(super) struct ClientFile {
    pub path: PathBuf,
    /// Empty where there is no such file.
    pub text: String,
    format: EntryFormat,
    mode: Option<u32>,
    home: Option<PathBuf>,
}

impl ClientFile {
    /// The file that the command line names, the project's, or the user's.
    pub(super) fn find(
        loaded: &Loaded,
        args: &ConnectArgs,
        client: &KnownClient,
        name: &str,
        home: Option<&Home>,
    ) -> Result<Option<ClientFile>, Exit> {
        let path = match (&args.file, args.project) {
            (Some(path), _) => {
                let cwd = std::env::current_dir()?;
                Some(cwd.join(path))
            }
            (None, true) => match client.project_file(name) {
                Some(path) => Some(loaded.settings.root.join(path)),
                None => {
                    let message = format!("{} has no file for single projects", client.title);
                    return Err(Exit::config(message).hint("Leave --project out."));
                }
            },
            (None, false) => home.and_then(|home| client.user_file(home, name)),
        };
        let Some(path) = path else { return Ok(None) };
        // People keep such files elsewhere and link to them; the link stays.
        let path = path.canonicalize().unwrap_or(path);
        let read = read(&path).map_err(|error| {
            Exit::config(format!("cannot read {}: {error}", safe(&path.to_string_lossy())))
        })?;
        let (text, mode) = read.map_or((String::new(), None), |(text, mode)| (text, Some(mode)));
        Ok(Some(ClientFile {
            path,
            text,
            format: client.format,
            mode,
            home: home.map(|home| home.home.clone()),
        }))
    }

    pub(super) fn servers(&self) -> Result<Map<String, Value>, CannotEditEntry> {
        match self.format {
            // The file is the entry.
            EntryFormat::OwnYaml if self.text.is_empty() => Ok(Map::new()),
            EntryFormat::OwnYaml => {
                let name =
                    self.path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                Ok(Map::from_iter([(name, Value::Object(self.format.servers(&self.text)?))]))
            }
            format => format.servers(&self.text),
        }
    }

    /// As it is written for people, safe to print.
    pub(super) fn shown(&self) -> String {
        safe(&steps::shown(&self.path, self.home.as_deref())).into_owned()
    }

    /// Puts the new text in place and returns where the old one is kept.
    pub(super) fn replace(&self, text: &str) -> Result<Option<PathBuf>, Exit> {
        if text == self.text && self.mode.is_some() {
            return Ok(None);
        }
        self.exchange(text).map_err(|error| Exit::config(format!("cannot write {}: {error}", self.shown())))
    }

    fn exchange(&self, text: &str) -> io::Result<Option<PathBuf>> {
        let Some(mode) = self.mode else {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            if !files::write_new(&self.path, text, NEW_MODE)? {
                return Err(io::Error::other("the file appeared meanwhile; run the command again"));
            }
            return Ok(None);
        };
        // The client may have written since: its change would be lost.
        if read(&self.path)?.is_none_or(|(now, _)| now != self.text) {
            return Err(io::Error::other("the file has changed meanwhile; run the command again"));
        }
        let mut backup = self.path.as_os_str().to_owned();
        backup.push(".before-dir2mcp");
        let backup = PathBuf::from(backup);
        files::write(&backup, &self.text, mode)?;
        if text.is_empty() {
            fs::remove_file(&self.path)?;
        } else {
            files::write(&self.path, text, mode)?;
        }
        Ok(Some(backup))
    }

    /// For the owner alone: the token is in it.
    pub(super) fn make_private(&self) -> io::Result<()> {
        let mode = fs::metadata(&self.path)?.permissions().mode() & 0o700;
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode))
    }
}

/// The text and the permission bits; nothing where there is no file.
fn read(path: &Path) -> io::Result<Option<(String, u32)>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(Some((text, metadata.permissions().mode() & 0o777)))
}
