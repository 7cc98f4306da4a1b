//! Raw options: single values, each with the place it was given, in layers that `combine` puts on top of
//! each other.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::{Problem, Problems};
use super::keys::{Key, KeyKind, KeySpec};
use super::value::ConfigValue;
use crate::cli::{RepoArgs, StdioArgs, UpArgs};
use crate::print::safe;

/// Where a value was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueOrigin {
    Default,
    File {
        path: PathBuf,
        line: u32,
    },
    /// A variable, from the shell or from a dotenv file.
    Env {
        name: String,
        dotenv: Option<PathBuf>,
    },
    Flag(&'static str),
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::Default => f.write_str("default"),
            ValueOrigin::File { path, line } => write!(f, "file {}:{line}", safe(&path.to_string_lossy())),
            ValueOrigin::Env { name, dotenv: None } => write!(f, "env {name}"),
            ValueOrigin::Env { name, dotenv: Some(path) } => {
                write!(f, "env {name} in {}", safe(&path.to_string_lossy()))
            }
            ValueOrigin::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    pub key: Key,
    pub value: ConfigValue,
    pub origin: ValueOrigin,
}

/// The values of one source.
pub(crate) type Layer = Vec<Setting>;

/// Reads the text of a variable or flag. A relative path starts at `base`.
pub(crate) fn read_text(
    spec: &KeySpec,
    text: &str,
    origin: &ValueOrigin,
    base: &Path,
    problems: &mut Problems,
) -> Option<Setting> {
    match ConfigValue::parse(spec, text) {
        Ok(value) => {
            Some(Setting { key: spec.key, value: anchored(spec, value, base), origin: origin.clone() })
        }
        Err(wrong) => {
            problems.push(Problem::at(origin.clone(), format!("{}: {wrong}", spec.path)));
            None
        }
    }
}

/// Makes the value of a path key absolute.
pub(crate) fn anchored(spec: &KeySpec, value: ConfigValue, base: &Path) -> ConfigValue {
    match value {
        ConfigValue::Text(text) if spec.kind == KeyKind::Path && !text.is_empty() => {
            ConfigValue::Text(base.join(text).to_string_lossy().into_owned())
        }
        ConfigValue::List(folders) if spec.kind == KeyKind::Paths => {
            let whole = |folder: String| base.join(folder).to_string_lossy().into_owned();
            ConfigValue::List(folders.into_iter().map(whole).collect())
        }
        other => other,
    }
}

/// The flags of `dir2mcp up` that are keys of the table.
pub(crate) fn up_flags(args: &UpArgs, cwd: &Path, problems: &mut Problems) -> Layer {
    let mut layer = Layer::new();
    let mut text = |key: Key, text: Option<&str>| {
        if let Some(text) = text {
            let spec = KeySpec::of(key);
            layer.extend(read_text(spec, text, &ValueOrigin::Flag(spec.flag[0]), cwd, problems));
        }
    };
    text(Key::ServerListen, args.listen.as_deref());
    text(Key::ServerMcpPath, args.mcp_path.as_deref());
    text(Key::ServerPublic, args.public.then_some("true"));
    text(Key::ServerConsole, args.console.as_deref());
    text(Key::ServerReadOnly, args.read_only.then_some("true"));
    text(Key::ServerTools, args.tools.as_deref());
    text(Key::ServerToolNames, args.tool_names.as_deref());
    text(Key::ServerTlsCertFile, args.tls_cert.as_deref());
    text(Key::ServerTlsKeyFile, args.tls_key.as_deref());
    text(Key::SecurityAllowedOrigins, args.allowed_origins.as_deref());
    text(Key::MistralEmbedTextModel, args.embed_model_text.as_deref());
    text(Key::MistralEmbedCodeModel, args.embed_model_code.as_deref());
    text(Key::MistralChatModel, args.chat_model.as_deref());
    text(Key::X402Mode, args.x402.as_deref());
    text(Key::X402FacilitatorUrl, args.x402_facilitator_url.as_deref());
    text(Key::X402FacilitatorTokenFile, args.x402_facilitator_token_file.as_deref());
    text(Key::X402ResourceBaseUrl, args.x402_resource_base_url.as_deref());
    text(Key::X402Network, args.x402_network.as_deref());
    text(Key::X402Price, args.x402_price.as_deref());
    text(Key::X402Scheme, args.x402_scheme.as_deref());
    text(Key::X402Asset, args.x402_asset.as_deref());
    text(Key::X402PayTo, args.x402_pay_to.as_deref());
    text(Key::X402ToolsCallEnabled, args.x402_tools_call_enabled.map(|on| if on { "true" } else { "false" }));
    if let Some(auth) = &args.auth {
        auth_flag(auth, cwd, &mut layer, problems);
    }
    layer.extend(repo_flags(&args.repo, cwd, problems));
    layer
}

/// The flags of `dir2mcp stdio`.
pub(crate) fn stdio_flags(args: &StdioArgs, cwd: &Path, problems: &mut Problems) -> Layer {
    let mut layer = repo_flags(&args.repo, cwd, problems);
    layer.extend(flag(Key::ServerTools, args.tools.as_deref(), cwd, problems));
    layer.extend(flag(Key::ServerToolNames, args.tool_names.as_deref(), cwd, problems));
    layer
}

/// The one flag of a key.
pub(crate) fn flag(key: Key, given: Option<&str>, cwd: &Path, problems: &mut Problems) -> Layer {
    let spec = KeySpec::of(key);
    let origin = ValueOrigin::Flag(spec.flag[0]);
    given.and_then(|text| read_text(spec, text, &origin, cwd, problems)).into_iter().collect()
}

/// The flags of the repository tools.
fn repo_flags(args: &RepoArgs, cwd: &Path, problems: &mut Problems) -> Layer {
    let given = [
        (Key::RepoDataDir, args.data_dir.as_deref()),
        (Key::RepoMaxFileBytes, args.max_file_bytes.as_deref()),
        (Key::RepoMaxOpenLines, args.max_open_lines.as_deref()),
        (Key::RepoMaxTotalBytes, args.max_total_bytes_per_response.as_deref()),
        (Key::RepoMaxSearchHits, args.max_search_hits.as_deref()),
        (Key::RepoMaxReferences, args.max_references.as_deref()),
        (Key::RepoMaxBundleFiles, args.max_bundle_files.as_deref()),
        (Key::RepoIncludeExtensions, args.include_extensions.as_deref()),
        (Key::RepoExcludeGlobs, args.exclude_globs.as_deref()),
        (Key::RepoPythonEnabled, args.python_adapter_enabled.as_deref()),
        (Key::RepoSemanticEnabled, args.semantic.then_some("true")),
    ];
    let mut layer = Layer::new();
    for (key, text) in given {
        let spec = KeySpec::of(key);
        let origin = ValueOrigin::Flag(spec.flag[0]);
        layer.extend(text.and_then(|text| read_text(spec, text, &origin, cwd, problems)));
    }
    layer
}

/// `--auth auto|none|file:PATH`. Anything else may be a token, so it is not repeated.
fn auth_flag(text: &str, cwd: &Path, layer: &mut Layer, problems: &mut Problems) {
    let origin = ValueOrigin::Flag("--auth");
    let mut set = |key: Key, text: &str| {
        layer.extend(read_text(KeySpec::of(key), text, &origin, cwd, problems));
    };
    match text.trim() {
        mode @ ("auto" | "none") => set(Key::SecurityAuthMode, mode),
        other => match other.strip_prefix("file:").map(str::trim).filter(|path| !path.is_empty()) {
            Some(path) => {
                set(Key::SecurityAuthMode, "file");
                set(Key::SecurityAuthTokenFile, path);
            }
            None => problems.push(Problem::at(
                origin,
                "expected auto, none or file:PATH. A token itself is never given on the command line, where \
                 other users can read it: put it into a file, or into DIR2MCP_AUTH_TOKEN",
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(arguments: &[&str]) -> (Layer, Vec<String>) {
        let args = UpArgs::parse_for_tests(arguments);
        let mut problems = Problems::default();
        let layer = up_flags(&args, Path::new("/cwd"), &mut problems);
        (layer, problems.messages())
    }

    #[test]
    fn d022_auth_takes_a_source_never_a_token() {
        let (layer, problems) = flags(&["--auth", " none "]);
        assert_eq!(layer[0].value, ConfigValue::Text("none".into()));
        assert!(problems.is_empty());

        let (layer, _) = flags(&["--auth", "file:secrets/tok"]);
        assert_eq!(layer[0].value, ConfigValue::Text("file".into()));
        assert_eq!(layer[1].value, ConfigValue::Text("/cwd/secrets/tok".into()));

        for token in ["s3cr3t-t0ken-value", "file:", "Bearer abc", ""] {
            let (layer, problems) = flags(&["--auth", token]);
            assert!(layer.is_empty(), "{token}");
            assert!(problems[0].contains("auto, none or file:PATH"));
            assert!(token.is_empty() || token == "file:" || !problems[0].contains(token), "{problems:?}");
        }
    }

    #[test]
    fn relative_paths_of_flags_start_at_the_current_folder() {
        let (layer, _) = flags(&["--tls-cert", "c.pem", "--tls-key", "/k.pem"]);
        assert_eq!(layer[0].value, ConfigValue::Text("/cwd/c.pem".into()));
        assert_eq!(layer[1].value, ConfigValue::Text("/k.pem".into()));
    }
}
