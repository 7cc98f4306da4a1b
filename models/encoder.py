"""all-MiniLM-L6-v2 through onnxruntime: where the rows start from. Not part of the product."""

from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


class Encoder:
    """`folder` holds model.onnx (int8) and tokenizer.json as fetch.py laid them out."""

    def __init__(self, folder, max_tokens=96, threads=1):
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.enable_truncation(max_tokens)
        self.tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(
            str(Path(folder) / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def encode(self, texts, batch_tokens=1024, progress=None):
        """Unit vectors, float32. Texts of one length run together, so nothing is padded and no result depends on its neighbours."""
        ids = [e.ids for e in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: (len(ids[i]), i))
        out = np.zeros((len(ids), 384), np.float32)
        start = 0
        while start < len(order):
            length = len(ids[order[start]])
            end = start
            while end < len(order) and len(ids[order[end]]) == length and (end - start + 1) * length <= max(batch_tokens, length):
                end += 1
            chosen = order[start:end]
            batch = np.array([ids[i] for i in chosen], np.int64)
            feed = {"input_ids": batch, "attention_mask": np.ones_like(batch), "token_type_ids": np.zeros_like(batch)}
            pooled = self.session.run(None, feed)[0].mean(axis=1)
            out[chosen] = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
            start = end
            if progress:
                progress(start, len(order))
        return out
