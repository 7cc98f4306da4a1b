//! Projects: isolated roots of files, each belonging to one tenant.

use std::fmt;
use std::sync::Arc;

use model::{ErrorCode, Failure, TenantId};

/// A project's name: 1 to 128 letters, digits, `_`, `-` and `.`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectName(Arc<str>);

const MAX_PROJECT_BYTES: usize = 128;

impl ProjectName {
    pub fn parse(text: &str) -> Result<ProjectName, Failure> {
        let refused = |what: &str| Failure::new(ErrorCode::InvalidPath, format!("project {what}"));
        if text.is_empty() {
            return Err(refused("must not be empty"));
        }
        if text.len() > MAX_PROJECT_BYTES {
            return Err(refused("must have at most 128 characters"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)) {
            return Err(refused("may only contain A-Z a-z 0-9 _ - ."));
        }
        Ok(ProjectName(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProjectName({})", self.0)
    }
}

/// A project of a tenant: what every operation on files names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectScope {
    pub tenant: TenantId,
    pub project: ProjectName,
}

impl ProjectScope {
    pub fn new(tenant: TenantId, project: ProjectName) -> ProjectScope {
        ProjectScope { tenant, project }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f015_f016_f017_projects_are_named_in_plain_characters() {
        for good in ["a", "A-b_c.9", "..", &"x".repeat(128)] {
            assert_eq!(ProjectName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "bad space", "项目", "*", "a/b", "a%b", "a\n", &"x".repeat(129)] {
            assert_eq!(ProjectName::parse(bad).unwrap_err().code, ErrorCode::InvalidPath, "{bad:?}");
        }
    }
}
