"""Compares outlines with universal-ctags. Arguments: the outlines program, then LANGUAGE=FOLDER pairs. Prints a table."""

import collections
import json
import os
import re
import subprocess
import sys

# By our name of a language: ctags' name, its kinds of functions, classes, methods and types, and the extensions.
LANGUAGES = {
    "python": ("Python", "cfm", (".py",)),
    "rust": ("Rust", "nsicfgtPM", (".rs",)),
    "javascript": ("JavaScript", "fcmg", (".js", ".mjs", ".cjs")),
    "typescript": ("TypeScript", "fcigmnaG", (".ts",)),
    "tsx": ("TypeScript", "fcigmnaG", (".tsx",)),
    "go": ("Go", "ftsina", (".go",)),
    "java": ("Java", "acgim", (".java",)),
    "c": ("C", "fsugt", (".c",)),
    "cpp": ("C++", "fcsugtn", (".cc", ".cpp", ".cxx", ".hpp")),
    "csharp": ("C#", "cgimnspE", (".cs",)),
    "ruby": ("Ruby", "cfmS", (".rb",)),
    "php": ("PHP", "cfitn", (".php",)),
    "kotlin": ("Kotlin", "cimoT", (".kt",)),
    "swift": ("Swift", "ft", (".swift",)),
    "scala": ("Scala", "ft", (".scala",)),
    "bash": ("Sh", "f", (".sh", ".bash")),
    "lua": ("Lua", "f", (".lua",)),
    "haskell": ("Haskell", "tfm", (".hs",)),
    "elixir": ("Elixir", "pmfcdgiaoty", (".ex", ".exs")),
    "zig": ("Zig", "ft", (".zig",)),
    "sql": ("SQL", "fptTVi", (".sql",)),
    "markdown": ("Markdown", "csSt", (".md",)),
    "html": ("HTML", "hij", (".html", ".htm")),
    "css": ("CSS", "csi", (".css",)),
    "json": ("JSON", "oansbz", (".json",)),
    "toml": ("TOML", "t", (".toml",)),
}

# What ctags does not know it is taught by expressions, as its users do: they see lines and no syntax.
SWIFT = r"^[ \t]*((public|private|fileprivate|internal|open|final|static|class|override|mutating|nonmutating|indirect|convenience|required|nonisolated|@[A-Za-z]+(\([^)]*\))?|(private|fileprivate|internal|public)\(set\))[ \t]+)*"
SCALA = r"^[ \t]*((abstract|final|sealed|implicit|lazy|private(\[[^]]*\])?|protected(\[[^]]*\])?|override|case|inline|transparent|open|@[A-Za-z]+(\([^)]*\))?)[ \t]+)*"
ZIG = r"^[ \t]*((pub|export|inline|noinline|extern|extern \"[^\"]*\")[ \t]+)*"
TAUGHT = {
    "Swift": [
        (SWIFT + r"func[ \t]+([A-Za-z_][A-Za-z0-9_]*)/\5", "f"),
        (SWIFT + r"(struct|enum|protocol|actor|class|typealias)[ \t]+([A-Z][A-Za-z0-9_]*)/\6", "t"),
    ],
    "Scala": [
        (SCALA + r"def[ \t]+([A-Za-z_][A-Za-z0-9_]*)/\6", "f"),
        (SCALA + r"(class|trait|object|enum)[ \t]+([A-Za-z_][A-Za-z0-9_]*)/\7", "t"),
    ],
    "Zig": [
        (ZIG + r"fn[ \t]+([A-Za-z_][A-Za-z0-9_]*)/\3", "f"),
        (ZIG + r"const[ \t]+([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*((packed|extern)[ \t]+)?(struct|enum|union|opaque|error)[ \t]*[({]/\3", "t"),
    ],
    "TOML": [(r"^[ \t]*\[+[ \t]*([A-Za-z0-9_.\"-]+)[ \t]*\]/\1", "t")],
}


def options(name, kinds, extensions):
    taught = []
    if name in TAUGHT:
        taught = [f"--langdef={name}"]
        taught += [f"--kinddef-{name}=f,function,functions", f"--kinddef-{name}=t,type,types"]
    taught += [f"--langmap={name}:" + "".join(extensions)]
    taught += [f"--regex-{name}=/{expression}/{kind}/" for expression, kind in TAUGHT.get(name, [])]
    return taught + [f"--languages={name}", f"--kinds-{name}={kinds}"]


def main():
    program = sys.argv[1]
    rows = []
    for pair in sys.argv[2:]:
        language, _, folder = pair.partition("=")
        rows.append(compare(program, language, folder))
    print("\n| language | package | files | tags | found | share | left out |\n|---|---|---:|---:|---:|---:|---:|")
    for language, folder, files, total, found, ignored in rows:
        share = f"{100 * found / total:.2f} %" if total else ""
        print(f"| {language} | {os.path.basename(folder.rstrip('/'))} | {files} | {total} | {found} | {share} | {ignored} |")


def compare(program, language, folder):
    name, kinds, extensions = LANGUAGES[language]
    paths = [
        os.path.join(where, file)
        for where, _, files in os.walk(folder)
        for file in sorted(files)
        if file.endswith(extensions) and os.path.isfile(os.path.join(where, file))
        and os.path.getsize(os.path.join(where, file)) < 4 << 20
        and not file.endswith((".min.js", ".min.css", ".d.ts"))
    ]
    listing = "\n".join(paths).encode()
    tags = subprocess.run(
        ["ctags", "-L", "-", "-f", "-", "--output-format=json", "--fields=+nK", "--sort=no"]
        + options(name, kinds, extensions),
        input=listing, capture_output=True,
    ).stdout
    ours = collections.defaultdict(set)
    rules = collections.defaultdict(list)
    notes, minified = collections.Counter(), set()
    for line in subprocess.run([program], input=listing, capture_output=True, check=True).stdout.splitlines():
        record = json.loads(line)
        if record["shortfall"] is not None:
            notes[record["shortfall"].split(":")[0]] += 1
            if record["shortfall"].startswith("SOURCE_MINIFIED"):
                minified.add(record["path"])
        for symbol in record["symbols"]:
            lines = {symbol["name_line"], symbol["start_line"]}
            if language == "haskell":
                # ctags names every equation; a function is one symbol.
                lines = range(symbol["start_line"], symbol["end_line"] + 1)
            if language == "css":
                rules[record["path"]].append(symbol)
            for line_number in lines:
                for spelling in spellings(symbol["name"]):
                    ours[record["path"]].add((spelling, line_number))
    total, found, missing, ignored = 0, 0, [], 0
    for line in tags.splitlines():
        try:
            tag = json.loads(line)
        except ValueError:
            continue
        if tag.get("_type") != "tag" or tag["path"] in minified:
            continue
        if not_a_declaration(language, tag) or language == "elixir" and in_heredoc(tag):
            ignored += 1
            continue
        total += 1
        names = {tag["name"]} | other_names(language, tag)
        if any((spelling, tag["line"]) in ours[tag["path"]] for name_ in names for spelling in spellings(name_)):
            found += 1
        elif language == "css" and is_a_selector(rules[tag["path"]], tag):
            found += 1
        else:
            missing.append(tag)
    share = 100 * found / total if total else 0
    told = ", ".join(f"{count} {code}" for code, count in notes.most_common())
    print(f"{language} {folder}: {len(paths)} files ({told or 'no notes'}), {total} tags ({ignored} left out), "
          f"{found} found, {share:.2f} %")
    for kind, count in collections.Counter(tag["kind"] for tag in missing).most_common():
        print(f"    missing {kind}: {count}")
    step = max(1, len(missing) // 25)
    for tag in missing[::step][:25]:
        print(f"    {tag['path']}:{tag['line']} {tag['kind']} {tag['name']} | {tag.get('pattern', '')[:90]}")
    return language, folder, len(paths), total, found, ignored


def not_a_declaration(language, tag):
    """What ctags calls a class, a method or a type and the language does not. Counted, and listed in the docs."""
    name, pattern = tag["name"], tag.get("pattern", "")
    if name.startswith(("__anon", "<")) or "anonymous" in name.lower():
        return True
    if language == "javascript" and tag["kind"] == "class":
        # An object literal.
        escaped = re.escape(name)
        return not re.search(rf"(class|function)\s+{escaped}|{escaped}\s*[=:]\s*(async\s+)?(class|function|\()", pattern)
    if language in ("typescript", "tsx") and tag["kind"] == "alias":
        # `import { type A }`, `x.type satisfies B`.
        return "import" in pattern or name in ("satisfies", "as") or "=" not in pattern and pattern.rstrip("$/").endswith((",", " "))
    if language in ("typescript", "tsx", "javascript") and name == "extends":
        # `= class extends A`
        return True
    if language in ("c", "cpp") and tag["kind"] == "function" and re.match(rf"/\^{re.escape(name)}\s*\(", pattern):
        # A macro that is called where a function could stand: `TEST(name) {`.
        return name == name.upper()
    if language == "cpp" and tag["kind"] == "function" and re.match(r"/\^\s*[A-Z_]+\(", pattern):
        # The argument of such a macro.
        return True
    if language == "lua":
        # A function that is handed to a call is not what the call's result is named.
        escaped = re.escape(name)
        return not re.search(rf"function\s+{escaped}|{escaped}\s*=\s*function\b", pattern)
    if language == "haskell":
        # Keywords taken for names, expressions at the top of a file, and names that are on another line.
        words = "class where deriving infix infixl infixr pattern instance family role import".split()
        return name in words or name not in pattern or not re.search(r"=|::|\||\b(data|type|newtype|class|module)\b", pattern)
    if language == "bash" and name.endswith("="):
        # An empty list: `a=()`.
        return True
    if language == "kotlin" and tag["kind"] == "method":
        # The parameter of a lambda.
        return "fun " not in pattern
    if language == "json":
        # The outline of data ends at the third level and before lists.
        scope = tag.get("scope", "")
        return name.isdigit() or scope.count(".") >= 2 or any(part.isdigit() for part in scope.split("."))
    return False


def other_names(language, tag):
    """`exports.a = class B` and `a: function b() {}` have two names for one declaration."""
    if language not in ("javascript", "typescript", "tsx"):
        return set()
    pattern = tag.get("pattern", "")
    own = re.findall(r"[=:]\s*(?:async\s+)?(?:class|function\s*\*?)\s+([\w$]+)", pattern)
    return set(own) | set(re.findall(r"([\w$]+)\s*[=:]\s*(?:async\s+)?(?:class|function)\b", pattern))


def is_a_selector(rules, tag):
    """ctags spells blanks otherwise, and takes a selector with brackets for several."""
    name = tag["name"].replace(" ", "")
    return any(symbol["start_line"] == tag["line"] and name in symbol["name"].replace(" ", "") for symbol in rules)


def in_heredoc(tag):
    """Examples in documentation."""
    path = tag["path"]
    if path not in HEREDOCS:
        inside, lines = False, []
        for line in open(path, encoding="utf-8", errors="replace"):
            lines.append(inside)
            inside ^= line.count('"""') % 2 == 1
        HEREDOCS[path] = lines
    return HEREDOCS[path][tag["line"] - 1]


HEREDOCS = {}


def spellings(name):
    name = name.strip("\"'`[]{").replace(" ", "")
    out = {name}
    for separator in ("::", ".", "\\", ":"):
        if separator in name.strip(separator):
            out.add(name.rsplit(separator, 1)[-1])
            out.add(name.split(separator, 1)[0])
    return out


main()
