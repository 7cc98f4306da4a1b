// Browsing the folder and the store's projects; files of projects are written, renamed, deleted and restored here.

import { bytesText, countText, fill, h, icon, timeText } from "../lib/dom.js";
import { hasContract, tryCall } from "../lib/mcp.js";
import { href } from "../lib/router.js";
import { json, Refused } from "../lib/session.js";
import { citation } from "../lib/span.js";
import { ask, confirm, copyButton, failureBar } from "../parts/dialog.js";
import { fetchFile, fileBody, tabsOf } from "../parts/file-view.js";
import { fileTree } from "../parts/file-tree.js";

const TREE_PAGE = 500;
/** Texts that were typed and not saved, by project and path: they outlive the view. @type {Map<string, Draft>} */
const drafts = new Map();

/** @typedef {import("../parts/file-editor.js").Draft} Draft */
/** @typedef {import("../parts/tool-answers.js").Line} Line */

/** @param {string} source */
function segment(source) {
  const name = source.replace(/^store\./, "");
  return source.startsWith("store.") && !/^(dir(\.\d+)?|store\..*)$/.test(name) ? name : source;
}

/** @type {import("../console.js").MakeView} */
export function view(route, context) {
  const { me, until } = context;
  /** @type {Array<{ project: string, files: number, bytes: number }>} */
  let projects = [];
  let [source, path, mode] = ["", "", "Text"];
  /** @type {FileAnswer | null} */
  let file = null;
  /** @type {Line[]} answers of tools, newest first */
  let answers = [];
  let stop = new AbortController();
  let treeFor = "";
  /** A new file is opened for writing. */
  let editNext = "";

  const selector = h("select", { "aria-label": "Project", onchange: () => context.open(href("files", [segment(selector.value)])) });
  const filter = h("input", { type: "search", "aria-label": "Filter files", placeholder: "Filter files…", autocomplete: "off", oninput: () => { clearTimeout(late); late = setTimeout(drawTree, 120); } });
  let late = 0;
  const picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to upload", onchange: () => upload([...(picker.files ?? [])]) });
  const newButton = h("button", { type: "button", onclick: create }, icon("plus"), "New file");
  const uploadButton = h("button", { type: "button", onclick: () => picker.click() }, icon("upload"), "Upload");
  const usage = h("span", { class: "small soft" });
  const treeSide = h("div", { class: "tree-side" });
  const fileSide = h("section", { class: "file-side", "aria-label": "File" });
  const element = h("div", { class: "files" },
    h("div", { class: "asking" }, selector, newButton, uploadButton, picker, usage, h("span", { class: "grow" }), filter),
    treeSide, fileSide);

  const inStore = () => source.startsWith("store.");
  const project = () => source.slice(6);
  const key = () => `${source}/${path}`;

  /**
   * Calls a tool of the store and keeps its answer for whoever wants to see it.
   * @param {string} tool
   * @param {Record<string, unknown>} args
   */
  async function store(tool, args) {
    const outcome = await tryCall(tool, { project: project(), ...args }, until);
    answers = [{ tool, args: { project: project(), ...args }, answer: outcome.structured, failed: outcome.isError, ms: outcome.milliseconds }, ...answers].slice(0, 20);
    if (outcome.isError) throw new Refused(outcome.structured?.error ?? outcome.structured ?? {});
    return outcome.structured;
  }

  async function loadProjects() {
    if (me.store && hasContract("files")) projects = (await json(me.store.projects_path, { signal: until }).catch(() => ({ projects: [] }))).projects;
    if (source.startsWith("store.") && !projects.some((one) => one.project === project())) projects = [...projects, { project: project(), files: 0, bytes: 0 }];
    fill(selector,
      me.roots.length ? h("optgroup", { label: "Folders (read only)" }, me.roots.map((root) => h("option", { value: root.source, selected: root.source === source }, root.name))) : null,
      me.store ? h("optgroup", { label: "Projects" }, projects.map((one) => h("option", { value: `store.${one.project}`, selected: `store.${one.project}` === source }, one.project))) : null);
    const here = projects.find((one) => `store.${one.project}` === source);
    usage.textContent = here ? `${countText(here.files, "file")} · ${bytesText(here.bytes)}` : inStore() ? "" : "read only: the folder is changed on disk";
    newButton.hidden = !me.store?.writable;
    uploadButton.hidden = !inStore() || !me.store?.writable;
  }

  async function drawTree() {
    treeFor = source;
    const words = filter.value.trim();
    if (words && !inStore()) {
      const found = await json(`/console/list?${new URLSearchParams({ source, filter: words })}`, { signal: until });
      return fill(treeSide, h("p", { class: "small soft pad-x" }, countText(found.total, "file")), h("ul", { class: "entries", "aria-label": "Files" }, found.entries.map((/** @type {Entry} */ entry) => h("li", null, h("a", { href: href("files", [source, entry.path]) }, icon("file"), h("span", { class: "clip" }, entry.path))))));
    }
    const tree = fileTree();
    fill(treeSide, tree);
    try {
      await tree.start(inStore() ? `Files of ${project()}` : "Files", load, path);
      if (!tree.items.length) fill(treeSide, h("div", { class: "empty" }, icon("folder"), h("h2", null, words ? "No file matches" : "No files yet"), words ? null : h("p", { class: "soft" }, inStore() ? "Make a file, or drop some here." : "The folder is empty.")));
    } catch (error) {
      if (!until.aborted) fill(treeSide, failureBar(error, drawTree));
    }
  }

  /** @type {import("../parts/file-tree.js").Load} */
  async function load(folder, offset) {
    if (!inStore()) {
      const listed = await json(`/console/list?${new URLSearchParams({ source, ...(folder ? { path: folder } : {}), offset: String(offset), limit: String(TREE_PAGE) })}`, { signal: until });
      return { more: listed.total - offset - listed.entries.length, branches: listed.entries.map((/** @type {Entry} */ entry) => ({ ...entry, note: entry.status && entry.status !== "ok" ? entry.status : "", href: href("files", [source, entry.path]) })) };
    }
    const words = filter.value.trim().toLowerCase();
    const listed = await store("file_list", { path: folder ? `/${folder}` : "", depth: words ? 16 : 1, limit: words ? 1000 : TREE_PAGE + offset });
    /** @type {any[]} */
    let all = listed.entries;
    if (words) all = all.filter((one) => one.type === "FILE" && one.path.toLowerCase().includes(words));
    else all = all.slice(offset);
    all.sort((a, b) => Number(b.type === "DIRECTORY") - Number(a.type === "DIRECTORY") || a.name.localeCompare(b.name));
    return { more: listed.has_more && !words ? TREE_PAGE : 0, branches: all.map((one) => ({ kind: one.type === "DIRECTORY" ? "folder" : "file", name: words ? one.path.slice(1) : one.name, path: one.path.slice(1), note: drafts.has(`${source}/${one.path.slice(1)}`) ? "unsaved" : "", href: href("files", [segment(source), one.path.slice(1)]) })) };
  }

  /** A view that is left while it fetches has nothing to tell. @param {unknown} error */
  const quiet = (error) => { if (!until.aborted) fail(error); };
  const refreshTree = () => { const tree = /** @type {import("../parts/file-tree.js").FileTree | null} */ (treeSide.querySelector("file-tree")); return tree ? tree.refresh().then(() => tree.reveal(path)).catch(quiet) : drawTree(); };

  /** @param {import("../lib/router.js").Route} to */
  function update(to) {
    const first = to.parts[0] ?? "";
    const next = !first ? (projects[0] && !me.roots.length ? `store.${projects[0].project}` : me.roots[0]?.source ?? (projects[0] ? `store.${projects[0].project}` : "store.notes")) : me.roots.some((root) => root.source === first) || first.startsWith("store.") ? first : `store.${first}`;
    const nextPath = to.parts.slice(1).join("/");
    const version = to.query.get("v");
    const moved = next !== source;
    if (!moved && nextPath !== path) answers = [];
    [source, path] = [next, nextPath];
    element.classList.toggle("opened", Boolean(path));
    context.title(path ? path.split("/").pop() ?? "" : "Files");
    mode = version ? "Versions" : "";
    loadProjects().then(() => { if (moved || treeFor !== source) return drawTree(); return /** @type {any} */ (treeSide.querySelector("file-tree"))?.reveal(path); }).catch(quiet);
    showFile();
  }

  async function showFile() {
    stop.abort();
    stop = new AbortController();
    const { signal } = stop;
    if (!path) {
      file = null;
      return fill(fileSide, h("div", { class: "empty" }, icon("files"), h("h1", null, "Choose a file"),
        h("p", { class: "soft" }, inStore() ? "Files of projects are shared by your agents: read, edit, rename, restore." : "The folder is read only here. Agents see it as you do.")), answersOf());
    }
    try {
      const next = await fetchFile(source, path, {}, signal);
      if (signal.aborted) return;
      file = next;
      draw();
      if (editNext === key()) startEdit();
      editNext = "";
    } catch (error) {
      if (signal.aborted) return;
      file = null;
      const gone = /** @type {any} */ (error).status === 404 && inStore();
      fill(fileSide, head([]), failureBar(error, showFile), gone ? versionsOf() : null, answersOf());
    }
  }

  /** @param {import("../lib/dom.js").Child[]} actions */
  function head(actions) {
    return h("header", { class: "file-head" },
      h("a", { class: "button narrow-only bare", href: href("files", [segment(source)]), "aria-label": "Back to the files" }, icon("back")),
      h("h1", { class: "grow" }, path), actions);
  }

  function draw() {
    const given = /** @type {FileAnswer} */ (file);
    const folder = given.kind === "folder" || given.kind === "archive";
    const draft = drafts.get(key());
    const tabs = [...tabsOf(given).filter((name) => name !== "Text"), "Text", ...(inStore() && !folder ? ["Versions", "Passages"] : [])];
    if (!tabs.includes(mode)) mode = tabs[0] ?? "Text";
    if (draft) return edit(draft);
    const why = given.writable && !given.editable && !folder ? "Not offered for editing: too large, cut or not UTF-8." : "";
    const actions = [
      folder ? null : h("span", { class: "tag" }, bytesText(given.size_bytes)),
      given.version ? h("span", { class: "tag", title: "Last change" }, timeText(given.version.updated_at)) : null,
      given.status ? h("span", { class: `tag ${given.status === "ok" ? "good" : "warn"}` }, given.status === "ok" ? "searchable ✓" : given.status) : null,
      given.writable && given.editable ? h("button", { type: "button", onclick: startEdit }, icon("edit"), "Edit") : null,
      given.writable && inStore() ? h("button", { type: "button", onclick: rename }, icon("rename"), "Rename") : null,
      given.writable && inStore() ? h("button", { type: "button", class: "danger", onclick: remove }, icon("trash"), "Delete") : null,
      folder ? null : copyButton("Copy citation", () => citation(path, null), { plain: true, short: true }),
      folder ? null : h("a", { class: "button plain bare", href: href("file", [source, path]), "aria-label": "Open as a page", title: "Open as a page" }, icon("open")),
      folder ? null : h("button", { type: "button", class: "plain bare", "aria-label": "Download", title: "Download", onclick: () => import("../parts/save-file.js").then(({ saveFile }) => saveFile(source, path)).catch(fail) }, icon("download")),
    ];
    fill(fileSide, head(actions), why ? h("div", { class: "bar" }, icon("info"), why) : null,
      tabs.length > 1 ? h("div", { class: "tabs", role: "tablist", "aria-label": "Shown as" }, tabs.map((name) => h("button", { type: "button", role: "tab", "aria-selected": String(name === mode), onclick: () => { mode = name; draw(); } }, name))) : null,
      mode === "Versions" ? versionsOf() : mode === "Passages" ? passagesOf()
        : fileBody(given, { until: stop.signal, tab: mode, onplace: (place) => { if (place.kind === "page") fetchFile(source, path, { part: place.page }, stop.signal).then((next) => { file = next; draw(); }, fail); } }),
      answersOf());
  }

  /** @param {unknown} error */
  function fail(error) {
    fileSide.querySelector(".bar.bad-bar")?.remove();
    fileSide.prepend(failureBar(error));
  }

  /** The raw answers of the tools. */
  function answersOf() {
    if (!inStore()) return null;
    const inside = h("div", { class: "stack" });
    const fold = h("details", { class: "foot", ontoggle: async () => {
      const { toolAnswers } = await import("../parts/tool-answers.js");
      if (fold.open) fill(inside, toolAnswers(path, file?.kind === "folder", store, () => answers));
    } }, h("summary", null, "Answers of the file tools"), inside);
    return fold;
  }

  async function startEdit() {
    try {
      const answer = await store("file_read", { path: `/${path}` });
      if (answer.is_lossy) throw new Refused({ code: "NOT_UTF8", message: "The file is not UTF-8; editing would lose bytes." });
      edit({ text: answer.content, base: answer.content, hash: answer.content_hash });
    } catch (error) {
      fail(error);
    }
  }

  /** What the editor may use of this view. */
  function desk() {
    const at = key();
    return { path, at, drafts, side: fileSide, head, store, fail, say: context.say, isHere: () => key() === at, shown: showFile, refresh: refreshTree, restore };
  }

  /** @param {Draft} draft */
  async function edit(draft) {
    const here = desk();
    const { openEditor } = await import("../parts/file-editor.js");
    if (here.isHere()) conflict = openEditor(here, draft);
  }

  /** Called when the file that is edited changes. @type {(who: string) => void} */
  let conflict = () => {};

  function versionsOf() {
    const list = h("div", { class: "file-body pad", tabindex: "0", role: "group", "aria-label": "Versions" }, h("p", { class: "soft" }, "Loading…"));
    import("../parts/file-editor.js").then(({ versions }) => versions(desk(), list));
    return list;
  }

  /** @param {number} version */
  async function restore(version) {
    if (!(await confirm(`Restore v${version}?`, "The present content is kept as a version.", "Restore"))) return;
    try {
      await store("file_restore", { path: `/${path}`, version });
      context.say("Restored");
      mode = "";
      await showFile();
      refreshTree();
    } catch (error) {
      fail(error);
    }
  }

  function passagesOf() {
    const holder = h("div", { class: "file-body pad stack" });
    const address = (/** @type {string} */ to) => href("files", [segment(source), to]);
    import("../parts/project-search.js").then(({ projectSearch }) => fill(holder, projectSearch(store, address)));
    return holder;
  }

  async function create() {
    const given = await ask("New file", [
      { name: "project", label: "Project", value: inStore() ? project() : projects[0]?.project ?? "notes", hint: "An existing project or a new one: letters, digits, _ - .", pattern: "[A-Za-z0-9_.\\-]{1,128}", list: projects.map((one) => one.project) },
      { name: "path", label: "Path", value: path.includes("/") && inStore() ? path.slice(0, path.lastIndexOf("/") + 1) : "", hint: "Such as docs/plan.md; folders are made as needed." }], "Create");
    if (!given) return;
    source = `store.${given.project}`;
    const to = String(given.path).replace(/^\/+/, "");
    try {
      await store("file_write", { path: `/${to}`, content: "", mode: "TRUNCATE", must_be_new: true });
      treeFor = "";
      editNext = `${source}/${to}`;
      context.open(href("files", [segment(source), to]));
    } catch (error) {
      fail(error);
    }
  }

  async function rename() {
    const given = await ask("Rename", [{ name: "to", label: "New path", value: path }], "Rename");
    if (!given || given.to === path) return;
    const to = String(given.to).replace(/^\/+/, "");
    try {
      await store("file_rename", { from_path: `/${path}`, to_path: `/${to}` });
      context.say("Renamed");
      treeFor = "";
      context.open(href("files", [segment(source), to]));
    } catch (error) {
      fail(error);
    }
  }

  async function remove() {
    const folder = file?.kind === "folder";
    if (!(await confirm(`Delete ${path}?`, folder ? "All files of the folder are deleted. Former contents can be restored for some days." : "Former contents can be restored for some days.", "Delete", { danger: true }))) return;
    try {
      await store("file_delete", { path: `/${path}`, recursive: folder });
      context.say("Deleted");
      treeFor = "";
      context.open(href("files", [segment(source)]));
    } catch (error) {
      fail(error);
    }
  }

  /** @param {File[]} chosen */
  async function upload(chosen) {
    if (!chosen.length || !inStore()) return;
    const folder = file?.kind === "folder" ? `${path}/` : path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "";
    const { sendFiles } = await import("../parts/file-upload.js");
    await sendFiles({ chosen, project: project(), folder, most: me.store?.upload_bytes ?? 0, side: fileSide, until });
    picker.value = "";
    treeFor = "";
    await loadProjects();
    await drawTree();
  }

  for (const name of ["dragenter", "dragover"]) element.addEventListener(name, (event) => { if (inStore()) { event.preventDefault(); treeSide.classList.add("over"); } });
  for (const name of ["dragleave", "drop"]) element.addEventListener(name, () => treeSide.classList.remove("over"));
  element.addEventListener("drop", (event) => { if (inStore()) { event.preventDefault(); upload([...(event.dataTransfer?.files ?? [])]); } });
  addEventListener("beforeunload", (event) => { if (drafts.size) event.preventDefault(); }, { signal: until });
  context.on((name, data) => {
    if (name !== "file_changed" || `store.${data.project}` !== source) return;
    clearTimeout(late);
    late = setTimeout(refreshTree, 200);
    if (data.path !== `/${path}`) return;
    if (drafts.has(key()) || fileSide.querySelector("textarea")) conflict(data.caller ?? "");
    else showFile();
  });
  context.keys([{ keys: "e", what: "Edit the file", run: (event) => { if (file?.editable) { event.preventDefault(); startEdit(); } } },
    { keys: "t", what: "Go to a file", run: (event) => { event.preventDefault(); filter.focus(); } }]);
  until.addEventListener("abort", () => { stop.abort(); clearTimeout(late); }, { once: true });
  if (route.parts[0]) update(route);
  else loadProjects().then(() => update(route)).catch(quiet);
  return { element, update };
}
