//! How much one tenant may keep in all its projects together (`files.max_tenant_bytes`), beside the limit of each project.

use model::{ErrorCode, Failure};

use crate::limits::StoreLimits;

impl StoreLimits {
    /// Whether a change needs to know how much its tenant keeps: the sum over all projects costs a query.
    pub fn needs_tenant_bytes(&self) -> bool {
        self.max_tenant_bytes.is_some()
    }
}

/// Whether the tenant has room for a file that grows from `before` to `after` bytes. `tenant_bytes` counts the active files of
/// all its projects, this one included.
///
/// Changes of two projects do not wait for each other, so that two of them at once can each find room for the same bytes:
/// what a tenant keeps may exceed its limit by what is under way, never by more.
pub fn check_tenant_quota(
    limits: &StoreLimits,
    tenant_bytes: u64,
    before: u64,
    after: u64,
) -> Result<(), Failure> {
    let Some(limit) = limits.max_tenant_bytes else { return Ok(()) };
    let total = tenant_bytes.saturating_sub(before).saturating_add(after);
    // As for a project: what is over its limit already may still shrink.
    if total > limit && after > before {
        return Err(Failure::new(
            ErrorCode::QuotaExceeded,
            format!("all projects together would exceed their limit of {limit} bytes"),
        )
        .hint("Delete or shorten files of any project."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f012_f031_a_tenant_has_one_limit_for_all_its_projects() {
        let off = StoreLimits::default();
        assert!(!off.needs_tenant_bytes());
        assert_eq!(check_tenant_quota(&off, u64::MAX, 0, u64::MAX), Ok(()));
        let limits = StoreLimits { max_tenant_bytes: Some(100), ..off };
        assert!(limits.needs_tenant_bytes());
        for (kept, before, after, fits) in [
            (90, 0, 10, true),
            (90, 0, 11, false),
            (90, 40, 50, true),
            (200, 50, 40, true),
            (200, 50, 50, true),
        ] {
            let checked = check_tenant_quota(&limits, kept, before, after);
            assert_eq!(checked.is_ok(), fits, "{kept} {before} {after}");
            if let Err(failure) = checked {
                assert_eq!(failure.code, ErrorCode::QuotaExceeded);
            }
        }
    }
}
