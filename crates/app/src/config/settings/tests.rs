//! Settings resolved from flags and files.

use std::path::Path;
use std::time::Duration;

use super::ingest::ArchiveMode;
use super::security::SecretPatternSettings;
use super::server::{Cidr, RateLimitSettings, Tls};
use super::x402::{X402Mode, is_caip2, is_price};
use super::*;
use crate::config::options::{Layer, Setting, ValueOrigin, read_text};

struct Resolved {
    settings: Settings,
    problems: Vec<String>,
    warnings: Vec<String>,
}

/// Resolves flags given as `key=value`, with a leading `!` for the file instead.
fn resolve_with(pairs: &[&str], force_insecure: bool) -> Resolved {
    let mut problems = Problems::default();
    let (mut file, mut flags) = (Layer::new(), Layer::new());
    for pair in pairs {
        let (path, text) = pair.trim_start_matches('!').split_once('=').unwrap();
        let spec = KeySpec::find(path).unwrap();
        let flag = spec.flag.first().copied().unwrap_or("--x");
        let (layer, origin): (&mut Layer, _) = match pair.starts_with('!') {
            true => (&mut file, ValueOrigin::File { path: "/r/c.yaml".into(), line: 1 }),
            false => (&mut flags, ValueOrigin::Flag(flag)),
        };
        let setting: Option<Setting> = read_text(spec, text, &origin, Path::new("/r"), &mut problems);
        layer.extend(setting);
    }
    let values = Values::combine([file, flags]);
    let mut warnings = Vec::new();
    let surroundings = Surroundings {
        root: "/r".into(),
        state_dir: "/s".into(),
        config_file: None,
        user_config_dir: None,
        output: OutputSettings { json: false, quiet: false, non_interactive: true },
        weights: Weights::default(),
        repo_alone: false,
        repo_apart: false,
        roots_missing: false,
        repo_sound: true,
        force_insecure,
    };
    let settings = Settings::resolve(&values, surroundings, &mut problems, &mut warnings);
    Resolved { settings, problems: problems.messages(), warnings }
}

fn resolve(pairs: &[&str]) -> Resolved {
    resolve_with(pairs, false)
}

#[test]
fn d081_d169_to_d180_defaults_of_the_specification() {
    let Resolved { settings: s, problems, warnings } = resolve(&[]);
    assert!(problems.is_empty() && warnings.is_empty(), "{problems:?} {warnings:?}");
    // D170
    assert_eq!(s.models.mistral.chat_model, "mistral-small-2506");
    assert_eq!(s.models.mistral.embed_text_model, "mistral-embed");
    assert_eq!(s.models.mistral.embed_code_model, "codestral-embed");
    assert_eq!(s.models.mistral.ocr_model, "mistral-ocr-latest");
    // D171
    assert!(s.rag.generate_answer);
    assert_eq!((s.rag.k_default, s.rag.max_context_chars, s.rag.oversample_factor), (10, 20_000, 5));
    assert_eq!(
        s.rag.system_prompt,
        "You are a retrieval-augmented assistant.\nUse citations and never invent sources.\n"
    );
    // D172
    assert!(s.ingest.gitignore && s.ingest.audio_cache && !s.ingest.follow_symlinks);
    assert_eq!(
        (s.ingest.pdf, s.ingest.images, s.ingest.audio, s.ingest.archives),
        (PdfMode::Ocr, ImageMode::OcrAuto, AudioMode::Auto, ArchiveMode::Deep)
    );
    assert_eq!(s.ingest.max_file_bytes, 20 << 20);
    // D173
    let chunking = Chunking {
        max_chars: 2500,
        overlap_chars: 250,
        min_chars: 200,
        code_max_lines: 200,
        code_overlap_lines: 30,
        transcript_segment_ms: 30_000,
        transcript_overlap_ms: 5000,
    };
    assert_eq!(s.chunking, chunking);
    // D174, with the alias that the API wants spelled out; `auto` asks Mistral first
    assert_eq!(s.models.stt, ProviderChoice::Auto);
    assert_eq!(s.models.mistral.stt_model, "voxtral-mini-latest");
    assert_eq!(s.models.elevenlabs.stt_model, "scribe_v2");
    assert!(s.models.mistral.stt_timestamps && s.models.elevenlabs.stt_timestamps);
    // D175
    assert_eq!(s.x402.mode, X402Mode::Off);
    assert!(!s.x402.tools_call_enabled && !s.x402.bazaar_enabled);
    assert_eq!((s.x402.price.as_str(), s.x402.network.as_str()), ("0.001", "eip155:8453"));
    assert_eq!(s.x402.scheme, "exact");
    // D176
    assert_eq!(s.server.listen.to_string(), "127.0.0.1:0");
    assert_eq!((s.server.mcp_path.as_str(), s.server.protocol_version.as_str()), ("/mcp", "2025-11-25"));
    assert!(s.server.tls.is_none() && !s.server.public);
    assert_eq!(s.server.session_inactivity_timeout, Duration::from_secs(24 * 3600));
    assert_eq!(s.server.session_max_lifetime, None);
    // D177
    assert_eq!(s.secrets.provider, SecretProvider::Auto);
    assert_eq!(s.secrets.keychain, KeychainEntry { service: "dir2mcp".into(), account: "default".into() });
    assert_eq!(s.secrets.file, Path::new("/s/secret.env"));
    // D178
    assert_eq!(
        s.security.auth,
        Auth::Auto { token_env: "DIR2MCP_AUTH_TOKEN".into(), keychain: None, token_file: None }
    );
    assert_eq!(s.security.allowed_origins, ["http://localhost", "http://127.0.0.1"]);
    // D179, and the folders of section 7.1
    for exclude in [
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
    ] {
        assert!(s.security.path_excludes.iter().any(|known| known == exclude), "{exclude}");
    }
    // D180, tuned as the specification's own notes advise
    assert_eq!(s.security.secret_patterns, SecretPatternSettings { builtin: true, custom: vec![] });
    // Ours
    assert_eq!(s.server.tools, ["dir2mcp"]);
    assert_eq!(s.server.rate_limit, Some(RateLimitSettings { requests_per_second: 60, burst: 20 }));
    assert!(s.ingest.watch);
}

#[test]
fn d021_public_opens_the_address_and_keeps_the_port() {
    let listen = |pairs: &[&str]| resolve(pairs).settings.server.listen.to_string();
    assert_eq!(listen(&["server.public=true"]), "0.0.0.0:0");
    assert_eq!(listen(&["server.public=true", "!server.listen=127.0.0.1:8087"]), "0.0.0.0:8087");
    assert_eq!(listen(&["server.public=true", "!server.listen=192.168.1.5:80"]), "192.168.1.5:80");
    assert_eq!(listen(&["server.public=true", "server.listen=127.0.0.1:9"]), "127.0.0.1:9");
    assert_eq!(listen(&["server.listen=[::1]:9"]), "[::1]:9");
}

#[test]
fn case_5_public_without_a_token_needs_insistence() {
    let pairs = ["server.public=true", "security.auth.mode=none"];
    let refused = resolve(&pairs);
    assert_eq!(refused.problems.len(), 1);
    assert!(refused.problems[0].contains("--force-insecure"), "{:?}", refused.problems);
    let insisted = resolve_with(&pairs, true);
    assert!(insisted.problems.is_empty() && insisted.warnings[0].contains("no token"));
    // An outside address is public whether or not the word was used.
    assert_eq!(resolve(&["server.listen=0.0.0.0:80", "security.auth.mode=none"]).problems.len(), 1);
    assert!(resolve(&["security.auth.mode=none"]).problems.is_empty());
    let plain = resolve(&["server.public=true"]);
    assert!(plain.problems.is_empty() && plain.warnings[0].contains("unencrypted"));
}

#[test]
fn d023_tls_needs_both_files() {
    let tls = resolve(&["server.tls.cert_file=c", "server.tls.key_file=k"]).settings.server.tls;
    assert_eq!(tls, Some(Tls { cert_file: "/r/c".into(), key_file: "/r/k".into() }));
    for half in ["server.tls.cert_file=c", "server.tls.key_file=k", "!server.tls.enabled=true"] {
        assert_eq!(resolve(&[half]).problems.len(), 1, "{half}");
    }
    let off = ["!server.tls.enabled=false", "!server.tls.cert_file=c", "!server.tls.key_file=k"];
    assert_eq!(resolve(&off).settings.server.tls, None);
    let on_again = ["!server.tls.enabled=false", "server.tls.cert_file=c", "server.tls.key_file=k"];
    assert!(resolve(&on_again).settings.server.tls.is_some());
}

#[test]
fn d118_d119_session_times() {
    let server = resolve(&["server.session_inactivity_timeout=0"]).settings.server;
    assert_eq!(server.session_inactivity_timeout, Duration::from_secs(24 * 3600));
    let server =
        resolve(&["server.session_inactivity_timeout=1m", "server.session_max_lifetime=1h"]).settings.server;
    assert_eq!(server.session_max_lifetime, Some(Duration::from_secs(3600)));
    let problems = resolve(&["server.session_max_lifetime=5s"]).problems;
    assert!(
        problems[0].contains("5s is shorter than server.session_inactivity_timeout (24h)"),
        "{problems:?}"
    );
}

#[test]
fn d184_d185_sources_of_the_token() {
    let auth = |pairs: &[&str]| resolve(pairs).settings.security.auth;
    let env = || "DIR2MCP_AUTH_TOKEN".to_string();
    assert_eq!(
        auth(&["!security.auth.token_file=t"]),
        Auth::Auto { token_env: env(), keychain: None, token_file: Some("/r/t".into()) }
    );
    assert_eq!(
        auth(&["!security.auth.token_env=MY_TOKEN"]),
        Auth::Auto { token_env: "MY_TOKEN".into(), keychain: None, token_file: None }
    );
    assert_eq!(
        auth(&["!security.auth.mode=file", "!security.auth.token_file=t"]),
        Auth::File { path: "/r/t".into(), flag: false }
    );
    assert_eq!(
        auth(&["!security.auth.token_file=t", "security.auth.mode=auto"]),
        Auth::Auto { token_env: env(), keychain: None, token_file: None }
    );
    assert!(matches!(auth(&["!secrets.provider=keychain"]), Auth::Auto { keychain: Some(_), .. }));
    assert_eq!(auth(&["!security.auth.mode=none", "!security.auth.token_file=t"]), Auth::None);
    assert_eq!(resolve(&["!security.auth.mode=file"]).problems.len(), 1);
    assert_eq!(resolve(&["!security.auth.token_env=abc.def-ghi"]).problems.len(), 1);
}

#[test]
fn d024_d195_payments_are_checked_then_declined() {
    let problem = |pairs: &[&str]| resolve(pairs).problems.join("\n");
    assert!(problem(&["x402.mode=on"]).contains("not available yet"));
    assert!(problem(&["x402.mode=required"]).contains("not available yet"));
    let wrong = problem(&["x402.mode=on", "x402.route_policy.tools_call.network=mainnet"]);
    assert!(wrong.contains("CAIP-2") && !wrong.contains("not available yet"), "{wrong}");
    assert!(problem(&["x402.route_policy.tools_call.price=-1"]).contains("price"));
    assert!(problem(&["x402.facilitator_url=file:///etc/passwd"]).contains("facilitator_url"));
    assert!(problem(&["x402.facilitator_url=https://user:pw@h"]).contains("facilitator_url"));
    assert!(resolve(&["!x402.enabled=true"]).warnings[0].contains("x402.mode decides"));
    for network in ["eip155:8453", "eip155:84532", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"] {
        assert!(is_caip2(network));
    }
    for network in ["", ":", "eip155", "EIP155:1", "eip155:", "eip155:1:2", "eip155:a b"] {
        assert!(!is_caip2(network), "{network}");
    }
    for price in ["", ".", "1.", ".1", "1e3", "0x1", "1 ", "1.2.3"] {
        assert!(!is_price(price), "{price}");
    }
}

#[test]
fn addresses_and_paths_are_checked() {
    for listen in ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:99999", "::1:80", "a b:80", "http://x:80"] {
        assert_eq!(resolve(&[&format!("server.listen={listen}")]).problems.len(), 1, "{listen}");
    }
    for path in ["", "/", "mcp", "/a b", "/a?x", "/a//b", "/a/../b", "//evil"] {
        assert_eq!(resolve(&[&format!("server.mcp_path={path}")]).problems.len(), 1, "{path}");
    }
    assert_eq!(resolve(&["server.mcp_path=/a/b/"]).settings.server.mcp_path, "/a/b");
    for origin in ["*", "null", "localhost", "http://", "http://a/path", "http://a b", "://x"] {
        assert_eq!(resolve(&[&format!("security.allowed_origins={origin}")]).problems.len(), 1, "{origin}");
    }
    for range in ["x", "10.0.0.0/33", "::1/129", "10.0.0.0/"] {
        assert_eq!(resolve(&[&format!("server.trusted_proxies={range}")]).problems.len(), 1, "{range}");
    }
    assert_eq!(Cidr::parse("::1").unwrap().to_string(), "::1/128");
    assert_eq!(resolve(&["server.allowed_hosts=https://x"]).problems.len(), 1);
    assert_eq!(resolve(&["mistral.base_url=ftp://x"]).problems.len(), 1);
}

#[test]
fn sets_of_tools_are_known_and_served() {
    assert!(resolve(&["server.tools=dirmcp"]).problems[0].contains("did you mean dir2mcp?"));
    assert!(resolve(&["server.tools=cleats"]).problems[0].contains("not available yet"));
    // What is offered can be used.
    assert!(resolve(&["server.tools=xyz"]).problems[0].ends_with("known: dir2mcp, repo, files, smart"));
    assert_eq!(resolve(&["server.tools=repo"]).settings.server.tools, ["repo"]);
    assert_eq!(resolve(&["server.tools=smart"]).settings.server.tools, ["smart"]);
    assert_eq!(resolve(&["server.tools=dir2mcp,DIR2MCP"]).settings.server.tools, ["dir2mcp"]);
    assert!(resolve(&["server.tools=,"]).problems[0].contains("at least one"));
}

#[test]
fn chunk_sizes_fit_together() {
    assert_eq!(resolve(&["chunking.overlap_chars=2500"]).problems.len(), 1);
    assert_eq!(resolve(&["chunking.code.max_lines=30"]).problems.len(), 1);
}
