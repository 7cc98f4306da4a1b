"""python3 -m unittest models/tests.py: the promises that other code relies on."""

import hashlib
import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import scipy.sparse as sparse

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import extract
import fetch
import pairs
import sources
import train
from table import Table
from tokenizer import Tokenizer


class Tokens(unittest.TestCase):
    words = ["a", "b", "http", "server", "readfile", "read", "file", "urls", "un", "##known", "##x", "文"]

    def spelled(self, text):
        t = Tokenizer(self.words)
        return [t.words[i] if i < len(t.words) else "hash" for i in t.encode(text)]

    def test_identifiers_split_and_stay_whole(self):
        self.assertEqual(self.spelled("HTTPServer"), ["http", "server"])
        self.assertEqual(self.spelled("readFile read_file"), ["readfile", "read", "file", "read", "file"])
        self.assertEqual(self.spelled("URLs"), ["urls"])

    def test_unknown_words_are_spelled_and_other_scripts_hashed(self):
        self.assertEqual(self.spelled("unknownx"), ["un", "##known", "##x"])
        self.assertEqual(self.spelled("文字"), ["文", "hash", "hash"])
        self.assertEqual(self.spelled(""), [])


class Asset(unittest.TestCase):
    def test_round_trip(self):
        table = Table.quantised(["a", "b"], np.random.default_rng(0).standard_normal((2 + 1024, 8)).astype(np.float32), np.ones(1026, np.float32))
        with tempfile.TemporaryDirectory() as folder:
            table.write(Path(folder) / "t.bin")
            read = Table.read(Path(folder) / "t.bin")
        self.assertTrue(np.array_equal(table.rows, read.rows))
        self.assertTrue(np.array_equal(table.embed("a b b"), read.embed("a b b")))
        self.assertFalse(read.embed("").any())

    def test_committed_files_agree(self):
        file = HERE / "table/dir2mcp-256.bin"
        self.assertEqual(hashlib.sha256(file.read_bytes()).hexdigest(), (HERE / "table/SHA256").read_text().split()[0])
        self.assertLessEqual(file.stat().st_size, 10_000_000)
        table = Table.read(file)
        for golden in json.loads((HERE / "table/golden.json").read_text()):
            self.assertEqual(table.tokenizer.encode(golden["text"]), golden["tokens"])
            self.assertLess(np.abs(table.embed(golden["text"]) - golden["document"]).max(), 1e-5)
            self.assertLess(np.abs(table.embed(golden["text"], query=True) - golden["query"]).max(), 1e-5)


class Gates(unittest.TestCase):
    def test_evaluation_subjects_are_refused(self):
        excluded = sources.Excluded()
        for name in ("requests", "Django", "tokio-util", "serde_derive", "laravel-zero", "github.com/spf13/cobra".split("/")[-1]):
            self.assertTrue(excluded.package(name), name)
        self.assertFalse(excluded.package("requests-toolbelt"))
        self.assertTrue(excluded.path("pip/_vendor/requests/api.py"))
        for name in ("pypi.txt", "npm.txt", "debian.txt", "debian-source.txt"):
            self.assertTrue(list(fetch.pins(name)))

    def test_licences(self):
        for good in ("MIT", "Apache-2.0 OR GPL-2.0", "BSD-3-Clause", "MIT License"):
            self.assertTrue(sources.permissive(good), good)
        for bad in ("GPL-3.0", "LGPL-2.1", "", "MIT AND GPL-2.0", "Expat and CC-BY-SA-3.0"):
            self.assertFalse(sources.permissive(bad), bad)

    def test_evaluation_texts_are_compared_by_their_words(self):
        self.assertEqual(pairs.normal("Def  f(x):\n  return x_1"), "def f x return x 1")


class Extraction(unittest.TestCase):
    def test_python_function_without_its_documentation(self):
        code = 'def area(w, h):\n    """Compute the area of a rectangle."""\n    result = w * h\n    return result\n'
        record = next(extract.python("m.py", code))
        self.assertEqual(record["q"], "Compute the area of a rectangle.")
        self.assertNotIn("rectangle", record["d"])

    def test_rust_function(self):
        code = "/// Adds two numbers and returns the sum.\npub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
        record = next(extract.source("m.rs", code))
        self.assertEqual((record["n"], record["l"]), ("add", "rust"))


class Gradient(unittest.TestCase):
    def test_against_differences(self):
        rng = np.random.default_rng(0)
        rows, n, size = 30, 8, 6
        trainer = train.Trainer(np.zeros((rows, size)), train.Options(temperature=0.3))
        trainer.E, trainer.ratio = rng.standard_normal((rows, size)), 0.3 * rng.standard_normal(rows)
        some = lambda: train.matrix([rng.integers(0, rows, 5) for _ in range(n)], rows).astype(float)
        q, d, same = some(), some(), np.zeros((n, n), bool)
        _, to_queries, to_documents = trainer.gradients(q, d, same)
        found = to_queries * np.exp(trainer.ratio)[:, None] + to_documents

        def loss(E):
            Q, _ = train.unit((q @ sparse.diags(np.exp(trainer.ratio))) @ E)
            D, _ = train.unit(d @ E)
            S = Q @ D.T / 0.3
            return -(np.log(np.diag(train.softmax(S))) + np.log(np.diag(train.softmax(S.T)))).mean() / 2

        for i, j in ((3, 2), (7, 1), (20, 5)):
            step = np.zeros_like(trainer.E)
            step[i, j] = 1e-5
            self.assertAlmostEqual((loss(trainer.E + step) - loss(trainer.E - step)) / 2e-5, found[i, j], places=6)


if __name__ == "__main__":
    unittest.main()
