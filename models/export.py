"""Write what the product needs from a table: the file itself, golden vectors, checksum, figures. All or nothing."""

import hashlib
import json
import shutil
from pathlib import Path

from table import Table

NAME = "dir2mcp-256.bin"

GOLDEN = [
    "", " ", "\n\t\n", "...", "a", "A", "7", "_", "__init__", "hello world", "Hello, World!",
    "python how to check if list is empty",
    "how are configuration files parsed and merged",
    "HTTPServer", "XMLHttpRequest", "getHTML5Doc", "URLs and IDs", "readFile2", "utf8 sha256sum int32 x86_64 0xFF",
    "snake_case_name camelCaseName PascalCaseName SCREAMING_SNAKE kebab-case-name",
    "def is_empty(items):\n    \"\"\"True when there is nothing in items.\"\"\"\n    return len(items) == 0\n",
    "fn parse_header(input: &[u8]) -> Result<Header, ParseError> {\n    let (rest, magic) = take(4usize)(input)?;\n    Ok(Header { magic })\n}\n",
    "export async function fetchUser(id: string): Promise<User> {\n  const res = await fetch(`/users/${id}`);\n  return res.json();\n}\n",
    "func (s *Server) ListenAndServe() error {\n\tln, err := net.Listen(\"tcp\", s.Addr)\n\tif err != nil {\n\t\treturn err\n\t}\n\treturn s.Serve(ln)\n}\n",
    "public static <T extends Comparable<T>> T max(List<T> list) { return Collections.max(list); }",
    "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 42); return 0; }",
    "SELECT id, name FROM users WHERE created_at > now() - interval '1 day' ORDER BY name;",
    "<div class=\"card\"><h1>Title</h1><p>Text &amp; more</p></div>",
    "{\"key\": [1, 2, 3], \"nested\": {\"a\": null, \"b\": true}}",
    "key: value\nlist:\n  - one\n  - two\n",
    "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\nZeroDivisionError: division by zero",
    "The quick brown fox jumps over the lazy dog.",
    "what similarity exists between heat transfer and skin friction in laminar flow",
    "Café déjà vu naïve façade Ångström São Paulo", "CAFÉ DÉJÀ VU", "straße STRASSE ﬁne ﬂow ½ ² Ⅳ ① ℌ",
    "Привет, мир! Как настроить сервер?", "Ελληνικά κείμενα", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก",
    "机器学习模型的训练", "機械学習モデルの訓練データ", "データベース接続", "데이터베이스 연결 설정", "ｆｕｌｌ ｗｉｄｔｈ　ＡＢＣ１２３", "混ぜたtext文章とcode",
    "🙂🚀 launch the rocket 👩‍💻", "e\u0301 and \u00e9 are one letter", "zero\u200bwidth\u00adsoft\u00a0space", "\u0000\u0001control\u001bcharacters\u007f",
    "\ufeffbyte order mark", "x" * 41, "x" * 40, "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "d41d8cd98f00b204e9800998ecf8427e", "aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQgZW5jb2RlZA==",
    "C:\\Users\\name\\file.txt /usr/local/lib/node_modules ./src/main.rs", "user@example.com https://example.com/a?b=c#d",
    "3.14159 1,000,000 2024-01-31T12:00:00Z 192.168.0.1", "don't can't it's O'Neil",
    "word " * 5000, "token" + "".join(f" item{i}" for i in range(3000)),
]


def export(table, figures, folder):
    """Replace the files of `folder` by those of `table`; figures is what evaluate.py found."""
    folder = Path(folder)
    fresh = folder.with_name(folder.name + ".fresh")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    table.write(fresh / NAME)
    read = Table.read(fresh / NAME)
    golden = [
        {"text": text, "tokens": read.tokenizer.encode(text), "document": vector(read, text, False), "query": vector(read, text, True)}
        for text in GOLDEN
    ]
    lines = ",\n".join(json.dumps(g, ensure_ascii=True, separators=(",", ":")) for g in golden)
    (fresh / "golden.json").write_text(f"[\n{lines}\n]\n")
    digest = hashlib.sha256((fresh / NAME).read_bytes()).hexdigest()
    (fresh / "SHA256").write_text(f"{digest}  {NAME}\n")
    (fresh / "figures.json").write_text(json.dumps(figures | {"sha256": digest}, indent=1) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(fresh.iterdir()):
        file.replace(folder / file.name)
    fresh.rmdir()


def vector(table, text, query):
    return [round(float(x), 6) for x in table.embed(text, query)]
