"""Make the table: fetch, pairs, train, evaluate, export. Each step keeps its result in WORK and is skipped when it is there.

    python3 make.py WORK [--sets EVAL] [--repos REPOS] [--out FOLDER]
"""

import argparse
import json
import os
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "2"  # the sums of a matrix product depend on it

import numpy as np

import fetch
import pairs
import train
import vocabulary
from encoder import Encoder
from evaluate import Evaluator, heldout_set, load_sets
from export import export
from sources import HERE
from table import Table
from tokenizer import Tokenizer

ROWS = 36_000
DIMENSIONS = 256
SEED = 7
# How much of the start is added to the trained rows: they keep a little more of what the encoder knew of other texts.
KEPT_START = 0.6
EVALUATION_TEXTS = ("code-cosqa-dev", "prose-cranfield")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", type=Path, help="evaluation sets: kept out of training, scored at the end")
    parser.add_argument("--repos", type=Path, help="the packages of code-dev, one folder each")
    parser.add_argument("--out", type=Path, default=HERE / "table")
    args = parser.parse_args()
    work = args.work.resolve()
    downloads = work / "downloads"
    evaluation = [args.sets / name for name in EVALUATION_TEXTS] if args.sets else []

    fetch.fetch(downloads)
    if not (work / "data.json").exists():
        lists = downloads / "debian/apt/state/lists"
        pairs.build(fetch.jobs(downloads), evaluation, lists, work / "pairs.jsonl", work / "data.json")

    encoder = Encoder(downloads / "encoder", threads=2)
    words = vocabulary.make(work, encoder, downloads / "encoder/vocab.txt", ROWS, DIMENSIONS, SEED)
    start = np.load(work / "start.npy")

    options = train.Options(seed=SEED)
    kept, held = pairs.split(vocabulary.load(work / "pairs.jsonl"))
    records = train.Records(kept, Tokenizer(words), options)
    trainer = train.Trainer(start, options)
    trainer.fit(records)
    table = Table.quantised(words, trainer.E + np.float32(KEPT_START) * start, np.exp(trainer.ratio))

    sets = [heldout_set(held)] + (load_sets(args.sets, args.repos) if args.sets else [])
    figures = {"ndcg_at_10": Evaluator(sets).scores(table), "records": len(records), "rows": len(start)}
    export(table, figures, args.out)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
