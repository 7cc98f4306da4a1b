"""Contrastive training of the table with in-batch negatives: numpy, scipy and one fused Adam kernel; no framework.

A document is the sum of its rows, a query the sum of its rows times a learned ratio per token; both scaled to unit
length. Each batch asks every query to find its own document among all of the batch, and every document its query.
"""

import hashlib
import math
import time
from dataclasses import dataclass

import numba
import numpy as np
import scipy.sparse as sparse

# How a query's language is named when it is named.
LANGUAGE_WORDS = {"c++": "cpp", "c#": "csharp"}
QUERY_STOP = "a an the of to is are in on for and or that this with by as be it if its from returns return".split()


@dataclass
class Options:
    epochs: int = 4
    batch: int = 2048
    rate: float = 6e-3
    ratio_rate: float = 6e-3
    temperature: float = 0.05
    warm_up: float = 0.05
    teacher_weight: float = 0.0
    teacher_temperature: float = 0.05
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

    def __getitem__(self, i):
        return self.flat[self.ends[i] : self.ends[i + 1]]

    def __len__(self):
        return len(self.ends) - 1


class Records:
    """Tokenised records, and what batches need to know of them."""

    def __init__(self, records, tokenizer, options):
        cut = options.document_tokens
        queries, names, documents, said = [], [], [], []
        self.group, self.package, self.key, self.language = [], [], [], []
        encode = tokenizer.encode
        for r in records:
            queries.append(encode(r["q"])[:64])
            names.append(encode(r["n"])[:12] if r.get("n") else [])
            documents.append(encode(r["d"])[:cut])
            said.append(encode(r.get("x") or "")[:80])
            self.group.append(f"{r['k']}/{r['l']}")
            self.package.append(r["p"])
            self.language.append(r["l"])
            self.key.append(int.from_bytes(hashlib.md5(" ".join(r["q"].lower().split()).encode()).digest()[:8], "little"))
        self.queries, self.names, self.documents, self.said = map(Ragged, (queries, names, documents, said))
        self.key = np.array(self.key, np.uint64)
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


def batches(records, options, rng, weights):
    """Batches of one group each, in which runs of records share a package: neighbours are the hard negatives."""
    by_group = {}
    for i, g in enumerate(records.group):
        by_group.setdefault(g, []).append(i)
    out = []
    small = []
    for group in sorted(by_group):
        share = weights(group)
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
    def __init__(self, vectors, options, teacher=None):
        """`teacher`: None, or (row of each record or -1, query vectors): unit vectors of the queries."""
        self.o = options
        self.E = np.ascontiguousarray(vectors, np.float32)
        self.ratio = np.zeros(len(vectors), np.float32)  # log of the query ratio
        self.state = [np.zeros(self.E.size, np.float32) for _ in range(2)]
        self.ratio_state = [np.zeros(self.ratio.size, np.float32) for _ in range(2)]
        self.teacher = teacher
        self.step = 0

    def fit(self, records, weights, report=None):
        o = self.o
        rng = np.random.default_rng(o.seed)
        plan = [batches(records, o, rng, weights) for _ in range(o.epochs)]
        total = sum(map(len, plan))
        begun = time.time()
        for epoch, chosen in enumerate(plan):
            losses = []
            for rows in chosen:
                progress = self.step / total
                rate = min(1.0, (self.step + 1) / (o.warm_up * total)) * (1 - progress) + 0.01
                losses.append(self.one(records, rows, rng, rate))
                if self.step % 50 == 0:
                    print(f"step {self.step}/{total} loss {np.mean(losses[-50:]):.3f} {time.time() - begun:.0f}s", flush=True)
            if report:
                report(epoch, self)

    def one(self, records, rows, rng, rate):
        o = self.o
        q = matrix([records.query(i, rng, o) for i in rows], len(self.E))
        d = matrix([records.document(i, rng, o) for i in rows], len(self.E))
        r = np.exp(self.ratio)
        qr = q @ sparse.diags(r, dtype=np.float32)
        Q, qn = unit(qr @ self.E)
        D, dn = unit(d @ self.E)
        S = (Q @ D.T) / o.temperature
        keys = records.key[rows]
        same = keys[:, None] == keys[None, :]
        np.fill_diagonal(same, False)
        S[same] = -1e4
        A, B = softmax(S.copy()), softmax(S.T.copy())
        loss = -np.log(np.maximum(np.diag(A), 1e-9)).mean()
        n = len(rows)
        G = A + B.T
        G[np.arange(n), np.arange(n)] -= 2
        G /= 2 * n * o.temperature
        dQ, dD = G @ D, G.T @ Q
        if self.teacher is not None and o.teacher_weight:
            dQ += self.distil(records, rows, Q)
        dQ = (dQ - (dQ * Q).sum(axis=1, keepdims=True) * Q) / qn
        dD = (dD - (dD * D).sum(axis=1, keepdims=True) * D) / dn
        gq = q.T @ dQ
        ratio_grad = r * np.einsum("ij,ij->i", gq, self.E)
        gq *= r[:, None]
        gq += d.T @ dD
        self.step += 1
        adam(self.E.reshape(-1), gq.reshape(-1), *self.state, o.rate * rate, self.step)
        adam(self.ratio, ratio_grad.astype(np.float32), *self.ratio_state, o.ratio_rate * rate, self.step)
        return loss

    def distil(self, records, rows, Q):
        """Queries among themselves should be as near as the teacher finds them."""
        where, vectors = self.teacher
        known = np.nonzero(where[rows] >= 0)[0]
        out = np.zeros_like(Q)
        if len(known) < 64:
            return out
        T = vectors[where[rows[known]]]
        q = Q[known]
        s, t = (q @ q.T) / self.o.teacher_temperature, (T @ T.T) / self.o.teacher_temperature
        np.fill_diagonal(s, -1e4)
        np.fill_diagonal(t, -1e4)
        G = (softmax(s) - softmax(t)) / (len(known) * self.o.teacher_temperature)
        out[known] = self.o.teacher_weight * (G + G.T) @ q
        return out
