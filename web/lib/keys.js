// Keys of one letter: dead in fields, and with a switch for all of them.

/** @typedef {{ keys: string, what: string, run: (event: KeyboardEvent) => void }} Binding */

const STORED = "dir2mcp-single-keys";

let enabled = read();

function read() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

export const singleKeys = {
  get on() {
    return enabled;
  },
  /** @param {boolean} next */
  set on(next) {
    enabled = next;
    try {
      localStorage.setItem(STORED, next ? "on" : "off");
    } catch {
      // A browser without storage forgets it.
    }
  },
};

/** @type {Binding[]} the page's own first, then those of the view */
let bindings = [];

/**
 * Adds keys until `until`.
 * @param {Binding[]} more
 * @param {AbortSignal} [until]
 */
export function bind(more, until) {
  bindings = [...bindings, ...more];
  until?.addEventListener("abort", () => {
    bindings = bindings.filter((binding) => !more.includes(binding));
  }, { once: true });
}

export function listed() {
  return bindings;
}

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** `g s` is one key after another. */
let prefix = "";
let forget = 0;

/** @param {KeyboardEvent} event */
export function handle(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const inField = isField(event.target);
  if (document.querySelector("dialog[open]") && event.key !== "Escape") return;
  const pressed = prefix ? `${prefix} ${event.key}` : event.key;
  const single = pressed.length === 1 || pressed.includes(" ");
  if (single && (inField || !enabled)) return;
  if (inField && event.key !== "Escape") return;
  // Of several bindings of one key the view's own counts.
  const found = [...bindings].reverse().find((binding) => binding.keys.split("|").includes(pressed));
  clearTimeout(forget);
  prefix = "";
  if (found) {
    found.run(event);
    return;
  }
  if (bindings.some((binding) => binding.keys.split("|").some((keys) => keys.startsWith(`${pressed} `)))) {
    prefix = event.key;
    forget = setTimeout(() => { prefix = ""; }, 1200);
  }
}
