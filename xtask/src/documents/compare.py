"""Compares what was read with what the documents say, and PDFs with what pdftotext reads.

compare.py FOLDER EXTRACTOR [MORE.pdf …]    FOLDER has been made by make.py
"""

import difflib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import unicodedata

folder, extractor, more = sys.argv[1], sys.argv[2], sys.argv[3:]
truth = json.load(open(os.path.join(folder, "truth.json")))


def words(text):
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower())


def in_order(wanted, found):
    """Pairs of places where the two say the same in the same order."""
    matcher = difflib.SequenceMatcher(None, wanted, found, autojunk=False)
    return [(a + k, b + k) for a, b, size in matcher.get_matching_blocks() for k in range(size)]


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(command, runs):
    """Processor time: what the clock says depends on who else is busy."""
    best = float("inf")
    for _ in range(runs):
        start = spent()
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        best = min(best, spent() - start)
    return best, done.stdout


def read(path, runs=1):
    seconds, out = timed([extractor, path], runs)
    result = json.loads(out)["result"] if out else None
    return seconds, result or {"units": [], "skip": "not recognised", "parts": 0, "diagnostics": []}


def place_of(pointer):
    kind = pointer["kind"]
    if kind == "page":
        return f"page {pointer['page']}"
    if kind == "slide":
        return f"slide {pointer['slide']}"
    if kind == "rows":
        return f"sheet '{pointer['sheet']}'" if pointer["sheet"] else "rows"
    if kind == "message":
        return f"message {pointer['message']}"
    return ""


failed = []
print("| document | words | in order | right place | ms | pdftotext in order | pdftotext ms | ms a page |")
print("|---|---:|---:|---:|---:|---:|---:|---:|")
for name in sorted(truth):
    path = os.path.join(folder, name)
    is_pdf = name.endswith(".pdf")
    seconds, result = read(path, 5 if is_pdf else 1)
    wanted = [(word, place) for place, text in truth[name] for word in words(text)]
    found = [(word, place_of(unit["pointer"])) for unit in result["units"] for word in words(unit["text"])]
    pairs = in_order([word for word, _ in wanted], [word for word, _ in found])
    order = len(pairs) / len(wanted)
    right = sum(1 for a, b in pairs if not wanted[a][1] or found[b][1] == wanted[a][1]) / max(1, len(pairs))
    line = f"| {name} | {len(wanted)} | {order:.2%} | {right:.2%} | {seconds * 1000:.1f} |"
    if is_pdf and shutil.which("pdftotext"):
        other_seconds, other = timed(["pdftotext", path, "-"], 5)
        other_order = len(in_order([word for word, _ in wanted], words(other))) / len(wanted)
        pages = max(1, result["parts"])
        line += f" {other_order:.2%} | {other_seconds * 1000:.1f} | {seconds / pages * 1000:.2f} against {other_seconds / pages * 1000:.2f} |"
        if order < other_order - 0.0005 or seconds > other_seconds:
            failed.append(f"{name}: pdftotext does better")
    else:
        line += " | | |"
    print(line, flush=True)
    if order < 0.99 or right < 0.99:
        failed.append(f"{name}: {order:.2%} in order, {right:.2%} in the right place {result['skip'] or ''}")

if more:
    print("\n| other PDF | pages | words | words of pdftotext | found | in order | ms | pdftotext ms |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
for path in more:
    seconds, result = read(path, 3)
    other_seconds, other = timed(["pdftotext", path, "-"], 3)
    mine, theirs = [word for unit in result["units"] for word in words(unit["text"])], words(other)
    common = len(theirs) - sum(max(0, theirs.count(w) - mine.count(w)) for w in set(theirs))
    share = lambda count: f"{count / max(1, len(theirs)):.2%}"
    ordered = share(len(in_order(theirs, mine))) if len(theirs) < 20000 else ""
    print(f"| {os.path.basename(path)} | {result['parts']} | {len(mine)} | {len(theirs)} | {share(common)} | {ordered} | {seconds * 1000:.1f} | {other_seconds * 1000:.1f} |", flush=True)

for line in failed:
    print("fail", line)
sys.exit(1 if failed else 0)
