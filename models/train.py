"""Contrastive training of the table with in-batch negatives: numpy, scipy and one fused Adam kernel; no framework.

A document is the sum of its rows, a query the sum of its rows times a learned ratio per token; both scaled to unit
length. Each batch asks every query to find its own document among all of the batch, and every document its query.
"""

import hashlib
import math
import multiprocessing
import time
from dataclasses import dataclass

import numba
import numpy as np
import scipy.sparse as sparse

# How a query's language is named when it is named.
LANGUAGE_WORDS = {"c++": "cpp", "c#": "csharp"}
QUERY_STOP = "a an the of to is are in on for and or that this with by as be it if its from returns return".split()


# How often a group is seen per epoch.
GROUP_WEIGHTS = {"function/python": 1.5, "gloss/": 2.0}


@dataclass
class Options:
    epochs: int = 2
    batch: int = 2048
    rate: float = 8e-3
    ratio_rate: float = 6e-3
    temperature: float = 0.05
    warm_up: float = 0.05
    seed: int = 7
    document_tokens: int = 256
    package_run: int = 16
    name_rate: float = 0.12
    language_rate: float = 0.3
    how_rate: float = 0.12
    stop_rate: float = 0.3
    said_rate: float = 0.5


class Ragged:
    """Many token lists in one array."""

    def __init__(self, lists):
        self.ends = np.cumsum([0] + [len(x) for x in lists])
        self.flat = np.fromiter((i for x in lists for i in x), np.int32, int(self.ends[-1]))

    @classmethod
    def join(cls, parts):
        whole = cls([])
        whole.flat = np.concatenate([p.flat for p in parts])
        whole.ends = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(p.ends) for p in parts]))])
        return whole

    def __getitem__(self, i):
        return self.flat[self.ends[i] : self.ends[i + 1]]

    def __len__(self):
        return len(self.ends) - 1


_work = None  # what forked tokenising processes inherit


def _tokenise(span):
    records, tokenizer, cut = _work
    chosen = records[span[0] : span[1]]
    encode = tokenizer.encode
    return (
        Ragged([encode(r["q"])[:64] for r in chosen]),
        Ragged([encode(r["n"])[:12] if r.get("n") else [] for r in chosen]),
        Ragged([encode(r["d"])[:cut] for r in chosen]),
        Ragged([encode(r.get("x") or "")[:80] for r in chosen]),
    )


class Records:
    """Tokenised records, and what batches need to know of them."""

    def __init__(self, records, tokenizer, options):
        global _work
        _work = records, tokenizer, options.document_tokens
        spans = [(i, min(i + 20_000, len(records))) for i in range(0, len(records), 20_000)]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            parts = pool.map(_tokenise, spans, chunksize=1)
        self.queries, self.names, self.documents, self.said = (Ragged.join([p[j] for p in parts]) for j in range(4))
        self.group = [f"{r['k']}/{r['l']}" for r in records]
        self.package = [r["p"] for r in records]
        self.language = [r["l"] for r in records]
        self.key = np.array([hash_of(" ".join(r["q"].lower().split())) for r in records], np.uint64)
        encode = tokenizer.encode
        self.language_tokens = {
            l: np.array(encode(LANGUAGE_WORDS.get(l, l)), np.int32) for l in sorted(set(self.language)) if l
        }
        self.how = np.array(encode("how to"), np.int32)
        self.stop = np.array(sorted({t for w in QUERY_STOP for t in encode(w)}), np.int32)

    def __len__(self):
        return len(self.key)

    def query(self, i, rng, options):
        """One of the ways to ask for record i."""
        tokens, language = self.queries[i], self.language[i]
        if not language:
            return tokens
        name = self.names[i]
        if len(name) >= 2 and rng.random() < options.name_rate:
            tokens = name
        elif rng.random() < options.stop_rate:
            kept = tokens[~np.isin(tokens, self.stop)]
            tokens = kept if len(kept) else tokens
        if rng.random() < options.how_rate:
            tokens = np.concatenate([self.how, tokens])
        if rng.random() < options.language_rate:
            tokens = np.concatenate([tokens, self.language_tokens[language]])
        return tokens

    def document(self, i, rng, options):
        """Record i's document; sometimes with a part of what its documentation says, as indexed code has it."""
        tokens = self.documents[i]
        if self.language[i] and rng.random() < options.said_rate:
            share = rng.random()
            told = np.concatenate([self.queries[i], self.said[i]])
            told = told[rng.random(len(told)) < share * 0.7]
            tokens = np.concatenate([tokens, told])
        return tokens


def batches(records, options, rng):
    """Batches of one group each, in which runs of records share a package: neighbours are the hard negatives."""
    by_group = {}
    for i, g in enumerate(records.group):
        by_group.setdefault(g, []).append(i)
    out = []
    small = []
    for group in sorted(by_group):
        share = GROUP_WEIGHTS.get(group, 1.0)
        members = np.array(by_group[group])
        take = int(len(members) * share)
        picked = np.concatenate([rng.permutation(members) for _ in range(math.ceil(share))])[:take] if take else members[:0]
        if len(picked) < options.batch:
            small.append(picked)
            continue
        packages = np.array([hash_of(records.package[i]) for i in picked], np.uint64)
        order = picked[np.argsort(packages, kind="stable")]
        runs = [order[s : s + options.package_run] for s in range(0, len(order), options.package_run)]
        mixed = np.concatenate([runs[j] for j in rng.permutation(len(runs))])
        out += [mixed[s : s + options.batch] for s in range(0, len(mixed) - options.batch + 1, options.batch)]
    rest = rng.permutation(np.concatenate(small)) if small else np.zeros(0, np.int64)
    out += [rest[s : s + options.batch] for s in range(0, len(rest) - options.batch + 1, options.batch)]
    return [out[j] for j in rng.permutation(len(out))]


def hash_of(text):
    return int.from_bytes(hashlib.md5(text.encode()).digest()[:8], "little")


def matrix(lists, rows):
    lengths = np.array([len(x) for x in lists])
    flat = np.concatenate(lists)
    owner = np.repeat(np.arange(len(lists), dtype=np.int32), lengths)
    m = sparse.coo_matrix((np.ones(len(flat), np.float32), (owner, flat)), shape=(len(lists), rows)).tocsr()
    m.data = 1 + np.log(m.data)
    return m


@numba.njit(cache=True)
def adam(x, g, m, v, rate, step):
    """One Adam step in place over flat arrays."""
    a = rate * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    for i in range(x.size):
        gi = g[i]
        m[i] = 0.9 * m[i] + 0.1 * gi
        v[i] = 0.999 * v[i] + 0.001 * gi * gi
        x[i] -= a * m[i] / (math.sqrt(v[i]) + 1e-8)


def unit(x):
    n = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-6)
    return x / n, n


def softmax(s):
    s = s - s.max(axis=1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(axis=1, keepdims=True)
    return s


class Trainer:
    """The table while it learns: one row per token, and the log of each token's query ratio."""

    def __init__(self, vectors, options):
        self.o = options
        self.E = np.array(vectors, np.float32, order="C")  # a copy: the start is needed again
        self.ratio = np.zeros(len(vectors), np.float32)
        self.state = [np.zeros(self.E.size, np.float32) for _ in range(2)]
        self.ratio_state = [np.zeros(self.ratio.size, np.float32) for _ in range(2)]
        self.step = 0

    def fit(self, records, report=None):
        o = self.o
        rng = np.random.default_rng(o.seed)
        plan = [batches(records, o, rng) for _ in range(o.epochs)]
        total = sum(map(len, plan))
        begun, losses = time.time(), []
        for epoch, chosen in enumerate(plan):
            for rows in chosen:
                rate = min(1.0, (self.step + 1) / (o.warm_up * total)) * (1 - self.step / total) + 0.01
                losses.append(self.one(records, rows, rng, rate))
                if self.step % 50 == 0:
                    print(f"step {self.step}/{total} loss {np.mean(losses[-50:]):.3f} {time.time() - begun:.0f}s", flush=True)
            if report:
                report(epoch, self)

    def one(self, records, rows, rng, rate):
        """One batch, one step of Adam. Returns the loss."""
        o = self.o
        q = matrix([records.query(i, rng, o) for i in rows], len(self.E))
        d = matrix([records.document(i, rng, o) for i in rows], len(self.E))
        keys = records.key[rows]
        same = keys[:, None] == keys[None, :]
        np.fill_diagonal(same, False)
        loss, to_queries, to_documents = self.gradients(q, d, same)
        r = np.exp(self.ratio)
        ratio_gradient = r * np.einsum("ij,ij->i", to_queries, self.E)
        to_queries *= r[:, None]
        to_queries += to_documents
        self.step += 1
        adam(self.E.reshape(-1), to_queries.reshape(-1), *self.state, o.rate * rate, self.step)
        adam(self.ratio, ratio_gradient, *self.ratio_state, o.ratio_rate * rate, self.step)
        return loss

    def gradients(self, q, d, same):
        """Loss, and its gradient for the rows as queries (before the ratio) and as documents."""
        Q, qn = unit((q @ sparse.diags(np.exp(self.ratio))) @ self.E)
        D, dn = unit(d @ self.E)
        loss, G = contrast(Q @ D.T, same, self.o.temperature)
        dQ, dD = G @ D, G.T @ Q
        dQ = (dQ - (dQ * Q).sum(axis=1, keepdims=True) * Q) / qn
        dD = (dD - (dD * D).sum(axis=1, keepdims=True) * D) / dn
        return loss, q.T @ dQ, d.T @ dD


def contrast(S, same, temperature):
    """Symmetric cross-entropy of finding the own partner; `same` marks pairs that are no negatives."""
    n = len(S)
    S = S / temperature
    S[same] = -1e4
    A, B = softmax(S), softmax(S.T)
    loss = -np.log(np.maximum(np.diag(A), 1e-9)).mean()
    G = A + B.T
    G[np.arange(n), np.arange(n)] -= 2
    G /= 2 * n * temperature
    return loss, G
