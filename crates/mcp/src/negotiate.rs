//! Which protocol revisions are served, and what each of them knows.

use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

/// Oldest first. 2025-03-26 is left out: it obliges a server to take batches, which every later revision forbids.
static VERSIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The revisions served, oldest first.
pub fn versions() -> &'static [ProtocolVersion] {
    &VERSIONS
}

/// The served revision of that name.
pub fn version(name: &str) -> Option<ProtocolVersion> {
    VERSIONS.iter().find(|version| version.as_str() == name).cloned()
}

/// What the peer behind one request understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerDialect {
    /// 2026-07-28 or later: no session, results say their type and how long they stay fresh.
    pub(crate) modern: bool,
    /// 2025-06-18 or later: titles, output schemas and structured results.
    pub(crate) structured: bool,
    /// 2025-03-26 or later: tool annotations and progress messages.
    pub(crate) annotated: bool,
}

impl PeerDialect {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> PeerDialect {
        context
            .protocol_version()
            .map_or(PeerDialect::new(&ProtocolVersion::LATEST_WITH_INITIALIZE), |v| PeerDialect::new(&v))
    }

    /// Revision names are dates, so they compare as text.
    pub(crate) fn new(version: &ProtocolVersion) -> PeerDialect {
        let version = version.as_str();
        PeerDialect {
            modern: version >= ProtocolVersion::NO_INITIALIZE.as_str(),
            structured: version >= ProtocolVersion::V_2025_06_18.as_str(),
            annotated: version >= ProtocolVersion::V_2025_03_26.as_str(),
        }
    }
}

/// The newest of `versions` that still has an `initialize` handshake; `None` if all have gone without.
pub(crate) fn newest_with_handshake(versions: &[ProtocolVersion]) -> Option<&ProtocolVersion> {
    versions.iter().rev().find(|version| version.has_initialize())
}

/// Remembers what a legacy handshake agreed on, for the requests that follow on the same connection.
pub(crate) fn remember(
    peer: &Peer<RoleServer>,
    mut params: rmcp::model::InitializeRequestParams,
    agreed: &ProtocolVersion,
) {
    params.protocol_version = agreed.clone();
    peer.set_peer_info(params);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_knows_what_it_introduced() {
        let known = |v: ProtocolVersion| {
            let d = PeerDialect::new(&v);
            (d.annotated, d.structured, d.modern)
        };
        assert_eq!(known(ProtocolVersion::V_2024_11_05), (false, false, false));
        assert_eq!(known(ProtocolVersion::V_2025_06_18), (true, true, false));
        assert_eq!(known(ProtocolVersion::V_2025_11_25), (true, true, false));
        assert_eq!(known(ProtocolVersion::V_2026_07_28), (true, true, true));
    }

    #[test]
    fn versions_are_served_oldest_first_and_without_batches() {
        let names: Vec<&str> = versions().iter().map(ProtocolVersion::as_str).collect();
        assert!(names.is_sorted());
        assert_eq!(version("2025-03-26"), None);
        assert_eq!(newest_with_handshake(versions()), Some(&ProtocolVersion::V_2025_11_25));
        assert_eq!(newest_with_handshake(&[ProtocolVersion::V_2026_07_28]), None);
    }
}
