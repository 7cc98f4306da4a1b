//! How outlines are packed: lines of text, one per definition and one per used name, under zstd. A question looks for
//! its name in the unpacked bytes before it takes them apart.

use model::{Definition, Outline, ReferenceKind, ScopeKind, SymbolKind, Uses};

const LEVEL: i32 = 3;

/// No outline is larger; a longer one is damage.
const MAX_BYTES: usize = 256 << 20;

pub(crate) fn pack(outline: &Outline) -> Vec<u8> {
    let mut text = String::new();
    for each in &outline.definitions {
        let Definition { kind, qualified, signature, start_line, end_line, scope_kind } = each;
        text.push_str(&format!(
            "d\t{kind}\t{}\t{start_line}\t{end_line}\t{}\t{}\n",
            scope_kind.as_str(),
            plain(qualified),
            plain(signature),
        ));
    }
    for each in &outline.uses {
        let qualifier = each.qualifier.as_deref().map(plain).unwrap_or_default();
        text.push_str(&format!("u\t{}\t{}\t{qualifier}", each.kind.as_str(), plain(&each.name)));
        let mut before = 0;
        for line in &each.lines {
            text.push_str(&format!("\t{}", line - before));
            before = *line;
        }
        text.push('\n');
    }
    // Packing into memory fails only when memory is exhausted.
    zstd::bulk::compress(text.as_bytes(), LEVEL).unwrap_or_default()
}

/// What an outline says about `name`, if it is not damaged.
pub(crate) fn unpack(packed: &[u8], name: &str) -> Option<Outline> {
    let bytes = zstd::stream::Decoder::new(packed).ok().and_then(|decoder| {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(decoder, MAX_BYTES as u64), &mut bytes).ok()?;
        Some(bytes)
    })?;
    let text = String::from_utf8(bytes).ok()?;
    if !text.contains(name) {
        return Some(Outline::default());
    }
    let mut outline = Outline::default();
    for line in text.lines() {
        let mut parts = line.split('\t');
        match parts.next()? {
            "d" => outline.definitions.push(Definition {
                kind: SymbolKind::from_name(parts.next()?)?,
                scope_kind: ScopeKind::from_name(parts.next()?)?,
                start_line: parts.next()?.parse().ok()?,
                end_line: parts.next()?.parse().ok()?,
                qualified: parts.next()?.to_owned(),
                signature: parts.next()?.to_owned(),
            }),
            "u" => {
                let kind = ReferenceKind::from_name(parts.next()?)?;
                let name = parts.next()?.to_owned();
                let qualifier = Some(parts.next()?).filter(|text| !text.is_empty()).map(str::to_owned);
                let mut lines = Vec::new();
                let mut at = 0u32;
                for step in parts {
                    at = at.checked_add(step.parse().ok()?)?;
                    lines.push(at);
                }
                outline.uses.push(Uses { name, qualifier, kind, lines });
            }
            _ => return None,
        }
    }
    Some(outline.about(name))
}

/// Without the characters that divide columns and lines.
fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['\t', '\n', '\r']) { text.replace(['\t', '\n', '\r'], " ").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_again() {
        let outline = Outline {
            definitions: vec![Definition {
                kind: SymbolKind::AsyncMethod,
                qualified: "Service.run".into(),
                signature: "(self, item: str='a')".into(),
                start_line: 7,
                end_line: 12,
                scope_kind: ScopeKind::Class,
            }],
            uses: vec![
                Uses {
                    name: "run".into(),
                    qualifier: Some("service".into()),
                    kind: ReferenceKind::Call,
                    lines: vec![3, 40],
                },
                Uses { name: "größe".into(), qualifier: None, kind: ReferenceKind::Read, lines: vec![1] },
            ],
        };
        let about = |name: &str| unpack(&pack(&outline), name).unwrap();
        assert_eq!(about("run"), outline.clone().about("run"));
        assert_eq!((about("run").definitions.len(), about("run").uses.len()), (1, 1));
        assert_eq!(about("größe").uses, outline.uses[1..]);
        assert_eq!(unpack(&pack(&outline), "elsewhere"), Some(Outline::default()));
        assert_eq!(unpack(&pack(&Outline::default()), "x"), Some(Outline::default()));
    }

    #[test]
    fn damage_is_nothing_not_a_panic() {
        assert_eq!(unpack(b"no zstd", ""), None);
        let odd = zstd::bulk::compress(b"d\tclass\n", 1).unwrap();
        assert_eq!(unpack(&odd, ""), None);
    }
}
