// Builds elements. Text becomes text nodes and nothing else, so there is no markup to sanitise.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */
/** @typedef {Record<string, unknown>} Props */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  if (props) set(element, props);
  append(element, children);
  return element;
}

/**
 * @param {string} tag
 * @param {Props | null} [props]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  if (props) set(element, props);
  append(element, children);
  return element;
}

/**
 * `on…` are listeners, `value`, `checked` and the like properties, the rest attributes; `false` and `null` leave one out.
 * @param {Element} element
 * @param {Props} props
 */
export function set(element, props) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "value" || name === "checked" || name === "disabled" || name === "selected" || name === "open") {
      Reflect.set(element, name, value ?? "");
    } else if (value === false || value === null || value === undefined) {
      element.removeAttribute(name);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/**
 * @param {Node} parent
 * @param {Child | Child[]} child
 */
export function append(parent, child) {
  if (Array.isArray(child)) for (const one of child) append(parent, one);
  else if (child instanceof Node) parent.appendChild(child);
  else if (child !== null && child !== undefined && child !== false) parent.appendChild(document.createTextNode(String(child)));
}

/**
 * Replaces all that is inside an element.
 * @template {Element} E
 * @param {E} element
 * @param {...(Child | Child[])} children
 * @returns {E}
 */
export function fill(element, ...children) {
  const holder = document.createDocumentFragment();
  append(holder, children);
  element.replaceChildren(holder);
  return element;
}

/** Outlines of 16 × 16. */
const ICONS = {
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.4 10.4 14 14",
  ask: "M2.5 3.5h11v7.5h-6L4.5 13.5V11h-2zM6.4 6.1c.1-1 .8-1.5 1.6-1.5s1.6.5 1.6 1.3c0 1.1-1.5 1.1-1.6 2.1M8 9.4v.1",
  files: "M1.5 4V3h4.4l1.4 1.5h7.2V13h-13zM1.5 6.5h13",
  status: "M1.5 8.5h3l2-5 3 9 2-4h3",
  tools: "M9.6 5.2a3.2 3.2 0 0 0 4.1 4.1L9 14a1.6 1.6 0 0 1-2.3 0l-4.4-.4M13.7 9.3 10.6 6.2M2.3 13.6l5.5-5.5M4 2.5 6.5 5 5 6.5 2.5 4z",
  file: "M3.5 1.5h6l3 3v10h-9zM9.5 1.5v3h3",
  folder: "M1.5 4V3h4.4l1.4 1.5h7.2V13h-13z",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  image: "M2 3h12v10H2zM2 11l3.5-3.5 3 3 2-2L14 12M10.5 6v.1",
  audio: "M2.5 6.5v3M5.2 4.5v7M8 2.5v11M10.8 5v6M13.5 6.5v3",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  open: "M6.5 3h-4v10.5H13v-4M9 2.5h4.5V7M13.2 2.8 7.5 8.5",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  back: "M9.5 3.5 5 8l4.5 4.5",
  next: "M6.5 3.5 11 8l-4.5 4.5",
  plus: "M8 3v10M3 8h10",
  upload: "M8 11V3M4.5 6 8 2.5 11.5 6M2.5 13.5h11",
  download: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M2.5 13.5h11",
  edit: "M11 2.5 13.5 5 5.5 13H3v-2.500zM9.5 4l2.5 2.5",
  trash: "M3 4.500h10M6.5 4.500v-2h3v2M4.5 4.500l.5 9h6l.5-9M6.8 7v4M9.2 7v4",
  rename: "M2.5 8h9M8 4.5 11.5 8 8 11.500M13.5 3v10",
  filter: "M2 3.500h12M4.5 8h7M6.5 12.500h3",
  sun: "M8 5.200a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.600zM8 1.500v1.300M8 13.200v1.300M1.5 8h1.300M13.2 8h1.300M3.4 3.400l.9.9M11.7 11.700l.9.9M12.6 3.400l-.9.9M4.3 11.700l-.9.9",
  help: "M8 1.800a6.2 6.2 0 1 1 0 12.400A6.2 6.2 0 0 1 8 1.800zM6.2 6.300c0-1 .8-1.7 1.8-1.700s1.8.6 1.8 1.600c0 1.3-1.8 1.3-1.8 2.600M8 11.200v.1",
  warning: "M8 2 14.5 13.500h-13zM8 6.500v3.300M8 11.600v.1",
  info: "M8 1.800a6.2 6.2 0 1 1 0 12.400A6.2 6.2 0 0 1 8 1.800zM8 7.200v4M8 4.800v.1",
  check: "M3 8.5 6.5 12 13 4.5",
  eye: "M1.5 8C3 5.3 5.3 4 8 4s5 1.3 6.5 4C13 10.7 10.7 12 8 12S3 10.7 1.5 8zM8 6.300a1.7 1.7 0 1 1 0 3.4 1.7 1.7 0 0 1 0-3.400z",
  play: "M5 3.5 12.5 8 5 12.500z",
  refresh: "M13.5 8A5.5 5.5 0 1 1 12 4.200M13.5 2.500V5H11",
};

/** @typedef {keyof typeof ICONS} IconName */

/**
 * A picture that says nothing to a screen reader: its button has a name.
 * @param {IconName} name
 */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

/** @param {string} type of a document */
export function typeIcon(type) {
  return icon(type === "code" ? "code" : type === "image" ? "image" : type === "audio" ? "audio" : type === "archive" ? "folder" : "file");
}

/** @param {number} bytes */
export function bytesText(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const [unit, size] = bytes < 1e6 ? ["kB", 1e3] : bytes < 1e9 ? ["MB", 1e6] : ["GB", 1e9];
  const value = bytes / Number(size);
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} ${unit}`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function countText(count, one, many = one + "s") {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** @param {string} stamp RFC 3339 */
export function timeText(stamp) {
  const date = new Date(stamp);
  if (Number.isNaN(date.getTime()) || date.getFullYear() < 1970) return "";
  const today = new Date().toDateString() === date.toDateString();
  return today
    ? date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" })
    : date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}
