//! Published projects in a process: whose they are, the way to the store, and the engine that answers from one.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Engine, EngineError, PublishedFeed, PublishedProject, StoreFeed, Workspace};
use filestore::ProjectName;
use model::{Failure, TenantId};

use super::store::{FilesDoor, single_tenant};
use super::{models, open};
use crate::cli::ProjectArgs;
use crate::config::settings::{FilesBackend, FilesSettings};
use crate::config::{Loaded, Settings};
use crate::exit::Exit;
use crate::workspace::RootPlace;

/// The way to one project of the store. The index of the store's files is left to servers.
pub(crate) fn project_feed(settings: &Settings, args: &ProjectArgs) -> Result<StoreFeed, Exit> {
    let name = args.project.as_deref().unwrap_or_default();
    let name = ProjectName::parse(name)
        .map_err(|failure| Exit::config(format!("--project: {}", failure.message)))?;
    let mut settings = settings.clone();
    settings.files.search.enabled = false;
    let door = FilesDoor::new(&settings)
        .ok_or_else(|| Exit::config("the file store is switched off (files.enabled)"))?;
    let key = args.key.clone().or_else(|| settings.files.stdio_key.clone());
    let files = Arc::clone(&door.files);
    let tenant = async move {
        match key {
            None => Ok(single_tenant()),
            Some(key) => door.key_tenant(&key).await,
        }
    };
    StoreFeed::new(files, name, tenant)?
}

/// A workspace whose one engine answers from a published project.
pub(crate) fn open_project(
    loaded: &Loaded,
    args: &ProjectArgs,
    warn: &dyn Fn(&str),
) -> Result<Arc<Workspace>, Exit> {
    let settings = &loaded.settings;
    let feed = project_feed(settings, args)?;
    let name = feed.scope().project.clone();
    let place = place(settings, &name, feed.scope().tenant)?;
    match feed.head() {
        Ok(Some(_)) => {}
        Ok(None) => return Err(not_published(&feed, &name)),
        // What was copied before is served until the store is back.
        Err(failure) if place.state_dir.join("meta.sqlite").exists() => {
            warn(&format!("{}; serving what was copied before", contracts::failure_sentence(&failure)));
        }
        Err(failure) => return Err(failed(&failure)),
    }
    let published = PublishedProject { name: format!("project {name}"), feed: Arc::new(feed) };
    let engine = open_published(loaded, published, &place)?;
    Ok(Arc::new(Workspace::new(engine, Vec::new())))
}

fn open_published(
    loaded: &Loaded,
    published: PublishedProject,
    place: &RootPlace,
) -> Result<Arc<Engine>, Exit> {
    let providers = models::providers(loaded)?;
    open(loaded, providers, place, false, Some(published)).map_err(|error: EngineError| error.into())
}

/// A state directory for each project, store and tenant. An empty folder in it stands for the root that there is not.
fn place(settings: &Settings, name: &ProjectName, tenant: TenantId) -> Result<RootPlace, Exit> {
    let digest = blake3::hash(format!("{}\n{tenant:?}", store_name(&settings.files)).as_bytes()).to_hex();
    let state_dir = settings.state_dir.join("projects").join(format!("{name}-{}", &digest[..8]));
    let root: PathBuf = state_dir.join("folder");
    std::fs::create_dir_all(&root).map_err(|error| {
        Exit::ingest(format!("the state directory {} cannot be written: {error}", state_dir.display()))
            .hint("Name a writable one with --state-dir.")
    })?;
    Ok(RootPlace { root, state_dir, gitignore: false, without: Vec::new() })
}

/// Tells stores apart. A password in an address does not leave the digest that is made of this.
fn store_name(files: &FilesSettings) -> String {
    match &files.backend {
        FilesBackend::Sqlite => files.path.display().to_string(),
        FilesBackend::Postgres { url, .. } => url.expose().to_owned(),
    }
}

fn not_published(feed: &StoreFeed, name: &ProjectName) -> Exit {
    let exit = Exit::config(format!("nothing is published as the project {name}"));
    let tenant = feed.scope().tenant;
    let known = feed.run(|store, _| store.publications.published(tenant)).unwrap_or_default();
    let known: Vec<String> = known.iter().map(|(name, _)| name.to_string()).collect();
    if known.is_empty() {
        return exit.hint("Publish a folder with `dir2mcp publish --project NAME`.");
    }
    exit.hint(format!("Published are: {}.", known.join(", ")))
}

pub(crate) fn failed(failure: &Failure) -> Exit {
    Exit::generic(contracts::failure_sentence(failure))
}
