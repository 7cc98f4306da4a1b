//! `cargo xtask secrets`: how good the secret rules and the redaction are, on labelled lines and on the files of real
//! packages; the figures go to `docs/security-figures.md`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Args;
use crate::process::{cargo, run, target, workspace};

/// Packages whose sources hold many settings, examples and tests, and no credential but test keys.
#[rustfmt::skip]
const PACKAGES: [&str; 24] = [
    "django", "flask", "PyJWT", "requests", "boto3", "kubernetes", "ansible-core", "celery", "sqlalchemy", "fastapi", "aiohttp",
    "tornado", "scrapy", "sphinx", "werkzeug", "jinja2", "gunicorn", "pymongo", "redis", "oauthlib", "authlib",
    "jupyter-server", "mkdocs-material", "docker",
];

pub(crate) fn run_figures(args: &mut Args) -> Result<(), String> {
    let folder = args.value("--packages")?.map(std::path::PathBuf::from);
    let write = args.switch("--write");
    args.done()?;
    let folder = match folder {
        Some(folder) => folder,
        None => fetched(&target().join("tools").join("secrets"))?,
    };
    let out = target().join("secrets-figures.md");
    let mut example = cargo();
    example.args([
        "run",
        "--quiet",
        "--release",
        "-p",
        "dir2mcp-policy",
        "--example",
        "security_figures",
        "--",
    ]);
    run(example.arg(&folder).arg(&out))?;
    let measured = fs::read_to_string(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    println!("{measured}");
    println!("What was hit, line by line: {}", out.with_extension("tsv").display());
    if write {
        let page = workspace().join("docs/security-figures.md");
        let old = fs::read_to_string(&page).map_err(|error| format!("{}: {error}", page.display()))?;
        let head = old.split("<!-- measured -->").next().unwrap_or_default();
        fs::write(&page, format!("{head}<!-- measured -->\n\n{measured}"))
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Downloads the source packages by name with pip, once, and unpacks them.
fn fetched(folder: &Path) -> Result<std::path::PathBuf, String> {
    let (archives, unpacked) = (folder.join("archives"), folder.join("packages"));
    for dir in [&archives, &unpacked] {
        fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    for package in PACKAGES {
        let done = folder.join(format!("{package}.done"));
        if done.exists() {
            continue;
        }
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--no-binary",
            package,
        ]);
        run(pip.arg(package).current_dir(&archives))?;
        fs::write(&done, "").map_err(|error| error.to_string())?;
    }
    let mut names: Vec<_> = fs::read_dir(&archives).map_err(|error| error.to_string())?.flatten().collect();
    names.sort_by_key(std::fs::DirEntry::file_name);
    for name in names.iter().filter(|name| name.path().extension().is_some_and(|ending| ending == "gz")) {
        run(Command::new("tar").arg("-xzf").arg(name.path()).current_dir(&unpacked))?;
    }
    Ok(unpacked)
}
