// Lines of text with numbers and colours. Colours are ranges over text nodes, so 5,000 lines are 5,000 elements.

import { h } from "../lib/dom.js";

const BLOCK = 200;

/** @param {string} name */
function highlight(name) {
  const registry = CSS.highlights;
  if (!registry) return null;
  let found = registry.get(name);
  if (!found) registry.set(name, found = new Highlight());
  return found;
}

export class CodeView extends HTMLElement {
  constructor() {
    super();
    /** @type {Array<[Highlight, StaticRange]>} */
    this.ranges = [];
    /** @type {HTMLElement[]} */
    this.lines = [];
    this.first = 1;
    /** @type {(line: number, extend: boolean) => void} */
    this.online = () => {};
    this.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest(".line") : null;
      // Only the number is a link; a click on the text selects it.
      if (line instanceof HTMLElement && event.clientX < line.getBoundingClientRect().left + parseFloat(getComputedStyle(line).paddingLeft) - 12) {
        this.online(Number(line.dataset.n), event.shiftKey);
      }
    });
  }

  /**
   * @param {{ text: string[], first: number, classes?: string[], tokens?: Array<Array<[number, number, number]>>, wraps?: boolean }} given
   */
  show({ text, first, classes = [], tokens = [], wraps = false }) {
    this.forget();
    this.first = first;
    this.lines = [];
    const digits = String(first + text.length).length;
    this.className = `digits-${Math.min(digits, 6)}${wraps ? " wraps" : ""}`;
    const blocks = document.createDocumentFragment();
    for (let at = 0; at < text.length; at += BLOCK) {
      const block = h("div", { class: "block" });
      for (let index = at; index < Math.min(at + BLOCK, text.length); index++) {
        const line = document.createElement("span");
        line.className = "line";
        line.dataset.n = String(first + index);
        // The line break is in the text, so that what is copied has it.
        line.textContent = `${text[index]}\n`;
        block.append(line);
        this.lines.push(line);
      }
      blocks.append(block);
    }
    this.replaceChildren(blocks);
    const highlights = classes.map(highlight);
    tokens.forEach((line, index) => {
      const node = this.lines[index]?.firstChild;
      const length = text[index]?.length ?? 0;
      if (!node) return;
      for (const [start, size, kind] of line) {
        const found = highlights[kind];
        if (found && start + size <= length) this.colour(found, node, start, start + size);
      }
    });
  }

  /** @param {Highlight} found @param {Node} node @param {number} start @param {number} end */
  colour(found, node, start, end) {
    const range = new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end });
    found.add(range);
    this.ranges.push([found, range]);
  }

  /**
   * Marks lines and brings them into sight.
   * @param {number} start
   * @param {number} end
   * @param {string[]} [words] marked within them
   * @param {{ start_line: number, end_line: number } | null} [within] the longer passage they are of, which gets a bar only
   */
  mark(start, end, words = [], within = null) {
    for (const line of this.querySelectorAll(".marked, .within")) line.classList.remove("marked", "arrived", "within");
    if (within) for (let number = within.start_line; number <= Math.min(within.end_line, within.start_line + 2000); number++) this.lines[number - this.first]?.classList.add("within");
    const found = words.length ? highlight("found") : null;
    for (let number = start; number <= Math.min(end, start + 400); number++) {
      const line = this.lines[number - this.first];
      if (!line) continue;
      line.classList.add("marked", "arrived");
      const node = line.firstChild;
      const text = node?.textContent?.toLowerCase() ?? "";
      if (found && node) for (const word of words) {
        for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) this.colour(found, node, at, at + word.length);
      }
    }
    const line = this.lines[start - this.first];
    if (line) scrollTo(line);
  }

  forget() {
    for (const [found, range] of this.ranges) found.delete(range);
    this.ranges = [];
  }

  disconnectedCallback() {
    this.forget();
  }
}

/** @param {Element} line brought to the upper third of what scrolls */
function scrollTo(line) {
  const box = line.closest(".file-body");
  line.scrollIntoView({ block: "center" });
  if (box && box.scrollHeight > box.clientHeight) {
    // Blocks that were never drawn have a guessed height: once more when the real one is known.
    requestAnimationFrame(() => line.scrollIntoView({ block: "center" }));
    box.scrollLeft = 0;
  }
}

customElements.define("code-view", CodeView);

/** @returns {CodeView} */
export function codeView() {
  return /** @type {CodeView} */ (document.createElement("code-view"));
}
