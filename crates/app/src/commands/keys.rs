//! `dir2mcp keys`: the keys of the file store. Each has files of its own; the key is shown once, and only its digest is kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Subcommand;
use contracts::files::store_time_text;
use engine::KeyRecord;
use model::Failure;
use serde_json::{Value, json};

use crate::config::Loaded;
use crate::exit::Exit;
use crate::print::{self, safe};
use crate::wire::{self, FilesDoor};

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key and print it, once
    Add {
        /// What to call it
        name: String,
    },
    /// List the keys by their names
    List,
    /// Let a key in no longer; its files stay
    Revoke {
        /// Its name
        name: String,
    },
}

const MOST_NAME_BYTES: usize = 64;

pub(crate) fn run(loaded: &Loaded, command: &KeysCommand) -> Result<(), Exit> {
    let settings = &loaded.settings;
    wire::claim_state(settings)?;
    let door = FilesDoor::for_commands(settings)
        .ok_or_else(|| Exit::config("the file store is switched off (files.enabled)"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let store = door.files.store().await.map_err(failed)?;
        let is_json = settings.output.json;
        match command {
            KeysCommand::Add { name } => {
                let key = new_key(name)?;
                let (tenant, created_at) = (wire::tenant_of_key(key.as_bytes()), engine::now());
                let record = KeyRecord { name: name.clone(), tenant, created_at, revoked_at: None };
                store.records.add_key(record).await.map_err(failed)?;
                if is_json {
                    return Ok(print::out_json(&json!({ "name": name, "key": key }))?);
                }
                if !settings.output.quiet {
                    print::err("This key is shown once. Send it as the bearer token.\n");
                }
                Ok(print::out(&format!("{key}\n"))?)
            }
            KeysCommand::List => {
                let keys = store.records.keys().await.map_err(failed)?;
                if is_json {
                    let keys: Vec<Value> = keys.iter().map(shown).collect();
                    return Ok(print::out_json(&json!({ "keys": keys }))?);
                }
                let line = |key: &KeyRecord| {
                    let state = if key.revoked_at.is_some() { "revoked" } else { "active" };
                    let made = store_time_text(Some(key.created_at));
                    format!("{}  {state}  made {made}\n", safe(&key.name))
                };
                Ok(print::out(&keys.iter().map(line).collect::<String>())?)
            }
            KeysCommand::Revoke { name } => {
                if !store.records.revoke_key(name, engine::now()).await.map_err(failed)? {
                    return Err(Exit::generic(format!("there is no active key named {name:?}"))
                        .hint("`dir2mcp keys list` shows those there are."));
                }
                if is_json {
                    return Ok(print::out_json(&json!({ "revoked": name }))?);
                }
                Ok(print::out(&format!("Revoked: {}\n", safe(name)))?)
            }
        }
    })
}

/// 256 random bits, told apart from other secrets by how they begin.
fn new_key(name: &str) -> Result<String, Exit> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > MOST_NAME_BYTES || !name.bytes().all(is_plain) {
        return Err(Exit::config("a key's name has 1 to 64 of the characters A-Z a-z 0-9 - _ ."));
    }
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| Exit::generic(error.to_string()))?;
    Ok(format!("d2m_{}", URL_SAFE_NO_PAD.encode(bytes)))
}

fn shown(key: &KeyRecord) -> Value {
    json!({
        "name": key.name,
        "created_at": store_time_text(Some(key.created_at)),
        "revoked_at": key.revoked_at.map(|time| store_time_text(Some(time))),
    })
}

fn failed(failure: Failure) -> Exit {
    Exit::generic(contracts::failure_sentence(&failure))
}
