//! A change as it is asked for, and the key under which its outcome is kept.

use model::{ErrorCode, Failure};

use crate::guard::RequestDigest;
use crate::mutation::{DeleteRequest, MutationGuard, RenameRequest, RestoreRequest, WriteRequest};

pub(crate) enum Mutation {
    Write(WriteRequest),
    Delete(DeleteRequest),
    Rename(RenameRequest),
    Restore(RestoreRequest),
}

impl Mutation {
    pub(crate) fn guard(&self) -> &MutationGuard {
        match self {
            Mutation::Write(request) => &request.guard,
            Mutation::Delete(request) => &request.guard,
            Mutation::Rename(request) => &request.guard,
            Mutation::Restore(request) => &request.guard,
        }
    }

    pub(crate) fn digest(&self) -> RequestDigest {
        match self {
            Mutation::Write(request) => RequestDigest::of_write(request),
            Mutation::Delete(request) => RequestDigest::of_delete(request),
            Mutation::Rename(request) => RequestDigest::of_rename(request),
            Mutation::Restore(request) => RequestDigest::of_restore(request),
        }
    }
}

/// Before all keys that callers choose.
const CALLERS_KEY: &str = "key:";
/// Before the keys of changes that came without one: they are only needed until their commit is known.
pub(crate) const OWN_KEY: &str = "own:";
/// What the index over the keys holds with room to spare; longer ones are kept as digests.
const MAX_KEY_BYTES: usize = 256;

/// Under what the outcome is kept.
pub(crate) fn stored_key(guard: &MutationGuard) -> Result<String, Failure> {
    match &guard.key {
        Some(key) if key.0.len() <= MAX_KEY_BYTES && !key.0.contains('\0') => {
            Ok(format!("{CALLERS_KEY}{}", key.0))
        }
        Some(key) => Ok(format!("{CALLERS_KEY}blake3:{}", blake3::hash(key.0.as_bytes()).to_hex())),
        None => {
            let mut random = [0u8; 16];
            getrandom::fill(&mut random).map_err(|error| {
                Failure::new(ErrorCode::InternalError, "no random numbers")
                    .because(std::io::Error::other(error.to_string()))
            })?;
            Ok(format!("{OWN_KEY}{:032x}", u128::from_be_bytes(random)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::MutationKey;

    #[test]
    fn own_keys_differ_and_cannot_be_chosen_by_callers() {
        let own = stored_key(&MutationGuard::default()).unwrap();
        assert_ne!(own, stored_key(&MutationGuard::default()).unwrap());
        let forged = MutationGuard { key: Some(MutationKey(own.clone())), ..MutationGuard::default() };
        assert_ne!(stored_key(&forged).unwrap(), own);
        let long = MutationGuard { key: Some(MutationKey("k".repeat(5000))), ..MutationGuard::default() };
        assert!(stored_key(&long).unwrap().len() < 100);
    }
}
