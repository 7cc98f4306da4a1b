// Starts the page: who asks, what happens on the server, which view is shown.

import { fill, h, icon } from "./lib/dom.js";
import { listen } from "./lib/events.js";
import { bind, handle } from "./lib/keys.js";
import { useContracts } from "./lib/mcp.js";
import { href, startRouter } from "./lib/router.js";
import { json, linkFailed, online, signInByLink, wanted } from "./lib/session.js";
import { effect, signal } from "./lib/signal.js";
import { failureBar } from "./parts/dialog.js";
import { statusLine } from "./parts/status-line.js";

/** @typedef {import("./lib/router.js").Route} Route */
/** @typedef {ReturnType<typeof makeContext>} Context */
/** @typedef {{ element: HTMLElement, update?: (route: Route, how: string) => boolean | void, leave?: () => Promise<boolean> }} View */
/** @typedef {(route: Route, context: Context) => View} MakeView */

/** A view is one file and one line here. @type {Record<string, () => Promise<{ view: MakeView }>>} */
const VIEWS = {
  search: () => import("./views/search.js"),
  ask: () => import("./views/ask.js"),
  file: () => import("./views/file.js"),
  files: () => import("./views/files.js"),
  status: () => import("./views/status.js"),
  tools: () => import("./views/tools.js"),
};

/** Views whose look is not part of the shell's. */
const SHEETS = new Set(["ask", "files", "status", "tools"]);

/** A view is shown when its style is there: nothing jumps. @param {string} view */
function sheet(view) {
  if (!SHEETS.delete(view)) return null;
  const link = h("link", { rel: "stylesheet", href: `/console/views/${view}.css` });
  document.head.append(link);
  return new Promise((done) => { link.onload = link.onerror = done; });
}

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const banner = /** @type {HTMLElement} */ (document.getElementById("banner"));
const said = /** @type {HTMLElement} */ (document.getElementById("said"));
const corner = /** @type {HTMLElement} */ (document.getElementById("corner"));

const me = signal(/** @type {Me | null} */ (null));
const progress = signal(/** @type {Progress | null} */ (null));
const reload = signal(false);
const lost = signal(/** @type {string | null} */ (null));

/** @type {Set<(name: string, data: any) => void>} */
const listeners = new Set();

/** What a view may use of the page. @param {AbortController} life */
function makeContext(life) {
  return {
    /** Ends with the view. */
    until: life.signal,
    me: /** @type {Me} */ (me.peek()),
    progress,
    online,
    open: router.open,
    /** @param {string} to @param {boolean} [silently] without showing it */
    replace(to, silently) {
      router.replace(to, silently);
      address = location.pathname + location.search;
    },
    /** @param {string} text for screen readers */
    say(text) {
      said.textContent = text;
    },
    /** @param {string} text */
    title(text) {
      document.title = text ? `${text} · dir2mcp` : "dir2mcp";
    },
    /** @param {import("./lib/keys.js").Binding[]} keys */
    keys(keys) {
      bind(keys, life.signal);
    },
    /** @param {(name: string, data: any) => void} heard */
    on(heard) {
      listeners.add(heard);
      life.signal.addEventListener("abort", () => listeners.delete(heard), { once: true });
    },
    /** Whether the page has one column. */
    get narrow() {
      return matchMedia("(max-width: 860px)").matches;
    },
  };
}

/** @type {{ name: string, view: View, life: AbortController } | null} */
let current = null;
let turn = 0;

/** Scroll places by address, for the way back. @type {Map<string, Array<[string, number]>>} */
const places = new Map();
const scrolled = [".hits", ".file-body", ".answer-side", ".tree-side", ".tool", ".view"];
let address = location.pathname + location.search;

function keepPlace() {
  /** @type {Array<[string, number]>} */
  const kept = scrolled.map((name) => [name, main.querySelector(name)?.scrollTop ?? 0]);
  places.set(address, [...kept, ["", scrollY]]);
}

/** @param {Array<[string, number]>} kept */
function restorePlace(kept) {
  for (const [name, top] of kept) {
    if (!name) scrollTo(0, top);
    else if (top) {
      const box = main.querySelector(name);
      if (box) box.scrollTop = top;
    }
  }
}

/** @param {Route} route @param {"open" | "back" | "replace"} how */
async function show(route, how) {
  if (how !== "replace") keepPlace();
  const before = address;
  address = location.pathname + location.search;
  const [view, mine] = [VIEWS[route.view] ? route.view : "search", ++turn];
  for (const link of document.querySelectorAll("nav.views a")) {
    const here = link.getAttribute("data-view") === (view === "file" ? "files" : view);
    if (here) link.setAttribute("aria-current", view === "file" ? "true" : "page");
    else link.removeAttribute("aria-current");
  }
  if (current?.name === view && current.view.update && current.view.update(route, how) !== false) {
    if (how === "back") restorePlace(places.get(address) ?? []);
    return;
  }
  if (current?.view.leave && how !== "replace" && !(await current.view.leave())) {
    if (how === "open") history.back();
    address = before;
    return;
  }
  const [{ view: make }] = await Promise.all([/** @type {() => Promise<{ view: MakeView }>} */ (VIEWS[view])(), sheet(view)]);
  if (mine !== turn) return;
  current?.life.abort();
  said.textContent = "";
  const life = new AbortController();
  const made = make(route, makeContext(life));
  current = { name: view, view: made, life };
  fill(main, made.element);
  if (how === "back") {
    const kept = places.get(address) ?? [];
    // What the view fetches makes it tall; the place is tried until it fits or a person moves.
    let tries = 40;
    const again = () => {
      if (life.signal.aborted || tries-- <= 0) return;
      restorePlace(kept);
      setTimeout(again, 25);
    };
    addEventListener("wheel", () => { tries = 0; }, { once: true, passive: true });
    addEventListener("keydown", () => { tries = 0; }, { once: true });
    again();
  } else if (how === "open") {
    scrollTo(0, 0);
    if (document.activeElement === document.body || document.activeElement?.closest("nav.views")) return;
    main.focus({ preventScroll: true });
  }
}

const router = startRouter((route, how) => {
  if (me.peek()) show(route, how);
});

for (const link of document.querySelectorAll("nav.views a")) {
  link.prepend(icon(/** @type {import("./lib/dom.js").IconName} */ (link.getAttribute("data-view"))));
}

/* The corner: how much is searchable, the theme, help. */
const THEMES = ["system", "light", "dark"];
const storedTheme = () => {
  try {
    return localStorage.getItem("dir2mcp-theme") ?? "system";
  } catch {
    return "system";
  }
};
const theme = signal(storedTheme());
const themeButton = h("button", { type: "button", class: "plain bare", onclick: () => {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
  try {
    localStorage.setItem("dir2mcp-theme", theme.value);
  } catch {
    // Then it lasts as long as the page.
  }
} }, icon("sun"));
effect(() => {
  if (theme.value === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = theme.value;
  themeButton.setAttribute("aria-label", `Theme: ${theme.value}`);
  themeButton.title = `Theme: ${theme.value}`;
});
fill(corner, statusLine(progress, online), themeButton,
  h("button", { type: "button", class: "plain bare", "aria-label": "Help and keys", title: "Help and keys (?)", onclick: help }, icon("help")));

async function help() {
  const { showHelp } = await import("./parts/help.js");
  showHelp(me.peek()?.version ?? "");
}

const go = (/** @type {string} */ view) => () => router.open(href(view));
bind([
  { keys: "/", what: "Search; takes the selected text", run: (event) => {
    event.preventDefault();
    const selected = String(getSelection() ?? "").trim().slice(0, 200);
    const box = /** @type {HTMLInputElement | null} */ (main.querySelector("input[type=search]"));
    if (selected || !box) router.open(href("search", [], { q: selected }));
    else {
      box.focus();
      box.select();
    }
  } },
  { keys: "g s", what: "Go to Search", run: go("search") },
  { keys: "g a", what: "Go to Ask", run: go("ask") },
  { keys: "g f", what: "Go to Files", run: go("files") },
  { keys: "g i", what: "Go to Status", run: go("status") },
  { keys: "g t", what: "Go to Tools", run: go("tools") },
  { keys: "?", what: "This help", run: help },
]);
document.addEventListener("keydown", handle);
// A view that was left ends its requests; that is no failure.
addEventListener("unhandledrejection", (event) => { if (event.reason?.name === "AbortError") event.preventDefault(); });

/* Sign-in is a dialog over the view that was wanted. */
effect(() => {
  if (wanted.value) import("./views/sign-in.js").then(({ askForToken }) => { if (wanted.peek()) askForToken(linkFailed.peek()); });
});

/* One line above the view says what is wrong with the connection. */
effect(() => {
  if (reload.value) fill(banner, h("div", { class: "bar" }, icon("info"), h("span", { class: "grow" }, "The server was updated."), h("button", { type: "button", onclick: () => location.reload() }, "Reload")));
  else if (lost.value !== null) fill(banner, h("div", { class: "bar bad-bar" }, icon("warning"), h("span", null, `The server does not answer. ${lost.value}`)));
  else banner.replaceChildren();
});

/** @param {string} name @param {any} data */
function heard(name, data) {
  if (name === "online") lost.value = null;
  else if (name === "offline") lost.value = `What you typed is kept; trying again in ${data.seconds} s.`;
  else if (name === "hello") {
    online.value = true;
    lost.value = null;
    if (data.progress) progress.value = data.progress;
    if (me.peek() && data.version !== me.peek()?.version) reload.value = true;
  } else if (name === "progress") {
    progress.value = data;
    clearTimeout(settling);
    // The last figures of a run are counted after its last event; they are asked for once, when it is quiet.
    if (data.running && !me.peek()?.guest) settling = setTimeout(settle, 3000);
  }
  for (const listener of listeners) listener(name, data);
}

let settling = 0;

async function settle() {
  const status = await json("/console/status", { waits: false }).catch(() => null);
  const figures = status?.roots[0]?.progress;
  if (figures) heard("progress", figures);
}

async function start() {
  await signInByLink();
  for (;;) {
    try {
      const known = /** @type {Me} */ (await json("/console/me"));
      useContracts(known.mcp.contracts);
      me.value = known;
      break;
    } catch (error) {
      await new Promise((again) => {
        fill(main, h("div", { class: "view" }, failureBar(error, () => again(undefined))));
        setTimeout(again, 3000);
      });
    }
  }
  show(router.here(), "open");
  listen(heard, new AbortController().signal);
}

start();
