// What the server answers to the page; the tools' own shapes are in docs/tools.md.

interface Span { kind: "lines" | "page" | "time"; start_line?: number; end_line?: number; page?: number; start_ms?: number; end_ms?: number }
interface Contract { name: string; path: string; chosen: boolean }
interface Me {
  version: string; instance: string; caller: string; auth: "bearer" | "none"; guest: boolean;
  mcp: { path: string; contracts: Contract[] };
  roots: Array<{ source: string; name: string; path: string; read_only: boolean }>;
  store: null | { writable: boolean; max_file_bytes: number; upload_bytes: number; projects_path: string };
  chat: null | { provider: string; model: string };
  limits: { view_lines: number; view_bytes: number; colour_bytes: number; raw_bytes: number; edit_bytes: number; merge_bytes: number };
}
type Tree = string | [string, Record<string, any>, ...any[]];
interface Reason { code: string; message: string; remedy?: string | null }
interface Symbol_ { kind: string; name: string; signature?: string; start_line: number; end_line: number; depth: number }
interface FileAnswer {
  source: string; path: string; name: string;
  kind: "code" | "text" | "markdown" | "table" | "pages" | "time" | "image" | "archive" | "folder" | "none";
  doc_type: string | null; rep_type: string | null; language: string | null;
  content_hash: string; size_bytes: number; changed_since_indexed: boolean; status: string | null; reason: Reason | null;
  writable: boolean; editable: boolean; version: null | { updated_at: string; content_hash: string };
  lines?: { first: number; total: number; text: string[]; cut: number[]; truncated: boolean } | null;
  classes?: string[]; tokens?: Array<Array<[number, number, number]>>;
  outline?: Symbol_[] | null; outline_shortfall?: string | null;
  page?: Tree | Tree[]; title?: string | null;
  table?: { rows: string[][]; first_row: number; total_rows: number; header: boolean; truncated: boolean };
  parts?: { count: number; part: number; word: string; labels: string[] };
  units?: Array<{ pointer: string; title?: string | null; first_line: number; last_line: number; text: string; page?: Tree | Tree[] }>;
  segments?: Array<{ start_ms: number; end_ms: number; text: string }>;
  media?: { type: string; bytes: number } | null;
  entries?: Entry[]; total?: number; truncated?: boolean;
}
interface Entry { kind: "folder" | "file" | "archive"; name: string; path: string; files?: number; doc_type?: string; size_bytes?: number; mtime?: string; status?: string | null; reason?: Reason | null }
interface Progress {
  running: boolean; mode?: string; scanned: number; indexed: number; skipped: number; deleted: number; errors: number;
  searchable: number; not_searchable: number; unread: number; read: number; to_read: number | null;
  chunks: number; embedded: number; files_per_s: number; eta_s: number | null;
}
interface CallLine { at: string; tool: string; ok: boolean; error_code: string | null; duration_ms: number; caller: string }
interface StatusAnswer {
  instance: string; version: string; pid: number; started_at: string; uptime_s: number; memory_bytes: number | null;
  roots: Array<{
    source: string; path: string; state_dir: string; writer: { here: boolean; who: string | null }; built: boolean; damage: string | null;
    progress: Progress; documents: Array<{ doc_type: string; status: string; count: number }>;
    reasons: Array<{ code: string; label: string; count: number; remedy?: string | null }>;
    ignored: Array<{ rule: string; files: number; folders: number }>; notes: string[];
  }>;
  indexing_rate: { step_s: number; files: number[] };
  tools: Array<{ tool: string; calls: number; errors: number; p50_ms: number; p95_ms: number; buckets: Array<{ le_ms: number | null; count: number }> }>;
  recent_calls: CallLine[];
  models: Array<{ capability: string; provider: string; model: string; state: "ready" | "off" | "trouble"; detail: string | null }>;
  sessions: { open: number; awake: number; max: number; list: Array<{ client: string; caller: string; age_s: number; idle_s: number }> };
  streams: number;
}
interface UnsearchableFile { path: string; doc_type: string; status: string; size_bytes: number; mtime: string; code: string | null; reason: string | null; remedy: string | null }
interface Hunk { kind: "same" | "mine" | "theirs" | "both" | "conflict"; lines?: string[]; base?: string[]; theirs?: string[]; mine?: string[] }
interface MergeAnswer { clean: boolean; conflicts: number; merged: string | null; hunks: Hunk[]; final_newline?: { theirs: boolean; mine: boolean } }
interface FoundHit { source: string; path: string; doc_type: string; score: number; snippet: string; span: import("./lib/span.js").Span | null; bytes?: [number, number]; id?: number }
