//! Which candidates only declare what another of them does: `cache.h` beside `cache.cc`.

use std::collections::HashSet;

use model::filetype::stem_and_extension;

use crate::parse::Parsed;

/// The sources among the paths of some candidates, by what they are called.
pub(crate) struct Sources<'a> {
    stems: HashSet<&'a str>,
}

impl<'a> Sources<'a> {
    pub(crate) fn among(paths: impl Iterator<Item = &'a str>) -> Sources<'a> {
        let sources = paths.filter_map(|path| {
            let (stem, extension) = stem_and_extension(path)?;
            SOURCES.contains(&extension).then_some(stem)
        });
        Sources { stems: sources.collect() }
    }

    /// Whether this is a header whose source is a candidate too, wherever it lies, and the query does not ask for
    /// headers. A header without one does the work itself.
    pub(crate) fn has(&self, path: &str, query: &Parsed) -> bool {
        let Some((stem, extension)) = stem_and_extension(path) else { return false };
        HEADERS.contains(&extension) && self.stems.contains(stem) && !query.mentions(ASKED)
    }
}

const SOURCES: &[&str] = &["c", "cc", "cpp", "cxx", "m", "mm"];
const HEADERS: &[&str] = &["h", "hh", "hpp", "hxx"];
const ASKED: &[&str] =
    &["header", "headers", "declaration", "declarations", "interface", "prototype", "prototypes", "public"];

#[cfg(test)]
mod tests {
    use super::Sources;
    use crate::parse::Parsed;

    #[test]
    fn a_header_beside_its_source() {
        let paths = ["include/db/cache.h", "util/cache.cc", "fmt/format.h", "util/cache.py"];
        let has = |query: &str| {
            let sources = Sources::among(paths.into_iter());
            paths.map(|path| sources.has(path, &Parsed::new(query)))
        };
        assert_eq!(has("least recently used"), [true, false, false, false]);
        assert_eq!(has("cache header"), [false; 4]);
    }
}
