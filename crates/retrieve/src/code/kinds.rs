//! What the kinds of declarations are called in answers: `FunctionDeclaration`.

use std::borrow::Cow;

/// The published name of a kind of declaration, by the name of its symbol kind.
pub fn published_kind(kind: &str) -> Cow<'static, str> {
    let name = match kind {
        "file" => "File",
        "heading" => "Section",
        "key" => "ConfigEntry",
        "rule" => "RuleSet",
        "async_function" => "FunctionDeclaration",
        "async_method" => "MethodDeclaration",
        "mod" => "ModuleDeclaration",
        "type" => "TypeAliasDeclaration",
        "const" | "static" => "VariableDeclaration",
        other => return format!("{}Declaration", capitalised(other)).into(),
    };
    name.into()
}

/// Whether a caller's word names the kind: `FunctionDeclaration`, `function` and `Function` are the same.
pub(super) fn is_called(kind: &str, word: &str) -> bool {
    let published = published_kind(kind);
    let short = published.strip_suffix("Declaration").unwrap_or(&published);
    published.eq_ignore_ascii_case(word)
        || short.eq_ignore_ascii_case(word)
        || kind.eq_ignore_ascii_case(word)
        || word.eq_ignore_ascii_case("TypeDeclaration") && kind == "type"
}

fn capitalised(kind: &str) -> String {
    kind.split('_')
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
                .unwrap_or_default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c025_kinds_have_their_published_names() {
        assert_eq!(published_kind("async_method"), "MethodDeclaration");
        assert_eq!(published_kind("class"), "ClassDeclaration");
        assert_eq!(published_kind("file"), "File");
        assert!(is_called("function", "FunctionDeclaration") && is_called("async_function", "function"));
        assert!(is_called("type", "TypeAlias") && is_called("type", "typedeclaration"));
        assert!(!is_called("method", "function"));
    }
}
