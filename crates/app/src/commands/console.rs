//! `dir2mcp console`: opens the web page of the running server, signed in by a code that works once.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;
use console::SignInCodes;
use engine::state_dir;
use serde_json::json;

use crate::config::{Loaded, files};
use crate::exit::{Exit, ExitCode};
use crate::print::connection::SavedConnection;
use crate::print::{self, percent_encoded, safe};
use crate::wire::sign_in_folder;

#[derive(Debug, Clone, Args)]
pub(crate) struct ConsoleArgs {
    /// A file of the directory, with a line or lines behind a colon
    #[arg(value_name = "PATH[:LINE]")]
    pub place: Option<String>,
    /// Print the address and open nothing
    #[arg(long)]
    pub print: bool,
}

pub(crate) fn run(loaded: &Loaded, args: &ConsoleArgs) -> Result<(), Exit> {
    let settings = &loaded.settings;
    let state_dir = &settings.state_dir;
    let belonging = state_dir::check(&settings.root, state_dir)?;
    let saved = SavedConnection::of(state_dir, belonging).ok_or_else(|| {
        let directory = settings.root.to_string_lossy();
        Exit::new(ExitCode::Generic, "NOT_RUNNING", format!("no server runs for {}", safe(&directory)))
            .hint("Start one with: dir2mcp up")
    })?;
    let address = saved.console.as_deref().ok_or_else(|| {
        Exit::config("the running server has no web console")
            .hint("Start it with --console on; others who can reach it could then see a sign-in page.")
    })?;
    let (path, lines) = match &args.place {
        None => (String::new(), None),
        Some(place) => located(&settings.root, place)?,
    };
    let page = format!("{address}{path}");
    let code = match saved.token_source.as_str() {
        "none" => None,
        _ => Some(new_code(state_dir)?),
    };
    let fragment: Vec<String> = lines.into_iter().chain(code.map(|code| format!("code={code}"))).collect();
    let link = match fragment.is_empty() {
        true => page.clone(),
        false => format!("{page}#{}", fragment.join("&")),
    };
    if settings.output.json {
        return Ok(print::out_json(&json!({ "url": page, "sign_in": link }))?);
    }
    print::out(&format!("{}\n", safe(&link)))?;
    if !args.print && io::stdout().is_terminal() && !open(&link) {
        print::err("No browser could be started; open the address yourself. It works once, for a minute.\n");
    }
    Ok(())
}

/// A code that the running server finds in its state directory, which only its owner can write to.
fn new_code(state_dir: &Path) -> Result<String, Exit> {
    let folder = sign_in_folder(state_dir);
    let cannot = |error: &io::Error| {
        Exit::generic(format!("{} cannot be written: {error}", safe(&folder.to_string_lossy())))
    };
    files::prepare_folder(&folder).map_err(|error| cannot(&error))?;
    let (code, name) =
        SignInCodes::left_for_a_server().ok_or_else(|| Exit::generic("the system has no random numbers"))?;
    files::write(&folder.join(name), "", 0o600).map_err(|error| cannot(&error))?;
    Ok(code)
}

/// The path of the page for a file, and its lines as the page writes them.
fn located(root: &Path, place: &str) -> Result<(String, Option<String>), Exit> {
    let (path, lines) = match place.rsplit_once(':') {
        Some((path, lines)) if !path.is_empty() => match line_range(lines) {
            Some(range) => (path, Some(range)),
            None => (place, None),
        },
        _ => (place, None),
    };
    let given = Path::new(path);
    // A file that is named from within the directory is meant as it is seen from there.
    let seen = std::env::current_dir().map(|here| here.join(given)).unwrap_or_else(|_| given.to_owned());
    let inside = match files::resolved(&seen).strip_prefix(root) {
        Ok(inside) => inside.to_owned(),
        Err(_) if given.is_relative() => given.to_owned(),
        Err(_) => {
            return Err(Exit::config(format!("{} is not in {}", safe(path), safe(&root.to_string_lossy())))
                .hint("Name a file of the directory that is served."));
        }
    };
    let inside = inside.to_string_lossy();
    Ok((format!("file/dir/{}", percent_encoded(inside.as_bytes(), b"/")), lines))
}

/// `10`, `10-20`, `L10-L20`.
fn line_range(text: &str) -> Option<String> {
    let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok().filter(|line| *line > 0);
    match text.split_once('-') {
        None => Some(format!("L{}", number(text)?)),
        Some((first, last)) => Some(format!("L{}-L{}", number(first)?, number(last)?)),
    }
}

/// Starts the browser of the user; what it prints is not ours.
fn open(link: &str) -> bool {
    let programs: &[&str] = if cfg!(target_os = "macos") { &["open"] } else { &["xdg-open", "wslview"] };
    programs.iter().any(|program| {
        let started = Command::new(program)
            .arg(link)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        started.is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_addresses_of_the_page() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let shown = |place: &str| located(&root, place).unwrap();
        assert_eq!(shown("src/a b.rs:10"), ("file/dir/src/a%20b.rs".into(), Some("L10".into())));
        assert_eq!(shown("a.rs:10-20").1.as_deref(), Some("L10-L20"));
        assert_eq!(shown("a.rs:L3-L4").1.as_deref(), Some("L3-L4"));
        assert_eq!(shown("odd:name").0, "file/dir/odd%3Aname");
        let inside = root.join("x.md");
        assert_eq!(shown(inside.to_str().unwrap()).0, "file/dir/x.md");
        assert!(located(&root, "/etc/passwd").is_err());
    }
}
