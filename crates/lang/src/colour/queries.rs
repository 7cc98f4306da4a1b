//! The queries by which the grammars colour their language.

use std::borrow::Cow;

use crate::Language;

pub(super) struct ColourQuery {
    pub(super) colours: Cow<'static, str>,
    /// Where other languages are inside of this one.
    pub(super) embedded: &'static str,
}

/// `None` for a language that is coloured without a grammar.
pub(super) fn of(language: Language) -> Option<ColourQuery> {
    let colours: Cow<'static, str> = match language {
        Language::Python => return None,
        Language::Rust => tree_sitter_rust::HIGHLIGHTS_QUERY.into(),
        Language::JavaScript => {
            joined(&[tree_sitter_javascript::HIGHLIGHT_QUERY, tree_sitter_javascript::JSX_HIGHLIGHT_QUERY])
        }
        // These build on the queries of the language that they extend. The first pattern that fits a node counts.
        Language::TypeScript => {
            joined(&[tree_sitter_typescript::HIGHLIGHTS_QUERY, tree_sitter_javascript::HIGHLIGHT_QUERY])
        }
        Language::Tsx => joined(&[
            tree_sitter_typescript::HIGHLIGHTS_QUERY,
            tree_sitter_javascript::JSX_HIGHLIGHT_QUERY,
            tree_sitter_javascript::HIGHLIGHT_QUERY,
        ]),
        Language::Cpp => joined(&[tree_sitter_cpp::HIGHLIGHT_QUERY, tree_sitter_c::HIGHLIGHT_QUERY]),
        Language::Go => tree_sitter_go::HIGHLIGHTS_QUERY.into(),
        Language::Java => tree_sitter_java::HIGHLIGHTS_QUERY.into(),
        Language::C => tree_sitter_c::HIGHLIGHT_QUERY.into(),
        Language::CSharp => tree_sitter_c_sharp::HIGHLIGHTS_QUERY.into(),
        Language::Ruby => tree_sitter_ruby::HIGHLIGHTS_QUERY.into(),
        Language::Php => tree_sitter_php::HIGHLIGHTS_QUERY.into(),
        Language::Kotlin => KOTLIN.into(),
        Language::Swift => tree_sitter_swift::HIGHLIGHTS_QUERY.into(),
        Language::Scala => tree_sitter_scala::HIGHLIGHTS_QUERY.into(),
        Language::Bash => tree_sitter_bash::HIGHLIGHT_QUERY.into(),
        Language::Lua => tree_sitter_lua::HIGHLIGHTS_QUERY.into(),
        Language::Haskell => tree_sitter_haskell::HIGHLIGHTS_QUERY.into(),
        Language::Elixir => tree_sitter_elixir::HIGHLIGHTS_QUERY.into(),
        Language::Zig => tree_sitter_zig::HIGHLIGHTS_QUERY.into(),
        Language::Sql => tree_sitter_sequel::HIGHLIGHTS_QUERY.into(),
        Language::Markdown => tree_sitter_md::HIGHLIGHT_QUERY_BLOCK.into(),
        Language::Html => tree_sitter_html::HIGHLIGHTS_QUERY.into(),
        Language::Css => tree_sitter_css::HIGHLIGHTS_QUERY.into(),
        Language::Json => tree_sitter_json::HIGHLIGHTS_QUERY.into(),
        Language::Yaml => tree_sitter_yaml::HIGHLIGHTS_QUERY.into(),
        Language::Toml => tree_sitter_toml_ng::HIGHLIGHTS_QUERY.into(),
    };
    let embedded = match language {
        Language::Markdown => FENCES,
        Language::Html => tree_sitter_html::INJECTIONS_QUERY,
        _ => "",
    };
    Some(ColourQuery { colours, embedded })
}

fn joined(parts: &[&str]) -> Cow<'static, str> {
    parts.join("\n").into()
}

/// Code in a page of Markdown. The grammar's own query also reads every paragraph once more, which costs more than the
/// few colours are worth.
const FENCES: &str = "
(fenced_code_block
  (info_string (language) @injection.language)
  (code_fence_content) @injection.content)
";

/// This grammar brings no query.
const KOTLIN: &str = r#"
[(line_comment) (block_comment) (shebang)] @comment
[(string_literal) (multiline_string_literal) (character_literal)] @string
(escape_sequence) @escape
[(number_literal) (float_literal)] @number
(annotation) @attribute
(label) @label
(function_declaration name: (identifier) @function)
(call_expression . (identifier) @function)
(class_declaration name: (identifier) @type)
(object_declaration name: (identifier) @type)
(user_type (identifier) @type)
[
  "abstract" "actual" "annotation" "as" "as?" "by" "catch" "class" "companion" "const" "constructor" "crossinline" "data"
  "do" "else" "enum" "expect" "external" "final" "finally" "for" "fun" "get" "if" "import" "in" "infix" "init" "inline"
  "inner" "interface" "internal" "is" "lateinit" "noinline" "object" "open" "operator" "out" "override" "package" "private"
  "protected" "public" "return" "sealed" "set" "super" "suspend" "tailrec" "this" "throw" "try" "typealias" "val" "value"
  "var" "vararg" "when" "where" "while"
] @keyword
["=" "+" "-" "*" "/" "%" "==" "!=" "<" ">" "<=" ">=" "&&" "||" "->" "?:" "?." "!!" ".."] @operator
["(" ")" "[" "]" "{" "}" "," ";" ":"] @punctuation
"#;
