"""Compares Python outlines with CPython's ast. Arguments: the outlines program, then folders. Prints differences."""

import ast
import io
import json
import os
import subprocess
import sys
import tempfile
import tokenize
import warnings

warnings.simplefilter("ignore")
sys.setrecursionlimit(10000)

CONTROL = {
    ast.If: "if", ast.For: "for", ast.AsyncFor: "async_for", ast.While: "while", ast.Try: "try",
    ast.With: "with", ast.AsyncWith: "async_with", ast.Match: "match",
}
if hasattr(ast, "TryStar"):
    CONTROL[ast.TryStar] = "try_star"


def expected(tree):
    rows = []

    def visit(node, scopes, controls):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                rows.append(row(child, scopes, controls))
                kind = "class" if isinstance(child, ast.ClassDef) else "function"
                visit(child, scopes + [(kind, child.name)], controls)
            else:
                label = CONTROL.get(type(child))
                visit(child, scopes, controls + [label] if label else controls)

    visit(tree, [], [])
    return sorted(rows, key=lambda r: (r["start_line"], r["end_line"], r["qualified"], r["kind"]))


def row(node, scopes, controls):
    scope = scopes[-1][0] if scopes else "module"
    returns = None
    if isinstance(node, ast.ClassDef):
        kind = "class"
        parts = [ast.unparse(base) for base in node.bases]
        for keyword in node.keywords:
            parts.append(f"{keyword.arg}={ast.unparse(keyword.value)}" if keyword.arg else f"**{ast.unparse(keyword.value)}")
        signature = "(" + ", ".join(parts) + ")"
    else:
        kind = "method" if scope == "class" else "function"
        if isinstance(node, ast.AsyncFunctionDef):
            kind = "async_" + kind
        signature = "(" + ast.unparse(node.args) + ")"
        returns = ast.unparse(node.returns) if node.returns else None
    doc = ast.get_docstring(node, clean=False)
    doc = doc.strip().splitlines()[0].strip() if doc and doc.strip() else None
    return {
        "kind": kind,
        "qualified": ".".join([name for _, name in scopes] + [node.name]),
        "signature": signature,
        "returns": returns,
        "decorators": [ast.unparse(decorator) for decorator in node.decorator_list],
        "start_line": node.lineno,
        "end_line": node.end_lineno,
        "doc": doc,
        "parent": ".".join(name for _, name in scopes) or None,
        "scope_kind": scope,
        "is_conditional": bool(controls),
        "decl_context": ">".join(controls) or None,
    }


STRUCTURE = ["kind", "qualified", "start_line", "end_line", "parent", "scope_kind", "is_conditional", "decl_context"]
TEXT = ["signature", "returns", "decorators", "doc"]


def main():
    program, roots = sys.argv[1], sys.argv[2:]
    folder = tempfile.mkdtemp()
    wanted, unparsable, names = {}, [], {}
    for root in roots:
        for where, dirs, files in os.walk(root):
            dirs[:] = [d for d in dirs if d not in ("site-packages", "__pycache__")]
            for name in files:
                if not name.endswith(".py"):
                    continue
                path = os.path.join(where, name)
                data = open(path, "rb").read()
                copy = os.path.join(folder, f"{len(names)}.py")
                names[copy] = path
                try:
                    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
                    text = data.decode(encoding)
                except (SyntaxError, UnicodeError, LookupError):
                    text = data.decode("latin-1")
                    encoding = None
                # The text as ingest hands it on: UTF-8, line ends `\n`, no mark at the front.
                text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
                open(copy, "w", encoding="utf-8", newline="").write(text)
                try:
                    if encoding is None:
                        raise SyntaxError("encoding")
                    wanted[copy] = expected(ast.parse(data))
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    unparsable.append(copy)
    listing = "\n".join(names).encode()
    output = subprocess.run([program], input=listing, capture_output=True, check=True).stdout
    got = {}
    for line in output.splitlines():
        record = json.loads(line)
        got[record["path"]] = record
    symbols, structure, text, shown = 0, 0, 0, 0
    bad_files = set()
    for copy, rows in wanted.items():
        record = got.get(copy, {"symbols": [], "shortfall": "missing"})
        symbols += len(rows)
        if len(rows) != len(record["symbols"]):
            structure += 1
            bad_files.add(copy)
            print(f"{names[copy]}: {len(rows)} expected, {len(record['symbols'])} found; {record['shortfall']}")
            continue
        for row_, symbol in zip(rows, record["symbols"]):
            for field in STRUCTURE + TEXT:
                mine = symbol.get(field, [] if field == "decorators" else None)
                if mine == row_[field]:
                    continue
                if field in STRUCTURE:
                    structure += 1
                    bad_files.add(copy)
                else:
                    text += 1
                shown += 1
                if shown <= 60:
                    print(f"{names[copy]}:{row_['start_line']} {field}: expected {row_[field]!r}, found {mine!r}")
    accepted = [copy for copy in unparsable if got.get(copy, {}).get("symbols")]
    for copy in accepted[:20]:
        print(f"{names[copy]}: Python refuses it, we outline it")
    print(json.dumps({
        "files": len(wanted), "symbols": symbols, "files_that_differ": len(bad_files),
        "differences_in_structure": structure, "differences_in_printed_text": text,
        "refused_by_python": len(unparsable), "of_these_outlined": len(accepted),
    }))
    sys.exit(1 if structure else 0)


main()
