//! Markdown as a tree of a few tags: the page builds elements of it, and never parses markup.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde_json::{Map, Value, json};

/// What lies deeper or behind is shown as text without elements, or not at all.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 64;

/// A node is a text, or `[tag, attributes, child…]`.
pub(super) fn tree(text: &str) -> Value {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut tree = Tree { lines: LineStarts::of(text), ..Tree::default() };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        if tree.nodes > MAX_NODES {
            tree.add(json!(["p", {}, "…"]));
            break;
        }
        tree.event(event, range.start);
    }
    tree.finish()
}

#[derive(Default)]
struct Tree {
    lines: LineStarts,
    done: Vec<Value>,
    /// Elements that are not closed yet; `None` for what has none of its own.
    open: Vec<Option<OpenElement>>,
    nodes: usize,
    /// How the columns of the table are aligned, and which column is next.
    columns: (Vec<Alignment>, usize),
    in_head: bool,
}

struct OpenElement {
    tag: &'static str,
    attributes: Map<String, Value>,
    children: Vec<Value>,
}

impl Tree {
    fn event(&mut self, event: Event<'_>, at: usize) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(end) => self.end(end),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => self.leaf("code", json!({}), &text),
            // Markup in the text is shown as it is written.
            Event::Html(text) | Event::InlineHtml(text) => self.leaf("html", json!({}), &text),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.leaf("code", json!({}), &text),
            Event::FootnoteReference(name) => self.leaf("footnote", json!({}), &name),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.add(json!(["br", {}])),
            Event::Rule => {
                let line = self.lines.line(at);
                self.add(json!(["hr", { "line": line }]));
            }
            Event::TaskListMarker(is_done) => {
                let item = self.open.iter_mut().rev().flatten().find(|element| element.tag == "li");
                if let Some(item) = item {
                    item.attributes.insert("checked".into(), json!(is_done));
                }
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        let line = json!({ "line": self.lines.line(at) });
        let element = match tag {
            Tag::Paragraph => Some(("p", line)),
            Tag::Heading { level, .. } => Some((heading(level), line)),
            Tag::BlockQuote(_) => Some(("blockquote", line)),
            Tag::CodeBlock(kind) => {
                let mut attributes = line;
                if let CodeBlockKind::Fenced(language) = kind {
                    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
                    if !language.is_empty() {
                        attributes["lang"] = json!(language);
                    }
                }
                Some(("pre", attributes))
            }
            Tag::HtmlBlock => None,
            Tag::List(None) => Some(("ul", line)),
            Tag::List(Some(start)) => Some(("ol", json!({ "line": line["line"], "start": start }))),
            Tag::Item => Some(("li", line)),
            Tag::FootnoteDefinition(_) => Some(("blockquote", line)),
            Tag::Table(alignments) => {
                self.columns = (alignments, 0);
                Some(("table", line))
            }
            Tag::TableHead => {
                (self.in_head, self.columns.1) = (true, 0);
                Some(("thead", json!({})))
            }
            Tag::TableRow => {
                self.columns.1 = 0;
                Some(("tr", json!({})))
            }
            Tag::TableCell => {
                let alignment = match self.columns.0.get(self.columns.1) {
                    Some(Alignment::Left) => json!({ "align": "left" }),
                    Some(Alignment::Center) => json!({ "align": "center" }),
                    Some(Alignment::Right) => json!({ "align": "right" }),
                    _ => json!({}),
                };
                self.columns.1 += 1;
                Some((if self.in_head { "th" } else { "td" }, alignment))
            }
            Tag::Emphasis => Some(("em", json!({}))),
            Tag::Strong => Some(("strong", json!({}))),
            Tag::Strikethrough => Some(("del", json!({}))),
            Tag::Link { dest_url, .. } => is_safe(&dest_url).then(|| ("a", json!({ "href": &*dest_url }))),
            Tag::Image { dest_url, .. } => Some(("img", json!({ "src": &*dest_url }))),
            Tag::MetadataBlock(_) => Some(("pre", line)),
            _ => None,
        };
        let is_shallow = self.open.len() < MAX_DEPTH;
        self.open.push(element.filter(|_| is_shallow).map(|(tag, attributes)| {
            let attributes = match attributes {
                Value::Object(attributes) => attributes,
                _ => Map::new(),
            };
            OpenElement { tag, attributes, children: Vec::new() }
        }));
    }

    fn end(&mut self, end: TagEnd) {
        if end == TagEnd::TableHead {
            self.in_head = false;
        }
        let Some(Some(mut element)) = self.open.pop() else { return };
        match element.tag {
            // The cells of a head have no row of their own in the events.
            "thead" => element.children = vec![node("tr", Map::new(), element.children)],
            "img" => {
                let alt: String = element.children.iter().map(words).collect();
                element.attributes.insert("alt".into(), json!(alt));
                element.children.clear();
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let title: String = element.children.iter().map(words).collect();
                element.attributes.insert("id".into(), json!(anchor(&title)));
            }
            _ => {}
        }
        self.add(node(element.tag, element.attributes, element.children));
    }

    fn leaf(&mut self, tag: &str, attributes: Value, text: &str) {
        self.add(json!([tag, attributes, text]));
    }

    fn text(&mut self, text: &str) {
        if let Some(Value::String(last)) = self.children().last_mut() {
            last.push_str(text);
            return;
        }
        self.add(json!(text));
    }

    fn add(&mut self, value: Value) {
        self.nodes += 1;
        self.children().push(value);
    }

    /// Where the next node belongs.
    fn children(&mut self) -> &mut Vec<Value> {
        match self.open.iter_mut().rev().flatten().next() {
            Some(element) => &mut element.children,
            None => &mut self.done,
        }
    }

    fn finish(mut self) -> Value {
        while let Some(element) = self.open.pop() {
            if let Some(element) = element {
                let closed = node(element.tag, element.attributes, element.children);
                self.children().push(closed);
            }
        }
        Value::Array(self.done)
    }
}

fn node(tag: &str, attributes: Map<String, Value>, children: Vec<Value>) -> Value {
    let mut parts = vec![json!(tag), Value::Object(attributes)];
    parts.extend(children);
    Value::Array(parts)
}

/// The words of a node, without its elements.
fn words(node: &Value) -> String {
    match node {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().skip(2).map(words).collect(),
        _ => String::new(),
    }
}

/// As the usual sites make them: `Über uns!` is `über-uns`.
fn anchor(title: &str) -> String {
    let kept = title.trim().chars().filter_map(|c| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_lowercase().collect::<String>()),
        c if c.is_whitespace() => Some("-".to_owned()),
        _ => None,
    });
    kept.collect()
}

fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h1",
        HeadingLevel::H2 => "h2",
        HeadingLevel::H3 => "h3",
        HeadingLevel::H4 => "h4",
        HeadingLevel::H5 => "h5",
        HeadingLevel::H6 => "h6",
    }
}

/// Addresses that a click may follow. Everything with another scheme could be a program.
fn is_safe(address: &str) -> bool {
    let is_plain = !address.is_empty()
        && address.len() <= 2000
        && !address.contains(|c: char| c.is_control() || c == '\\')
        && !address.starts_with("//")
        && !address.starts_with(char::is_whitespace);
    let scheme = match address.find([':', '/', '?', '#']) {
        Some(at) if address[at..].starts_with(':') => Some(address[..at].to_ascii_lowercase()),
        _ => None,
    };
    is_plain && scheme.is_none_or(|scheme| matches!(scheme.as_str(), "http" | "https" | "mailto"))
}

/// Where lines begin, to find the line of a byte.
#[derive(Default)]
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> LineStarts {
        LineStarts(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// From 1.
    fn line(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte).max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_as_a_tree() {
        let text = "# A *b*\n\nSee [x](y.md) and `z`.\n\n- [x] done\n\n| a | b |\n|:-:|---|\n| 1 | 2 |\n\n```rust\nfn a() {}\n```\n";
        assert_eq!(
            tree(text),
            json!([
                ["h1", { "line": 1, "id": "a-b" }, "A ", ["em", {}, "b"]],
                ["p", { "line": 3 }, "See ", ["a", { "href": "y.md" }, "x"], " and ", ["code", {}, "z"], "."],
                ["ul", { "line": 5 }, ["li", { "line": 5, "checked": true }, "done"]],
                ["table", { "line": 7 },
                    ["thead", {}, ["tr", {}, ["th", { "align": "center" }, "a"], ["th", {}, "b"]]],
                    ["tr", {}, ["td", { "align": "center" }, "1"], ["td", {}, "2"]]],
                ["pre", { "line": 11, "lang": "rust" }, "fn a() {}\n"],
            ])
        );
    }

    #[test]
    fn markup_is_text_and_programs_are_no_links() {
        let shown = tree(
            "<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> [b](javascript:alert(1)) ![c](https://x/y.png)\n",
        );
        let text = shown.to_string();
        assert!(text.contains("[\"html\",{},\"<script>alert(1)</script>\\n\"]"), "{text}");
        assert!(!text.contains("href"), "{text}");
        assert!(text.contains("[\"img\",{\"src\":\"https://x/y.png\",\"alt\":\"c\"}]"), "{text}");
    }

    #[test]
    fn addresses_that_may_be_followed() {
        for good in ["a/b.md", "#x", "../c?d:e", "https://a.example/", "mailto:a@b", "HTTP://x", "a#b:c"] {
            assert!(is_safe(good), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "JaVaScRiPt:x",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/passwd",
            "//evil.example/",
            "\\\\evil",
            " javascript:x",
            "java\tscript:x",
            "blob:x",
            "",
        ] {
            assert!(!is_safe(bad), "{bad}");
        }
    }

    #[test]
    fn trees_are_bounded() {
        let deep = format!("{}x", "> ".repeat(2000));
        assert!(depth(&tree(&deep)) <= MAX_DEPTH + 2);
        let wide = tree(&"*a* ".repeat(MAX_NODES * 2));
        assert!(count(&wide) <= MAX_NODES * 4, "{}", count(&wide));
    }

    fn depth(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            _ => 1,
        }
    }

    fn check(node: &Value) -> bool {
        const TAGS: &[&str] = &[
            "p",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "em",
            "strong",
            "del",
            "code",
            "pre",
            "blockquote",
            "ul",
            "ol",
            "li",
            "table",
            "thead",
            "tr",
            "th",
            "td",
            "a",
            "img",
            "hr",
            "br",
            "html",
            "footnote",
        ];
        match node {
            Value::String(_) => true,
            Value::Array(parts) => {
                parts.first().and_then(Value::as_str).is_some_and(|tag| TAGS.contains(&tag))
                    && parts.get(1).is_some_and(Value::is_object)
                    && parts[2..].iter().all(check)
            }
            _ => false,
        }
    }

    proptest! {
        /// Whatever the text is, the tree has the tags of the list only.
        #[test]
        fn trees_hold_known_tags_only(text in "([#*_`>|<!\\[\\]()\\-:1. \n]|[a-c]|javascript:|<b>|```){0,80}") {
            let Value::Array(nodes) = tree(&text) else { panic!("a list") };
            prop_assert!(nodes.iter().all(check), "{nodes:?}");
        }
    }
}
