//! What this machine has for reading scans and recordings: programs on the search path, and extras.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use providers::extras::ExtraStore;
use providers::local::find_program;

use crate::capabilities::{Capabilities, Machine};
use crate::config::Loaded;
use crate::exit::Exit;
use crate::memory;

/// Who serves which capability in this run. Keys are looked up here, before the server confines itself.
pub(crate) fn capabilities(loaded: &Loaded) -> Result<Capabilities, Exit> {
    let found = Capabilities::resolve(loaded, machine(loaded));
    let found = found.map_err(|error| Exit::config(error.to_string()))?;
    if found.all().iter().any(|assignment| assignment.secret.is_some()) {
        memory::forbid_dumps();
    }
    Ok(found)
}

/// The folder of extras: the one that was named, else one in the user's data directory.
pub(crate) fn extras(loaded: &Loaded) -> Option<ExtraStore> {
    let named = loaded.settings.models.extras_dir.clone();
    named.or_else(|| Some(loaded.environment.data_dir()?.join("extras"))).map(ExtraStore::new)
}

fn machine(loaded: &Loaded) -> Machine {
    let store = extras(loaded);
    let extra = |name: &str| store.as_ref().and_then(|store| store.installed(name));
    Machine {
        tesseract: tesseract(loaded),
        ocr_extra: extra("ocr").is_some(),
        speech_extra: ["speech", "speech-fast"].into_iter().find(|name| extra(name).is_some()),
        rerank_extra: extra("rerank").is_some(),
        espeak: on_path(loaded, "espeak-ng"),
        extras: store.map(|store| store.directory().to_owned()),
        programs: programs(loaded),
    }
}

/// The program that was named, else the one on the search path.
fn tesseract(loaded: &Loaded) -> Option<PathBuf> {
    match &loaded.settings.models.tesseract_path {
        Some(named) => is_program(named).then(|| named.clone()),
        None => on_path(loaded, "tesseract"),
    }
}

fn on_path(loaded: &Loaded, name: &str) -> Option<PathBuf> {
    find_program(name, OsStr::new(loaded.environment.search_path()?))
}

/// The programs of the user's own: by their path, or by their name on the search path.
fn programs(loaded: &Loaded) -> BTreeMap<String, PathBuf> {
    let command = &loaded.settings.models.command;
    let named = [&command.embed, &command.ocr, &command.stt].into_iter().filter_map(|words| words.first());
    named
        .filter_map(|name| {
            let path = Path::new(name);
            let found = match path.is_absolute() {
                true => is_program(path).then(|| path.to_owned()),
                false if name.contains('/') => None,
                false => on_path(loaded, name),
            };
            Some((name.clone(), found?))
        })
        .collect()
}

fn is_program(path: &Path) -> bool {
    let folder = path.parent().map(|folder| folder.as_os_str()).unwrap_or_default();
    path.file_name().and_then(|name| find_program(name.to_str()?, folder)).is_some()
}
