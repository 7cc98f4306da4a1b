//! What a prompt names outright: files by their paths, and declarations by their qualified names.

/// A declaration by its names from the outermost inwards: `Service.run`, `net::Client::send`, `Client#send`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSymbol {
    /// With dots between the names.
    pub qualified: String,
    pub last: String,
}

impl NamedSymbol {
    /// Whether a declaration of this qualified name is meant.
    pub fn is_declared_by(&self, qualified: &str) -> bool {
        declares(&self.qualified, qualified)
    }
}

/// Whether a declaration is meant by a name with dots: equal, or one the end of the other.
pub fn declares(asked: &str, qualified: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let last = asked.rsplit('.').next();
    let qualified = qualified.replace("::", ".");
    ends(&qualified, asked) || ends(asked, &qualified) && qualified.rsplit('.').next() == last
}

/// Names and paths that are looked for; a prompt with more of them names nothing in particular.
const MOST: usize = 8;

/// The paths of a prompt, with slashes and without what leads to the place itself: `./src/a.rs:12` is `src/a.rs`.
pub(super) fn paths(prompt: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(prompt) {
        let word = word.replace('\\', "/");
        // `a.rs:12`, `a.rs:12-20`, `a.rs#L3`.
        let bare = word.split(['#', '?']).next().unwrap_or_default();
        let bare = match bare.split_once(':') {
            Some((path, rest)) if rest.starts_with(|c: char| c.is_ascii_digit() || c == 'L') => path,
            Some(_) => continue,
            None => bare,
        };
        let bare = bare.trim_start_matches("./").trim_matches('/');
        let name = bare.rsplit('/').next().unwrap_or_default();
        let is_path = has_ending(name) || bare.contains('/') && !bare.contains("//") && name.len() > 1;
        if is_path && !found.iter().any(|known| known == bare) && found.len() < MOST {
            found.push(bare.to_owned());
        }
    }
    found
}

/// The qualified names of a prompt. What ends as files do is a path, not a name.
pub(super) fn symbols(prompt: &str) -> Vec<NamedSymbol> {
    let mut found: Vec<NamedSymbol> = Vec::new();
    for word in words(prompt) {
        let bare = word.split('(').next().unwrap_or_default().trim_end_matches(['!', '?']);
        if bare.contains('/') || has_ending(bare) && !bare.contains("::") {
            continue;
        }
        let dotted = bare.replace("::", ".").replace("->", ".").replace('#', ".");
        let parts: Vec<&str> = dotted.split('.').filter(|part| !part.is_empty()).collect();
        let is_name = |part: &&str| {
            part.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
                && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        };
        if parts.len() < 2 || !parts.iter().all(is_name) || found.len() == MOST {
            continue;
        }
        let symbol = NamedSymbol { qualified: parts.join("."), last: parts[parts.len() - 1].to_owned() };
        // `e.g.`, `i.e.`: names of one letter are none.
        if parts.iter().any(|part| part.chars().count() > 1)
            && symbol.last.chars().count() > 1
            && !found.contains(&symbol)
        {
            found.push(symbol);
        }
    }
    found
}

fn words(prompt: &str) -> impl Iterator<Item = &str> {
    let marks = |c: char| {
        matches!(c, '`' | '"' | '\'' | ',' | ';' | '(' | ')' | '[' | ']' | '<' | '>' | '{' | '}' | '*')
    };
    prompt
        .split(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | ';'))
        .map(move |word| word.trim_matches(marks).trim_end_matches(['.', ':', '?', '!']))
        .filter(|word| !word.is_empty())
}

/// Whether a word ends as the names of files do.
fn has_ending(word: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "rs",
        "py",
        "pyi",
        "go",
        "js",
        "jsx",
        "mjs",
        "cjs",
        "ts",
        "tsx",
        "java",
        "kt",
        "kts",
        "scala",
        "c",
        "h",
        "cc",
        "cpp",
        "cxx",
        "hpp",
        "hh",
        "cs",
        "rb",
        "php",
        "swift",
        "m",
        "mm",
        "lua",
        "hs",
        "ex",
        "exs",
        "zig",
        "sql",
        "sh",
        "bash",
        "md",
        "rst",
        "txt",
        "toml",
        "yaml",
        "yml",
        "json",
        "xml",
        "html",
        "css",
        "scss",
        "ini",
        "cfg",
        "proto",
        "gradle",
        "csv",
        "lock",
        "vue",
        "svelte",
        "adoc",
        "tf",
        "mod",
        "sum",
        "conf",
        "properties",
    ];
    word.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_names_of_a_prompt() {
        let prompt = "Why does `Service.run` in ./src/app/service.py:12 call net::Client::send() and Client#close? See docs/guide.md.";
        assert_eq!(paths(prompt), ["src/app/service.py", "docs/guide.md"]);
        let names: Vec<String> = symbols(prompt).into_iter().map(|symbol| symbol.qualified).collect();
        assert_eq!(names, ["Service.run", "net.Client.send", "Client.close"]);
        assert_eq!(paths("fix main.go and and/or"), ["main.go", "and/or"]);
        assert!(symbols("e.g. this, version 3.14 of https://example.org/a.b or main.rs").is_empty());
        assert!(paths("see https://example.org/a and 3.14").is_empty());
    }
}
