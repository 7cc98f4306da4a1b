"""Archives to training records: opens every package, holds the gates (names, licences, evaluation texts), writes pairs.jsonl."""

import hashlib
import json
import multiprocessing
import re
import subprocess
from collections import Counter
from pathlib import Path

import extract
import sources

# Per package and kind: no package may drown the others.
CAPS = {"function": 600, "comment": 200, "section": 400, "passage": 500, "explained": 200, "file": 150, "gloss": 300_000, "summary": 1}
PROSE_DOC_CAPS = {"section": 4000, "passage": 6000}


def normal(text):
    """The form in which texts are compared with evaluation texts: letters and digits only."""
    return re.sub(r"[\W_]+", " ", text.lower()).strip()


def evaluation_texts(folders):
    """Every query and document of evaluation sets laid out as queries.jsonl and corpus.jsonl."""
    texts = set()
    for folder in folders:
        for file in ("queries.jsonl", "corpus.jsonl"):
            if (Path(folder) / file).exists():
                for line in open(Path(folder) / file, encoding="utf-8"):
                    texts.add(normal(json.loads(line)["text"]))
    return texts


def code_bodies(folders):
    """Evaluation functions without their documentation: the same function must not come back with it removed."""
    bodies = set()
    for folder in folders:
        path = Path(folder) / "corpus.jsonl"
        for line in open(path, encoding="utf-8") if path.exists() else ():
            text = json.loads(line)["text"]
            bodies.add(normal(re.sub(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'', " ", text)))
    return {b for b in bodies if len(b) > 60}


def of_package(job):
    registry, path = job
    excluded = sources.Excluded()
    wanted = lambda p: extract.reader_for(p) is not None and not excluded.path(p)
    try:
        package = sources.open_package(registry, Path(path), wanted)
    except Exception as error:  # a broken archive is a fact about the input, reported in the data card
        return {"registry": registry, "name": Path(path).name, "why": f"unreadable: {type(error).__name__}"}, []
    facts = {"registry": registry, "name": package.name, "version": package.version, "licence": package.licence}
    if excluded.package(package.name):
        return facts | {"why": "excluded"}, []
    if not sources.permissive(package.licence.replace(" or ", " OR ").replace(" and ", " AND ")):
        return facts | {"why": "licence"}, []
    caps = CAPS | PROSE_DOC_CAPS if package.name.endswith(("-doc", "manpages")) else CAPS
    taken, records, seen = Counter(), [], set()
    order = sorted(package.files, key=lambda f: hashlib.sha256(f[0].encode()).digest())
    for file, text in order:
        reader = extract.reader_for(file)
        if reader in (extract.python, extract.source) and taken["function"] >= caps["function"]:
            continue
        for record in reader(file, text):
            if taken[record["k"]] >= caps[record["k"]]:
                continue
            key = record["q"].lower(), record["d"][:200]
            if key in seen:
                continue
            seen.add(key)
            taken[record["k"]] += 1
            records.append(record | {"p": f"{registry}:{package.name}"})
    return facts | {"counts": dict(taken)}, records


def debian_descriptions(lists):
    """Title to long description of every package in apt's English description list; `lists` is apt's folder of lists."""
    text = ""
    stable = (f for f in sorted(Path(lists).glob("*i18n_Translation-en*")) if not re.search("security|updates", f.name))
    for file in stable:
        text += subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", file], capture_output=True, check=True).stdout.decode("utf-8", "replace")
    excluded = sources.Excluded()
    for stanza in text.split("\n\n"):
        name = re.search(r"^Package: (\S+)", stanza, re.M)
        said = re.search(r"^Description(?:-en)?: (.+)\n((?: .*\n?)+)", stanza, re.M)
        if not name or not said or excluded.package(name.group(1)) or re.search(r"-(dbg|dbgsym|l10n-\w+|locale-\w+)$", name.group(1)):
            continue
        body = extract.plain(re.sub(r"^ \.$", "", said.group(2), flags=re.M))
        if len(body) > 100 and extract.good_query(said.group(1)):
            yield {"k": "summary", "l": "", "q": said.group(1), "d": body[: extract.MAX_DOC], "p": "debian:descriptions"}


def build(jobs, evaluation, lists, out, facts_out, processes=2):
    forbidden = evaluation_texts(evaluation)
    bodies = code_bodies(evaluation)
    dropped, kinds, seen = 0, Counter(), set()
    facts = []

    def keep(record):
        nonlocal dropped
        if normal(record["q"]) in forbidden or normal(record["d"]) in forbidden or normal(record["d"]) in bodies:
            dropped += 1
            return False
        key = hashlib.md5((record["k"] + record["q"].lower() + "\0" + record["d"][:300]).encode()).digest()
        if key in seen:
            return False
        seen.add(key)
        return True

    with open(out, "w", encoding="utf-8") as file, multiprocessing.Pool(processes) as pool:
        def write(records):
            for record in records:
                if keep(record):
                    kinds[record["k"], record["l"]] += 1
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")

        for fact, records in pool.imap(of_package, jobs, chunksize=4):
            facts.append(fact)
            write(records)
        write(debian_descriptions(lists))
    summary = {"dropped_as_evaluation_text": dropped, "records": sum(kinds.values()),
               "kinds": {f"{k}/{l}" if l else k: n for (k, l), n in sorted(kinds.items())}, "packages": facts}
    Path(facts_out).write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return summary


# The share of a plentiful group that is kept.
SHARES = {"function/rust": 0.4, "comment/rust": 0.2, "comment/javascript": 0.4, "comment/python": 0.6, "gloss/": 0.5}


def split(records, held_share=50, held_most=3000):
    """Records to train on, and the functions of every 50th package, which training never sees."""
    kept, held = [], []
    for record in records:
        if _chance(record["p"], held_share) == 0:
            if record["k"] == "function":
                held.append(record)
        elif _chance(record["q"] + record["d"], 100) < 100 * SHARES.get(f"{record['k']}/{record['l']}", 1):
            kept.append(record)
    held.sort(key=lambda r: hashlib.md5((r["q"] + r["d"]).encode()).digest())
    return kept, held[:held_most]


def _chance(text, sides):
    """A die whose throw depends on the text alone."""
    return int(hashlib.md5(text.encode()).hexdigest()[:8], 16) % sides
