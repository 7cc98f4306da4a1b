//! Who asks.

/// The party behind an engine call, for audit lines and limits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// The command line, run by whoever owns the directory.
    Cli,
    /// The parent process on the other end of stdin.
    Stdio,
    /// An HTTP client: a label for its credential (never the credential) and its address.
    Http { identity: String, address: String },
}

impl std::fmt::Display for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Caller::Cli => f.write_str("cli"),
            Caller::Stdio => f.write_str("stdio"),
            Caller::Http { identity, address } => write!(f, "http:{identity}@{address}"),
        }
    }
}
