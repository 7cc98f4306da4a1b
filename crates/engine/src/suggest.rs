//! "Did you mean": paths of the index that a caller may have meant by one that does not exist.

use model::spelling::edits;

/// Most paths that are offered.
const OFFERED: usize = 3;

/// Longest name whose spelling is compared: beyond it a typo is not the reason.
const COMPARED_CHARS: usize = 80;

/// The paths nearest to the wanted one, best first: the same file name in another folder, then names that differ by a typo.
pub(crate) fn nearest_paths<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let asked = wanted.trim_matches('/');
    let wanted = asked.to_lowercase();
    let name = file_name(&wanted).to_owned();
    if name.is_empty() || name.chars().count() > COMPARED_CHARS {
        return Vec::new();
    }
    let allowed_edits = (name.chars().count() / 4).clamp(1, 3);
    let mut near: Vec<(usize, usize, &str)> = Vec::new();
    // A link that leads nowhere is known, but it is what was asked for.
    for path in known.filter(|path| *path != asked) {
        let lowered = path.to_lowercase();
        let other = file_name(&lowered);
        let distance = if other == name {
            0
        } else if other.len().abs_diff(name.len()) > allowed_edits * 4 {
            continue;
        } else {
            match edits(&name, other) {
                few if few <= allowed_edits => few,
                _ => continue,
            }
        };
        let shared =
            wanted.split('/').rev().zip(lowered.split('/').rev()).take_while(|(a, b)| a == b).count();
        near.push((distance, usize::MAX - shared, path));
        // The list stays short however many files are called `index.js`.
        if near.len() >= 64 {
            near.sort_unstable();
            near.truncate(OFFERED);
        }
    }
    near.sort_unstable();
    near.into_iter().take(OFFERED).map(|(_, _, path)| path).collect()
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] =
        ["docs/guide.md", "src/engine/mod.rs", "src/mod.rs", "src/retry.rs", "tests/retry.rs"];

    fn near(wanted: &str) -> Vec<&'static str> {
        nearest_paths(wanted, KNOWN.into_iter())
    }

    #[test]
    fn the_same_name_elsewhere_comes_first_then_typos() {
        assert_eq!(near("retry.rs"), ["src/retry.rs", "tests/retry.rs"]);
        assert_eq!(near("lib/engine/mod.rs"), ["src/engine/mod.rs", "src/mod.rs"]);
        assert_eq!(near("docs/giude.md"), ["docs/guide.md"]);
        assert_eq!(near("docs/Guide.MD"), ["docs/guide.md"]);
        assert_eq!(near("src/retry.rs"), ["tests/retry.rs"]);
    }

    #[test]
    fn what_is_far_from_every_path_gets_no_suggestion() {
        assert!(near("nothing/like/it.toml").is_empty());
        assert!(near("").is_empty());
        assert!(near(&"x".repeat(10_000)).is_empty());
    }
}
