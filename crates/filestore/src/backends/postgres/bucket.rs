//! Buckets: the schemas over which tenants are spread, so that a cluster can keep each on another node.

use model::TenantId;

/// Holds what belongs to no tenant's bucket: the store's settings and the keys.
pub(crate) const SHARED_SCHEMA: &str = "dir2mcp_files";

/// More would only make the catalogue of the database slow.
pub(crate) const MAX_BUCKETS: u32 = 9999;

/// One set of tables. All rows of a tenant are in one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) number: u32,
    schema: String,
}

impl Bucket {
    pub(crate) fn new(number: u32) -> Bucket {
        Bucket { number, schema: format!("dir2mcp_files_{number:04}") }
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// A statement for this bucket: `{s}` stands for its schema.
    pub(crate) fn sql(&self, template: &str) -> String {
        template.replace("{s}", &self.schema)
    }
}

/// Which of so many buckets a tenant is in. The tenant is a digest already, so that its first bytes spread evenly; the
/// number stays with the store for ever, as the rows do.
pub(crate) fn bucket_number(tenant: TenantId, buckets: u32) -> u32 {
    let digest = tenant.digest();
    let head = u64::from_be_bytes(digest[..8].try_into().unwrap_or_default());
    (head % u64::from(buckets.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_spread_evenly_and_stay() {
        let mut counts = [0; 8];
        for number in 0..8000u32 {
            let tenant = TenantId::from_digest(*blake3::hash(&number.to_be_bytes()).as_bytes());
            counts[bucket_number(tenant, 8) as usize] += 1;
            assert_eq!(bucket_number(tenant, 1), 0);
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        // Known answers: another function would lose the rows of every store there is.
        let tenant = TenantId::from_digest([0xab; 32]);
        assert_eq!((bucket_number(tenant, 64), bucket_number(tenant, 10)), (43, 3));
        assert_eq!(Bucket::new(7).schema(), "dir2mcp_files_0007");
    }
}
