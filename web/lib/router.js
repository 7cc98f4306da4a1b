// Addresses ⇄ views. All that can be seen is in the address; the token never is.

/** @typedef {{ view: string, parts: string[], query: URLSearchParams, hash: string }} Route */

/** The first segment of an address and its view; the server answers the page for the same ones. */
export const SEGMENTS = /** @type {Record<string, string>} */ ({
  "": "search", ask: "ask", file: "file", files: "files", status: "status", tools: "tools",
});

/**
 * @param {string} pathname
 * @param {string} [search]
 * @param {string} [hash]
 * @returns {Route}
 */
export function parse(pathname, search = "", hash = "") {
  const segments = pathname.split("/").slice(1);
  const first = segments[0] ?? "";
  const view = Object.hasOwn(SEGMENTS, first) ? SEGMENTS[first] : undefined;
  const rest = segments.slice(1).map(decoded);
  while (rest.length && rest[rest.length - 1] === "") rest.pop();
  return { view: view ?? "missing", parts: rest, query: new URLSearchParams(search), hash };
}

/** @param {string} segment */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * @param {string} view
 * @param {string[]} [parts] each may hold slashes of its own, which stay
 * @param {Record<string, string | null | undefined>} [query] empty ones are left out
 * @param {string} [hash]
 */
export function href(view, parts = [], query = {}, hash = "") {
  const segment = Object.entries(SEGMENTS).find(([, name]) => name === view)?.[0] ?? view;
  const path = [segment, ...parts].filter(Boolean).map((part) => part.split("/").map(encodeURIComponent).join("/"));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value);
  const text = search.toString();
  return `/${path.join("/")}${text ? `?${text}` : ""}${hash}`;
}

/**
 * Follows links without loading the page again, and tells `show` each place; `replace` is for typing, `open` for going.
 * @param {(route: Route, how: "open" | "back" | "replace") => void} show
 */
export function startRouter(show) {
  const here = () => parse(location.pathname, location.search, location.hash);
  // Where each entry of the history was scrolled to, and what was chosen there.
  history.scrollRestoration = "manual";
  /** @param {string} address */
  const open = (address) => {
    if (address === location.pathname + location.search + location.hash) return show(here(), "open");
    history.pushState({ at: Date.now() }, "", address);
    show(here(), "open");
  };
  /** @param {string} address @param {boolean} [silently] */
  const replace = (address, silently = false) => {
    history.replaceState(history.state, "", address);
    if (!silently) show(here(), "replace");
  };
  addEventListener("popstate", () => show(here(), "back"));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute("download")) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || parse(url.pathname).view === "missing") return;
    event.preventDefault();
    open(url.pathname + url.search + url.hash);
  });
  return { open, replace, here };
}
