"""Choose the vocabulary by use over all kinds of text alike, and give each word its starting vector."""

import functools
import json
from collections import Counter, defaultdict

import numpy as np

from tokenizer import HASH_ROWS, Tokenizer, _PARTS, _RUN, normalise

PIECES = 2500
# Kinds of record that are prose. There are many languages and few kinds of prose, so prose counts more.
PROSE = {"gloss", "passage", "section", "summary", "explained"}
PROSE_WEIGHT = 4


def count(records, every=5, run_of=300):
    """Per group (language, or kind of prose) how much each word is used, and in how many packages at all.

    Within a package the square root counts, so that no package's own names win; a long one counts as several.
    """
    groups, packages = defaultdict(Counter), Counter()
    local, at, size = defaultdict(Counter), None, 0

    def flush():
        for group, counter in local.items():
            for word, n in counter.items():
                groups[group][word] += n**0.5
        packages.update({w for counter in local.values() for w in counter})
        local.clear()

    for i, record in enumerate(records):
        if i % (every if record["l"] else 2):
            continue
        size += 1
        if record["p"] != at or size > run_of:
            flush()
            at, size = record["p"], 0
        counter = local[record["l"] or record["k"]]
        text = f"{record['q']} {record.get('x', '')} {record['d']}"
        for run in dict.fromkeys(_RUN.findall(normalise(text))):
            if not run.isascii():
                continue
            for word, n in forms(run):
                counter[word] += n
    flush()
    return groups, packages


@functools.lru_cache(maxsize=1_000_000)
def forms(run):
    """The words a run counts for: its parts, and a little the whole, as its parts speak for it already."""
    parts = _PARTS.findall(run)
    found = [(p, 1.0) for p in sorted({p.lower() for p in parts if len(p) <= 20})]
    return found + [(run.lower(), 0.25)] if len(parts) > 1 and len(run) <= 20 else found


def choose(groups, packages, encoder_words, size):
    """Single characters, then the most used words, then the most used word pieces."""
    share = Counter()
    for group, counter in groups.items():
        total = sum(counter.values()) + 20_000  # a small group has less to say
        weight = PROSE_WEIGHT if group in PROSE else 1
        for word, n in counter.items():
            share[word] += weight * n / total
    for word in encoder_words:
        if word in share:
            share[word] *= 4  # its starting vector was learned, and on far more text
    chars = "abcdefghijklmnopqrstuvwxyz0123456789"
    fixed = list(chars) + ["##" + c for c in chars]
    room = size - HASH_ROWS - len(fixed) - PIECES
    able = lambda w: len(w) > 1 and packages[w] >= 2 and not (w.isdigit() and len(w) > 2)
    ranked = sorted(filter(able, share), key=lambda w: (-share[w], w))
    words = ranked[:room]
    known = {w for w in encoder_words if w.startswith("##")} | set(fixed) | set(words)
    speller, pieces = Tokenizer(sorted(known)), Counter()
    for word in ranked[room:] + sorted(w for w in share if packages[w] == 1):
        for i in speller._word(word):
            if speller.words[i].startswith("##"):
                pieces[speller.words[i]] += share[word]
    spare = set(fixed)
    best = [p for p, _ in sorted(pieces.items(), key=lambda x: (-x[1], x[0])) if p not in spare][:PIECES]
    return sorted(set(fixed + words + best))


def idf(records, tokenizer, every=12):
    """Inverse document frequency per row, over documents."""
    df = np.zeros(tokenizer.rows())
    n = 0
    for i, record in enumerate(records):
        if i % every:
            continue
        n += 1
        df[list(set(tokenizer.encode(record["d"])))] += 1
    return np.log((n + 1) / (df + 1)).astype(np.float32)


def start_vectors(words, encoder, dimensions, seed):
    """Every word through the encoder, centred, principal components; hash rows at random."""
    vectors = encoder.encode([w.removeprefix("##") for w in words])
    vectors -= vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors[:: max(1, len(vectors) // 20000)], full_matrices=False)
    reduced = vectors @ axes[:dimensions].T
    reduced /= np.maximum(np.linalg.norm(reduced, axis=1, keepdims=True), 1e-9)
    rng = np.random.default_rng(seed)
    hashed = rng.standard_normal((HASH_ROWS, dimensions)).astype(np.float32)
    hashed /= np.linalg.norm(hashed, axis=1, keepdims=True)
    return np.vstack([reduced, hashed]).astype(np.float32)


def make(work, encoder, encoder_words, size, dimensions, seed):
    """The words (WORK/words.txt) and their starting rows, weighted by idf (WORK/start.npy)."""
    if not (work / "start.npy").exists():
        known = encoder_words.read_text(encoding="utf-8").splitlines()
        words = choose(*count(load(work / "pairs.jsonl")), known, size)
        weights = idf(load(work / "pairs.jsonl"), Tokenizer(words))
        np.save(work / "start.npy", start_vectors(words, encoder, dimensions, seed) * weights[:, None] * 0.1)
        (work / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    return (work / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]


def load(path):
    return (json.loads(line) for line in open(path, encoding="utf-8"))
