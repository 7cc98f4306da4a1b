// A tree of folders whose children are fetched when they are opened; keys as the ARIA practices say.

import { fill, h, icon, typeIcon } from "../lib/dom.js";

/** @typedef {{ kind: "folder" | "file" | "archive", name: string, path: string, doc_type?: string, note?: string, href: string }} Branch */
/** @typedef {{ branch: Branch, element: HTMLAnchorElement, level: number, open: boolean, parent: TreeItem | null }} TreeItem */
/** @typedef {(path: string, offset: number) => Promise<{ branches: Branch[], more: number }>} Load */

export class FileTree extends HTMLElement {
  constructor() {
    super();
    /** @type {TreeItem[]} as they are seen, top to bottom */
    this.items = [];
    /** @type {Load} */
    this.load = async () => ({ branches: [], more: 0 });
    this.chosen = "";
    this.typed = "";
    this.typedAt = 0;
    this.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {string} label @param {Load} load @param {string} chosen path that is opened up to */
  async start(label, load, chosen) {
    this.load = load;
    this.chosen = chosen;
    this.setAttribute("role", "tree");
    this.setAttribute("aria-label", label);
    const top = await this.children_(null, 0);
    this.items = top;
    this.draw();
    await this.reveal(chosen);
  }

  /** @param {TreeItem | null} parent @param {number} offset @returns {Promise<TreeItem[]>} */
  async children_(parent, offset) {
    const level = parent ? parent.level + 1 : 0;
    const { branches, more } = await this.load(parent?.branch.path ?? "", offset);
    const items = branches.map((branch) => this.item(branch, level, parent));
    if (more > 0) {
      const next = this.item({ kind: "file", name: `Show ${more.toLocaleString("en")} more…`, path: `\u0000more`, href: "#" }, level, parent);
      next.element.addEventListener("click", async (event) => {
        event.preventDefault();
        event.stopPropagation();
        const at = this.items.indexOf(next);
        const rest = await this.children_(parent, offset + branches.length);
        this.items.splice(at, 1, ...rest);
        this.draw();
        rest[0]?.element.focus();
      });
      items.push(next);
    }
    return items;
  }

  /** @param {Branch} branch @param {number} level @param {TreeItem | null} parent @returns {TreeItem} */
  item(branch, level, parent) {
    const opens = branch.kind !== "file";
    const element = h("a", { role: "treeitem", href: branch.href, tabindex: "-1", class: `level-${Math.min(level, 8)}`, "aria-level": level + 1,
      "aria-expanded": opens ? "false" : null, "aria-selected": branch.path === this.chosen ? "true" : "false", "data-path": branch.path, title: branch.path.startsWith("\u0000") ? null : branch.path },
      opens ? h("span", { class: "turn icon" }, icon("next")) : h("span", { class: "no-turn" }),
      branch.kind === "folder" ? icon("folder") : typeIcon(branch.kind === "archive" ? "archive" : branch.doc_type ?? ""),
      h("span", { class: "clip grow" }, branch.name), branch.note ? h("small", { class: "soft" }, branch.note) : null);
    /** @type {TreeItem} */
    const item = { branch, element, level, open: false, parent };
    if (opens) {
      element.addEventListener("click", (event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        this.toggle(item);
      });
    }
    return item;
  }

  draw() {
    fill(this, this.items.map(({ element }) => element));
    const current = this.items.find(({ branch }) => branch.path === this.chosen) ?? this.items[0];
    this.stop_(current);
  }

  /** Only one item is a stop of the Tab key. @param {TreeItem | undefined} item */
  stop_(item) {
    for (const other of this.items) other.element.tabIndex = other === item ? 0 : -1;
  }

  /** @param {TreeItem} item @param {boolean} [open] */
  async toggle(item, open = !item.open) {
    if (item.branch.kind === "file" || item.open === open) return;
    item.open = open;
    item.element.setAttribute("aria-expanded", String(open));
    const at = this.items.indexOf(item);
    if (open) {
      const children = await this.children_(item, 0);
      if (item.open) this.items.splice(this.items.indexOf(item) + 1, 0, ...children);
    } else {
      let end = at + 1;
      while (end < this.items.length && (this.items[end]?.level ?? 0) > item.level) end += 1;
      this.items.splice(at + 1, end - at - 1);
    }
    const focused = document.activeElement;
    this.draw();
    if (focused instanceof HTMLElement && this.contains(focused)) focused.focus({ preventScroll: true });
    this.stop_(this.items.find(({ element }) => element === focused) ?? item);
  }

  /** Opens the folders on the way to a path. @param {string} path */
  async reveal(path) {
    this.chosen = path;
    for (const { element, branch } of this.items) element.setAttribute("aria-selected", String(branch.path === path));
    for (let guard = 0; guard < 32; guard++) {
      const next = this.items.find(({ branch, open }) => branch.kind !== "file" && !open && path.startsWith(`${branch.path}/`));
      if (!next) break;
      await this.toggle(next, true);
    }
    const found = this.items.find(({ branch }) => branch.path === path);
    found?.element.setAttribute("aria-selected", "true");
    found?.element.scrollIntoView({ block: "nearest" });
    this.stop_(found ?? this.items[0]);
  }

  /** Fetches again what is open. */
  async refresh() {
    const open = this.items.filter((item) => item.open).map(({ branch }) => branch.path);
    const focused = document.activeElement instanceof HTMLElement && this.contains(document.activeElement) ? document.activeElement.dataset.path : null;
    const top = await this.children_(null, 0);
    this.items = top;
    for (const path of open) {
      const item = this.items.find(({ branch }) => branch.path === path);
      if (!item || item.open) continue;
      item.open = true;
      item.element.setAttribute("aria-expanded", "true");
      const children = await this.children_(item, 0);
      this.items.splice(this.items.indexOf(item) + 1, 0, ...children);
    }
    this.draw();
    if (focused) this.items.find(({ branch }) => branch.path === focused)?.element.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.items.findIndex(({ element }) => element === document.activeElement);
    const item = this.items[at];
    if (!item) return;
    /** @param {TreeItem | undefined} to */
    const go = (to) => {
      if (!to) return;
      this.stop_(to);
      to.element.focus();
    };
    const done = () => event.preventDefault();
    if (event.key === "ArrowDown") done(), go(this.items[at + 1]);
    else if (event.key === "ArrowUp") done(), go(this.items[at - 1]);
    else if (event.key === "Home") done(), go(this.items[0]);
    else if (event.key === "End") done(), go(this.items[this.items.length - 1]);
    else if (event.key === "ArrowRight") {
      done();
      if (item.branch.kind === "file") return;
      if (!item.open) this.toggle(item, true);
      else go(this.items[at + 1]);
    } else if (event.key === "ArrowLeft") {
      done();
      if (item.open) this.toggle(item, false);
      else if (item.parent) go(item.parent);
    } else if (event.key === " ") {
      done();
      item.element.click();
    } else if (event.key.length === 1 && /\S/.test(event.key)) {
      const now = Date.now();
      this.typed = (now - this.typedAt < 700 ? this.typed : "") + event.key.toLowerCase();
      this.typedAt = now;
      const order = [...this.items.slice(at + 1), ...this.items.slice(0, at + 1)];
      const found = order.find(({ branch }) => branch.name.toLowerCase().startsWith(this.typed));
      if (found) {
        done();
        event.stopPropagation();
        go(found);
      }
    }
  }
}

customElements.define("file-tree", FileTree);

/** @returns {FileTree} */
export function fileTree() {
  return /** @type {FileTree} */ (document.createElement("file-tree"));
}
