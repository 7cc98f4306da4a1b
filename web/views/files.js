// Browsing the folder and the store's projects; files of projects are written, renamed, deleted and restored here.

import { bytesText, countText, fill, h, icon, timeText } from "../lib/dom.js";
import { hasContract, tryCall } from "../lib/mcp.js";
import { href } from "../lib/router.js";
import { json, Refused, refusal, request } from "../lib/session.js";
import { citation } from "../lib/span.js";
import { ask, confirm, copyButton, failureBar } from "../parts/dialog.js";
import { fetchFile, fileBody, plainText, tabsOf, wordsOf } from "../parts/file-view.js";
import { fileTree } from "../parts/file-tree.js";
import { saveFile } from "../parts/save-file.js";

const TREE_PAGE = 500;
/** Texts that were typed and not saved, by project and path: they outlive the view. @type {Map<string, Draft>} */
const drafts = new Map();

/** @typedef {{ text: string, base: string, hash: string }} Draft */
/** @typedef {{ tool: string, args: object, answer: unknown, failed: boolean, ms: number }} Line */

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
    h("div", { class: "asking" }, h("label", { class: "row" }, h("span", { class: "unseen" }, "Project"), selector), newButton, uploadButton, picker, usage, h("span", { class: "grow" }), filter),
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
      fill(treeSide, failureBar(error, drawTree));
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

  const refreshTree = () => { const tree = /** @type {import("../parts/file-tree.js").FileTree | null} */ (treeSide.querySelector("file-tree")); return tree ? tree.refresh().then(() => tree.reveal(path)) : drawTree(); };

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
    loadProjects().then(() => { if (moved || treeFor !== source) return drawTree(); return /** @type {any} */ (treeSide.querySelector("file-tree"))?.reveal(path); });
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
      given.version ? h("span", { class: "tag", title: timeText(given.version.updated_at) }, `v${given.version.number}`) : null,
      given.status ? h("span", { class: `tag ${given.status === "ok" ? "good" : "warn"}` }, given.status === "ok" ? "searchable ✓" : given.status) : null,
      given.writable && given.editable ? h("button", { type: "button", onclick: startEdit }, icon("edit"), "Edit") : null,
      given.writable && inStore() ? h("button", { type: "button", onclick: rename }, icon("rename"), "Rename") : null,
      given.writable && inStore() ? h("button", { type: "button", class: "danger", onclick: remove }, icon("trash"), "Delete") : null,
      folder ? null : copyButton("Copy citation", () => citation(path, null), { plain: true, short: true }),
      folder ? null : h("a", { class: "button plain bare", href: href("file", [source, path]), "aria-label": "Open as a page", title: "Open as a page" }, icon("open")),
      folder ? null : h("button", { type: "button", class: "plain bare", "aria-label": "Download", title: "Download", onclick: () => saveFile(source, path).catch(fail) }, icon("download")),
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

  /** What the tools answered, as they did: stat, read, list and search can be asked for, the others come with what was done. */
  function answersOf() {
    if (!inStore()) return null;
    /** @param {string} label @param {string} tool @param {Record<string, unknown>} args */
    const run = (label, tool, args) => h("button", { type: "button", onclick: async () => {
      await store(tool, args).catch(() => {});
      drawAnswers();
    } }, label);
    const lines = h("div", { class: "stack" });
    const drawAnswers = () => fill(lines, answers.length ? answers.map((line) => h("details", { open: line === answers[0] }, h("summary", null, h("code", null, line.tool), ` ${line.failed ? "failed" : "ok"} · ${Math.round(line.ms)} ms`), h("pre", { class: "json", tabindex: "0" }, JSON.stringify({ arguments: short(line.args), result: short(line.answer) }, null, 2)))) : h("p", { class: "small soft" }, "Nothing was called yet."));
    drawAnswers();
    return h("details", { class: "foot" }, h("summary", null, "Answers of the file tools"),
      h("div", { class: "stack grow" }, h("div", { class: "row" }, run("Stat", "file_stat", { path: path ? `/${path}` : "" }), path ? run("Read", "file_read", { path: `/${path}` }) : null,
        run("List", "file_list", { path: path && file?.kind === "folder" ? `/${path}` : "" }), run("Search", "file_search", { query: path.split("/").pop() || "notes" }),
        h("span", { class: "small soft" }, "Write, rename and delete appear here after you did them.")), lines));
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

  /** @param {Draft} draft */
  function edit(draft) {
    const at = key();
    const area = h("textarea", { "aria-label": `Text of ${path}`, spellcheck: "false", value: draft.text, oninput: () => {
      draft.text = area.value;
      note();
    }, onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") { event.preventDefault(); save(); }
      else if (event.key === "Escape" && draft.text === draft.base) leave();
    } });
    const state = h("span", { class: "small soft grow", role: "status" });
    const bars = h("div");
    const saveButton = h("button", { type: "button", class: "first", onclick: () => save() }, "Save");
    const note = () => {
      if (draft.text === draft.base) drafts.delete(at);
      else drafts.set(at, draft);
      state.textContent = draft.text === draft.base ? "No changes" : "Unsaved changes; Ctrl+S saves";
    };
    const leave = () => { drafts.delete(at); showFile(); };
    conflict = async (who) => {
      if (key() !== at || bars.childNodes.length) return;
      const theirs = await store("file_read", { path: `/${path}` }).catch(() => null);
      if (!theirs || theirs.content_hash === draft.hash) return;
      const compare = h("button", { type: "button", class: "first", onclick: () => compareWith(draft, theirs) }, "Compare");
      fill(bars, h("div", { class: "bar", role: "alert" }, icon("warning"), h("span", { class: "grow" }, `Changed while you were editing${who ? ` (by ${who})` : ""}.`), compare,
        h("button", { type: "button", onclick: leave }, "Keep theirs"),
        h("button", { type: "button", onclick: () => { draft.hash = theirs.content_hash; draft.base = theirs.content; bars.replaceChildren(); save(); } }, "Save mine as a new version")));
      if (document.activeElement !== area) compare.focus();
    };
    const save = async () => {
      saveButton.disabled = true;
      try {
        const sent = draft.text;
        const written = await store("file_write", { path: `/${path}`, content: sent, mode: "TRUNCATE", expected_hash: draft.hash });
        draft.hash = written.content_hash;
        draft.base = sent;
        context.say("Saved");
        if (draft.text === sent) { drafts.delete(at); await showFile(); refreshTree(); } else note();
      } catch (error) {
        const refused = /** @type {Refused} */ (error);
        if (refused.code === "PRECONDITION_FAILED") conflict("");
        else fill(bars, failureBar(error, save));
      }
      saveButton.disabled = false;
    };
    fill(fileSide, head([h("span", { class: "tag" }, "editing")]), bars, h("div", { class: "editor" }, area, h("footer", null, state, h("button", { type: "button", onclick: async () => {
      if (draft.text === draft.base || await confirm("Discard changes?", "What you typed is lost.", "Discard", { danger: true })) leave();
    } }, "Cancel"), saveButton)));
    note();
    area.focus();
    area.setSelectionRange(0, 0);
    area.scrollTop = 0;
  }

  /** Called when the file that is edited changes. @type {(who: string) => void} */
  let conflict = () => {};

  /** @param {Draft} draft @param {{ content: string, content_hash: string }} theirs */
  async function compareWith(draft, theirs) {
    try {
      const [{ mergeView }, answer] = await Promise.all([import("../parts/diff-view.js"),
        json("/console/merge", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ base: draft.base, theirs: theirs.content, mine: draft.text }) })]);
      let result = /** @type {string | null} */ (null);
      const save = h("button", { type: "button", class: "first", onclick: async () => {
        if (result === null) return;
        try {
          await store("file_write", { path: `/${path}`, content: result, mode: "TRUNCATE", expected_hash: theirs.content_hash });
          drafts.delete(key());
          context.say("Saved");
          showFile();
        } catch (error) {
          const refused = /** @type {Refused} */ (error);
          if (refused.code !== "PRECONDITION_FAILED") return fail(error);
          // Someone was faster again: the same with what is there now.
          draft.text = result ?? draft.text;
          draft.base = theirs.content;
          compareWith(draft, await store("file_read", { path: `/${path}` }));
        }
      } }, "Save merged");
      const left = h("span", { class: "grow small soft", role: "status" });
      const compare = mergeView(answer, (text, open) => {
        result = text;
        save.disabled = text === null;
        left.textContent = open ? `${countText(open, "conflict")} to choose` : "Nothing left to choose";
      });
      fill(fileSide, head([h("span", { class: "tag" }, "comparing")]), h("div", { class: "file-body", tabindex: "-1" }, compare),
        h("div", { class: "foot" }, left, h("button", { type: "button", onclick: () => edit(draft) }, "Back to editing"), save));
      /** @type {HTMLElement | null} */ (fileSide.querySelector(".unsolved button"))?.focus();
    } catch (error) {
      fail(error);
    }
  }

  function versionsOf() {
    const list = h("div", { class: "file-body pad", tabindex: "0", role: "group", "aria-label": "Versions" }, h("p", { class: "soft" }, "Loading…"));
    (async () => {
      const { versions } = await store("file_versions", { path: `/${path}` });
      if (!versions.length) return fill(list, h("p", { class: "soft" }, "There is no former content."));
      const diff = h("div");
      fill(list, h("table", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Version"), h("th", { scope: "col" }, "Replaced"), h("th", { scope: "col", class: "right" }, "Size"), h("th", { scope: "col" }, h("span", { class: "unseen" }, "Actions")))),
        h("tbody", null, versions.map((/** @type {any} */ one) => h("tr", null, h("td", null, `v${one.version}`), h("td", null, timeText(one.created_at)), h("td", { class: "right" }, bytesText(one.size)),
          h("td", { class: "right" }, h("button", { type: "button", "aria-label": `Compare v${one.version} with the present content`, onclick: () => compareVersion(one.version, diff) }, "Compare"), " ",
            h("button", { type: "button", "aria-label": `Restore v${one.version}`, onclick: () => restore(one.version) }, "Restore")))))), diff);
    })().catch((error) => fill(list, failureBar(error, () => draw())));
    return list;
  }

  /** @param {number} version @param {HTMLElement} into */
  async function compareVersion(version, into) {
    try {
      const [{ changes }, old, now] = await Promise.all([import("../parts/diff-view.js"), store("file_version_read", { path: `/${path}`, version }), store("file_read", { path: `/${path}` }).catch(() => ({ content: "" }))]);
      const answer = await json("/console/merge", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ base: null, theirs: old.content, mine: now.content }) });
      fill(into, h("h2", null, `v${version} → now`), changes(answer));
      into.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fill(into, failureBar(error));
    }
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
    const found = h("div", { class: "stack" });
    const field = h("input", { type: "search", "aria-label": "Search in this project", placeholder: "Search in this project" });
    const form = h("form", { class: "row", onsubmit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      try {
        const { chunks } = await store("file_search", { query: field.value, path_prefix: "", limit: 20 });
        fill(found, chunks.length ? chunks.map((/** @type {any} */ chunk) => h("div", { class: "hunk" }, h("header", null, h("a", { class: "grow", href: href("files", [segment(source), chunk.file_path.slice(1)]) }, chunk.file_path.slice(1)), `bytes ${chunk.file_seek_start_bytes}–${chunk.file_seek_end_bytes}`, h("span", null, chunk.score.toFixed(2))), h("div", { class: "pad" }, plainText(chunk.chunk_content, wordsOf(field.value))))) : h("p", { class: "soft" }, "No passage was found."));
      } catch (error) {
        fill(found, failureBar(error));
      }
    } }, field, h("button", { type: "submit" }, "Search"));
    return h("div", { class: "file-body pad stack" }, form, found);
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
      context.open(href("files", [segment(source), to]));
      setTimeout(startEdit, 50);
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
    const most = me.store?.upload_bytes ?? 0;
    const folder = file?.kind === "folder" ? `${path}/` : path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : "";
    const bar = h("progress", { max: String(chosen.length), value: 0, "aria-label": "Upload" });
    const line = h("p", { role: "status" });
    const problems = h("ul", { class: "small" });
    fill(fileSide, h("div", { class: "pad stack" }, h("h1", null, `Uploading to ${project()}/${folder}`), bar, line, problems));
    let [done, failed] = [0, 0];
    /** @type {File[]} */
    const present = [];
    /** @param {File} one @param {boolean} over */
    const send = async (one, over) => {
      try {
        if (one.size > most) throw new Refused({ code: "REQUEST_TOO_LARGE", message: `${bytesText(one.size)}; at most ${bytesText(most)} can be uploaded.` });
        const name = one.webkitRelativePath || one.name;
        const response = await request(`/api/files/content?${new URLSearchParams({ project: project(), path: `/${folder}${name}` })}`, { method: "PUT", headers: over ? {} : { "If-None-Match": "*" }, body: one, signal: until });
        if (response.status === 412 && !over) present.push(one);
        else if (!response.ok) throw await refusal(response);
        else done += 1;
      } catch (error) {
        failed += 1;
        const refused = /** @type {Refused} */ (error);
        problems.append(h("li", { class: "bad" }, `${one.name}: ${refused.code} ${refused.message}`));
      }
      bar.value = done + failed;
      line.textContent = `${done} of ${chosen.length} uploaded${failed ? `, ${failed} failed` : ""}`;
    };
    /** @param {File[]} files @param {boolean} over */
    const all = async (files, over) => {
      const queue = [...files];
      await Promise.all([0, 1, 2, 3].map(async () => { for (let one = queue.shift(); one; one = queue.shift()) await send(one, over); }));
    };
    await all(chosen, false);
    if (present.length && await confirm("Replace files?", `${countText(present.length, "file is", "files are")} there already. Their former contents are kept as versions.`, "Replace")) await all(present, true);
    line.textContent = `${done} of ${chosen.length} uploaded${failed ? `, ${failed} failed` : ""}.`;
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
  else loadProjects().then(() => update(route));
  return { element, update };
}

/** Long contents are not worth showing twice. @param {unknown} value @returns {unknown} */
function short(value) {
  return JSON.parse(JSON.stringify(value ?? null), (_, one) => (typeof one === "string" && one.length > 4000 ? `${one.slice(0, 4000)}… (${one.length} characters)` : one));
}
