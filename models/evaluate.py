"""Score a table, alone and fused with a plain BM25, on sets laid out as queries.jsonl, qrels.tsv and corpus.jsonl.

    python3 evaluate.py TABLE --sets DIR [--repos DIR]

DIR holds code-cosqa-dev, prose-cranfield and code-dev; --repos holds the packages of code-dev, one folder each.
"""

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
import snowballstemmer

from table import Table

STOP = set("a an and are as at be by for from has have how i if in into is it its of on or that the their then there these "
           "this to was what when where which who why will with do does can".split())
_STEM = snowballstemmer.stemmer("english")


class Set:
    """Questions, documents and judgements of one set; `within` restricts a question to the documents of its repository."""

    def __init__(self, name, queries, documents, qrels, prose, group=None):
        self.name, self.queries, self.qrels, self.prose = name, queries, qrels, prose
        self.ids, self.texts = [d[0] for d in documents], [d[1] for d in documents]
        self.group = group or (lambda query, doc_id: True)


def load_sets(folder, repos=None):
    folder = Path(folder)
    found = [_corpus_set(folder / "code-cosqa-dev", "cosqa", False), _corpus_set(folder / "prose-cranfield", "cranfield", True)]
    if repos and Path(repos).exists():
        found.append(_repository_set(folder / "code-dev", Path(repos)))
    return found


def heldout_set(records):
    """Documentation sentence to function body, from packages held out of training."""
    queries = [{"id": str(i), "text": r["q"]} for i, r in enumerate(records)]
    documents = [(str(i), r["d"]) for i, r in enumerate(records)]
    return Set("docstrings", queries, documents, {str(i): {str(i): 1} for i in range(len(records))}, False)


def _judgements(folder):
    qrels = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, doc, grade = line.split("\t")
        qrels[query][doc] = int(grade)
    queries = [json.loads(line) for line in open(folder / "queries.jsonl", encoding="utf-8")]
    return [q for q in queries if q["id"] in qrels], qrels


def _corpus_set(folder, name, prose):
    queries, qrels = _judgements(folder)
    documents = [(d["id"], d["text"]) for d in map(json.loads, open(folder / "corpus.jsonl", encoding="utf-8"))]
    return Set(name, queries, documents, qrels, prose)


def _repository_set(folder, repos, lines_per_chunk=40):
    """Files cut in windows of lines; a file scores as its best window."""
    queries, qrels = _judgements(folder)
    documents = []
    for file in sorted(p for p in repos.rglob("*") if p.is_file()):
        relative = file.relative_to(repos)
        doc_id = f"{relative.parts[0]}:{'/'.join(relative.parts[1:])}"
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        words = " ".join(re.split(r"[/.]", "/".join(relative.parts[1:])))
        for start in range(0, max(1, len(lines)), lines_per_chunk):
            documents.append((doc_id, words + "\n" + "\n".join(lines[start : start + lines_per_chunk])))
    return Set("code-dev", queries, documents, qrels, False, lambda q, d: d.split(":")[0] == q["repo"])


def words_of(text, prose):
    if prose:
        return _STEM.stemWords([w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in STOP])
    out = []
    for run in re.findall(r"[A-Za-z0-9]+", text):
        parts = re.findall(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+", run)
        out.extend(p.lower() for p in parts)
        if len(parts) > 1:
            out.append(run.lower())
    return [w for w in out if w not in STOP]


def bm25(queries, texts, prose, k1=1.2, b=0.75):
    """Score matrix, queries by texts."""
    vocabulary, counts = {}, []
    for text in texts:
        counts.append(Counter(vocabulary.setdefault(w, len(vocabulary)) for w in words_of(text, prose)))
    lengths = np.array([sum(c.values()) for c in counts], np.float64)
    df = Counter(t for c in counts for t in c)
    idf = {t: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for t, n in df.items()}
    norm = k1 * (1 - b + b * lengths / max(1, lengths.mean()))
    rows, cols, data = [], [], []
    for i, c in enumerate(counts):
        for t, n in c.items():
            rows.append(t), cols.append(i), data.append(idf[t] * n * (k1 + 1) / (n + norm[i]))
    weights = sparse.csr_matrix((data, (rows, cols)), shape=(len(vocabulary), len(texts)))
    asked = sparse.lil_matrix((len(queries), len(vocabulary)))
    for i, query in enumerate(queries):
        for w in set(words_of(query, prose)):
            if w in vocabulary:
                asked[i, vocabulary[w]] = 1
    return np.asarray((asked.tocsr() @ weights).todense(), np.float32)


def ndcg(data, scores, k=10):
    """Mean nDCG@k with gain 2^grade-1; a document counts once, with its best chunk."""
    total = 0.0
    for row, query in zip(scores, data.queries):
        judged = data.qrels[query["id"]]
        seen, ranked = set(), []
        for i in np.argsort(-row, kind="stable"):
            doc = data.ids[i]
            if doc not in seen and np.isfinite(row[i]):
                seen.add(doc)
                ranked.append(doc)
                if len(ranked) == k:
                    break
        gained = sum((2 ** judged.get(d, 0) - 1) / math.log2(i + 2) for i, d in enumerate(ranked))
        ideal = sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(sorted(judged.values(), reverse=True)[:k]))
        total += gained / ideal
    return total / len(data.queries)


def spread(scores):
    """Min-max per question over the documents it may see."""
    finite = np.where(np.isfinite(scores), scores, np.nan)
    low, high = np.nanmin(finite, axis=1, keepdims=True), np.nanmax(finite, axis=1, keepdims=True)
    return (scores - low) / np.maximum(high - low, 1e-9)


class Evaluator:
    """Holds what does not depend on the table: BM25 scores and the masks."""

    def __init__(self, sets):
        self.sets = []
        for data in sets:
            questions = [q["text"] for q in data.queries]
            lexical = bm25(questions, data.texts, data.prose)
            mask = np.array([[data.group(q, d) for d in data.ids] for q in data.queries])
            lexical[~mask] = -np.inf
            self.sets.append((data, questions, mask, lexical))

    def scores(self, table, weights=(0.15, 0.3, 0.5)):
        """{set: {vectors, bm25, fused with each BM25 weight}}"""
        out = {}
        for data, questions, mask, lexical in self.sets:
            dense = table.embed_all(questions, query=True) @ table.embed_all(data.texts).T
            dense[~mask] = -np.inf
            figures = {"vectors": ndcg(data, dense), "bm25": ndcg(data, lexical)}
            for w in weights:
                figures[f"fused_{w}"] = ndcg(data, w * spread(lexical) + (1 - w) * spread(dense))
            out[data.name] = {k: round(float(v), 4) for k, v in figures.items()}
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--sets", required=True)
    parser.add_argument("--repos")
    args = parser.parse_args()
    print(json.dumps(Evaluator(load_sets(args.sets, args.repos)).scores(Table.read(args.table)), indent=1))


if __name__ == "__main__":
    main()
