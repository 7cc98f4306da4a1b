//! What a confined server needs for its providers: hosts, files of the system, and programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::http::ProviderEndpoint;

/// How names become addresses. Directories stand for files that the system replaces while the server runs.
const RESOLVER_FILES: &[&str] = &[
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
];

/// Where distributions keep the certificates that they trust.
const CERTIFICATE_FILES: &[&str] = &[
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/local/share/certs",
    "/var/lib/ca-certificates",
];

/// Variables that name certificates elsewhere.
const CERTIFICATE_VARIABLES: &[&str] = &["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// What one provider needs once the process is confined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderReach {
    /// Its name in the configuration and in errors.
    pub provider: String,
    pub hosts: Vec<HostPort>,
    /// Names have to be resolved.
    pub needs_resolver: bool,
    /// Certificates have to be checked.
    pub needs_certificates: bool,
    /// Programs that are started, and what they load.
    pub run: Vec<PathBuf>,
    /// Folders for temporary files.
    pub write: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    pub host: String,
    pub port: u16,
}

impl ProviderReach {
    pub(crate) fn of(endpoint: &ProviderEndpoint) -> ProviderReach {
        let address = endpoint.address();
        let is_number = address.host().trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
        ProviderReach {
            provider: endpoint.provider().to_owned(),
            hosts: vec![HostPort { host: address.host().to_owned(), port: address.port() }],
            needs_resolver: !is_number,
            needs_certificates: address.is_https(),
            ..ProviderReach::default()
        }
    }

    pub(crate) fn program(provider: &str, program: &Path, work: &Path) -> ProviderReach {
        ProviderReach {
            provider: provider.to_owned(),
            run: vec![program.to_owned()],
            write: vec![work.to_owned()],
            ..ProviderReach::default()
        }
    }

    /// Files and folders to read. `variable` looks up the environment.
    pub fn read(&self, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        if self.needs_resolver {
            paths.extend(RESOLVER_FILES.iter().map(PathBuf::from));
        }
        if self.needs_certificates {
            paths.extend(CERTIFICATE_FILES.iter().map(PathBuf::from));
            paths.extend(CERTIFICATE_VARIABLES.iter().filter_map(|name| variable(name).map(PathBuf::from)));
        }
        paths
    }
}
