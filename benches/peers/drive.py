"""What the measurements ask of semble.

    drive.py convert FOLDER              WordLlama's table, out of its wheel, as a Model2Vec folder that semble can load
    drive.py search TREE COUNT CONTENT   answers queries in process, one per line of standard input; prints a line of JSON
                                         with what the index holds, then one per query with what was found and what it took

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


def search(tree, count, content):
    from semble import ContentType, SembleIndex

    content = list(ContentType) if content == "all" else [ContentType(content)]
    index = SembleIndex.from_path(tree, content=content)
    if not index.loaded_from_disk:
        sys.exit("there is no index to load")
    tell({"files": index.stats.indexed_files, "chunks": index.stats.total_chunks})
    for query in sys.stdin:
        started, cpu = time.perf_counter_ns(), time.process_time_ns()
        results = index.search(query.rstrip("\n"), top_k=count)
        wall, cpu = time.perf_counter_ns() - started, time.process_time_ns() - cpu
        found = [{"path": result.chunk.file_path, "text": result.chunk.content} for result in results]
        tell({"wall": wall, "cpu": cpu, "found": found})


def tell(facts):
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["convert", folder]:
            convert(folder)
        case ["search", tree, count, content]:
            search(tree, int(count), content)
        case _:
            sys.exit(__doc__)
