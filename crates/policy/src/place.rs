//! What sort of file a text is from. The same line means different things: `password: "hunter22"` is a leak in a
//! configuration file and an example in a manual.

use model::RelPath;

/// How much is held back (`security.secret_level`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecretLevel {
    /// What is a credential beyond reasonable doubt.
    #[default]
    Default,
    /// What may well be one, too: short and guessable passwords, examples in manuals, values in tests.
    Strict,
}

/// What the rules know of a text besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecretPlace {
    pub(crate) sort: Sort,
    pub(crate) level: SecretLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Names and values, unquoted as a rule.
    Config,
    Code,
    /// A manual, a read-me, a page of a site.
    Docs,
    /// A program that belongs to a manual.
    Sample,
    /// A test, its data, or an example.
    Test,
    Other,
}

impl SecretPlace {
    pub(crate) fn new(path: &RelPath, level: SecretLevel) -> SecretPlace {
        SecretPlace { sort: Sort::of(path.as_str()), level }
    }

    /// For a text without a file, where a wrong hit costs one word and not a document.
    pub(crate) const SHOWN: SecretPlace = SecretPlace { sort: Sort::Other, level: SecretLevel::Strict };

    pub(crate) fn is_strict(self) -> bool {
        self.level == SecretLevel::Strict
    }

    /// Values that look like secrets are there to be looked at.
    pub(crate) fn shows_examples(self) -> bool {
        !self.is_strict() && matches!(self.sort, Sort::Docs | Sort::Sample | Sort::Test)
    }
}

impl Sort {
    fn of(path: &str) -> Sort {
        let path = path.to_ascii_lowercase();
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        // `conftest.py`, `test_login.py`, `login_test.go`, `login.spec.ts`, `values.example.yaml`, `.env.sample`.
        let words = || name.split(['.', '_', '-']);
        let test_name = words().any(|word| {
            matches!(
                word,
                "test"
                    | "tests"
                    | "spec"
                    | "conftest"
                    | "example"
                    | "examples"
                    | "sample"
                    | "fixture"
                    | "mock"
            )
        });
        if extension == "rst" {
            return Sort::Docs;
        }
        if test_name || in_folder(&TEST_FOLDERS) {
            return Sort::Test;
        }
        let named = ["readme", "changelog", "changes", "history", "news", "contributing", "tutorial"]
            .iter()
            .any(|start| name.starts_with(start));
        let prose = DOCS.contains(&extension);
        if (prose && in_folder(&DOCS_FOLDERS)) || (named && (extension.is_empty() || prose)) {
            return Sort::Docs;
        }
        if CODE.contains(&extension) && in_folder(&DOCS_FOLDERS) {
            return Sort::Sample;
        }
        if CONFIG.contains(&extension) || CONFIG_NAMES.iter().any(|start| name.starts_with(start)) {
            return Sort::Config;
        }
        if CODE.contains(&extension) { Sort::Code } else { Sort::Other }
    }
}

#[rustfmt::skip]
const TEST_FOLDERS: [&str; 24] = [
    "test", "tests", "testing", "testdata", "test_data", "spec", "specs", "__tests__", "fixtures", "fixture", "mocks", "mock",
    "__mocks__", "example", "examples", "sample", "samples", "demo", "demos", "e2e", "cassettes", "snapshots",
    "integration_tests", "molecule",
];

#[rustfmt::skip]
const DOCS_FOLDERS: [&str; 13] = [
    "doc", "docs", "docs_src", "documentation", "manual", "man", "guide", "guides", "tutorial", "tutorials", "wiki", "book", "site",
];

const DOCS: [&str; 9] = ["md", "markdown", "mdx", "rst", "adoc", "asciidoc", "html", "htm", "ipynb"];

#[rustfmt::skip]
const CONFIG: [&str; 23] = [
    "yml", "yaml", "ini", "cfg", "cnf", "conf", "config", "properties", "props", "toml", "env", "json", "xml", "plist",
    "tfvars", "tfstate", "service", "desktop", "reg", "rc", "settings", "hcl", "inf",
];

#[rustfmt::skip]
const CONFIG_NAMES: [&str; 10] = [
    ".npmrc", ".yarnrc", ".env", ".envrc", ".s3cfg", ".boto", "dockerfile", "docker-compose", "hosts", "credentials",
];

#[rustfmt::skip]
const CODE: [&str; 38] = [
    "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "java", "kt", "kts", "scala", "groovy", "gradle", "go", "rs", "c",
    "h", "cc", "cpp", "hpp", "cs", "vb", "swift", "m", "rb", "php", "pl", "pm", "lua", "r", "ex", "exs", "erl", "clj", "dart",
    "sql", "vue",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_by_their_names() {
        for (path, sort) in [
            ("config/database.yml", Sort::Config),
            ("app/.npmrc", Sort::Config),
            ("Dockerfile", Sort::Config),
            ("src/main.rs", Sort::Code),
            ("docs/config.rst", Sort::Docs),
            ("docs/usage.md", Sort::Docs),
            ("docs_src/security/tutorial.py", Sort::Sample),
            ("doc/tests/index.rst", Sort::Docs),
            ("README", Sort::Docs),
            ("runbook.md", Sort::Other),
            ("notes.txt", Sort::Other),
            ("docs/token.txt", Sort::Other),
            ("deploy.sh", Sort::Other),
            ("tests/settings.py", Sort::Test),
            ("pkg/login_test.go", Sort::Test),
            (".env.example", Sort::Test),
            ("web/login.spec.ts", Sort::Test),
            ("latest/contest.py", Sort::Code),
        ] {
            assert_eq!(Sort::of(path), sort, "{path}");
        }
    }
}
