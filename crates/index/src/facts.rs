//! How facts are packed: JSON under zstd.

use model::FileFacts;

const LEVEL: i32 = 3;

/// No facts are larger; longer ones are damage.
const MAX_BYTES: usize = 256 << 20;

pub(crate) fn pack(facts: &FileFacts) -> Vec<u8> {
    // Writing into memory fails only when memory is exhausted; facts have no keys that JSON could not hold.
    let json = serde_json::to_vec(facts).unwrap_or_default();
    zstd::bulk::compress(&json, LEVEL).unwrap_or_default()
}

/// What was packed, if it is not damaged.
pub(crate) fn unpack(packed: &[u8]) -> Option<FileFacts> {
    let decoder = zstd::stream::Decoder::new(packed).ok()?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(decoder, MAX_BYTES as u64), &mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use model::{DeclarationFacts, Parameter};

    use super::*;

    #[test]
    fn what_is_packed_comes_out_again() {
        let facts = FileFacts {
            language: "python".into(),
            imports: vec!["os".into()],
            declarations: vec![DeclarationFacts {
                kind: "method".into(),
                name: "größe".into(),
                lines: (3, 9),
                parameters: vec![Parameter { name: "a".into(), default: Some("1".into()), type_: None }],
                calls: vec!["db.query".into()],
                branches: 2,
                is_async: true,
                ..DeclarationFacts::default()
            }],
            ..FileFacts::default()
        };
        assert_eq!(unpack(&pack(&facts)), Some(facts));
        assert_eq!(unpack(&pack(&FileFacts::default())), Some(FileFacts::default()));
    }

    #[test]
    fn damage_is_nothing_not_a_panic() {
        assert_eq!(unpack(b"no zstd"), None);
        assert_eq!(unpack(&zstd::bulk::compress(b"{\"language\":", 1).unwrap()), None);
    }
}
