"""Compares facts about Python declarations with CPython's ast. Arguments: the facts program, then folders or files.

For each fact: how many pairs of declaration and value both have, only we have, only the reference has.
"""

import ast
import io
import json
import keyword
import os
import subprocess
import sys
import tokenize
import warnings

warnings.simplefilter("ignore")
sys.setrecursionlimit(20000)
SHOW = int(os.environ.get("FACTS_SHOW", "3"))
LISTS = ["calls", "uses", "reads", "writes", "mutates", "aliases", "throws", "awaits", "extends", "parameters", "decorators"]
NUMBERS = ["branches", "loops", "breaks", "continues", "returns", "yields"]
SHORT = {"calls": "c", "uses": "u", "reads": "r", "writes": "w", "mutates": "m", "aliases": "a", "throws": "t",
         "awaits": "aw", "extends": "ext", "decorators": "dec", "branches": "n_b", "loops": "n_l", "breaks": "n_k",
         "continues": "n_c", "returns": "n_r", "yields": "n_y"}


def path(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id] + parts[::-1])


def place(node):
    parts = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append("." + node.attr)
            node = node.value
        elif isinstance(node, ast.Subscript):
            parts.append("[]")
            node = node.value
        elif isinstance(node, ast.Name):
            return node.id + "".join(parts[::-1])
        else:
            return None


def called(node):
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return path(node.func) or node.func.attr
        return path(node.func)
    return path(node)


def fresh(kind, name, line, end):
    row = {name: set() for name in LISTS}
    row.update({name: 0 for name in NUMBERS})
    row.update({"kind": kind, "name": name, "line": line, "end": end, "async": False, "generator": False,
                "return_type": None, "visibility": None, "returns_value": False})
    return row


def visibility(name, in_function):
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return "public"
    if name.startswith("__"):
        return "private"
    return "protected" if name.startswith("_") else "public"


class Reader:
    def __init__(self, source):
        self.rows = [fresh("file", "(module)", 1, 0)]
        self.open = [0]
        self.names = []
        self.spans = []
        self.source = source

    @property
    def now(self):
        return self.rows[self.open[-1]]

    def declare(self, node):
        in_class = bool(self.names) and self.names[-1][1]
        is_class = isinstance(node, ast.ClassDef)
        is_async = isinstance(node, ast.AsyncFunctionDef)
        kind = "class" if is_class else ("async_" if is_async else "") + ("method" if in_class else "function")
        row = fresh(kind, ".".join([n for n, _ in self.names] + [node.name]), node.lineno, node.end_lineno)
        row["decorators"] = {" ".join(ast.unparse(d).split())[:200] for d in node.decorator_list}
        row["visibility"] = visibility(node.name, False)
        row["async"] = is_async
        if is_class:
            for base in node.bases:
                base = base.value if isinstance(base, ast.Subscript) else base
                if path(base):
                    row["extends"].add(path(base))
        else:
            a = node.args
            every = a.posonlyargs + a.args + ([a.vararg] if a.vararg else []) + a.kwonlyargs + ([a.kwarg] if a.kwarg else [])
            row["parameters"] = {x.arg for x in every}
            row["return_type"] = " ".join(ast.unparse(node.returns).split())[:200] if node.returns else None
        self.rows.append(row)
        self.open.append(len(self.rows) - 1)
        self.names.append((node.name, is_class))
        first = min([d.lineno for d in node.decorator_list] + [node.lineno])
        self.spans.append(((first, 0), (node.end_lineno, node.end_col_offset), len(self.rows) - 1))
        if not is_class:
            for default in node.args.defaults + [d for d in node.args.kw_defaults if d]:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.open.pop()
        self.names.pop()

    def assigned(self, target, value):
        if path(target) and path(value):
            self.now["aliases"].add(f"{path(target)}={path(value)}")

    def visit(self, node):
        row = self.now
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return self.declare(node)
        if isinstance(node, (ast.If, ast.IfExp)):
            row["branches"] += 1
        elif isinstance(node, ast.ExceptHandler):
            row["branches"] += 1
        elif isinstance(node, ast.match_case):
            row["branches"] += 1
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            row["loops"] += 1
        elif isinstance(node, ast.Break):
            row["breaks"] += 1
        elif isinstance(node, ast.Continue):
            row["continues"] += 1
        elif isinstance(node, ast.Return):
            row["returns"] += 1
            row["returns_value"] |= node.value is not None
        elif isinstance(node, (ast.Yield, ast.YieldFrom)):
            row["yields"] += 1
            row["generator"] = True
        elif isinstance(node, ast.Raise) and node.exc is not None and called(node.exc):
            row["throws"].add(called(node.exc))
        elif isinstance(node, ast.Await) and called(node.value):
            row["awaits"].add(called(node.value))
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.assigned(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assigned(node.target, node.value)
                self.visit(node.value)
            return self.visit(node.target)
        elif isinstance(node, ast.NamedExpr):
            self.assigned(node.target, node.value)
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                row["writes"].add(node.id)
            elif isinstance(node.ctx, ast.Load):
                row["reads"].add(node.id)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load) and path(node):
                row["reads"].add(path(node))
            elif isinstance(node.ctx, ast.Store) and place(node):
                row["mutates"].add(place(node))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and place(node):
            row["mutates"].add(place(node))
        elif isinstance(node, ast.Call):
            name = called(node)
            if name:
                row["calls"].add(name)
            if isinstance(node.func, ast.Attribute):
                self.visit(node.func.value)
            elif not isinstance(node.func, ast.Name):
                self.visit(node.func)
            for child in node.args + node.keywords:
                self.visit(child)
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.arguments):
                for default in child.defaults + [d for d in child.kw_defaults if d]:
                    self.visit(default)
            else:
                self.visit(child)

    def tokens(self):
        soft = {"match", "case", "type"}
        try:
            found = list(tokenize.generate_tokens(io.StringIO(self.source).readline))
        except (tokenize.TokenError, IndentationError, SyntaxError):
            return False
        for token in found:
            if token.type == tokenize.NAME and not keyword.iskeyword(token.string) and token.string not in soft:
                owner = 0
                for start, end, number in self.spans:
                    if start <= token.start and token.start < end:
                        owner = number
                self.rows[owner]["uses"].add(token.string)
        return True


def main():
    program, places = sys.argv[1], sys.argv[2:]
    files = []
    for place_ in places:
        if os.path.isfile(place_):
            files.append(place_)
        for folder, _, names in os.walk(place_):
            files.extend(os.path.join(folder, name) for name in names if name.endswith(".py"))
    files.sort()
    done = subprocess.run([program], input="\n".join(files), capture_output=True, text=True, check=True)
    both, ours, theirs, shown = {}, {}, {}, {}
    compared = declarations = 0

    def note(fact, got, want, where):
        both[fact] = both.get(fact, 0) + len(got & want)
        ours[fact] = ours.get(fact, 0) + len(got - want)
        theirs[fact] = theirs.get(fact, 0) + len(want - got)
        if got != want and shown.get(fact, 0) < SHOW:
            shown[fact] = shown.get(fact, 0) + 1
            print(f"{where}: {fact}: only here {sorted(map(str, got - want))[:5]}, only there {sorted(map(str, want - got))[:5]}")

    for line in done.stdout.splitlines():
        answer = json.loads(line)
        with open(answer["path"], encoding="utf-8", newline="") as file:
            source = file.read()
        if "\r" in source or "\f" in source:
            continue
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            continue
        found = answer["facts"]
        if found.get("shortfall"):
            print("left out:", answer["path"], found["shortfall"])
            continue
        reader = Reader(source)
        for statement in tree.body:
            reader.visit(statement)
        # Python 3.12 and later give the tokens inside of formatted strings; before, they are one token.
        has_tokens = (sys.version_info >= (3, 12) or "f\"" not in source and "f'" not in source) and reader.tokens()
        compared += 1
        want = {}
        for row in reader.rows:
            want.setdefault((row["name"], row["line"]), row)
        got = {}
        for each in found["declarations"]:
            got.setdefault((each["q"], each["l"][0]), each)
        declarations += len(want)
        note("declarations", set(got), set(want), answer["path"])
        for key in got.keys() & want.keys():
            where = f"{answer['path']}:{key[1]} {key[0]}"
            g, w = got[key], want[key]
            for fact in LISTS:
                if fact == "uses" and not has_tokens:
                    continue
                values = {p["n"] for p in g.get("p", [])} if fact == "parameters" else set(g.get(SHORT[fact], []))
                expected = {v for v in w[fact] if len(v) <= 200}
                if len(values) < 2000:
                    note(fact, values, expected, where)
            for fact in NUMBERS:
                note(fact, {g.get(SHORT[fact], 0)}, {w[fact]}, where)
            note("async", {g.get("as", False)}, {w["async"]}, where)
            note("generator", {g.get("gen", False)}, {w["generator"]}, where)
            note("returns_value", {g.get("rv", False)}, {w["returns_value"]}, where)
            if w["kind"] != "file":
                note("kind", {g["k"]}, {w["kind"]}, where)
                note("return_type", {g.get("ret")}, {w["return_type"]}, where)
    print(f"\n{compared} files, {declarations} declarations")
    print(f"{'fact':<16}{'both':>9}{'only here':>11}{'only there':>12}{'precision':>11}{'recall':>8}")
    worst = 1.0
    for fact in both:
        b, o, t = both[fact], ours[fact], theirs[fact]
        precision, recall = b / max(1, b + o), b / max(1, b + t)
        worst = min(worst, precision if b + o else 1, recall if b + t else 1)
        print(f"{fact:<16}{b:>9}{o:>11}{t:>12}{precision:>11.4f}{recall:>8.4f}")
    if compared == 0 or worst < 0.98:
        sys.exit(f"the worst is {worst:.4f}, less than 0.98")


main()
