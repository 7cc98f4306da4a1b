//! Where the server listens, for whom, and with which tools.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use contracts::Contract;

use super::{Auth, SettingsCheck};
use crate::config::keys::Key;
use crate::config::nearest::nearest;
use crate::config::options::ValueOrigin;
use crate::config::value::format_duration;
use crate::print::safe;

#[derive(Debug, Clone)]
pub(crate) struct ServerSettings {
    pub listen: Listen,
    pub mcp_path: String,
    pub protocol_version: String,
    pub tls: Option<Tls>,
    pub public: bool,
    /// The web console is served.
    pub console: bool,
    pub read_only: bool,
    /// Sets of tools at the endpoint and on stdio; never empty.
    pub tools: Vec<String>,
    pub tool_names: ToolNameStyle,
    pub allowed_hosts: Vec<String>,
    pub session_inactivity_timeout: Duration,
    pub session_max_lifetime: Option<Duration>,
    pub max_sessions: usize,
    /// Per address, when public.
    pub rate_limit: Option<RateLimitSettings>,
    pub trusted_proxies: Vec<Cidr>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listen {
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tls {
    pub cert_file: PathBuf,
    pub key_file: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolNameStyle {
    Dotted,
    Underscore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateLimitSettings {
    pub requests_per_second: u32,
    pub burst: u32,
}

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    pub address: IpAddr,
    pub prefix: u8,
}

impl SettingsCheck<'_> {
    pub(super) fn server(&mut self, auth: &Auth, force_insecure: bool) -> ServerSettings {
        let values = self.values;
        let public = values.bool(Key::ServerPublic);
        let listen = self.listen(public);
        let exposed = public || !listen.is_loopback();
        let tls = self.tls();
        if *auth == Auth::None && exposed && !force_insecure {
            self.problem(
                Key::SecurityAuthMode,
                "without a token, everyone who reaches this machine could read the directory; drop \
                 \"none\", or insist with --force-insecure",
            );
        } else if *auth == Auth::None && exposed {
            self.warnings.push(format!("{listen} is open to everyone who can reach it: there is no token"));
        } else if exposed && tls.is_none() {
            self.warnings.push(format!(
                "the token travels unencrypted to {listen}; give --tls-cert and --tls-key, or put a proxy in front"
            ));
        }
        let inactivity = match values.duration(Key::ServerSessionInactivityTimeout) {
            Duration::ZERO => Duration::from_secs(24 * 3600),
            timeout => timeout,
        };
        let lifetime = Some(values.duration(Key::ServerSessionMaxLifetime)).filter(|limit| !limit.is_zero());
        if let Some(lifetime) = lifetime.filter(|limit| *limit < inactivity) {
            self.problem(
                Key::ServerSessionMaxLifetime,
                format!(
                    "{} is shorter than server.session_inactivity_timeout ({}), which could then never apply",
                    format_duration(lifetime),
                    format_duration(inactivity)
                ),
            );
        }
        let console = match values.text(Key::ServerConsole) {
            "on" => true,
            "off" => false,
            // A token that is typed into a page should not be readable on the way.
            _ => !exposed || tls.is_some(),
        };
        let rps = values.int(Key::ServerRateLimitRps) as u32;
        let burst = values.int(Key::ServerRateLimitBurst) as u32;
        ServerSettings {
            mcp_path: self.mcp_path(),
            protocol_version: values.text(Key::ServerProtocolVersion).into(),
            tls,
            public,
            console,
            read_only: values.bool(Key::ServerReadOnly),
            tools: self.tools(),
            tool_names: match values.text(Key::ServerToolNames) {
                "underscore" => ToolNameStyle::Underscore,
                _ => ToolNameStyle::Dotted,
            },
            allowed_hosts: self.allowed_hosts(),
            session_inactivity_timeout: inactivity,
            session_max_lifetime: lifetime,
            max_sessions: values.int(Key::ServerMaxSessions) as usize,
            rate_limit: (rps > 0 && burst > 0)
                .then_some(RateLimitSettings { requests_per_second: rps, burst }),
            trusted_proxies: self.trusted_proxies(),
            listen,
        }
    }

    /// `--public` opens a local address to the outside, and leaves alone what was named on purpose.
    fn listen(&mut self, public: bool) -> Listen {
        let text = self.values.text(Key::ServerListen);
        let Some(mut listen) = Listen::parse(text) else {
            self.problem(Key::ServerListen, "expected an address and a port, such as 127.0.0.1:8080");
            return Listen { host: "127.0.0.1".into(), port: 0 };
        };
        let by_flag = matches!(self.values.origin(Key::ServerListen), ValueOrigin::Flag(_));
        if public && !by_flag && listen.is_loopback() {
            listen.host = "0.0.0.0".into();
        }
        listen
    }

    fn mcp_path(&mut self) -> String {
        let text = self.values.text(Key::ServerMcpPath);
        let path = text.trim_end_matches('/');
        let legal = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
        let dots = path.split('/').any(|part| matches!(part, "." | ".."));
        if !path.starts_with('/')
            || path.contains("//")
            || dots
            || !path.chars().all(legal)
            || path.len() > 200
        {
            self.problem(Key::ServerMcpPath, "expected a path such as /mcp");
        }
        path.into()
    }

    fn tls(&mut self) -> Option<Tls> {
        let values = self.values;
        let file = |key| Some(PathBuf::from(values.text(key))).filter(|path| !path.as_os_str().is_empty());
        let files = (file(Key::ServerTlsCertFile), file(Key::ServerTlsKeyFile));
        let named_now = [Key::ServerTlsCertFile, Key::ServerTlsKeyFile]
            .into_iter()
            .any(|key| matches!(values.origin(key), ValueOrigin::Flag(_) | ValueOrigin::Env { .. }));
        let switched_off = values.is_explicit(Key::ServerTlsEnabled) && !values.bool(Key::ServerTlsEnabled);
        match files {
            _ if switched_off && !named_now => None,
            (Some(cert_file), Some(key_file)) => Some(Tls { cert_file, key_file }),
            (None, None) if !values.bool(Key::ServerTlsEnabled) => None,
            (cert, _) => {
                let missing = if cert.is_none() { Key::ServerTlsCertFile } else { Key::ServerTlsKeyFile };
                self.problem(missing, "TLS needs both a certificate and a key: --tls-cert and --tls-key");
                None
            }
        }
    }

    fn tools(&mut self) -> Vec<String> {
        let mut tools: Vec<String> = Vec::new();
        for name in self.values.list(Key::ServerTools) {
            let name = name.to_lowercase();
            let known = Contract::parse(&name);
            if known.is_none() {
                let available = || Contract::all().iter().filter(|contract| contract.is_available());
                let names = || available().map(|contract| contract.as_str());
                let hint = nearest(&name, names())
                    .map_or(format!("; known: {}", names().collect::<Vec<_>>().join(", ")), |near| {
                        format!("; did you mean {near}?")
                    });
                self.problem(Key::ServerTools, format!("unknown set of tools \"{}\"{hint}", safe(&name)));
            } else if !known.is_some_and(Contract::is_available) {
                self.problem(Key::ServerTools, format!("the set of tools {name} is not available yet"));
            } else if !tools.contains(&name) {
                tools.push(name);
            }
        }
        if self.values.list(Key::ServerTools).is_empty() {
            self.problem(Key::ServerTools, "name at least one set of tools");
        }
        tools
    }

    fn allowed_hosts(&mut self) -> Vec<String> {
        let mut hosts = Vec::new();
        for host in self.values.list(Key::ServerAllowedHosts) {
            let legal = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
            if host.is_empty() || !host.chars().all(legal) {
                self.problem(
                    Key::ServerAllowedHosts,
                    "expected names such as search.example.com, with or without a port",
                );
            } else {
                hosts.push(host.to_lowercase());
            }
        }
        hosts
    }

    fn trusted_proxies(&mut self) -> Vec<Cidr> {
        let mut ranges = Vec::new();
        for text in self.values.list(Key::ServerTrustedProxies) {
            match Cidr::parse(text) {
                Some(range) => ranges.push(range),
                None => self.problem(Key::ServerTrustedProxies, "expected addresses such as 10.0.0.0/8"),
            }
        }
        ranges
    }
}

impl Listen {
    /// Reads `host:port` or `[v6]:port`.
    pub(crate) fn parse(text: &str) -> Option<Listen> {
        let (host, port) = text.rsplit_once(':')?;
        let host = match host.strip_prefix('[').map(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.filter(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())?,
            None => host,
        };
        let name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if host.is_empty() || !(host.parse::<IpAddr>().is_ok() || host.chars().all(name)) {
            return None;
        }
        // `::1:80` could mean two things.
        if host.contains(':') && !text.starts_with('[') {
            return None;
        }
        Some(Listen { host: host.into(), port: port.parse().ok()? })
    }

    pub(crate) fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Cidr {
    /// Reads `10.0.0.0/8`, or an address that stands for itself.
    pub(crate) fn parse(text: &str) -> Option<Cidr> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(a, p)| (a, Some(p)));
        let address: IpAddr = address.trim().parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(prefix) => prefix.parse().ok().filter(|prefix| *prefix <= longest)?,
            None => longest,
        };
        Some(Cidr { address, prefix })
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}
