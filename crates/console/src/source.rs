//! Where a file is looked for: a folder that is served, or a project of the store.

use std::sync::Arc;

use dir2mcp_http::Guest;
use engine::{Engine, TenantFiles, Workspace};
use http::Extensions;
use model::{Caller, ErrorCode, Failure};

use crate::ConsoleParts;
use crate::answer::refused;

/// Who asks the console.
pub(crate) struct Asker {
    pub(crate) caller: Caller,
    /// Sees its own files of the store and nothing else.
    pub(crate) is_guest: bool,
}

impl Asker {
    pub(crate) fn of(extensions: &Extensions) -> Asker {
        Asker {
            caller: extensions.get::<Caller>().cloned().unwrap_or_else(Caller::unknown),
            is_guest: extensions.get::<Guest>().is_some(),
        }
    }
}

pub(crate) enum ViewedSource {
    Folder { name: String, engine: Arc<Engine> },
    Project { name: String, project: String, files: Arc<TenantFiles> },
}

/// The name of a root, counted from 0.
pub(crate) fn root_name(number: usize) -> String {
    match number {
        0 => "dir".to_owned(),
        number => format!("dir.{}", number + 1),
    }
}

impl ViewedSource {
    pub(crate) fn find(state: &ConsoleParts, asker: &Asker, name: &str) -> Result<ViewedSource, Failure> {
        if let Some(project) = name.strip_prefix("store.") {
            let files = state.files.as_ref().ok_or_else(|| {
                Failure::new(ErrorCode::NotFound, "the file store is switched off")
                    .hint("The operator decides by files.enabled.")
            })?;
            return Ok(ViewedSource::Project {
                name: name.to_owned(),
                project: project.to_owned(),
                files: Arc::clone(files),
            });
        }
        let engine = ViewedSource::folder(&state.workspace, asker, name)?;
        Ok(ViewedSource::Folder { name: name.to_owned(), engine })
    }

    /// A folder by its name.
    pub(crate) fn folder(workspace: &Workspace, asker: &Asker, name: &str) -> Result<Arc<Engine>, Failure> {
        if asker.is_guest {
            return Err(Failure::new(ErrorCode::PermissionDenied, "this key opens files of the store only"));
        }
        let number = match name.strip_prefix("dir") {
            Some("") => Some(0),
            Some(rest) => rest
                .strip_prefix('.')
                .and_then(|number| number.parse::<usize>().ok())
                .filter(|number| *number >= 2)
                .map(|number| number - 1),
            None => None,
        };
        let engine = number.and_then(|number| workspace.engines().get(number));
        engine.cloned().ok_or_else(|| {
            refused("source must be dir, dir.2 and so on for the folders that are served, or store.PROJECT")
        })
    }
}
