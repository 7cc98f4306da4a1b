// A form from any JSON Schema, nested ones too; what it cannot draw is a field of JSON.

import { h, icon } from "../lib/dom.js";

/** @typedef {{ element: HTMLElement, read: () => unknown, write: (value: unknown) => void }} Field */

/**
 * @param {any} schema
 * @param {any} root whose definitions it refers to
 */
function resolved(schema, root) {
  const name = /^#\/(?:definitions|\$defs)\/(.+)$/.exec(schema?.$ref ?? "")?.[1];
  return name ? (root.definitions ?? root.$defs ?? {})[name] ?? {} : schema ?? {};
}

/** What a value must be, in words. @param {any} schema */
export function typeWords(schema) {
  const type = Array.isArray(schema.type) ? schema.type.filter((/** @type {string} */ one) => one !== "null").join(" or ") : schema.type ?? "any";
  const range = schema.minimum !== undefined && schema.maximum !== undefined ? ` ${schema.minimum}–${schema.maximum}`
    : schema.minimum !== undefined ? ` ≥ ${schema.minimum}` : schema.maximum !== undefined ? ` ≤ ${schema.maximum}` : "";
  const fallback = schema.default !== undefined ? ` · default ${JSON.stringify(schema.default)}` : "";
  return `${type}${range}${fallback}`;
}

let serial = 0;

/**
 * @param {any} schema
 * @param {() => void} changed
 * @returns {Field}
 */
export function schemaForm(schema, changed) {
  return object(schema, schema, changed, 0);
}

/** @param {any} schema @param {any} root @param {() => void} changed @param {number} depth @returns {Field} */
function object(schema, root, changed, depth) {
  const required = new Set(schema.required ?? []);
  const properties = Object.entries(schema.properties ?? {}).sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
  /** @type {Array<[string, Field, boolean]>} */
  const fields = properties.map(([name, one]) => [name, field(name, resolved(one, root), root, changed, required.has(name), depth), required.has(name)]);
  const element = h("div", { class: "stack" }, fields.map(([, { element }]) => element),
    fields.length ? null : h("p", { class: "soft" }, "This tool takes no arguments."));
  return {
    element,
    read: () => {
      /** @type {Record<string, unknown>} */
      const value = {};
      for (const [name, one] of fields) {
        const given = one.read();
        if (given !== undefined) value[name] = given;
      }
      return value;
    },
    write: (value) => {
      const given = /** @type {Record<string, unknown>} */ (value && typeof value === "object" ? value : {});
      for (const [name, one] of fields) one.write(given[name]);
    },
  };
}

/**
 * @param {string} name
 * @param {any} schema
 * @param {any} root
 * @param {() => void} changed
 * @param {boolean} required
 * @param {number} depth
 * @returns {Field}
 */
function field(name, schema, root, changed, required, depth) {
  const id = `arg-${++serial}`;
  const type = Array.isArray(schema.type) ? schema.type.find((/** @type {string} */ one) => one !== "null") : schema.type;
  const label = h("label", { class: `name${required ? " required" : ""}`, for: id }, name);
  const about = h("span", { class: "about", id: `${id}-about` }, `${typeWords(schema)}${schema.description ? `. ${schema.description}` : ""}`);
  const common = { id, "aria-describedby": `${id}-about`, oninput: changed };
  /** @param {HTMLElement} input */
  const wrapped = (input) => h("div", { class: "arg" }, label, input, about);

  if (schema.enum) {
    const select = h("select", { ...common, onchange: changed }, required ? null : h("option", { value: "" }, "—"),
      schema.enum.map((/** @type {unknown} */ value) => h("option", { value: JSON.stringify(value) }, String(value))));
    return {
      element: wrapped(select),
      read: () => (select.value === "" ? undefined : JSON.parse(select.value)),
      write: (value) => { select.value = value === undefined ? (required ? select.options[0]?.value ?? "" : "") : JSON.stringify(value); },
    };
  }
  if (type === "boolean") {
    const select = h("select", { ...common, onchange: changed }, required ? null : h("option", { value: "" }, "—"), h("option", { value: "true" }, "true"), h("option", { value: "false" }, "false"));
    return { element: wrapped(select), read: () => (select.value === "" ? undefined : select.value === "true"), write: (value) => { select.value = value === undefined ? "" : String(value); } };
  }
  if (type === "integer" || type === "number") {
    const input = h("input", { ...common, type: "number", min: schema.minimum, max: schema.maximum, step: type === "integer" ? "1" : "any", required, placeholder: schema.default ?? "" });
    return { element: wrapped(input), read: () => (input.value === "" ? undefined : Number(input.value)), write: (value) => { input.value = value === undefined ? "" : String(value); } };
  }
  if (type === "string") {
    const long = /content|text|document/.test(name) && !/encoding|hash|type/.test(name);
    const input = long ? h("textarea", { ...common, rows: "4", required }) : h("input", { ...common, type: "text", required, minlength: schema.minLength, maxlength: schema.maxLength, placeholder: schema.default ?? "", autocomplete: "off", spellcheck: "false" });
    return { element: wrapped(input), read: () => (input.value === "" ? (required ? "" : undefined) : input.value), write: (value) => { input.value = value === undefined ? "" : String(value); } };
  }
  const items = resolved(schema.items, root);
  if (type === "array" && items.enum) {
    const boxes = items.enum.map((/** @type {string} */ value) => /** @type {[string, HTMLInputElement]} */ ([value, h("input", { type: "checkbox", onchange: changed })]));
    return {
      element: h("fieldset", null, h("legend", { class: required ? "required" : null }, name), h("div", { class: "row" }, boxes.map((/** @type {[string, HTMLInputElement]} */ [value, box]) => h("label", { class: "tick" }, box, value))), about),
      read: () => { const chosen = boxes.filter((/** @type {[string, HTMLInputElement]} */ [, box]) => box.checked).map((/** @type {[string, HTMLInputElement]} */ [value]) => value); return chosen.length || required ? chosen : undefined; },
      write: (value) => { for (const [one, box] of boxes) box.checked = Array.isArray(value) && value.includes(one); },
    };
  }
  if (type === "array" && items.type === "string") {
    const input = h("input", { ...common, type: "text", required, placeholder: "separated by commas", autocomplete: "off", spellcheck: "false" });
    return {
      element: wrapped(input),
      read: () => { const parts = input.value.split(",").map((part) => part.trim()).filter(Boolean); return parts.length || required ? parts : undefined; },
      write: (value) => { input.value = Array.isArray(value) ? value.join(", ") : ""; },
    };
  }
  if (type === "array" && items.type === "object" && depth < 3) return list(name, schema, items, root, changed, required, depth);
  if (type === "object" && schema.properties && depth < 3) {
    const inner = object(schema, root, changed, depth + 1);
    return {
      element: h("fieldset", null, h("legend", { class: required ? "required" : null }, name), schema.description ? h("span", { class: "about" }, schema.description) : null, inner.element),
      read: () => { const value = /** @type {object} */ (inner.read()); return Object.keys(value).length || required ? value : undefined; },
      write: inner.write,
    };
  }
  const raw = h("textarea", { ...common, rows: "3", placeholder: "JSON" });
  return {
    element: wrapped(raw),
    read: () => { if (!raw.value.trim()) return undefined; try { return JSON.parse(raw.value); } catch { return raw.value; } },
    write: (value) => { raw.value = value === undefined ? "" : JSON.stringify(value, null, 2); },
  };
}

/** @param {string} name @param {any} schema @param {any} items @param {any} root @param {() => void} changed @param {boolean} required @param {number} depth @returns {Field} */
function list(name, schema, items, root, changed, required, depth) {
  /** @type {Array<{ field: Field, row: HTMLElement }>} */
  let rows = [];
  const holder = h("div", { class: "stack" });
  const add = (/** @type {unknown} */ value) => {
    const inner = object(items, root, changed, depth + 1);
    const row = h("fieldset", null, h("legend", null, `${name} ${rows.length + 1}`), inner.element,
      h("div", null, h("button", { type: "button", class: "plain", onclick: () => { rows = rows.filter((one) => one.row !== row); row.remove(); changed(); } }, icon("close"), "Remove")));
    if (value !== undefined) inner.write(value);
    rows.push({ field: inner, row });
    holder.append(row);
  };
  return {
    element: h("fieldset", null, h("legend", { class: required ? "required" : null }, name), h("span", { class: "about" }, schema.description ?? ""), holder,
      h("div", null, h("button", { type: "button", onclick: () => { add(undefined); changed(); } }, icon("plus"), "Add"))),
    read: () => (rows.length || required ? rows.map((row) => row.field.read()) : undefined),
    write: (value) => {
      rows = [];
      holder.replaceChildren();
      for (const one of Array.isArray(value) ? value : []) add(one);
    },
  };
}
