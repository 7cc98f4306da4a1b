"""Source and prose files to training records, one function per kind of file.

A record is a dict:  k kind, l language, q query, d document, and for functions n (name) and x (the rest of what the
documentation says, never part of d).
"""

import ast
import html
import json
import re

MAX_DOC = 1500
MIN_DOC = 40

_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`'\"(\[])|\n\s*\n")
_MARKUP = re.compile(r":\w+:`~?([^`<]+)(?:<[^>]*>)?`|``?([^`]+)``?|\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])|\{@\w+ ([^}]+)\}")
_TAG = re.compile(r"<[^>\n]{1,200}>")


def plain(text):
    """Prose without inline markup, white space joined."""
    text = _MARKUP.sub(lambda m: next(g for g in m.groups() if g is not None), text)
    return " ".join(_TAG.sub(" ", text).replace("**", "").split())


def first_sentence(text):
    return plain(_SENTENCE_END.split(text.strip(), maxsplit=1)[0])[:300]


def good_query(text):
    words = re.findall(r"[A-Za-z]{2,}", text)
    ascii_share = sum(c.isascii() for c in text) / max(1, len(text))
    return 2 <= len(words) <= 50 and ascii_share > 0.9 and not re.search(r"copyright|licen[cs]e|https?:|todo|fixme|eslint", text, re.I)


def readable(code):
    """Not minified, not a table of numbers."""
    lines = code.splitlines()
    letters = sum(c.isalpha() for c in code)
    return lines and max(map(len, lines)) < 400 and letters > 0.4 * len(code.replace(" ", "").replace("\n", ""))


def function_record(lang, doc, name, code):
    """One documented definition, or None when either side says too little."""
    query = first_sentence(doc)
    code = code[:MAX_DOC]
    if len(code) < MIN_DOC or not good_query(query) or not readable(code):
        return None
    rest = plain(_SENTENCE_END.split(doc.strip(), maxsplit=1)[-1])[:400]
    return {"k": "function", "l": lang, "q": query, "n": name, "d": code, "x": rest if rest != query else ""}


def explained(doc):
    """Long documentation is prose: its first sentence as the question for the rest."""
    query = first_sentence(doc)
    paragraphs = [p for p in re.split(r"\n\s*\n", doc.strip()) if not re.search(r">>>|^\s*[-=~.]{3,}|^\s*[:@]\w+|::\s*$", p, re.M)]
    rest = plain(" ".join(paragraphs))
    rest = rest[len(query) :].strip() if rest.startswith(query) else rest
    letters = sum(c.isalpha() or c == " " for c in rest)
    if len(rest) > 160 and letters > 0.8 * len(rest) and good_query(query) and len(query.split()) > 3:
        yield {"k": "explained", "l": "", "q": query, "d": rest[:MAX_DOC]}


def python(path, text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.splitlines()
    module_doc = ast.get_docstring(tree)
    if module_doc and good_query(first_sentence(module_doc)):
        start = tree.body[0].end_lineno
        body = "\n".join(lines[start : start + 120])[: 2 * MAX_DOC]
        if len(body) > 200:
            yield {"k": "file", "l": "python", "q": first_sentence(module_doc), "n": stem(path), "d": body[:MAX_DOC], "x": ""}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.ClassDef) and len(node.body) < 2:
            continue
        doc = ast.get_docstring(node)
        if not doc:
            continue
        expr = node.body[0]
        head = lines[node.lineno - 1 : expr.lineno - 1]
        body = lines[expr.end_lineno : node.end_lineno]
        record = function_record("python", doc, node.name, "\n".join(head + body[:60]))
        if record:
            yield record
        yield from explained(doc)
    yield from comments("python", lines, "#")


def comments(lang, lines, mark):
    """A whole-line comment inside code, and the block that follows it up to a blank line."""
    i = 0
    while i < len(lines):
        line = lines[i].strip()
        if not (line.startswith(mark + " ") and lines[i][:1].isspace()):
            i += 1
            continue
        said = []
        while i < len(lines) and lines[i].strip().startswith(mark):
            said.append(lines[i].strip().lstrip(mark).strip())
            i += 1
        block = []
        while i < len(lines) and lines[i].strip() and len(block) < 20 and not lines[i].strip().startswith(mark):
            block.append(lines[i])
            i += 1
        query, code = plain(" ".join(said))[:250], "\n".join(block)
        if len(block) >= 2 and len(code) >= 60 and len(query.split()) >= 4 and good_query(query) and readable(code):
            yield {"k": "comment", "l": lang, "q": query, "d": code[:MAX_DOC]}


_DECLARED = re.compile(
    r"\b(?:fn|func|function|def|class|struct|enum|trait|interface|type|impl|mod|module|object|val|defp?|defmacro|data|newtype|union|namespace)\s+"
    r"(?:\([^)]*\)\s*)?(?:self\.)?([A-Za-z_]\w*)"
)
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\s*(?:=\s*(?:async\s*)?(?:function\s*)?)?\(")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\s*[:=]")
_NOT_NAMES = {"if", "for", "while", "switch", "return", "catch", "new", "define", "pub", "unsafe", "extern", "defined"}


def declared_name(line):
    for pattern in (_DECLARED, _CALLED, _ASSIGNED):
        match = pattern.search(line)
        if match and match.group(1) not in _NOT_NAMES:
            return match.group(1)
    return None


def braces(lines, start, limit=60):
    """The lines of a definition: to the brace that closes it, or to `;` when it opens none."""
    depth, opened = 0, False
    for i in range(start, min(len(lines), start + limit)):
        line = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*', "", lines[i])
        depth += line.count("{") - line.count("}")
        opened = opened or "{" in line
        if opened and depth <= 0 or not opened and line.rstrip().endswith(";"):
            return lines[start : i + 1]
        if not opened and i - start > 12:
            return []
    return lines[start : start + limit] if opened else []


def indented(lines, start, limit=60):
    """The lines of a definition: to the first later line that is not deeper, with that line when it says `end`."""
    margin = len(lines[start]) - len(lines[start].lstrip())
    for i in range(start + 1, min(len(lines), start + limit)):
        if lines[i].strip() and len(lines[i]) - len(lines[i].lstrip()) <= margin:
            return lines[start : i + (lines[i].strip().startswith("end"))]
    return lines[start : start + limit]


def paragraph(lines, start, limit=40):
    """The lines to the next blank one (Haskell)."""
    end = start
    while end < min(len(lines), start + limit) and lines[end].strip() and not lines[end].startswith("-- |"):
        end += 1
    return lines[start:end]


_ATTRIBUTE = re.compile(r"\s*(#\[|#!\[|@\w|\[[A-Z]|template\s*<)")


def documented(lang, lines, take_doc, take_body):
    """Every documentation comment that stands directly above a definition."""
    i = 0
    while i < len(lines):
        doc, after = take_doc(lines, i)
        if doc is None:
            i += 1
            continue
        i = max(after, i + 1)
        start = i
        while start < len(lines) and _ATTRIBUTE.match(lines[start]):
            start += 1
        if start >= len(lines) or not lines[start].strip():
            continue
        name = declared_name(lines[start])
        body = take_body(lines, start)
        if name and len(body) >= 2:
            record = function_record(lang, doc, name, "\n".join(body))
            if record:
                yield record
            yield from explained(doc)


def star_doc(lines, i):
    """/** … */ or /*! … */"""
    line = lines[i].strip()
    if not line.startswith(("/**", "/*!", "/*")):
        return None, i
    said = []
    for j in range(i, min(len(lines), i + 80)):
        said.append(re.sub(r"^\s*/?\*+[!/]?\s?|\*+/\s*$", "", lines[j]))
        if "*/" in lines[j]:
            text = "\n".join(said).strip()
            return re.split(r"\n\s*[@\\]\w|\n\s*\n", re.sub(r"^[@\\]brief\s+", "", text), maxsplit=1)[0], j + 1
    return None, i


def slash_doc(mark):
    """Runs of lines that start with `mark`."""

    def take(lines, i):
        if not lines[i].strip().startswith(mark) or i and lines[i - 1].strip().startswith(mark):
            return None, i
        j = i
        while j < len(lines) and lines[j].strip().startswith(mark):
            j += 1
        said = "\n".join(re.sub(r"^[\s/#\-!|^]+", "", line) for line in lines[i:j])
        return (re.sub(r"^\s*<summary>|\\brief|@brief", "", said), j) if 0 < j - i < 60 else (None, j)

    return take


def elixir_doc(lines, i):
    if not re.match(r'\s*@doc\s+"""', lines[i]):
        return None, i
    for j in range(i + 1, min(len(lines), i + 80)):
        if lines[j].strip() == '"""':
            k = j + 1
            while k < len(lines) and (not lines[k].strip() or lines[k].strip().startswith("@")):
                k += 1
            return "\n".join(s.strip() for s in lines[i + 1 : j]), k
    return None, i


def star_or_slashes(lines, i):
    doc, after = star_doc(lines, i)
    return (doc, after) if doc is not None else slash_doc("//")(lines, i)


LANGUAGES = {
    "rs": ("rust", slash_doc("///"), braces, "//"),
    "js": ("javascript", star_doc, braces, "//"),
    "mjs": ("javascript", star_doc, braces, "//"),
    "jsx": ("javascript", star_doc, braces, "//"),
    "ts": ("typescript", star_doc, braces, "//"),
    "tsx": ("typescript", star_doc, braces, "//"),
    "go": ("go", slash_doc("//"), braces, "//"),
    "java": ("java", star_doc, braces, "//"),
    "kt": ("kotlin", star_doc, braces, "//"),
    "scala": ("scala", star_doc, braces, "//"),
    "php": ("php", star_doc, braces, "//"),
    "c": ("c", star_doc, braces, "//"),
    "h": ("c", star_or_slashes, braces, "//"),
    "cc": ("c++", star_or_slashes, braces, "//"),
    "cpp": ("c++", star_or_slashes, braces, "//"),
    "hpp": ("c++", star_or_slashes, braces, "//"),
    "cs": ("c#", slash_doc("///"), braces, "//"),
    "swift": ("swift", slash_doc("///"), braces, "//"),
    "rb": ("ruby", slash_doc("#"), indented, "#"),
    "lua": ("lua", slash_doc("--"), indented, "--"),
    "ex": ("elixir", elixir_doc, indented, "#"),
    "hs": ("haskell", slash_doc("--"), paragraph, "--"),
}


def source(path, text):
    """Any language of LANGUAGES."""
    lang, take_doc, take_body, mark = LANGUAGES[path.rsplit(".", 1)[-1].lower()]
    lines = text.splitlines()
    if not lines or max(map(len, lines)) > 2000:
        return
    yield from documented(lang, lines, take_doc, take_body)
    yield from comments(lang, lines, mark)
    body = "\n".join(l for l in lines[:200] if not l.strip().startswith(("//", "/*", "*", "#", "--", "import ", "use ")))
    words = split_words(stem(path))
    if len(words) > 1 and len(body) > 300 and readable(body[:MAX_DOC]):
        yield {"k": "file", "l": lang, "q": " ".join(words), "n": stem(path), "d": body[:MAX_DOC], "x": ""}


def stem(path):
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def split_words(name):
    return [w.lower() for w in re.findall(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def sections(title, parts):
    """(heading, text) parts of one page: heading to text, and a sentence to the rest of its passage."""
    for heading, text in parts:
        text = plain(text)
        heading = plain(heading).strip("# ¶")
        if len(text) < 120 or sum(c.isalpha() or c == " " for c in text) < 0.75 * len(text):
            continue
        query = heading if not title or title.lower() == heading.lower() else f"{title} {heading}"
        if good_query(query):
            yield {"k": "section", "l": "", "q": query[:200], "d": text[:MAX_DOC]}
        yield from passage(text)


def passage(text, size=900):
    """One sentence of a passage as the question for the rest of it; the sentence is the one in the middle."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)
    start = 0
    while start < len(sentences):
        end, length = start, 0
        while end < len(sentences) and length < size:
            length += len(sentences[end])
            end += 1
        if end - start >= 3:
            pick = (start + end) // 2
            query = sentences[pick]
            rest = " ".join(sentences[start:pick] + sentences[pick + 1 : end])
            if 30 < len(query) < 300 and good_query(query):
                yield {"k": "passage", "l": "", "q": query, "d": rest[:MAX_DOC]}
        start = end


def markdown(path, text):
    text = re.sub(r"```.*?(```|\Z)|<!--.*?-->|!\[[^\]]*\]\([^)]*\)", " ", text, flags=re.S)
    text = re.sub(r"^\.\. [^\n]*$|^ +:\w[^\n]*$", " ", text, flags=re.M)
    text = re.sub(r"^([^\n]+)\n(=+|-+|~+|\^+)$", r"# \1", text, flags=re.M)
    pieces = re.split(r"^#{1,6}\s+(.+)$", text, flags=re.M)
    title = plain(pieces[1]) if len(pieces) > 1 else ""
    yield from sections(title if len(title) < 60 else "", zip(pieces[1::2], pieces[2::2]))


def web_page(path, text):
    text = re.sub(r"<(script|style|pre|table|nav|head)\b.*?</\1>", " ", text, flags=re.S | re.I)
    pieces = re.split(r"<h[1-4][^>]*>(.*?)</h[1-4]>", text, flags=re.S | re.I)
    strip = lambda s: html.unescape(re.sub(r"<[^>]*>", " ", s))
    title = plain(strip(pieces[1])) if len(pieces) > 1 else ""
    yield from sections(title if len(title) < 60 else "", [(strip(h), strip(t)) for h, t in zip(pieces[1::2], pieces[2::2])])


def manual_page(path, text):
    """troff: the NAME line, the sections."""
    def bare(block):
        lines = [l for l in block.splitlines() if not l.startswith(('.\\"', "'", ".nf", ".Bd"))]
        return re.sub(r"\\[fF].|\\[&|]|\\-|\\\*\S", "", " ".join(re.sub(r"^\.[A-Za-z]{2}\s?", "", l) for l in lines))

    pieces = re.split(r"^\.S[hH]\s+\"?(.+?)\"?$", text, flags=re.M)
    name = re.search(r"^\.Nd\s+(.+)$", text, re.M)
    named = name.group(1) if name else next((bare(t) for h, t in zip(pieces[1::2], pieces[2::2]) if h == "NAME"), "")
    named = named.strip().split(" - ")[-1].strip()
    for heading, block in zip(pieces[1::2], pieces[2::2]):
        body = plain(bare(block))
        if heading.upper() == "DESCRIPTION" and len(body) > 120:
            if good_query(named):
                yield {"k": "section", "l": "", "q": named[:200], "d": body[:MAX_DOC]}
            yield from passage(body)


def wordnet(path, text):
    """data.noun and its like: lemmas to gloss, and lemma to its synonyms."""
    for line in text.splitlines():
        if line.startswith(" ") or " | " not in line:
            continue
        fields, gloss = line.split(" | ", 1)
        parts = fields.split()
        lemmas = [w.replace("_", " ") for w in parts[4 : 4 + 2 * int(parts[3], 16) : 2]]
        definition = gloss.split('; "')[0].strip()
        if len(definition) > 15:
            yield {"k": "gloss", "l": "", "q": lemmas[0], "d": "; ".join(lemmas[1:] + [definition])}
            if len(lemmas) > 1:
                yield {"k": "gloss", "l": "", "q": definition, "d": ", ".join(lemmas)}


def summary(path, text):
    """What a package says of itself in one line, and its README."""
    name, line, readme = json.loads(text)
    body = plain(re.sub(r"```.*?```|!\[[^\]]*\]\([^)]*\)|^#[^\n]*$|^\.\. [^\n]*$|^[=*~-]+$|^ +:[^\n]*$", " ", readme, flags=re.S | re.M))
    if good_query(line) and len(body) > 200:
        yield {"k": "summary", "l": "", "q": line[:250], "d": body[:MAX_DOC]}
    yield from markdown(path, readme)


def reader_for(path):
    """The function that reads a file of this name, or None."""
    low = path.lower()
    ext = low.rsplit(".", 1)[-1] if "." in low.rsplit("/", 1)[-1] else ""
    if path == "SUMMARY":
        return summary
    if re.search(r"(^|/)(tests?|__tests__|spec|specs|testing|fixtures?|benchmarks?|examples?)/|\.min\.|\.d\.ts$|_pb2?\.|[_.-](?:test|tests|spec|unittest)\.|/test_|bundle|/dist/.*\.js$|(^|/)(umd|cjs)/", low):
        return markdown if ext in ("md", "rst") else None
    if "/wordnet/data." in low:
        return wordnet
    if ext == "py":
        return python
    if ext in LANGUAGES:
        return source
    if ext in ("md", "rst", "mdx"):
        return None if re.search(r"change|history|licen[cs]e|contribut|security|conduct", low) else markdown
    if ext in ("html", "htm") and "/doc/" in low:
        return web_page
    if re.search(r"/man[1-9]/|\.[1-9][a-z]*$", low):
        return manual_page
    if "_sources/" in low and ext == "txt":
        return markdown
    return None
