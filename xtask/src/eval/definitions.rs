//! How often the definition of a queried name is the first hit: names from the outlines of ten packages in ten languages,
//! asked for in three ways.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use testkit::{Client, Era};

use super::Corpus;

/// One package of each language: its set and its name there.
const PACKAGES: [(&str, &str, &str); 10] = [
    ("C", "code-more", "redis"),
    ("C++", "code-more", "nlohmann-json"),
    ("C#", "code-more", "newtonsoft-json"),
    ("Go", "code-more", "gin"),
    ("Java", "code-more", "jackson-databind"),
    ("Kotlin", "code-more", "kotlinx-coroutines"),
    ("PHP", "code-more", "monolog"),
    ("Python", "code-dev", "pydantic"),
    ("Rust", "code-more", "serde_core"),
    ("TypeScript", "code-dev", "zod"),
];

/// Names asked for in each package.
const NAMES: usize = 60;
/// Where the choice of names begins; another number chooses others.
const SEED: u64 = 20_260_801;

/// What people call a definition; fields, keys of data and headings are none.
const KINDS: &[&str] = &[
    "actor",
    "async_function",
    "async_method",
    "class",
    "enum",
    "function",
    "interface",
    "macro",
    "method",
    "object",
    "protocol",
    "record",
    "struct",
    "trait",
    "type",
    "typedef",
    "union",
];

/// Where a name is defined.
struct Place {
    path: String,
    start_line: u64,
    end_line: u64,
    /// The name of the declaration around it.
    container: Option<String>,
}

/// A table, and nothing where none of the packages is there.
pub(super) fn measure(corpora: &[Corpus], binary: &Path) -> String {
    let mut table = String::new();
    let (mut right, mut asked) = ([0; 3], [0; 3]);
    for (language, set, package) in PACKAGES {
        let Some(corpus) = corpora.iter().find(|corpus| corpus.name == set) else { continue };
        let Some(program) = corpus.program(binary, package) else { continue };
        let mut server = program.stdio(&["--tools", "dir2mcp,repo"]).connect(Era::Modern);
        server.wait_indexed();
        let places = places(&mut server, &corpus.folders[package]);
        let mut here = ([0; 3], [0; 3]);
        for name in chosen(&places) {
            let container = places[name].iter().find_map(|place| place.container.as_deref());
            let queries = [
                Some((name.clone(), None)),
                container.map(|container| (format!("{name} {container}"), Some(container))),
                Some((format!("where is {name} defined"), None)),
            ];
            for (form, query) in queries.into_iter().enumerate() {
                let Some((query, container)) = query else { continue };
                let answer = server.expect("dir2mcp.search", json!({ "query": query, "k": 1 }));
                let hit = &answer["hits"][0];
                let (start, end) = (hit["span"]["start_line"].as_u64(), hit["span"]["end_line"].as_u64());
                // The chunk must hold the line where the definition begins.
                let is_right = places[name].iter().any(|place| {
                    hit["rel_path"] == place.path.as_str()
                        && start.is_some_and(|start| start <= place.end_line)
                        && end.is_some_and(|end| place.start_line <= end)
                        && (container.is_none() || place.container.as_deref() == container)
                });
                here.1[form] += 1;
                here.0[form] += u32::from(is_right);
                if !is_right {
                    let at = &places[name][0];
                    eprintln!(
                        "{package}: {query:?}: {} {start:?}, not {}:{}",
                        hit["rel_path"], at.path, at.start_line
                    );
                }
            }
        }
        for form in 0..3 {
            right[form] += here.0[form];
            asked[form] += here.1[form];
        }
        let _ = writeln!(table, "| {language}: {package} | {} |", cells(here.0, here.1));
    }
    if table.is_empty() {
        return table;
    }
    let _ = writeln!(table, "| **all** | {} |", cells(right, asked));
    format!(
        "\n## The definition of a queried name comes first\n\n{NAMES} names of each package, drawn from its outlines; the share whose \
         definition is the first hit, and how many were asked.\n\n| package | `Name` | `Name Container` | `where is Name defined` \
         |\n|---|---|---|---|\n{table}"
    )
}

fn cells(right: [u32; 3], asked: [u32; 3]) -> String {
    let cell = |(right, asked): (u32, u32)| {
        format!("{:.1} % of {asked}", f64::from(right) / f64::from(asked.max(1)) * 100.0)
    };
    right.into_iter().zip(asked).map(cell).collect::<Vec<_>>().join(" | ")
}

/// Every name that a package defines, with all its places.
fn places(server: &mut impl Client, folder: &Path) -> BTreeMap<String, Vec<Place>> {
    let mut places: BTreeMap<String, Vec<Place>> = BTreeMap::new();
    for path in files(folder, folder) {
        let answer = server.call("repo.outline", json!({ "path": path }));
        for symbol in answer.structured()["result"]["symbols"].as_array().into_iter().flatten() {
            let text = |key: &str| symbol[key].as_str().unwrap_or_default();
            let name = last(text("name"));
            let is_name = name.len() > 2 && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
            if !is_name || !KINDS.contains(&text("kind")) {
                continue;
            }
            places.entry(name.to_owned()).or_default().push(Place {
                path: path.clone(),
                start_line: symbol["start_line"].as_u64().unwrap_or(0),
                end_line: symbol["end_line"].as_u64().unwrap_or(0),
                container: symbol["parent_symbol"].as_str().map(|parent| last(parent).to_owned()),
            });
        }
    }
    places
}

fn last(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

fn files(root: &Path, folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(root, &path));
        } else if let Ok(below) = path.strip_prefix(root) {
            found.push(below.to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

/// The names that are asked for, always the same ones.
fn chosen(places: &BTreeMap<String, Vec<Place>>) -> Vec<&String> {
    let mut state = SEED;
    let mut drawn: Vec<(u64, &String)> = places
        .keys()
        .map(|name| {
            // splitmix64
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (mixed ^ (mixed >> 31), name)
        })
        .collect();
    drawn.sort_unstable();
    drawn.into_iter().take(NAMES).map(|(_, name)| name).collect()
}
