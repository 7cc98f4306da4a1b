//! A second thought before the whole disk or the whole home folder is indexed and served.

use std::path::{Path, PathBuf};

use super::confirm::{self, Confirmation};
use crate::config::Loaded;
use crate::exit::Exit;
use crate::print::safe;

/// Asks once; a folder that has an index was agreed to before.
pub(crate) fn check(loaded: &Loaded, yes: bool, can_ask: bool) -> Result<(), Exit> {
    let settings = &loaded.settings;
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    let Some(what) = too_much(&settings.root, home.as_deref()) else { return Ok(()) };
    if yes || settings.state_dir.join("meta.sqlite").exists() {
        return Ok(());
    }
    let root = safe(&settings.root.to_string_lossy()).into_owned();
    let question = format!("{root} is {what}. Index all of it and let clients read it?");
    let answer = if can_ask { confirm::ask(loaded, false, &question)? } else { Confirmation::Unasked };
    match answer {
        Confirmation::Yes => Ok(()),
        Confirmation::No => {
            Err(Exit::config(format!("{root} is not served")).hint("Name a smaller folder with --dir."))
        }
        Confirmation::Unasked => {
            Err(Exit::config(format!("{root} is {what}, which is more than most people mean"))
                .hint("Name a smaller folder with --dir, or add --yes to serve all of it."))
        }
    }
}

/// What the folder is, if it is too much to be served without a question.
fn too_much(root: &Path, home: Option<&Path>) -> Option<&'static str> {
    match home {
        _ if root == Path::new("/") => Some("the whole file system"),
        Some(home) if root == home => Some("your home folder"),
        Some(home) if home.starts_with(root) => Some("a folder that holds your home folder"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_the_home_folder_and_what_holds_it() {
        let home = Some(Path::new("/home/me"));
        let of = |root: &str| too_much(Path::new(root), home).is_some();
        assert!(of("/") && of("/home") && of("/home/me"));
        assert!(!of("/home/me/notes") && !of("/srv") && !of("/home/men"));
        assert!(too_much(Path::new("/"), None).is_some());
    }
}
