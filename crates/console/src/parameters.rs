//! The query of a URL: every parameter known, none given twice.

use dir2mcp_http::query_pairs;
use model::Failure;

use crate::answer::refused;

/// What a request asks for.
#[derive(Debug)]
pub(crate) struct Parameters {
    given: Vec<(String, String)>,
}

impl Parameters {
    /// Reads a query; names that are not among `known` are refused, so that misspellings show.
    pub(crate) fn read(query: Option<&str>, known: &[&str]) -> Result<Parameters, Failure> {
        let mut given: Vec<(String, String)> = Vec::new();
        let pairs = query_pairs(query.unwrap_or_default());
        for (name, value) in pairs.ok_or_else(|| refused("the query of the URL cannot be read"))? {
            if !known.contains(&name.as_str()) {
                return Err(refused(format!("unknown parameter; known are: {}", known.join(", "))));
            }
            if given.iter().any(|(other, _)| *other == name) {
                return Err(refused(format!("{name} is given twice")));
            }
            given.push((name, value));
        }
        Ok(Parameters { given })
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, Failure> {
        self.text(name).ok_or_else(|| refused(format!("{name} is required")))
    }

    /// A whole number, at most `most`.
    pub(crate) fn number(&self, name: &str, most: u64) -> Result<Option<u64>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<u64>() {
            Ok(number) if number <= most => Ok(Some(number)),
            _ => Err(refused(format!("{name} must be a whole number up to {most}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_strictly() {
        let known = &["path", "from"];
        let given = Parameters::read(Some("path=a%2Fb+c&from=7"), known).unwrap();
        assert_eq!((given.text("path"), given.number("from", 9).unwrap()), (Some("a/b c"), Some(7)));
        assert!(given.number("from", 6).is_err() && given.required("source").is_err());
        for bad in ["nope=1", "path=a&path=b", "path=%zz", "path=%2", "path=%ff"] {
            assert!(Parameters::read(Some(bad), known).is_err(), "{bad}");
        }
        assert!(Parameters::read(None, known).is_ok());
    }
}
