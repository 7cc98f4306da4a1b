"""Choose the vocabulary by use over all kinds of text alike, and give each word its starting vector."""

import json
import re
from collections import Counter, defaultdict

import numpy as np

from tokenizer import HASH_ROWS, Tokenizer, _PARTS, _RUN, normalise

PIECES = 3500
_WORD = re.compile(r"[a-z]+|[0-9]+")


def count(records, every=3):
    """Uses per group (language, or prose) of words, and of runs that have several parts."""
    groups = defaultdict(Counter)
    for i, record in enumerate(records):
        if i % every:
            continue
        counter = groups[record["l"] or record["k"]]
        text = f"{record['q']} {record.get('x', '')} {record['d']}"
        for run in set(_RUN.findall(normalise(text))):
            if not run.isascii():
                continue
            parts = _PARTS.findall(run)
            counter.update({p.lower() for p in parts})
            if len(parts) > 1 and len(run) <= 20:
                counter[run.lower()] += 0.4  # its parts speak for it already
    return groups


def choose(groups, encoder_words, size):
    """Single characters, then the most used words, then the most used word pieces."""
    share = Counter()
    raw = Counter()
    for counter in groups.values():
        total = sum(counter.values())
        for word, n in counter.items():
            raw[word] += n
            share[word] += n / total
    chars = "abcdefghijklmnopqrstuvwxyz0123456789"
    fixed = list(chars) + ["##" + c for c in chars]
    fixed += [w for w in encoder_words if len(w) == 1 and not w.isascii() and w.isalnum()]
    room = size - HASH_ROWS - len(fixed) - PIECES
    ranked = sorted((w for w in share if len(w) > 1 and raw[w] >= 8 and not (w.isdigit() and len(w) > 4)),
                    key=lambda w: (-share[w], w))
    words = ranked[:room]
    pieces = Counter()
    known = {w for w in encoder_words if w.startswith("##")} | set(fixed) | set(words)
    speller = Tokenizer(sorted(known))
    for word in ranked[room:]:
        for i in speller._word(word):
            if speller.words[i].startswith("##"):
                pieces[speller.words[i]] += share[word]
    best = [p for p, _ in sorted(pieces.items(), key=lambda x: (-x[1], x[0])) if p not in set(fixed)][:PIECES]
    return sorted(set(fixed + words + best)), share


def idf(records, tokenizer, every=5):
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


def load(path):
    return (json.loads(line) for line in open(path, encoding="utf-8"))
