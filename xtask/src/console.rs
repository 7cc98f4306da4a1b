//! `cargo xtask console`: the web console's own tests, and the page in a real Chromium against the built binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::Folder;
use testkit::build::{deck, text_pages, workbook};

use crate::Args;
use crate::process::{self, Profile, build, capture_within, workspace};
use crate::tools;

/// All scenarios take about a minute on a quiet machine.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// All files that the page may be made of, together, in bytes. What one view loads is measured in the browser.
const MOST_BYTES: u64 = 240_000;

/// A figure of the page: its name in the driver's output, what it means, the goal as a text and as a number.
const FIGURES: &[(&str, &str, &str, f64)] = &[
    ("page-weight-kB", "Weight of the page with its heaviest view", "≤ 120 kB", 120.0),
    ("page-requests", "Requests for it", "≤ 20", 20.0),
    ("first-paint-ms", "First paint", "≤ 200 ms", 200.0),
    ("key-to-hits-median-ms", "From a key to its hits, median, the pause of 80 ms included", "", f64::MAX),
    ("key-to-hits-p95-ms", "From a key to its hits, 95th percentile", "≤ 150 ms", 150.0),
    ("long-file-ms", "A file of 5,000 lines, coloured, at its line", "≤ 500 ms", 500.0),
    ("idle-requests", "Requests of an idle page in 3 s", "0", 0.0),
    ("idle-cpu-percent", "CPU of an idle page, % of a core", "≤ 1", 1.0),
];

/// Where the figures are in docs/performance.md.
const MARKS: (&str, &str) =
    ("<!-- The console: written by `cargo xtask console --write`. -->", "<!-- End of the console. -->");

/// Different enough for each to be a hit of its own.
const LETTERS: [&str; 12] = [
    "The fisher of berth one asks for a longer lease, because herring came late.",
    "Whoever paints the ferry pays no lease in April.",
    "A lease without a signature was found under the lamp.",
    "The baker wants to lease the cellar below the customs house.",
    "Our council reads every lease aloud before it votes.",
    "Two brothers lease one crane and quarrel about the oil.",
    "The insurance covers storms, provided that the lease names the mooring.",
    "In winter the skating club may lease the inner basin.",
    "A widow inherits the lease of the smokehouse, its debts included.",
    "The notary keeps a copy of each lease in a tin box.",
    "Students lease the old pilot boat for measuring salt.",
    "When a lease ends, the rope must be returned dry.",
];

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let (write, release) = (args.switch("--write"), args.switch("--release"));
    let only = args.value("--only")?;
    args.done()?;
    drive(only.as_deref(), write, if release { Profile::Release } else { Profile::Debug })
}

/// The step of `cargo xtask test`: nothing is written.
pub(crate) fn check() -> Result<(), String> {
    drive(None, false, Profile::Debug)
}

fn drive(only: Option<&str>, write: bool, profile: Profile) -> Result<(), String> {
    let node = tools::install()?.node;
    let modules = tools::install_browser()?;
    let web = workspace().join("web");
    check_sources(&web)?;
    process::run(Command::new(&node).arg("--test").args(tests_of(&web.join("tests"))?).current_dir(&web))?;
    process::run(Command::new(&node).arg(modules.join("typescript/bin/tsc")).arg("--project").arg(&web))?;

    let binary = build(profile)?;
    let folder = Folder::empty();
    let root = lay_out(&folder);
    let mut driver = Command::new(&node);
    driver.env("CONSOLE_NODE_MODULES", &modules).arg(workspace().join("clients/console/run.mjs"));
    driver.arg("--binary").arg(&binary).arg("--root").arg(&root);
    driver.arg("--state").arg(folder.outside().join("console/state"));
    let pictures = workspace().join("docs/console");
    if write {
        driver.arg("--pictures").arg(&pictures);
    }
    if let Some(only) = only {
        driver.args(["--only", only]);
    }
    let done = capture_within(&mut driver, LONGEST)?;
    print!("{}", done.stdout);
    if done.code != Some(0) {
        // The pictures of what failed are in the folder, which would go with this process.
        keep_pictures(&folder.outside().join("console"));
        return Err(format!("the console's scenarios failed\n{}", done.stderr));
    }
    let measured: Vec<(&str, f64)> = done
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix("figure ")?.split_once(' '))
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect();
    if write {
        write_figures(&measured, profile)?;
    }
    Ok(())
}

/// Rules that a browser enforces too, told earlier and with the line.
fn check_sources(web: &Path) -> Result<(), String> {
    let mut problems = Vec::new();
    let mut bytes = 0;
    for path in sources(web)? {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        bytes += text.len() as u64;
        let shown = path.strip_prefix(web).unwrap_or(&path).display().to_string();
        for (number, line) in text.lines().enumerate() {
            let mut complain = |what: &str| problems.push(format!("web/{shown}:{}: {what}", number + 1));
            for banned in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
            {
                if line.contains(banned) {
                    complain(&format!("{banned} parses or runs a text"));
                }
            }
            let is_styled = ["style=", ".style.", "style:"].iter().any(|word| line.contains(word));
            if is_styled && !shown.ends_with(".css") {
                complain("styles are in style sheets only");
            }
            let is_namespace = line.contains("http://www.w3.org/");
            if (line.contains("http://") || line.contains("https://")) && !is_namespace {
                complain("nothing comes from elsewhere");
            }
        }
        let views = text.lines().filter(|line| line.contains("import") && line.contains("/views/"));
        if shown.starts_with("views/") && views.count() > 0 {
            problems.push(format!("web/{shown}: a view does not know another one"));
        }
    }
    if bytes > MOST_BYTES {
        problems.push(format!("web/ has {bytes} bytes, more than {MOST_BYTES}"));
    }
    for problem in &problems {
        println!("fail {problem}");
    }
    println!("web/: {bytes} bytes, {} problems", problems.len());
    if problems.is_empty() { Ok(()) } else { Err("the sources of the console break its rules".into()) }
}

/// What is embedded: all but the tests and the types.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for path in process::list(folder)? {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "tests") {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|kind| kind == "js" || kind == "css" || kind == "html") {
            found.push(path);
        }
    }
    Ok(found)
}

fn tests_of(folder: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(process::list(folder)?
        .into_iter()
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect())
}

/// A folder with a file of each kind that a citation can point into, and of each kind that a page could stumble over.
fn lay_out(folder: &Folder) -> PathBuf {
    let write = |path: &str, content: &[u8]| folder.write(&format!("harbour/{path}"), content);
    let lease = "//! Leases that run out.\n\n/// Extends a lease that has not run out yet.\n\
        pub fn renew_lease(lease: &mut Lease, now: u64) -> Result<(), Expired> {\n    if lease.until < now {\n        \
        return Err(Expired);\n    }\n    lease.until = now + lease.length;\n    Ok(())\n}\n\n\
        /// A berth is free again.\npub fn release(lease: Lease) {\n    drop(lease);\n}\n";
    write("src/lease.rs", lease.as_bytes());
    for (number, sentence) in LETTERS.iter().enumerate() {
        write(&format!("letters/{:02}.txt", number + 1), format!("{sentence}\n").as_bytes());
    }
    let long: String = (0..1250)
        .map(|number| format!("/// Step {number}.\npub fn step_{number}(value: u64) -> u64 {{\n    value.wrapping_mul({number}) + \"text\".len() as u64\n}}\n"))
        .collect();
    write("src/long.rs", long.as_bytes());
    write(
        "docs/guide.md",
        b"# Guide\n\nThe windmill was built in 1893. Its sails were renewed in 1950.\n\n## Leases\n\n\
          A lease has a length; see [the code](../src/lease.rs#L4-L10).\n\n| berth | length |\n|---|---:|\n| 1 | 12 |\n| 2 | 30 |\n\n\
          ```rust\nrenew_lease(&mut lease, now)?;\n```\n",
    );
    write(
        "docs/guide.pdf",
        &text_pages(&["The harbour master signs every lease.", "Stone came from the granite quarry."]),
    );
    let slide = |title: &str, text: &str| (title.to_owned(), text.to_owned(), String::new());
    write(
        "docs/talk.pptx",
        &deck(&[
            slide("Welcome", "The harbour in numbers"),
            slide("Money", "The budget of the heron survey"),
        ]),
    );
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<String>>();
    write(
        "docs/sales.xlsx",
        &workbook(&[
            ("Boats".to_owned(), vec![row(&["Boat", "Price"]), row(&["Sloop", "40"])]),
            ("Parts".to_owned(), vec![row(&["Part", "Town"]), row(&["turbine", "Aberdeen"])]),
        ]),
    );
    write(
        "docs/talk.vtt",
        b"WEBVTT\n\n00:01:00.000 --> 00:01:15.000\nGood morning.\n\n00:01:15.000 --> 00:01:30.000\nThe sextant is in the tower.\n\n\
          00:01:30.000 --> 00:01:45.000\nThat is all.\n",
    );
    write("data/berths.csv", b"berth,length\n1,12\n2,30\n");
    write("deploy.txt", b"aws_secret_access_key = \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ4kP9vT2m\"\n");
    write("<img src=x onerror=alert(1)>.txt", b"A file whose text is <script>alert(1)</script>.\n");
    write(
        "hostile.md",
        b"# Hostile\n\n<b onclick=alert(2)>bold</b> [a](javascript:alert(4)) ![x](http://example.invalid/x.png)\n",
    );
    write("bidi.txt", "if access \u{202e}level\u{2066} then\u{7} open\n".as_bytes());
    let line = "2026-11-18 10:00:00 the tide gauge reads 2.31 m and the gate is closed\n";
    write("large.log", line.repeat(10_000_000 / line.len()).as_bytes());
    for number in 0..2000 {
        write(&format!("many/note-{number}.txt"), format!("Note {number}.\n").as_bytes());
    }
    folder.path().join("harbour")
}

fn keep_pictures(from: &Path) {
    let to = process::target().join("console-failures");
    let _ = fs::remove_dir_all(&to);
    let _ = fs::create_dir_all(&to);
    for picture in process::list(from).unwrap_or_default() {
        if let Some(name) =
            picture.file_name().filter(|_| picture.extension().is_some_and(|kind| kind == "png"))
        {
            let _ = fs::copy(&picture, to.join(name));
        }
    }
    println!("pictures of what failed: {}", to.display());
}

fn write_figures(measured: &[(&str, f64)], profile: Profile) -> Result<(), String> {
    let path = workspace().join("docs/performance.md");
    let page = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let built = match profile {
        Profile::Debug => "a debug build of the server",
        Profile::Release => "a release build",
    };
    let mut table = format!(
        "## The web console\n\nMeasured in Chromium by `cargo xtask console --write` on 2 cores, with {built} on the same machine.\n\n\
         | figure | goal | measured | met |\n|---|---|---:|---|\n"
    );
    for (name, what, goal, most) in FIGURES {
        let Some((_, value)) = measured.iter().find(|(found, _)| found == name) else { continue };
        let met = match (goal.is_empty(), value <= most) {
            (true, _) => "",
            (false, true) => "yes",
            (false, false) => "**no**",
        };
        table.push_str(&format!("| {what} | {goal} | {value} | {met} |\n"));
    }
    let section = format!("{}\n{table}{}", MARKS.0, MARKS.1);
    let page = match (page.find(MARKS.0), page.find(MARKS.1)) {
        (Some(start), Some(end)) => format!("{}{section}{}", &page[..start], &page[end + MARKS.1.len()..]),
        _ => format!("{}\n\n{section}\n", page.trim_end()),
    };
    fs::write(&path, page).map_err(|error| error.to_string())?;
    println!("wrote docs/performance.md and the pictures in docs/console");
    Ok(())
}
