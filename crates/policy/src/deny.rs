//! Paths that are never read: a fixed floor, and the globs of `security.path_excludes` on top of it.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use model::{IgnoreRule, RelPath};

use crate::policy::PolicyError;

/// Why a path is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    #[error("the path is on the fixed deny list ({rule})")]
    Floor { rule: &'static str },
    #[error("the path is excluded by {pattern:?} (security.path_excludes)")]
    Excluded { pattern: String },
}

impl Denied {
    /// The rule by which such paths are counted.
    pub fn rule(&self) -> IgnoreRule {
        match self {
            Denied::Floor { rule } => IgnoreRule::DenyList { pattern: (*rule).to_owned() },
            Denied::Excluded { pattern } => IgnoreRule::PathExcludes { pattern: pattern.clone() },
        }
    }

    /// What the owner of the files can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Denied::Floor { .. } => {
                "Keep what should be readable in a file of another name; this list cannot be relaxed."
            }
            Denied::Excluded { .. } => {
                "Take the pattern out of security.path_excludes to make the file readable."
            }
        }
    }
}

/// Those of the defaults that keep folders of copies and builds out, and protect nothing. Where the repository tools have an
/// index of their own, their own globs decide about these.
pub const IGNORED_FOLDERS: &[&str] =
    &["**/node_modules/**", "**/dist/**", "**/build/**", "**/.venv/**", "**/__pycache__/**"];

/// The default of `security.path_excludes`: the list of the dir2mcp specification, section 16.2, united
/// with the ignore list of section 7.1, and the names of other private keys and password files.
pub fn default_path_excludes() -> Vec<String> {
    [
        "**/.git/**",
        "**/node_modules/**",
        "**/.dir2mcp/**",
        "**/.env",
        "**/*.pem",
        "**/*.key",
        "**/id_rsa",
        "**/dist/**",
        "**/build/**",
        "**/.venv/**",
        "**/__pycache__/**",
        "**/id_dsa",
        "**/id_ecdsa",
        "**/id_ed25519",
        "**/.netrc",
        "**/.pgpass",
        "**/.git-credentials",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The deny list of the repo specification, section 7.2, our own state directories and config files, which may hold keys, and
/// the files of well-known programs that hold nothing but credentials. A folder's name
/// counts like a file's, so everything below a denied folder is denied.
pub(crate) fn check_floor(path: &RelPath) -> Result<(), Denied> {
    let mut folder = Cow::Borrowed("");
    for component in path.components() {
        let name = fold(component);
        // Some mounted file systems (SMB, FAT) drop trailing dots and blanks: `x.pem.` opens `x.pem`.
        let trimmed = name.trim_end_matches(['.', ' ']);
        if let Some(rule) = floor_rule(&name).or_else(|| floor_rule(trimmed)) {
            return Err(Denied::Floor { rule });
        }
        if let Some((rule, ..)) =
            IN_FOLDERS.iter().find(|(_, above, file)| *above == folder && *file == trimmed)
        {
            return Err(Denied::Floor { rule });
        }
        folder = name;
    }
    Ok(())
}

/// Files with common names that hold credentials in these folders.
#[rustfmt::skip]
const IN_FOLDERS: [(&str, &str, &str); 8] = [
    (".docker/config.json", ".docker", "config.json"), (".kube/config", ".kube", "config"),
    (".aws/credentials", ".aws", "credentials"), (".gem/credentials", ".gem", "credentials"),
    (".cargo/credentials", ".cargo", "credentials"), (".cargo/credentials.toml", ".cargo", "credentials.toml"),
    ("gh/hosts.yml", "gh", "hosts.yml"), ("gcloud/credentials.db", "gcloud", "credentials.db"),
];

/// Compiled globs that leave paths out, such as `security.path_excludes`.
#[derive(Debug)]
pub struct Excludes {
    globs: GlobSet,
    patterns: Vec<ExcludePattern>,
}

#[derive(Debug)]
struct ExcludePattern {
    text: String,
    /// Written with a final `/` or `/**`: means the folder and what is in it, not a file of that name.
    folders_only: bool,
    /// Written with `!`: takes back what an earlier pattern excluded.
    negated: bool,
}

impl Excludes {
    /// Reads the patterns as a `.gitignore` at the root would be read: without a `/` they apply at any
    /// depth, with one they start at the root; the last pattern that matches decides; nothing below an
    /// excluded folder comes back. Unlike there, case does not matter: `Private/` must not be a way in.
    pub fn new(patterns: &[String]) -> Result<Excludes, PolicyError> {
        let mut globs = GlobSetBuilder::new();
        let mut compiled = Vec::with_capacity(patterns.len());
        for text in patterns {
            let failed = |reason: String| PolicyError::Glob { pattern: text.clone(), reason };
            let (negated, rest) = text.strip_prefix('!').map_or((false, text.as_str()), |rest| (true, rest));
            let (folders_only, rest) = match rest.strip_suffix("/**").or_else(|| rest.strip_suffix('/')) {
                Some(folder) if !matches!(folder, "" | "**") => (true, folder),
                _ => (false, rest),
            };
            let rest = match rest.strip_prefix('/') {
                Some(anchored) => anchored.to_owned(),
                None if rest.contains('/') => rest.to_owned(),
                None => format!("**/{rest}"),
            };
            if rest.is_empty() || rest == "**/" {
                return Err(failed("it is empty".to_owned()));
            }
            let glob = GlobBuilder::new(&fold(&rest))
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| failed(error.kind().to_string()))?;
            globs.add(glob);
            compiled.push(ExcludePattern { text: text.clone(), folders_only, negated });
        }
        let globs = globs.build().map_err(|error| PolicyError::Glob {
            pattern: error.glob().unwrap_or("the whole list").to_owned(),
            reason: error.kind().to_string(),
        })?;
        Ok(Excludes { globs, patterns: compiled })
    }

    pub fn check(&self, path: &RelPath, is_folder: bool) -> Result<(), Denied> {
        let path = fold(path.as_str());
        let folders = path.match_indices('/').map(|(end, _)| (&path[..end], true));
        let mut matching = Vec::new();
        for (prefix, is_folder) in folders.chain([(&path[..], is_folder)]) {
            self.globs.matches_into(prefix, &mut matching);
            let decisive = matching.iter().rev().map(|&index| &self.patterns[index]);
            let decisive = decisive.into_iter().find(|pattern| is_folder || !pattern.folders_only);
            if let Some(pattern) = decisive.filter(|pattern| !pattern.negated) {
                return Err(Denied::Excluded { pattern: pattern.text.clone() });
            }
        }
        Ok(())
    }
}

fn floor_rule(name: &str) -> Option<&'static str> {
    // Then files that exist to hold passwords, whatever they hold now.
    #[rustfmt::skip]
    const WHOLE: [&str; 20] = [
        ".env", ".git", ".dir2mcp", ".dir2mcp.yaml", ".dir2mcp.yaml.bak", ".repo_mcp",
        ".netrc", "_netrc", ".pgpass", ".pypirc", ".htpasswd", ".git-credentials", ".dockercfg", ".my.cnf", ".mylogin.cnf",
        ".s3cfg", ".boto", ".vault-token", ".smbcredentials", ".fetchmailrc",
    ];
    #[rustfmt::skip]
    const ENDINGS: [(&str, &str); 7] = [
        (".pem", "*.pem"), (".key", "*.key"), (".pfx", "*.pfx"), (".p12", "*.p12"), (".ppk", "*.ppk"), (".kdbx", "*.kdbx"),
        (".jks", "*.jks"),
    ];
    const BEGINNINGS: [(&str, &str); 2] = [("id_rsa", "id_rsa*"), ("secrets.", "secrets.*")];
    // `.env.local` and `.env.production` hold what `.env` holds; these only show its shape.
    const TEMPLATES: [&str; 6] = [".example", ".sample", ".template", ".dist", ".tpl", ".defaults"];

    if let Some(&rule) = WHOLE.iter().find(|&&whole| whole == name) {
        return Some(rule);
    }
    if name.starts_with(".env.") && !TEMPLATES.iter().any(|ending| name.ends_with(ending)) {
        return Some(".env.*");
    }
    let ending = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    let beginning = || BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning));
    ending.or_else(beginning).map(|&(_, rule)| rule)
}

/// A name as a forgiving file system compares it: without case, and without the characters that ext4's
/// casefolding and HFS+ ignore (`.g\u{200c}it` opened `.git` there: CVE-2014-9390). Elsewhere these are
/// different files; refusing them too costs nothing.
fn fold(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    let visible = text.chars().filter(|&character| !is_ignorable(character));
    let folded = visible.flat_map(char::to_lowercase).map(|character| match character {
        // Lower-case already, yet equal to `s` where case is folded.
        'ſ' => 's',
        other => other,
    });
    Cow::Owned(folded.collect())
}

/// Unicode's Default_Ignorable_Code_Point.
pub(crate) fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::from_walk(text).unwrap()
    }

    fn excludes(patterns: &[&str]) -> Excludes {
        Excludes::new(&patterns.iter().map(|&text| text.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn r008_to_r012_the_floor_in_any_case() {
        for denied in [
            ".env",
            "a/.env",
            ".ENV",
            ".env.local",
            "web/.Env.Production",
            "tls.pem",
            "TLS.PEM",
            "a.key",
            "b.pfx",
            "c.p12",
            "c.P12",
            ".pem",
            "id_rsa",
            "id_rsa.pub",
            "ID_RSA_work",
            "secrets.toml",
            "config/Secrets.YAML",
            "secrets.",
            ".git/config",
            "sub/.GIT/HEAD",
            ".git",
            ".dir2mcp/meta.sqlite",
            ".dir2mcp.yaml",
            "sub/.Dir2MCP.YAML",
            ".dir2mcp.yaml.bak",
            ".repo_mcp/x",
            ".env/bin/pip",
            "x.pem/readme.txt",
            "a.key. ",
            "x.pem..",
            ".git /config",
            ".g\u{200c}it/config",
            ".en\u{feff}v",
            "\u{17f}ecrets.json",
            "id_r\u{17f}a",
            "a.\u{212a}ey",
            ".pypirc",
            "home/.NETRC",
            "_netrc",
            "web/.htpasswd",
            ".docker/config.json",
            "home/.Docker/Config.json",
            ".kube/config",
            ".aws/credentials",
            ".config/gh/hosts.yml",
            "vault.kdbx",
        ] {
            assert!(matches!(check_floor(&path(denied)), Err(Denied::Floor { .. })), "{denied:?}");
        }
        for allowed in [
            ".env.example",
            ".env.local.sample",
            ".env.TEMPLATE",
            "env",
            "environment.py",
            ".envrc",
            "pem",
            "pem.md",
            "monkey",
            "keys.rs",
            "key.rs",
            "secrets/readme.md",
            "my_secrets.py",
            "secret.txt",
            ".gitignore",
            ".github/ci.yml",
            ".gitattributes",
            "grid_rsa",
            "docker/config.json",
            "kube/config",
            ".kube/readme.md",
            "aws/credentials",
            "netrc.py",
            "dir2mcp/x",
            "...",
            " ",
            "a/. /b",
        ] {
            assert_eq!(check_floor(&path(allowed)), Ok(()), "{allowed:?}");
        }
    }

    #[test]
    fn d090_the_default_globs() {
        let defaults = Excludes::new(&default_path_excludes()).unwrap();
        for denied in [
            "node_modules/a/b.js",
            "x/node_modules/y.js",
            "dist/a",
            "a/build/b/c",
            ".venv/x",
            "a/__pycache__/m.pyc",
            "k/id_ed25519",
        ] {
            assert!(defaults.check(&path(denied), false).is_err(), "{denied}");
        }
        for allowed in ["src/main.rs", "build.rs", "dist", "docs/builder/x.md", "rebuild/x"] {
            assert_eq!(defaults.check(&path(allowed), false), Ok(()), "{allowed}");
        }
        assert!(defaults.check(&path("a/build"), true).is_err(), "a walk prunes the folder itself");
    }

    #[test]
    fn globs_read_like_a_gitignore() {
        let denies = |patterns: &[&str], text: &str| excludes(patterns).check(&path(text), false).is_err();
        assert!(denies(&["**/private/**"], "private/a.txt"));
        assert!(denies(&["**/private/**"], "x/Private/b/a.txt"));
        assert!(!denies(&["**/private/**"], "private"));
        assert!(denies(&["**/.env"], ".env"));
        assert!(denies(&["*.log"], "a/b/c.log"));
        assert!(!denies(&["/*.log"], "a/c.log"));
        assert!(denies(&["docs/*.md"], "docs/x.md"));
        assert!(!denies(&["docs/*.md"], "docs/a/x.md") && !denies(&["docs/*.md"], "a/docs/x.md"));
        assert!(denies(&["tmp/"], "a/tmp/x") && !denies(&["tmp/"], "a/tmp"));
        assert!(denies(&["a/**/z"], "a/z") && denies(&["a/**/z"], "a/b/c/z"));
        assert!(!denies(&["*.md", "!keep.md"], "x/keep.md") && denies(&["!keep.md", "*.md"], "keep.md"));
        assert!(denies(&["x/", "!x/keep.md"], "x/keep.md"), "an excluded folder is final");
        assert!(denies(&["**"], "anything") && denies(&["/**"], "any/thing"));
        assert!(denies(&[r"\[a\].txt"], "[a].txt") && denies(&["[ab].txt"], "B.txt"));
        assert!(denies(&["ÄRGER/"], "ärger/x") && denies(&["👨\u{200d}👩.txt"], "👨\u{200d}👩.txt"));
        for bad in ["", "/", "!", "a[", "x{"] {
            assert!(Excludes::new(&[bad.to_owned()]).is_err(), "{bad:?}");
        }
        assert_eq!(
            excludes(&["**/private/**"]).check(&path("private/a"), false),
            Err(Denied::Excluded { pattern: "**/private/**".into() })
        );
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic(text in "\\PC{1,60}") {
            if let Ok(path) = RelPath::from_walk(&text) {
                let _ = check_floor(&path);
                let _ = excludes(&["**/a*/**", "*.x"]).check(&path, true);
            }
            let _ = Excludes::new(&[text]);
        }

        #[test]
        fn what_is_below_a_denied_folder_is_denied(above in "[a-z]{1,8}", below in "[a-z]{1,4}[a-z./]{0,16}") {
            if let Ok(path) = RelPath::from_walk(&format!("{above}/.Git/{below}")) {
                prop_assert!(check_floor(&path).is_err());
            }
            if let Ok(path) = RelPath::from_walk(&format!("{above}/Private/{below}")) {
                prop_assert!(excludes(&["private/"]).check(&path, false).is_err());
            }
        }
    }
}
