//! The one place that decides which source may set which key.
//!
//! The defaults, the user's own configuration directory, the shell, the command line and a file that was named there
//! speak for the user. A file that was merely found (in the current folder or in the served one) may have come with the
//! folder: its keys that narrow count, its keys that widen count once the user has said so. From a dotenv file only
//! the keys of providers are taken (`env`).

use std::fmt;
use std::path::{Path, PathBuf};

use super::combine::Values;
use super::keys::{Key, KeyKind, KeySpec};
use super::options::{Layer, ValueOrigin, anchored};
use super::reach::Reach;
use super::render;
use super::trust_store::TrustStore;
use super::value::ConfigValue;
use super::yaml::VariableReference;
use crate::print::safe;

/// A found file that asks for more than it may.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Untrusted {
    pub file: UnnamedFile,
    /// In the order of the file; at least one.
    pub wishes: Vec<Wish>,
}

/// A file that was found without being named on the command line, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnnamedFile {
    pub path: PathBuf,
    /// Of the text that was read, so that what is trusted is what was looked at.
    pub digest: String,
}

/// A key that widens.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wish {
    pub key: Key,
    pub line: u32,
    pub value: ConfigValue,
    /// The variable of the shell that it would read, where that is what widens.
    pub variable: Option<String>,
}

impl Wish {
    /// With the value that the file wants, for the user who is asked to agree.
    pub(crate) fn shown(&self) -> String {
        format!("{self}: {}", safe(&render::inline(&self.value)))
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}", KeySpec::of(self.key).path, self.line)?;
        if let Some(variable) = &self.variable {
            write!(f, ", reads the variable {}", safe(variable))?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wishes: Vec<String> = self.wishes.iter().map(Wish::to_string).collect();
        let path = self.file.path.to_string_lossy();
        write!(
            f,
            "{} may have come with the folder and is not trusted to set {}",
            safe(&path),
            wishes.join(", ")
        )
    }
}

impl Untrusted {
    /// What to do about it, a line each.
    pub(crate) fn hints(&self) -> Vec<String> {
        let folder = self.file.path.parent().unwrap_or(Path::new("/")).to_string_lossy();
        vec![
            format!("Read the file. If you agree with it, run: dir2mcp trust {}", quoted(&safe(&folder))),
            "Or allow it for this run alone: --trust-config. Or take these keys out of it.".into(),
        ]
    }
}

impl UnnamedFile {
    pub(crate) fn new(path: &Path, text: &str) -> UnnamedFile {
        UnnamedFile { path: path.into(), digest: blake3::hash(text.as_bytes()).to_hex().to_string() }
    }
}

/// What decides about found files in one run.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    pub store: TrustStore,
    /// `--trust-config`.
    pub all: bool,
}

impl Trust {
    pub(crate) fn covers(&self, file: &UnnamedFile) -> bool {
        self.all || self.store.holds(file)
    }
}

/// The keys of a found file's `layer` that widen what `base` allows. What a stronger layer sets anyway is left out.
pub(crate) fn wishes(
    base: &Values,
    layer: &Layer,
    references: &[VariableReference],
    stronger: &[&Layer],
) -> Vec<Wish> {
    let overruled = |key: Key| {
        !KeySpec::of(key).adds()
            && stronger.iter().any(|layer| layer.iter().any(|setting| setting.key == key))
    };
    let mut wishes = Vec::new();
    for setting in layer.iter().filter(|setting| !overruled(setting.key)) {
        let spec = KeySpec::of(setting.key);
        let ValueOrigin::File { path, line } = &setting.origin else { continue };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let spells_the_default = setting.value == anchored(spec, ConfigValue::preset(spec), folder)
            && base.origin(setting.key) == &ValueOrigin::Default;
        if !spells_the_default && spec.reach.widens(spec, base, &setting.value) {
            wishes.push(Wish { key: setting.key, line: *line, value: setting.value.clone(), variable: None });
        }
    }
    for reference in references.iter().filter(|reference| !overruled(reference.key)) {
        let spec = KeySpec::of(reference.key);
        let known = wishes.iter().any(|wish| wish.key == reference.key);
        let is_own_reference = spec.reach == Reach::Reference && is_own(spec, &reference.variable);
        if !known && !is_own_reference {
            let (line, variable) = (reference.line, Some(reference.variable.clone()));
            // Its value is the variable's, which is nothing to show.
            let value = ConfigValue::Text("${…}".into());
            wishes.push(Wish { key: reference.key, line, value, variable });
        }
    }
    wishes.sort_by_key(|wish| wish.line);
    wishes
}

/// Whether a variable is where this provider's key is looked for anyway.
fn is_own(spec: &KeySpec, variable: &str) -> bool {
    spec.kind == KeyKind::Secret
        && (spec.env_names().any(|name| name == variable) || render::reference(spec.key) == Some(variable))
}

/// A word that a shell takes without quotes.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@".contains(c);
    if text.chars().all(plain) { text.into() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
