//! Which candidates are older versions of others: `v3/types.ts` beside `v4/…`, `v1/fields.py` beside `fields.py`.
//!
//! A project that keeps its old version in a folder repeats every name there, and people ask about the present one
//! unless they say otherwise.

use std::collections::{HashMap, HashSet};

use crate::parse::Parsed;

/// The versions among the paths of some candidates.
pub(crate) struct Versions<'a> {
    /// For what comes before a version's folder: the newest version there.
    newest: HashMap<&'a str, u32>,
    paths: HashSet<&'a str>,
}

impl<'a> Versions<'a> {
    pub(crate) fn among(paths: impl Iterator<Item = &'a str>) -> Versions<'a> {
        let paths: HashSet<&str> = paths.collect();
        let mut newest = HashMap::new();
        for versioned in paths.iter().filter_map(|path| Versioned::of(path)) {
            let known = newest.entry(versioned.before).or_insert(versioned.number);
            *known = versioned.number.max(*known);
        }
        Versions { newest, paths }
    }

    /// Whether there is a newer one of this path, and the query does not name the older.
    pub(crate) fn is_old(&self, path: &str, query: &Parsed) -> bool {
        let Some(versioned) = Versioned::of(path) else { return false };
        let newer = self.newest.get(versioned.before).is_some_and(|newest| *newest > versioned.number);
        // What was moved into a folder when the new version took its place.
        let moved = || self.paths.contains(format!("{}{}", versioned.before, versioned.after).as_str());
        (newer || moved()) && !query.mentions(&[versioned.folder])
    }
}

/// A path with a folder that is a version, taken apart there.
struct Versioned<'a> {
    /// With its slash.
    before: &'a str,
    folder: &'a str,
    number: u32,
    after: &'a str,
}

impl Versioned<'_> {
    fn of(path: &str) -> Option<Versioned<'_>> {
        let mut start = 0;
        while let Some(length) = path[start..].find('/') {
            let folder = &path[start..start + length];
            let number = folder.strip_prefix('v').and_then(|digits| digits.parse().ok());
            if let Some(number) = number {
                let (before, after) = (&path[..start], &path[start + length + 1..]);
                return Some(Versioned { before, folder, number, after });
            }
            start += length + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Versions;
    use crate::parse::Parsed;

    fn old(query: &str, paths: &[&str]) -> Vec<bool> {
        let versions = Versions::among(paths.iter().copied());
        let query = Parsed::new(query);
        paths.iter().map(|path| versions.is_old(path, &query)).collect()
    }

    #[test]
    fn the_lower_number_is_old_unless_it_is_named() {
        let paths = ["src/v3/types.ts", "src/v4/core/schemas.ts", "src/index.ts", "other/v1/a.ts"];
        assert_eq!(old("object schema", &paths), [true, false, false, false]);
        assert_eq!(old("v3 object schema", &paths), [false; 4]);
    }

    #[test]
    fn what_was_moved_into_a_folder_is_old() {
        let paths = ["lib/v1/fields.py", "lib/fields.py", "lib/v1/mypy.py"];
        assert_eq!(old("fields", &paths), [true, false, false]);
    }

    #[test]
    fn an_api_in_one_version_is_not_old() {
        assert_eq!(
            old("list pods", &["api/v1/pods.go", "api/types.go", "v2.go", "vendor/v/x.go"]),
            [false; 4]
        );
    }
}
