//! Matches the names that people ask for with declarations in outlines and texts. Pure rules: no file is read here.

use std::collections::HashMap;

use model::{Definition, ErrorCode, Failure, Outline, ReferenceKind, ScopeKind, SymbolKind};

/// Characters of a line shown as evidence.
const EVIDENCE_CHARS: usize = 160;

/// A name as a query writes it: `run`, `Service.run`, `service::Service::run()`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolName {
    /// With dots.
    whole: String,
    last: String,
}

/// Where a name is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolDefinition {
    pub path: String,
    pub symbol: String,
    pub kind: SymbolKind,
    pub signature: String,
    pub start_line: u32,
    pub end_line: u32,
    pub scope_kind: ScopeKind,
}

/// Where a name is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolUse {
    pub symbol: String,
    pub path: String,
    pub line: u32,
    pub kind: ReferenceKind,
    pub evidence: String,
    /// From the syntax, or from the words alone.
    pub from_syntax: bool,
    pub confidence: &'static str,
}

impl SymbolName {
    pub fn parse(written: &str) -> Result<SymbolName, Failure> {
        let bare = written.trim().trim_end_matches("()").replace("::", ".").replace(['#', '\\'], ".");
        let parts: Vec<&str> = bare.split('.').filter(|part| !part.is_empty()).collect();
        let Some(last) = parts.last() else {
            return Err(Failure::new(ErrorCode::InvalidField, "symbol names nothing"));
        };
        Ok(SymbolName { whole: parts.join("."), last: (*last).to_owned() })
    }

    /// The last part: what an index of words holds of the name.
    pub fn last(&self) -> &str {
        &self.last
    }

    /// The declarations of the name in an outline.
    pub fn definitions(&self, path: &str, outline: &Outline) -> Vec<SymbolDefinition> {
        let declared = outline.definitions.iter().filter(|each| self.is_declared_by(&each.qualified));
        declared.map(|each| SymbolDefinition::of(path, each)).collect()
    }

    /// Equal, or one the end of the other.
    pub fn is_declared_by(&self, qualified: &str) -> bool {
        crate::bundle::declares(&self.whole, qualified)
    }

    fn is_qualified(&self) -> bool {
        self.whole.len() > self.last.len()
    }

    /// How sure it is that a use means the name that was asked for.
    fn confidence(&self, qualifier: Option<&str>) -> &'static str {
        let Some(qualifier) = qualifier else {
            return if self.is_qualified() { "low" } else { "high" };
        };
        if !self.is_qualified() {
            return "medium";
        }
        let qualifier = qualifier.replace("::", ".").replace("->", ".");
        let parent = &self.whole[..self.whole.len() - self.last.len() - 1];
        let same = qualifier == parent || qualifier.ends_with(&format!(".{parent}"));
        if same { "high" } else { "medium" }
    }

    /// The uses of the name in an outline, by line; what was written there is added by [`with_evidence`].
    pub fn uses(&self, path: &str, outline: &Outline) -> Vec<SymbolUse> {
        let mut found = Vec::new();
        for uses in outline.uses.iter().filter(|uses| uses.name == self.last) {
            let symbol = match &uses.qualifier {
                Some(qualifier) => format!("{qualifier}.{}", uses.name),
                None => uses.name.clone(),
            };
            // `from util import helper` says itself which helper it means.
            let imported = uses.kind == ReferenceKind::Import && !self.is_qualified();
            let confidence = if imported { "high" } else { self.confidence(uses.qualifier.as_deref()) };
            found.extend(uses.lines.iter().map(|line| SymbolUse {
                symbol: symbol.clone(),
                path: path.to_owned(),
                line: *line,
                kind: uses.kind,
                evidence: String::new(),
                from_syntax: true,
                confidence,
            }));
        }
        found.sort_by(|a, b| (a.line, &a.symbol, a.kind).cmp(&(b.line, &b.symbol, b.kind)));
        found
    }
}

impl SymbolDefinition {
    fn of(path: &str, each: &Definition) -> SymbolDefinition {
        SymbolDefinition {
            path: path.to_owned(),
            symbol: each.qualified.clone(),
            kind: each.kind,
            signature: each.signature.clone(),
            start_line: each.start_line,
            end_line: each.end_line,
            scope_kind: each.scope_kind,
        }
    }
}

/// By path, then by place.
pub fn sort_definitions(found: &mut [SymbolDefinition]) {
    let place = |each: &SymbolDefinition| (each.start_line, each.end_line);
    found.sort_by(|a, b| {
        a.path.cmp(&b.path).then(place(a).cmp(&place(b))).then_with(|| a.symbol.cmp(&b.symbol))
    });
}

/// Uses in code without structure: the lines that hold the name as a word.
pub fn words_in(path: &str, text: &str, name: &SymbolName) -> Vec<SymbolUse> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| holds_word(line, &name.last))
        .map(|(line, text)| SymbolUse {
            symbol: name.last.clone(),
            path: path.to_owned(),
            line,
            kind: if is_import(text) { ReferenceKind::Import } else { ReferenceKind::Read },
            evidence: String::new(),
            from_syntax: false,
            confidence: "low",
        })
        .collect()
}

/// The uses with their lines of the text as it is now, and how many were not found there any more.
pub fn with_evidence(text: &str, uses: Vec<SymbolUse>, name: &SymbolName) -> (Vec<SymbolUse>, usize) {
    let count = uses.len();
    let lines: HashMap<u32, &str> = (1..).zip(text.lines()).collect();
    let shown: Vec<SymbolUse> = uses
        .into_iter()
        .filter_map(|mut found| {
            let line = lines.get(&found.line).filter(|line| line.contains(&name.last))?;
            found.evidence = line.trim().chars().take(EVIDENCE_CHARS).collect();
            Some(found)
        })
        .collect();
    let lost = count - shown.len();
    (shown, lost)
}

fn is_import(line: &str) -> bool {
    let word = line.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    ["import", "from", "use", "using", "include", "require", "source"].contains(&word)
}

fn holds_word(line: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_name) && !line[at + word.len()..].starts_with(is_name))
}

#[cfg(test)]
mod tests {
    use super::SymbolName;

    #[test]
    fn names_match_by_their_ends() {
        let is = |asked: &str, declared: &str| SymbolName::parse(asked).unwrap().is_declared_by(declared);
        assert!(is("run", "Service.run"));
        assert!(is("Service.run", "Service.run"));
        assert!(is("app.Service.run", "Service.run"));
        assert!(is("service::Service::run()", "Service.run"));
        assert!(is("Service.run", "app.Service.run"));
        assert!(is("Service.run", "run"));
        assert!(!is("Service.run", "Client.run"));
        assert!(!is("run", "Service.rerun"));
        assert!(SymbolName::parse(" . ").is_err());
    }

    #[test]
    fn confidence_follows_what_the_name_was_reached_through() {
        let of = |asked: &str, qualifier| SymbolName::parse(asked).unwrap().confidence(qualifier);
        assert_eq!(of("run", None), "high");
        assert_eq!(of("run", Some("x")), "medium");
        assert_eq!(of("Service.run", Some("Service")), "high");
        assert_eq!(of("Service.run", Some("x")), "medium");
        assert_eq!(of("Service.run", None), "low");
    }
}
