"""Compares outlines with universal-ctags. Arguments: the outlines program, then LANGUAGE=FOLDER pairs. Prints a table."""

import collections
import json
import os
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
                for line_number in (symbol["name_line"], symbol["start_line"]):
                    ours[record["path"]].add((bare(symbol["name"]), line_number))
        total, found, missing = 0, 0, []
        for line in tags.splitlines():
            try:
                tag = json.loads(line)
            except ValueError:
                continue
            if tag.get("_type") != "tag" or tag["name"].startswith("__anon") or "anonymous" in tag["name"].lower():
                continue
            total += 1
            if (bare(tag["name"]), tag["line"]) in ours[tag["path"]]:
                found += 1
            else:
                missing.append(tag)
        share = 100 * found / total if total else 0
        print(f"{language} {folder}: {len(paths)} files ({recovered} with a note), {total} tags, {found} found, {share:.2f} %")
        for kind, count in collections.Counter(tag["kind"] for tag in missing).most_common():
            print(f"    missing {kind}: {count}")
        step = max(1, len(missing) // 25)
        for tag in missing[::step][:25]:
            print(f"    {tag['path']}:{tag['line']} {tag['kind']} {tag['name']} | {tag.get('pattern', '')[:90]}")


def bare(name):
    for separator in ("::", ".", "\\", "#", ":"):
        if separator in name.strip(separator):
            name = name.rsplit(separator, 1)[-1] or name
    return name.strip("\"'`[]").replace(" ", "")


main()
