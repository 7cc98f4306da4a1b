//! `cargo xtask docs`: the reference pages that the binary itself can write, and the links in all pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testkit::{Client, Era, Folder, Program};

use crate::process::{Profile, build, capture, exists, list, workspace};
use crate::{Args, house, tools};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let only_check = args.switch("--check");
    args.done()?;
    if only_check {
        return check();
    }
    for (path, content) in generated()? {
        let full = workspace().join(path);
        fs::create_dir_all(full.parent().expect("a page has a folder")).map_err(|error| error.to_string())?;
        fs::write(&full, content).map_err(|error| error.to_string())?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Fails if a page is not what the binary says now, or if a link leads nowhere.
pub(crate) fn check() -> Result<(), String> {
    let mut problems = broken_links()?;
    for (path, content) in generated()? {
        if fs::read_to_string(workspace().join(path)).ok().as_deref() != Some(&content) {
            problems.push(format!("{path} is not current; run `cargo xtask docs`"));
        }
    }
    problems.extend(manual_pages()?);
    for problem in &problems {
        println!("fail {problem}");
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("{} problems in the docs", problems.len())) }
}

fn generated() -> Result<Vec<(&'static str, String)>, String> {
    let binary = build(Profile::Debug)?;
    let folder = Folder::empty();
    let program = Program::new(&binary, &folder);
    let mut client = program.stdio(&["--tools", "dir2mcp,repo,smart"]).connect(Era::Legacy);
    let tools = client.request("tools/list", json!({}));
    Ok(vec![
        ("ARCHITECTURE.md", house::architecture_page()?),
        ("docs/tools.md", tools_page(tools.result())),
        ("docs/command-line.md", command_line_page(&program)?),
        ("docs/configuration.md", printed(&program, &["config", "print", "--reference"])?),
        ("docs/clients.md", clients_page(&program.clone().env("HOME", HOME).env("XDG_CONFIG_HOME", ""))),
    ])
}

fn tools_page(list: &Value) -> String {
    let mut page = String::from(
        "# Tools\n\nWhat `tools/list` answers. This page is written by `cargo xtask docs`; `cargo xtask test` checks it.\n",
    );
    for tool in list["tools"].as_array().into_iter().flatten() {
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        page.push_str(&format!(
            "\n## `{}`\n\n{}\n\nArguments:\n\n```json\n{}\n```\n\nStructured result:\n\n```json\n{}\n```\n",
            tool["name"].as_str().unwrap_or_default(),
            tool["description"].as_str().unwrap_or_default(),
            pretty(&tool["inputSchema"]),
            pretty(&tool["outputSchema"]),
        ));
    }
    page
}

/// What mandoc finds wrong with the manual pages. Its warnings are about the generator's habits with blank lines.
fn manual_pages() -> Result<Vec<String>, String> {
    if !exists("mandoc") {
        tools::apt("mandoc")?;
    }
    let folder = Folder::empty();
    let pages = folder.outside().join("man");
    let binary = build(Profile::Debug)?;
    let written = Program::new(&binary, &folder).run(&["man", "--out", &pages.to_string_lossy()]);
    if written.code != Some(0) {
        return Err(written.output());
    }
    let mut mandoc = Command::new("mandoc");
    let checked = capture(mandoc.args(["-Tlint", "-Werror"]).args(list(&pages)?))?;
    Ok(checked.stdout.lines().map(str::to_owned).collect())
}

/// The home folder that the page of clients is written for.
const HOME: &str = "/home/me";

/// The clients that `connect` knows and where each keeps its servers.
fn clients_page(program: &Program) -> String {
    let mut page = String::from(
        "# Clients\n\n\
         The clients that `dir2mcp connect` knows. This page is written by `cargo xtask docs`; `cargo xtask test` checks it.\n\n\
         `dir2mcp connect CLIENT --stdio` shows the change to the client's file, `--write` makes it, `--remove` takes it back. Other\n\
         entries and comments in the file stay, and a copy of the former file is kept beside it as `*.before-dir2mcp`. `--project` uses the\n\
         file inside the folder instead of the user's. Without `--stdio`, the entry is for the server that runs now (`dir2mcp up`).\n\n\
         An entry is named after its folder (`dir2mcp-notes`), so several folders can be connected. With `--current-project` there is\n\
         one entry, `dir2mcp`, for whatever project is open in the client.\n\n\
         Paths are those on Linux. `cargo xtask agents` tries Claude Code, Codex, mcporter, FastMCP and the inspector with the entries that\n\
         `connect` writes; the formats of the others follow their documentation and were not tried.\n\n\
         | client | name | the user's file | the project's file | running server | current project |\n|---|---|---|---|---|---|\n",
    );
    let listed = program.json(&["connect", "--json"]);
    for client in listed["clients"].as_array().into_iter().flatten() {
        let text = |key: &str| client[key].as_str().unwrap_or_default().replace(HOME, "~");
        let code = |text: String| if text.is_empty() { text } else { format!("`{text}`") };
        let yes = |key: &str| if client[key] == true { "yes" } else { "no" };
        page.push_str(&format!(
            "| {} | `{}` | {} | {} | {} | {} |\n",
            text("title"),
            text("client"),
            code(text("file")),
            code(text("project_file")),
            yes("http"),
            yes("current_project"),
        ));
    }
    page
}

/// The help of the program and of each command it names.
fn command_line_page(program: &Program) -> Result<String, String> {
    let mut page = String::from(
        "# Command line\n\nWhat `dir2mcp --help` prints. This page is written by `cargo xtask docs`; `cargo xtask test` \
         checks it.\n",
    );
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    while !waiting.is_empty() {
        let command = waiting.remove(0);
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = printed(program, &arguments)?;
        let title = [&["dir2mcp".to_owned()], command.as_slice()].concat().join(" ");
        page.push_str(&format!("\n## `{title}`\n\n```text\n{help}```\n"));
        for name in commands(&help) {
            waiting.push([command.as_slice(), &[name]].concat());
        }
    }
    Ok(page)
}

/// What a command prints, without blanks at the ends of lines.
fn printed(program: &Program, arguments: &[&str]) -> Result<String, String> {
    let done = program.run(arguments);
    if done.code != Some(0) {
        return Err(done.output());
    }
    Ok(done.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect())
}

/// The names under `Commands:` in a help text.
fn commands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| line.trim() != "Commands:")
        .skip(1)
        .take_while(|line| !line.trim().is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

fn broken_links() -> Result<Vec<String>, String> {
    let mut pages = Vec::new();
    markdown(&workspace(), &mut pages).map_err(|error| error.to_string())?;
    let mut broken = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).map_err(|error| error.to_string())?;
        for link in links(&text) {
            let file = link.split('#').next().unwrap_or_default();
            let folder = page.parent().expect("a page lies in a folder");
            if !file.is_empty()
                && !link.contains("://")
                && !link.starts_with("mailto:")
                && !folder.join(file).exists()
            {
                broken.push(format!("{}: the link {link} leads nowhere", page.display()));
            }
        }
    }
    Ok(broken)
}

/// The targets of `[text](target)` outside code blocks.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, tail)) = after.split_once(')') else { break };
            if !code {
                found.push(target.to_owned());
            }
            rest = tail;
        }
    }
    found
}

fn markdown(directory: &Path, pages: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" && name != "fixtures" {
                markdown(&path, pages)?;
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
    Ok(())
}
