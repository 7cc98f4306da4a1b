//! How a job of the index finds the credential that was left for it: by its file and the state of that file.

use futures::future::BoxFuture;

use super::error::EnvelopeError;
use super::subject::EnvelopeSubject;
use super::vault::CredentialVault;
use crate::entry::StoreTime;
use crate::indexing::{IndexJob, JobCredentials, ProviderSecret};
use crate::path::StorePath;
use crate::project::ProjectScope;

impl EnvelopeSubject {
    /// Of the job that a change leaves: no two changes of a project have the same time.
    pub fn of_change(scope: &ProjectScope, path: &StorePath, updated_at: StoreTime) -> EnvelopeSubject {
        EnvelopeSubject::new(scope, path, &updated_at.0.to_string())
    }
}

impl JobCredentials for CredentialVault {
    fn fetch<'a>(&'a self, job: &'a IndexJob) -> BoxFuture<'a, Option<ProviderSecret>> {
        Box::pin(async move {
            let subject = subject(job)?;
            match CredentialVault::fetch(self, &subject).await {
                Ok(credential) => Some(ProviderSecret(credential.expose().to_owned())),
                Err(EnvelopeError::Missing | EnvelopeError::Expired) => None,
                Err(error) => {
                    tracing::warn!(%error, job = job.lease.job, "a credential could not be had");
                    None
                }
            }
        })
    }

    fn forget<'a>(&'a self, job: &'a IndexJob) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(subject) = subject(job) else { return };
            if let Err(error) = self.discard(&subject).await {
                // It expires by itself.
                tracing::warn!(%error, job = job.lease.job, "a credential could not be removed");
            }
        })
    }
}

/// Jobs that no change of a caller left, such as those of another model, have none.
fn subject(job: &IndexJob) -> Option<EnvelopeSubject> {
    job.file_updated_at.map(|at| EnvelopeSubject::of_change(&job.scope, &job.path, at))
}
