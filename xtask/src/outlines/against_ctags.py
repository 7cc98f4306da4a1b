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
    "go": ("Go", "ftsina", (".go",)),
    "java": ("Java", "acgim", (".java",)),
    "c": ("C", "fsugt", (".c",)),
    "cpp": ("C++", "fcsugtn", (".cc", ".cpp", ".cxx", ".hpp")),
    "csharp": ("C#", "cgimnspE", (".cs",)),
    "ruby": ("Ruby", "cfmS", (".rb",)),
    "php": ("PHP", "cfitn", (".php",)),
    "kotlin": ("Kotlin", "cimoT", (".kt",)),
    "bash": ("Sh", "f", (".sh", ".bash")),
    "lua": ("Lua", "f", (".lua",)),
    "haskell": ("Haskell", "tfm", (".hs",)),
    "elixir": ("Elixir", "pmfcdgiaoty", (".ex", ".exs")),
    "sql": ("SQL", "fptTVi", (".sql",)),
    "markdown": ("Markdown", "csSt", (".md",)),
}


def main():
    program = sys.argv[1]
    for pair in sys.argv[2:]:
        language, _, folder = pair.partition("=")
        name, kinds, extensions = LANGUAGES[language]
        paths = [
            os.path.join(where, file)
            for where, _, files in os.walk(folder)
            for file in sorted(files)
            if file.endswith(extensions) and os.path.getsize(os.path.join(where, file)) < 4 << 20
            and not file.endswith((".min.js", ".d.ts"))
        ]
        listing = "\n".join(paths).encode()
        tags = subprocess.run(
            ["ctags", "-L", "-", "-f", "-", "--output-format=json", "--fields=+nK", f"--languages={name}",
             f"--kinds-{name}={kinds}", "--sort=no", f"--langmap={name}:" + "".join(extensions)],
            input=listing, capture_output=True,
        ).stdout
        ours = collections.defaultdict(set)
        recovered = 0
        for line in subprocess.run([program], input=listing, capture_output=True, check=True).stdout.splitlines():
            record = json.loads(line)
            recovered += record["shortfall"] is not None
            for symbol in record["symbols"]:
                lines = {symbol["name_line"], symbol["start_line"]}
                if language == "haskell":
                    # ctags names every equation; a function is one symbol.
                    lines = range(symbol["start_line"], symbol["end_line"] + 1)
                for line_number in lines:
                    for spelling in spellings(symbol["name"]):
                        ours[record["path"]].add((spelling, line_number))
        total, found, missing, ignored = 0, 0, [], 0
        for line in tags.splitlines():
            try:
                tag = json.loads(line)
            except ValueError:
                continue
            if tag.get("_type") != "tag":
                continue
            if not_a_declaration(language, tag) or language == "elixir" and in_heredoc(tag):
                ignored += 1
                continue
            total += 1
            if any((spelling, tag["line"]) in ours[tag["path"]] for spelling in spellings(tag["name"])):
                found += 1
            else:
                missing.append(tag)
        share = 100 * found / total if total else 0
        print(f"{language} {folder}: {len(paths)} files ({recovered} with a note), {total} tags ({ignored} left out), "
              f"{found} found, {share:.2f} %")
        for kind, count in collections.Counter(tag["kind"] for tag in missing).most_common():
            print(f"    missing {kind}: {count}")
        step = max(1, len(missing) // 25)
        for tag in missing[::step][:25]:
            print(f"    {tag['path']}:{tag['line']} {tag['kind']} {tag['name']} | {tag.get('pattern', '')[:90]}")


def not_a_declaration(language, tag):
    """What ctags calls a class, a method or a type and the language does not. Counted, and listed in the docs."""
    name, pattern = tag["name"], tag.get("pattern", "")
    if name.startswith(("__anon", "<")) or "anonymous" in name.lower():
        return True
    if language == "javascript" and tag["kind"] == "class":
        # An object literal.
        escaped = re.escape(name)
        return not re.search(rf"(class|function)\s+{escaped}|{escaped}\s*[=:]\s*(async\s+)?(class|function|\()", pattern)
    if language == "typescript" and tag["kind"] == "alias":
        # `import { type A }`, `x.type satisfies B`.
        return "import" in pattern or name in ("satisfies", "as") or "=" not in pattern and pattern.rstrip("$/").endswith((",", " "))
    if language == "lua":
        # A function that is handed to a call is not what the call's result is named.
        escaped = re.escape(name)
        return not re.search(rf"function\s+{escaped}|{escaped}\s*=\s*function", pattern)
    if language == "haskell" and name == "class":
        return True
    if language == "kotlin" and tag["kind"] == "method":
        # The parameter of a lambda.
        return "fun " not in pattern
    return False


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
