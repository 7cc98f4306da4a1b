//! The web console: a page for people beside the tools for agents.
//!
//! The page is a client of the tools like any other; what tools do not do has its routes here: the page's own files, signing in,
//! texts in colours, live events, streamed answers, bytes and status. A route is one file, and one line in [`routes`].
//! The facts are the engine's; this crate only words them for the page.

mod answer;
mod ask;
mod assets;
mod codes;
mod connect;
mod documents;
mod explain;
mod folders;
mod live;
mod me;
mod merge;
mod parameters;
mod raw;
mod sign_in;
mod source;
mod status;
mod view;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use contracts::Registry;
use dir2mcp_http::{Hardening, Route, RouteGuard, RouteLimits, WaitsForTurn, Wording};
use engine::{TenantFiles, Workspace};
use http::Method;
use secrecy::SecretString;
use serde_json::Value;

pub use assets::asset_names;
pub use codes::{PRINTED_LIFE, SignInCodes};
pub use live::LiveEvents;

/// What the console is made of.
pub struct ConsoleParts {
    pub workspace: Arc<Workspace>,
    pub files: Option<Arc<TenantFiles>>,
    /// The tools of the folder, by which questions are answered.
    pub folder_tools: Option<Registry>,
    /// Where each set of tools is served.
    pub contracts: Vec<ServedContract>,
    pub mcp_path: String,
    /// The server's own credential; `None` where it asks for none.
    pub token: Option<SecretString>,
    pub codes: Arc<SignInCodes>,
    pub live: Arc<LiveEvents>,
    pub version: &'static str,
    /// The provider and the model that answer; `None` where answers are made of passages.
    pub chat: Option<(String, String)>,
    /// Who does what for the folder.
    pub models: Vec<ServedModel>,
    /// The sessions of MCP clients, as the status shows them.
    pub sessions: Arc<dyn Fn() -> Value + Send + Sync>,
    /// What to copy to connect each client.
    pub clients: Arc<dyn Fn() -> Value + Send + Sync>,
    /// For work on the page: its files are read from here instead.
    pub folder: Option<PathBuf>,
    /// How refusals are worded at the paths of the page, where programs may ask, too.
    pub wording: Wording,
}

/// A set of tools and the path of its endpoint.
#[derive(Debug, Clone)]
pub struct ServedContract {
    pub name: &'static str,
    pub path: String,
    /// It is among those of the common endpoint.
    pub is_chosen: bool,
}

/// Who does one thing for the folder.
#[derive(Debug, Clone)]
pub struct ServedModel {
    pub capability: &'static str,
    /// `None` where nobody does.
    pub provider: Option<String>,
    pub model: Option<String>,
    /// What to know about it.
    pub detail: Option<String>,
}

/// The largest file that is uploaded at once.
pub const UPLOAD_BYTES: usize = 32 << 20;

/// The first parts of the page's own paths; the page itself finds out the rest.
const PAGES: &[&str] = &["/ask", "/file", "/files", "/status", "/tools"];

/// Below it lie the files of the page, and what it asks for.
const CONSOLE: &str = "/console";

/// Nothing but the page's own files, no markup from strings, no frames, no foreign address.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      media-src blob:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The routes of the console. `taken` are paths that are served already, and stay so.
pub fn routes(parts: ConsoleParts, taken: &[&str]) -> Vec<Route> {
    let state = Arc::new(parts);
    let page = || Router::new().fallback(assets::page).with_state(Arc::clone(&state));
    let mut routes = vec![page_route(Route::at_root(page()), &state)];
    for path in PAGES.iter().filter(|path| !taken.contains(path)) {
        routes.push(page_route(Route::new(*path, page()).with_subpaths(), &state));
    }
    let assets = Router::new().fallback(assets::serve).with_state(Arc::clone(&state));
    routes.push(
        Route::new(CONSOLE, assets)
            .with_subpaths()
            .methods([Method::GET, Method::HEAD])
            .guard(RouteGuard::Open)
            .hardening(hardening().cache_control("no-cache"))
            .limits(RouteLimits { turn: WaitsForTurn::Never, ..RouteLimits::default() }),
    );
    let work = RouteLimits { turn: WaitsForTurn::BeforeService, ..RouteLimits::default() };
    let free = RouteLimits { turn: WaitsForTurn::Never, ..RouteLimits::default() };
    let with_body = RouteLimits { body_bytes: 4 << 10, ..RouteLimits::default() };
    let merging = RouteLimits { body_bytes: merge::MAX_BODY_BYTES, ..RouteLimits::default() };
    let own = |path: &str, method: axum::routing::MethodRouter<Arc<ConsoleParts>>, limits: RouteLimits| {
        let path = format!("{CONSOLE}/{path}");
        let router = Router::new().route(&path, method).with_state(Arc::clone(&state));
        Route::new(path, router).hardening(hardening()).limits(limits)
    };
    let reading = |route: Route| route.methods([Method::GET]);
    let posting = |route: Route| route.methods([Method::POST]);
    routes.extend([
        posting(own("sign-in", post(sign_in::exchange), with_body)).guard(RouteGuard::Open),
        posting(own("code", post(sign_in::fresh), with_body)),
        reading(own("me", get(me::serve), free)).admitting_guests(),
        reading(own("view", get(view::serve), work)).admitting_guests(),
        reading(own("list", get(folders::serve), work)),
        reading(own("raw", get(raw::serve), work)).admitting_guests(),
        posting(own("merge", post(merge::serve), merging)).admitting_guests(),
        posting(own("ask", post(ask::serve), RouteLimits { body_bytes: 64 << 10, ..RouteLimits::default() })),
        reading(own("explain", get(explain::serve), work)),
        reading(own("events", get(live::serve), free)).admitting_guests(),
        reading(own("status", get(status::serve), work)),
        reading(own("files", get(documents::serve), work)),
        reading(own("connect", get(connect::serve), free)),
    ]);
    routes
}

fn page_route(route: Route, state: &ConsoleParts) -> Route {
    route
        .guard(RouteGuard::Open)
        .hardening(hardening().cache_control("no-cache"))
        .limits(RouteLimits { turn: WaitsForTurn::Never, ..RouteLimits::default() })
        .wording(state.wording)
}

fn hardening() -> Hardening {
    Hardening::default()
        .header("content-security-policy", POLICY)
        .header("cross-origin-opener-policy", "same-origin")
        .header("cross-origin-resource-policy", "same-origin")
        .header("referrer-policy", "no-referrer")
}
