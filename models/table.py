"""The asset: a file of words and int8 rows, and text to vector with it. README.md, "File format", is the specification."""

import struct
from pathlib import Path

import numpy as np
import scipy.sparse as sparse

from tokenizer import HASH_ROWS, MAX_TOKENS, MAX_WORD, Tokenizer

MAGIC = b"D2MEMB01"
HEADER = struct.Struct("<8sIIIIII")  # magic, words, hash rows, dimensions, max tokens, max word, bytes of words


class Table:
    """`rows` int8 (or float32 while training), one scale per row for documents and one for queries."""

    def __init__(self, words, rows, scales, query_scales):
        self.tokenizer = Tokenizer(words)
        self.rows, self.scales, self.query_scales = rows, scales, query_scales

    @classmethod
    def quantised(cls, words, vectors, query_ratio):
        """From float32 rows; `query_ratio` multiplies a token's weight in queries."""
        peak = np.maximum(np.abs(vectors).max(axis=1), 1e-12).astype(np.float32)
        scales = (peak / 127).astype(np.float32)
        rows = np.clip(np.rint(vectors / scales[:, None]), -127, 127).astype(np.int8)
        return cls(words, rows, scales, (scales * query_ratio).astype(np.float32))

    def embed(self, text, query=False):
        """The unit vector of one text, float32; without tokens the zero vector."""
        tokens, counts = np.unique(np.array(self.tokenizer.encode(text), np.int64), return_counts=True)
        scales = (self.query_scales if query else self.scales)[tokens] * (1 + np.log(counts.astype(np.float32)))
        summed = scales @ self.rows[tokens].astype(np.float32)
        norm = np.linalg.norm(summed)
        return summed / norm if norm > 0 else summed

    def embed_all(self, texts, query=False):
        """`embed` of many texts at once."""
        counts = count_matrix([self.tokenizer.encode(t) for t in texts], self.tokenizer.rows())
        scales = self.query_scales if query else self.scales
        summed = (counts @ sparse.diags(scales, dtype=np.float32)) @ self.rows.astype(np.float32)
        norms = np.linalg.norm(summed, axis=1, keepdims=True)
        return np.divide(summed, norms, out=np.zeros_like(summed), where=norms > 0)

    def write(self, path):
        words = b"".join(w.encode("utf-8") + b"\n" for w in self.tokenizer.words)
        words += b"\0" * (-len(words) % 4)
        header = HEADER.pack(MAGIC, len(self.tokenizer.words), HASH_ROWS, self.rows.shape[1], MAX_TOKENS, MAX_WORD, len(words))
        data = header + words + self.scales.astype("<f4").tobytes() + self.query_scales.astype("<f4").tobytes() + self.rows.tobytes()
        partial = Path(str(path) + ".partial")
        partial.write_bytes(data)
        partial.replace(path)

    @classmethod
    def read(cls, path):
        data = Path(path).read_bytes()
        magic, words, hashed, dimensions, _, _, length = HEADER.unpack_from(data)
        if magic != MAGIC or hashed != HASH_ROWS:
            raise ValueError(f"{path}: not a table of this version")
        at = HEADER.size
        names = data[at : at + length].rstrip(b"\0").decode("utf-8").split("\n")[:words]
        at += length
        count = words + hashed
        scales = np.frombuffer(data, "<f4", count, at)
        query_scales = np.frombuffer(data, "<f4", count, at + 4 * count)
        rows = np.frombuffer(data, np.int8, count * dimensions, at + 8 * count).reshape(count, dimensions)
        return cls(names, rows, scales, query_scales)


def count_matrix(token_lists, rows):
    """Texts by tokens, each entry 1 + ln(tf)."""
    lengths = np.fromiter((len(t) for t in token_lists), np.int64, len(token_lists))
    flat = np.fromiter((i for t in token_lists for i in t), np.int32, int(lengths.sum()))
    owner = np.repeat(np.arange(len(token_lists)), lengths)
    matrix = sparse.coo_matrix((np.ones(len(flat), np.float32), (owner, flat)), shape=(len(token_lists), rows)).tocsr()
    matrix.data = 1 + np.log(matrix.data)
    return matrix
