//! Compares the query with what the files are called.

use model::{IndexKind, LocalEmbedder};

use crate::prescore::Lead;

/// Gives every lead the cosine of the query with the end of its path.
pub fn compare_paths(leads: &mut [Lead<'_>], embedder: &dyn LocalEmbedder, kind: IndexKind, vector: &[f32]) {
    let mut by_path: std::collections::HashMap<&str, f32> = std::collections::HashMap::new();
    for lead in leads {
        lead.path_similarity = *by_path.entry(lead.path).or_insert_with(|| {
            let name = end_of(lead.path);
            if !has_word(name) {
                return 0.0;
            }
            let named = embedder.embed(kind, &[name]);
            named.iter().flatten().zip(vector).fold(0.0, |sum, (x, y)| sum + x * y)
        });
    }
}

/// The file and its folder, without the file's ending.
fn end_of(path: &str) -> &str {
    let folder = path.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    let end = path.rfind('.').filter(|at| *at > folder).unwrap_or(path.len());
    &path[folder..end]
}

/// Whether a name is more than a number or a letter: what `c17` and `2024/03` mean is chance.
fn has_word(name: &str) -> bool {
    name.chars().zip(name.chars().skip(1)).any(|(one, next)| one.is_alphabetic() && next.is_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn numbers_and_letters_are_no_names() {
        assert!(["io", "src/retry", "v2/db", "café"].iter().all(|name| has_word(name)));
        assert!(!["c17", "184", "2024/03", "a_b", ""].iter().any(|name| has_word(name)));
    }
}
