//! `dir2mcp calls`: the log of calls of the file store, without the contents of files.

use clap::Args;
use contracts::files::store_time_text;
use engine::{CallFilter, CallRecord, StoreTime};
use serde_json::{Value, json};

use crate::api;
use crate::config::Loaded;
use crate::exit::Exit;
use crate::print::{self, safe};
use crate::wire::{self, FilesDoor};

#[derive(Debug, Clone, Args)]
pub(crate) struct CallsArgs {
    /// Whose calls: the name of a key (default: the shared files of files.auth: single)
    #[arg(long, value_name = "NAME")]
    pub key: Option<String>,
    /// Only calls of this tool, such as file_write
    #[arg(long, value_name = "TOOL")]
    pub tool: Option<String>,
    /// Only calls by this caller, as the list shows it
    #[arg(long, value_name = "CALLER")]
    pub caller: Option<String>,
    /// Only calls that failed
    #[arg(long)]
    pub failed: bool,
    /// Not before this time, such as 2026-01-31T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<StoreTime>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub to: Option<StoreTime>,
    /// Maximum calls
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub limit: u32,
    /// Calls to pass over
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: u32,
}

fn time(text: &str) -> Result<StoreTime, String> {
    api::call_time(text).ok_or_else(|| "expected a time such as 2026-01-31T08:00:00Z".to_owned())
}

pub(crate) fn run(loaded: &Loaded, args: &CallsArgs) -> Result<(), Exit> {
    let settings = &loaded.settings;
    wire::claim_state(settings)?;
    let door = FilesDoor::for_commands(settings)
        .ok_or_else(|| Exit::config("the file store is switched off (files.enabled)"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let tenant = match &args.key {
            Some(name) => door.key_tenant(name).await?,
            None => wire::single_tenant(),
        };
        let filter = CallFilter {
            tool: args.tool.clone(),
            caller: args.caller.clone(),
            failed_only: args.failed,
            from: args.from,
            to: args.to,
            offset: args.offset as usize,
            limit: args.limit as usize,
        };
        let failed = |failure| Exit::generic(contracts::failure_sentence(&failure));
        let store = door.files.store().await.map_err(failed)?;
        let calls = store.records.calls(tenant, &filter).await.map_err(failed)?;
        if settings.output.json {
            let calls: Vec<Value> = calls.iter().map(api::call_json).collect();
            return Ok(print::out_json(&json!({ "calls": calls }))?);
        }
        Ok(print::out(&calls.iter().map(line).collect::<String>())?)
    })
}

fn line(call: &CallRecord) -> String {
    let (at, took) = (store_time_text(Some(call.at)), call.duration_ms);
    let end = call.error_code.as_deref().unwrap_or("ok");
    let (tool, caller, parameters) = (safe(&call.tool), safe(&call.caller), call.parameters.to_string());
    format!("{at}  {tool}  {end}  {took} ms  {caller}  {}\n", safe(&parameters))
}
