"""What the bench asks of semble.

    drive.py convert FOLDER       WordLlama's table, out of its wheel, as a Model2Vec folder that semble can load
    drive.py search TREE COUNT    answers queries in process, one per line of standard input; prints what each took

semble's own table is downloaded from a model hub; WordLlama's lies in its package and has the same form: one vector per
token, the mean of a text's vectors normalised.
"""

import json
import pathlib
import sys
import time


def convert(folder):
    import safetensors.numpy
    import tokenizers
    import wordllama
    from model2vec import StaticModel

    package = pathlib.Path(wordllama.__file__).parent
    weights = safetensors.numpy.load_file(package / "weights" / "l2_supercat_256.safetensors")
    tokenizer = tokenizers.Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    model = StaticModel(vectors=weights["embedding.weight"], tokenizer=tokenizer, normalize=True)
    model.save_pretrained(folder)


def search(tree, count):
    from semble import ContentType, SembleIndex

    index = SembleIndex.from_path(tree, content=list(ContentType))
    if not index.loaded_from_disk:
        sys.exit("there is no index to load")
    took = []
    for query in sys.stdin.read().splitlines():
        started = time.perf_counter_ns()
        cpu = time.process_time_ns()
        index.search(query, top_k=count)
        took.append([time.perf_counter_ns() - started, time.process_time_ns() - cpu])
    json.dump({"files": index.stats.indexed_files, "chunks": index.stats.total_chunks, "took": took}, sys.stdout)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["convert", folder]:
            convert(folder)
        case ["search", tree, count]:
            search(tree, int(count))
        case _:
            sys.exit(__doc__)
