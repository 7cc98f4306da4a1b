//! The files that these tools show unless the operator says otherwise (repo specification, section 9.1).

use model::filetype::{self, Mark};

/// Folders and files that repositories have beside their code.
const EXCLUDED: &[&str] = &[
    "**/.git/**",
    "**/.hg/**",
    "**/.svn/**",
    "**/__pycache__/**",
    "**/.venv/**",
    "**/venv/**",
    "**/.tox/**",
    "**/.nox/**",
    "**/.mypy_cache/**",
    "**/.pytest_cache/**",
    "**/.ruff_cache/**",
    "**/.eggs/**",
    "**/*.egg-info/**",
    "**/node_modules/**",
    "**/bower_components/**",
    "**/.next/**",
    "**/.nuxt/**",
    "**/.gradle/**",
    "**/target/**",
    "**/build/**",
    "**/dist/**",
    "**/out/**",
    "**/bin/Debug/**",
    "**/bin/Release/**",
    "**/obj/**",
    "**/coverage/**",
    "**/htmlcov/**",
    "**/.idea/**",
    "**/.vscode/**",
    "**/*.min.js",
    "**/*.min.css",
];

pub fn default_exclude_globs() -> Vec<String> {
    EXCLUDED.iter().map(|glob| (*glob).to_owned()).collect()
}

/// The specified ones, then those of every language that has outlines, each with its dot.
pub fn default_include_extensions() -> Vec<String> {
    let mut extensions: Vec<String> =
        filetype::marked(Mark::RepoDefault).iter().map(|extension| format!(".{extension}")).collect();
    for extension in engine::outlined_extensions() {
        let dotted = format!(".{extension}");
        if !filetype::is_marked(extension, Mark::RepoOnRequest) && !extensions.contains(&dotted) {
            extensions.push(dotted);
        }
    }
    extensions
}
