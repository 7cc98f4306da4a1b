//! Whose files they are: the party behind an API key, known only by the key's digest.

use std::fmt;

/// The SHA-256 of an API key. It decides what a caller of the file store may see; the key itself is not kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TenantId([u8; 32]);

impl TenantId {
    /// Of a digest that was made of a key, or read from a store of digests.
    pub const fn from_digest(digest: [u8; 32]) -> TenantId {
        TenantId(digest)
    }

    pub fn digest(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 characters, as the specification's column `apikey_hash` holds it.
    pub fn to_hex(self) -> String {
        crate::ContentHash(self.0).to_hex()
    }

    /// Reads what [`TenantId::to_hex`] wrote.
    pub fn from_hex(text: &str) -> Option<TenantId> {
        crate::ContentHash::from_hex(text).map(|hash| TenantId(hash.0))
    }
}

/// Shortened: logs need to tell tenants apart, not to repeat what unlocks nothing but looks as if it did.
impl fmt::Display for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_hex()[..12])
    }
}

impl fmt::Debug for TenantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::TenantId;

    #[test]
    fn hex_round_trips_and_display_is_short() {
        let tenant = TenantId::from_digest(std::array::from_fn(|at| at as u8));
        assert_eq!(TenantId::from_hex(&tenant.to_hex()), Some(tenant));
        assert_eq!(tenant.to_string(), "000102030405");
        assert_eq!(TenantId::from_hex("00"), None);
    }
}
