"""The packages that training may read: pinned names, the exclusion list, the licence gate, and their files."""

import email
import gzip
import hashlib
import io
import json
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
MAX_FILE = 400_000

# Debian packages whose copyright file no program can judge: the licence under which each project is known to be published.
STATED = {
    "golang-1.19-doc": "BSD-3-Clause",
    "golang-1.19-src": "BSD-3-Clause",
    "postgresql-doc-15": "PostgreSQL",
    "python3.11-doc": "PSF-2.0",
    "wordnet-base": "WordNet",
}

_PERMISSIVE = re.compile(
    r"\b(MIT|Expat|X11|BSD\w*|0BSD|Apache|ISC|PSF\w*|Python Software Foundation|Python|Zlib|Unlicense|CC0|Public.Domain|HPND"
    r"|Boost|BSL-1\.0|Zope|ZPL|PostgreSQL|BlueOak|WTFPL|Ruby|PHP|NCSA|Unicode|OpenSSL|PCRE|public|Go|BSL|WordNet|TCL\w*|MIT-0|curl)\b",
    re.I,
)
_OTHER = re.compile(
    r"\b(A?L?GPL\S*|GNU|MPL\S*|Mozilla|EPL\S*|Eclipse|EUPL\S*|CDDL\S*|CC-BY\S*|Creative|GFDL\S*|Artistic|SSPL\S*|BUSL\S*"
    r"|Proprietary|Commercial|Elastic|Commons Clause|UNLICENSED|Non-?Commercial)",
    re.I,
)


def permissive(licence):
    """True when a licence statement names a permissive licence and no other kind (an SPDX "OR" may choose)."""
    choices = re.split(r"\s+OR\s+|/", licence) if re.search(r"\bOR\b|/", licence) else [licence]
    return any(_PERMISSIVE.search(c) and not _OTHER.search(c) for c in choices)


def _fold(name):
    return re.sub(r"[-_.@/]+", "-", name.lower()).strip("-")


class Excluded:
    """The names in excluded.txt, as package names and as folders of a path."""

    def __init__(self, path=HERE / "excluded.txt"):
        lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
        names = [_fold(line) if not line.endswith("*") else _fold(line[:-1]) + "*" for line in lines if line]
        exact = "|".join(re.escape(n) for n in names if not n.endswith("*"))
        starts = "|".join(re.escape(n[:-1]) for n in names if n.endswith("*"))
        self._name = re.compile(rf"(?:{exact})$|(?:{starts})")

    def package(self, name):
        return bool(self._name.match(_fold(name)))

    def path(self, path):
        return any(self._name.match(_fold(part)) for part in path.split("/")[:-1])


class Package:
    """One downloaded archive: where it came from, what its licence says, and its text files."""

    def __init__(self, registry, name, version, licence, files):
        self.registry, self.name, self.version, self.licence, self.files = registry, name, version, licence, files


def open_package(registry, path, wanted):
    """Read an archive; `wanted(path)` chooses its files. Returns a Package whose files are sorted (path, text)."""
    reader = {"pypi": _wheel, "npm": _npm, "cargo": _crate, "debian": _deb, "debian-source": _deb_source}[registry]
    return reader(path, wanted)


def _text(data):
    if b"\0" in data[:4096]:
        return None
    return data.decode("utf-8", "replace")


def _wheel(path, wanted):
    files, meta = [], None
    with zipfile.ZipFile(path) as archive:
        for info in sorted(archive.infolist(), key=lambda i: i.filename):
            if re.fullmatch(r"[^/]+\.dist-info/METADATA", info.filename):
                meta = email.message_from_string(archive.read(info).decode("utf-8", "replace"))
            elif info.file_size <= MAX_FILE and wanted(info.filename):
                files.append((info.filename, _text(archive.read(info))))
    licence = meta["License-Expression"] or "; ".join(
        c.split("::")[-1].strip() for c in meta.get_all("Classifier") or [] if c.startswith("License")
    )
    if not licence or licence == "OSI Approved":
        licence = (meta["License"] or "").strip()[:60].split("\n")[0]
    body = meta.get_payload() if isinstance(meta.get_payload(), str) else ""
    files.append(("SUMMARY", json.dumps([meta["Name"], meta["Summary"] or "", body])))
    return Package("pypi", meta["Name"], meta["Version"], licence, _clean(files))


def _npm(path, wanted):
    files, meta = [], {}
    with tarfile.open(path) as archive:
        for info in archive:
            if not info.isfile() or info.size > MAX_FILE:
                continue
            inner = info.name.split("/", 1)[-1]
            if inner == "package.json":
                meta = json.loads(archive.extractfile(info).read().decode("utf-8", "replace"))
            elif wanted(inner):
                files.append((inner, _text(archive.extractfile(info).read())))
    licence = meta.get("license", "")
    licence = licence.get("type", "") if isinstance(licence, dict) else str(licence)
    readme = next((t for p, t in sorted(files) if p.lower() == "readme.md"), "")
    files.append(("SUMMARY", json.dumps([meta.get("name", ""), meta.get("description") or "", readme or ""])))
    return Package("npm", meta.get("name", ""), meta.get("version", ""), licence, _clean(files))


def _crate(path, wanted):
    meta = tomllib.loads((path / "Cargo.toml").read_text(errors="replace"))["package"]
    files = []
    for file in sorted(path.rglob("*")):
        inner = str(file.relative_to(path))
        if file.is_file() and file.stat().st_size <= MAX_FILE and wanted(inner):
            files.append((inner, _text(file.read_bytes())))
    licence = str(meta.get("license", ""))
    readme = next((t for p, t in files if p.lower() == "readme.md"), "")
    files.append(("SUMMARY", json.dumps([meta["name"], str(meta.get("description", "")), readme or ""])))
    return Package("cargo", meta["name"], str(meta["version"]), licence, _clean(files))


def _deb(path, wanted):
    name, version, _ = path.name.split("_", 2)
    copyright_text, files = "", []
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(path)], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for info in archive:
            if not info.isfile():
                continue
            inner = info.name.removeprefix("./")
            if inner == f"usr/share/doc/{name}/copyright":
                copyright_text = archive.extractfile(info).read().decode("utf-8", "replace")
                continue
            plain = inner.removesuffix(".gz")
            big = "/wordnet/" in inner
            if (info.size <= MAX_FILE or big) and wanted(plain):
                content = archive.extractfile(info).read()
                files.append((plain, _text(gzip.decompress(content) if inner.endswith(".gz") else content)))
    licence = STATED.get(name) or debian_licence(copyright_text)
    return Package("debian", name, version.replace("%3a", ":"), licence, _clean(files))


def _deb_source(path, wanted):
    """`path` is the .dsc file; the upstream archive and the packaging lie beside it."""
    dsc = path.read_text(errors="replace")
    name = re.search(r"^Source: (\S+)", dsc, re.M).group(1)
    version = re.search(r"^Version: (\S+)", dsc, re.M).group(1)
    copyright_text, files = "", []
    for archive_name in sorted(set(re.findall(r"^ \w+ \d+ (\S+\.tar\.\w+)$", dsc, re.M))):
        with tarfile.open(path.parent / archive_name) as archive:
            for info in archive:
                if not info.isfile() or info.size > MAX_FILE:
                    continue
                inner = info.name.removeprefix("./")
                if inner.endswith("debian/copyright"):
                    copyright_text = archive.extractfile(info).read().decode("utf-8", "replace")
                elif wanted(inner.split("/", 1)[-1]):
                    files.append((inner.split("/", 1)[-1], _text(archive.extractfile(info).read())))
    return Package("debian-source", name, version, debian_licence(copyright_text), _clean(files))


def debian_licence(text):
    """The licence of the packaged work: of the "Files: *" stanza, or of the whole text when it has no stanzas."""
    stanzas = [s for s in re.split(r"\n\s*\n", text) if re.search(r"^Files:", s, re.M)]
    for stanza in stanzas:
        files, licence = re.search(r"^Files:\s*(\S+)", stanza, re.M), re.search(r"^License:\s*(.+)", stanza, re.M)
        if files and licence and files.group(1) in ("*", "./*"):
            return licence.group(1).strip()
    if stanzas or _OTHER.search(text):
        return "unclear"
    match = re.search(r"MIT|BSD|Apache|PSF|PostgreSQL|public domain|Permission (?:to use|is hereby granted)", text)
    return "unclear" if not match else "MIT-style" if match.group(0).startswith("Permission") else match.group(0)


def _clean(files):
    return sorted((p, t) for p, t in files if t)


def digest(path):
    """SHA-256 of an archive (of a crate: of its sorted files)."""
    h = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        h.update(file.read_bytes())
    return h.hexdigest()
