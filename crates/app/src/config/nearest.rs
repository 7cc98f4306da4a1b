//! "Did you mean": the known name nearest to a misspelt one.

use model::spelling::edits;

/// The candidate with the fewest edits, if they are few for the length of the name.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_names_are_not_offered() {
        assert_eq!(nearest("server.listne", ["server.listen", "server.tools"]), Some("server.listen"));
        assert_eq!(nearest("frobnicate", ["server.listen", "server.tools"]), None);
    }
}
