//! `dir2mcp connect`: how a client finds this folder: shown to be copied, or written into the client's own file.
//!
//! The token is referred to, not printed, unless `--show-token` asks for it.

mod client_table;
mod clients;
mod config_file;
mod diff;
mod file;
mod link;
mod name;
mod steps;
mod target;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

pub(crate) use client_table::CLIENTS;
pub(crate) use clients::{Home, KnownClient};

use crate::cli::Cli;
use crate::config::{self, Loaded, Settings};
use crate::exit::{Exit, ExitCode};
use crate::print::connection::ConnectionNote;
use crate::print::style::{self, Ink};
use crate::print::{self, safe, safe_text};
use clients::OpenFolder;
use config_file::CannotEditEntry;
use diff::DiffLine;
use file::ClientFile;
use steps::ConnectStep;
use target::Target;

#[derive(Debug, Clone, Args)]
pub(crate) struct ConnectArgs {
    /// Client to connect; without one, all clients that are known are listed
    #[arg(value_parser = KnownClient::parser(), hide_possible_values = true)]
    pub client: Option<&'static KnownClient>,
    /// Let the client start the server and talk to it by pipe: no port, no token
    #[arg(long)]
    pub stdio: bool,
    /// Write the entry into the client's file; the rest of the file stays, and a copy of it is kept
    #[arg(long, conflicts_with_all = ["remove", "link"])]
    pub write: bool,
    /// Take this folder's entry out of the client's file
    #[arg(long, conflicts_with_all = ["link", "show_token", "tools"])]
    pub remove: bool,
    /// Use the file inside the folder, such as .mcp.json, instead of the user's
    #[arg(long, conflicts_with = "link")]
    pub project: bool,
    /// One entry for whatever project is open in the client, instead of this folder; implies --stdio
    #[arg(long, conflicts_with = "show_token")]
    pub current_project: bool,
    /// Name of the entry [default: dir2mcp- and the name of the folder]
    #[arg(long, value_name = "NAME", value_parser = valid_name)]
    pub name: Option<String>,
    /// Another file of the client
    #[arg(long, value_name = "PATH", conflicts_with = "project")]
    pub file: Option<PathBuf>,
    /// Print a link that installs the server with a click (VS Code, Cursor)
    #[arg(long)]
    pub link: bool,
    /// Sets of tools for the client, comma-separated [default: those of the configuration]
    #[arg(long, value_name = "SETS", requires = "stdio")]
    pub tools: Option<String>,
    /// Use the token itself where the client needs it, instead of a reference to it
    #[arg(long, conflicts_with = "stdio")]
    pub show_token: bool,
}

fn valid_name(name: &str) -> Result<String, String> {
    let fits = !name.is_empty() && name.len() <= 40;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if fits && name.chars().all(plain) {
        Ok(name.to_owned())
    } else {
        Err("use up to 40 letters, digits, - and _, which every client takes".to_owned())
    }
}

pub(crate) fn run(cli: &Cli, args: &ConnectArgs) -> Result<(), Exit> {
    let loaded = config::load(cli)?;
    let home = Home::find();
    match args.client {
        None => list(&loaded, home.as_ref()),
        Some(client) if args.remove => remove(&loaded, args, client, home.as_ref()),
        Some(client) => connect(&loaded, args, client, home.as_ref()),
    }
}

fn connect(
    loaded: &Loaded,
    args: &ConnectArgs,
    client: &KnownClient,
    home: Option<&Home>,
) -> Result<(), Exit> {
    let target = Target::find(loaded, args, client)?;
    let plan = Plan::make(loaded, args, client, target, home)?;
    if args.link {
        let Some(link) = client.link else {
            let message = format!("{} takes no installation links", client.title);
            return Err(Exit::config(message)
                .hint("Use --write; links exist for vscode, vscode-insiders and cursor."));
        };
        let link = link::of(link, &plan.name, &plan.entry);
        return if loaded.settings.output.json {
            Ok(print::out_json(&json!({ "client": client.id, "name": plan.name, "link": link }))?)
        } else {
            Ok(print::out(&format!("{link}\n"))?)
        };
    }
    if args.write { plan.write(loaded) } else { plan.show(loaded) }
}

/// What is to be done for one client.
struct Plan<'a> {
    client: &'a KnownClient,
    target: Target,
    name: String,
    entry: Value,
    /// None for a client whose file has no fixed place.
    file: Option<ClientFile>,
    project: bool,
}

impl<'a> Plan<'a> {
    fn make(
        loaded: &Loaded,
        args: &ConnectArgs,
        client: &'a KnownClient,
        target: Target,
        home: Option<&Home>,
    ) -> Result<Plan<'a>, Exit> {
        let usual = usual_name(loaded, args);
        let other = name::with_digest(&usual, &loaded.settings.root);
        let mut file = ClientFile::find(loaded, args, client, &usual, home)?;
        // A folder of the same name elsewhere keeps its entry.
        let taken = |file: &ClientFile, name: &str| {
            let known = file.servers().ok().and_then(|servers| servers.get(name).cloned());
            known.is_some_and(|entry| match args.current_project {
                true => !name::means_open_folder(&entry),
                false => !name::means(&entry, &loaded.settings.root, target.url()),
            })
        };
        let mut name = usual;
        if let Some(known) = file.as_ref().filter(|file| taken(file, &name)) {
            if args.name.is_some() {
                let message = format!("{} has another server called {name}", known.shown());
                return Err(Exit::new(ExitCode::Generic, "CONFLICT", message)
                    .hint("Choose another --name, or remove that entry yourself."));
            }
            name = other;
            file = ClientFile::find(loaded, args, client, &name, home)?;
        }
        let entry = target.entry(client, &name);
        Ok(Plan { client, target, name, entry, file, project: args.project })
    }

    /// The file as it would be.
    fn edited(&self, file: &ClientFile) -> Result<String, CannotEditEntry> {
        let text = self.client.format.set(&file.text, &self.name, &self.entry)?;
        match steps::token_prompt(self.client, &self.target, &self.name) {
            Some(prompt) => self.client.format.with_input(&text, &prompt),
            None => Ok(text),
        }
    }

    fn alone(&self) -> String {
        let text = self.client.format.alone(&self.name, &self.entry);
        let prompt = steps::token_prompt(self.client, &self.target, &self.name);
        prompt.and_then(|prompt| self.client.format.with_input(&text, &prompt).ok()).unwrap_or(text)
    }

    fn cannot(&self, file: &ClientFile, error: &CannotEditEntry) -> Exit {
        Exit::config(format!("{} is left as it is: {error}", file.shown()))
            .hint(format!("Add this to it yourself:\n{}", self.alone()))
    }

    fn write(&self, loaded: &Loaded) -> Result<(), Exit> {
        let Some(file) = &self.file else {
            return Err(Exit::config(format!("{} has no file of its own to write to", self.client.title))
                .hint("Name one with --file, or use --project."));
        };
        if steps::needs_the_token(self.client, &self.target) {
            let message = format!("{} reads the token from its file only", self.client.title);
            return Err(Exit::config(message).hint(
                "Add --show-token to write the token into that file, or use --stdio, which needs no token.",
            ));
        }
        let edited = self.edited(file).map_err(|error| self.cannot(file, &error))?;
        let backup = file.replace(&edited)?;
        let shows_token = matches!(&self.target, Target::Http { token: target::TokenHint::Shown(_), .. });
        if shows_token {
            file.make_private()?;
        }
        let output = &loaded.settings.output;
        let before =
            steps::before_the_entry(self.client, &self.target, &self.name, &self.entry, self.project);
        let export: Vec<&ConnectStep> =
            before.iter().filter(|step| step.text.starts_with("export ")).collect();
        if output.json {
            return Ok(print::out_json(&json!({
                "client": self.client.id,
                "name": self.name,
                "file": file.path,
                "written": edited != file.text,
                "backup": backup,
                "steps": export.iter().map(|step| step_json(step, None)).collect::<Vec<_>>(),
            }))?);
        }
        let mut text = if edited == file.text {
            format!("{} in {} is already as it should be.\n", self.name, file.shown())
        } else {
            format!("Wrote {} to {}.\n", self.name, file.shown())
        };
        if let Some(backup) = backup {
            text.push_str(&format!("The former file is {}.\n", safe(&backup.to_string_lossy())));
        }
        for step in export {
            text.push_str(&format!("{}:\n  {}", step.what, safe_text(&step.text)));
        }
        text.push_str(&format!("Restart {} to make it read the file.\n", self.client.title));
        if !output.quiet {
            print::out(&text)?;
            self.warn_of_the_port();
        }
        Ok(())
    }

    /// Shows what `--write` would do, and what can be copied instead.
    fn show(&self, loaded: &Loaded) -> Result<(), Exit> {
        let format = self.client.format;
        let file = self.file.as_ref();
        let edited = file.map(|file| self.edited(file)).transpose();
        let place = file.map_or_else(|| "mcp.json".to_owned(), |file| file.shown());
        let entry = ConnectStep {
            what: format!("{}: {place}", self.client.title),
            format: format.word(),
            text: self.alone(),
        };
        let before =
            steps::before_the_entry(self.client, &self.target, &self.name, &self.entry, self.project);
        let after = steps::after_the_entry(self.client, &self.target);
        if loaded.settings.output.json {
            let file = file.map(|file| &file.path);
            let mut all: Vec<Value> = before.iter().map(|step| step_json(step, None)).collect();
            all.push(step_json(&entry, file));
            all.extend(after.iter().map(|step| step_json(step, None)));
            let transport = match self.target {
                Target::Stdio { .. } => "stdio",
                Target::Http { .. } => "mcp_streamable_http",
            };
            return Ok(print::out_json(&json!({
                "client": self.client.id,
                "name": self.name,
                "transport": transport,
                "file": file,
                "steps": all,
            }))?);
        }
        let look = style::out();
        let mut text = String::new();
        for step in &before {
            text.push_str(&shown(step));
        }
        match (file, edited) {
            (Some(file), Ok(Some(edited))) if !file.text.is_empty() => {
                text.push_str(&look.paint(Ink::Heading, &format!("# {}", safe(&entry.what))));
                text.push('\n');
                let lines = diff::lines(&file.text, &edited);
                if lines.is_empty() {
                    text.push_str("It is already as it should be.\n");
                }
                for line in &lines {
                    let ink = match line {
                        DiffLine::Hunk(_) => Ink::Number,
                        DiffLine::Same(_) => Ink::Aside,
                        DiffLine::Removed(_) => Ink::Bad,
                        DiffLine::Added(_) => Ink::Good,
                    };
                    text.push_str(&look.paint(ink, &safe_text(&line.to_string())));
                    text.push('\n');
                }
                text.push('\n');
            }
            (_, Err(error)) => {
                text.push_str(&shown(&entry));
                print::warn(&format!("{place} cannot be changed by --write: {}", safe(&error.to_string())));
            }
            _ => text.push_str(&shown(&entry)),
        }
        for step in &after {
            text.push_str(&shown(step));
        }
        print::out(&text)?;
        if !loaded.settings.output.quiet {
            if file.is_some() {
                print::err("Nothing was changed. The same command with --write makes the change.\n");
            }
            self.warn_of_the_port();
        }
        Ok(())
    }

    fn warn_of_the_port(&self) {
        if let Target::Http { port_is_fixed: false, .. } = self.target {
            print::err(
                "Note: the server took a free port, which changes with every start. Start it with --listen \
                 127.0.0.1:8087, or set server.listen, to keep one.\n",
            );
        }
    }
}

/// What to copy for each client that takes the address of the running server, for the web page. The token is referred to, never shown.
pub(crate) fn client_snippets(settings: &Settings, connection: &ConnectionNote) -> Value {
    let name = name::of_folder(&settings.root);
    let snippet = |client: &KnownClient| {
        let target = Target::of_running(connection, client);
        let entry = target.entry(client, &name);
        let text = client.format.alone(&name, &entry);
        let prompt = steps::token_prompt(client, &target, &name);
        let text = prompt.and_then(|prompt| client.format.with_input(&text, &prompt).ok()).unwrap_or(text);
        let place = client.project_file(&name).map(|path| path.to_string_lossy().into_owned());
        let what = match place {
            Some(place) => format!("{}: {place}", client.title),
            None => client.title.to_owned(),
        };
        let mut all = steps::before_the_entry(client, &target, &name, &entry, false);
        all.push(ConnectStep { what, format: client.format.word(), text });
        all.extend(steps::after_the_entry(client, &target));
        let steps: Vec<Value> = all.iter().map(|step| step_json(step, None)).collect();
        json!({ "id": client.id, "title": client.title, "transport": "http", "steps": steps })
    };
    let clients: Vec<Value> = CLIENTS.iter().filter(|client| client.http.is_some()).map(snippet).collect();
    let curl = CLIENTS.iter().find(|client| client.id == "generic").and_then(|client| {
        let target = Target::of_running(connection, client);
        steps::after_the_entry(client, &target).pop()
    });
    json!({ "clients": clients, "curl": curl.map(|step| step.text) })
}

fn remove(
    loaded: &Loaded,
    args: &ConnectArgs,
    client: &KnownClient,
    home: Option<&Home>,
) -> Result<(), Exit> {
    let usual = usual_name(loaded, args);
    let names = match &args.name {
        Some(name) => vec![name.clone()],
        None => vec![usual.clone(), name::with_digest(&usual, &loaded.settings.root)],
    };
    let running = Target::find(loaded, args, client).ok();
    let url = running.as_ref().and_then(Target::url);
    let mut removed = Vec::new();
    let mut place = None;
    for name in names {
        let Some(file) = ClientFile::find(loaded, args, client, &name, home)? else { continue };
        place = Some(file.shown());
        let servers = file
            .servers()
            .map_err(|error| Exit::config(format!("{} is left as it is: {error}", file.shown())))?;
        let Some(entry) = servers.get(&name) else { continue };
        let own = match args.current_project {
            true => name::means_open_folder(entry),
            // The name with the digest is this folder's; a name that was typed is meant.
            false => name != usual || args.name.is_some() || name::means(entry, &loaded.settings.root, url),
        };
        if !own {
            continue;
        }
        let without = client.format.remove(&file.text, &name).map_err(|error| {
            Exit::config(format!("{} is left as it is: {error}", file.shown()))
                .hint(format!("Remove the entry {name} from it yourself."))
        })?;
        let backup = file.replace(&without)?;
        removed.push((name, file, backup));
    }
    if loaded.settings.output.json {
        let removed: Vec<Value> = removed
            .iter()
            .map(|(name, file, backup)| json!({ "name": name, "file": file.path, "backup": backup }))
            .collect();
        return Ok(print::out_json(&json!({ "client": client.id, "removed": removed }))?);
    }
    if loaded.settings.output.quiet {
        return Ok(());
    }
    if removed.is_empty() {
        let place = place.unwrap_or_else(|| client.title.to_owned());
        return Ok(print::out(&format!("{place} has no entry for this folder.\n"))?);
    }
    for (name, file, _) in removed {
        print::out(&format!("Removed {name} from {}.\n", file.shown()))?;
    }
    Ok(())
}

/// The clients, with those that seem to be installed first.
fn list(loaded: &Loaded, home: Option<&Home>) -> Result<(), Exit> {
    let found = |client: &KnownClient| home.is_some_and(|home| client.is_installed(home));
    if loaded.settings.output.json {
        let clients: Vec<Value> = CLIENTS
            .iter()
            .map(|client| {
                let file = home.and_then(|home| client.user_file(home, "NAME"));
                json!({
                    "client": client.id,
                    "title": client.title,
                    "found": found(client),
                    "file": file,
                    "project_file": client.project,
                    "http": client.http.is_some(),
                    "current_project": client.open_folder != OpenFolder::Unknown,
                })
            })
            .collect();
        return Ok(print::out_json(&json!({ "clients": clients }))?);
    }
    let look = style::out();
    let mut text = String::new();
    for (heading, here) in [("Found on this machine", true), ("Also known", false)] {
        let clients: Vec<&KnownClient> = CLIENTS.iter().filter(|client| found(client) == here).collect();
        if clients.is_empty() {
            continue;
        }
        text.push_str(&format!("{}\n", look.paint(Ink::Heading, heading)));
        for client in clients {
            text.push_str(&format!(
                "  {}  {}\n",
                look.paint(Ink::Path, &format!("{:<16}", client.id)),
                client.title
            ));
        }
        text.push('\n');
    }
    text.push_str("Show what to do for one: dir2mcp connect CLIENT --stdio\nLet it be done: dir2mcp connect CLIENT --stdio --write\n");
    Ok(print::out(&text)?)
}

fn usual_name(loaded: &Loaded, args: &ConnectArgs) -> String {
    match &args.name {
        Some(name) => name.clone(),
        None if args.current_project => name::CURRENT_PROJECT.to_owned(),
        None => name::of_folder(&loaded.settings.root),
    }
}

fn shown(step: &ConnectStep) -> String {
    let heading = style::out().paint(Ink::Heading, &format!("# {}", safe(&step.what)));
    format!("{heading}\n{}\n", safe_text(&step.text))
}

fn step_json(step: &ConnectStep, file: Option<&PathBuf>) -> Value {
    json!({ "what": step.what, "file": file, "format": step.format, "text": step.text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Secret;
    use target::TokenHint;

    fn texts(client: &KnownClient, target: &Target) -> String {
        let entry = target.entry(client, "dir2mcp-my-repo");
        let mut all = steps::before_the_entry(client, target, "dir2mcp-my-repo", &entry, false);
        let text = client.format.alone("dir2mcp-my-repo", &entry);
        all.push(ConnectStep { what: client.title.to_owned(), format: client.format.word(), text });
        all.extend(steps::after_the_entry(client, target));
        all.iter().map(|step| format!("# {}\n{}\n", step.what, step.text)).collect()
    }

    fn all(target: &Target) -> String {
        let reachable = |client: &&KnownClient| target.url().is_none() || client.http.is_some();
        let texts: Vec<String> =
            CLIENTS.iter().filter(reachable).map(|client| texts(client, target)).collect();
        texts.join("---\n")
    }

    fn http(token: TokenHint) -> Target {
        Target::Http { url: "http://127.0.0.1:52143/mcp".into(), token, port_is_fixed: true }
    }

    #[test]
    fn clients_by_stdio() {
        let arguments = ["stdio", "--dir", "/my repo", "--state-dir", "/s"].map(String::from).to_vec();
        insta::assert_snapshot!(all(&Target::Stdio { program: "/opt/it's here/dir2mcp".into(), arguments }));
    }

    #[test]
    fn clients_by_http_with_the_token_in_a_file() {
        insta::assert_snapshot!(all(&http(TokenHint::File("/my repo/.dir2mcp/secret.token".into()))));
    }

    #[test]
    fn clients_by_http_without_a_token() {
        let text = all(&http(TokenHint::None));
        assert!(!text.contains("Authorization") && !text.contains("TOKEN"), "{text}");
    }

    #[test]
    fn the_token_is_shown_on_demand_only() {
        let shown = all(&http(TokenHint::Shown(Secret::new("canary"))));
        assert!(shown.contains("Bearer canary"));
        let own = all(&http(TokenHint::Variable("MY_TOKEN".into())));
        assert!(own.contains("${MY_TOKEN}") && !own.contains("export"), "{own}");
    }

    #[test]
    fn the_table_is_sound() {
        assert!(CLIENTS.len() >= 15);
        let mut names: Vec<&str> =
            CLIENTS.iter().flat_map(|client| client.aliases.iter().copied().chain([client.id])).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "two clients have one name");
        for client in CLIENTS {
            assert!(client.link.is_none() || client.http.is_some());
        }
    }
}
