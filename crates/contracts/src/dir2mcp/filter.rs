//! The filter arguments that search and ask share.

use model::filter::{Field, Test};
use model::{DocType, ErrorCode, Failure, Filter};

use crate::text::shown;

/// The filter of a call, from its arguments.
pub(super) fn filter(
    path_prefix: Option<String>,
    file_glob: Option<String>,
    doc_types: Option<Vec<String>>,
) -> Result<Filter, Failure> {
    // Agents fill in every argument they know of; an empty text asks for nothing.
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    Ok(Filter::of_files(
        given(path_prefix),
        given(file_glob),
        &parse_doc_types(&doc_types.unwrap_or_default())?,
    ))
}

/// One file and nothing else.
pub(super) fn one_file(path: &str) -> Filter {
    Filter::Is { field: Field::Path, test: Test::OneOf(vec![path.to_owned()]) }
}

/// Document types by their names, whatever their case; an unknown one is refused with the list of those
/// that exist.
pub fn parse_doc_types(names: &[String]) -> Result<Vec<DocType>, Failure> {
    let mut types = Vec::new();
    for name in names {
        let Some(doc_type) = DocType::parse(name.trim()) else {
            let known: Vec<&str> = DocType::ALL.iter().map(|each| each.as_str()).collect();
            return Err(Failure::new(
                ErrorCode::InvalidField,
                format!("doc_types has no type \"{}\"; the types are: {}", shown(name), known.join(", ")),
            ));
        };
        if !types.contains(&doc_type) {
            types.push(doc_type);
        }
    }
    Ok(types)
}

/// Refuses a text without a single visible character, which the schema's minimum length lets through.
pub(super) fn not_blank(text: String, field: &str) -> Result<String, Failure> {
    if text.trim().is_empty() {
        return Err(Failure::new(ErrorCode::InvalidField, format!("{field} must not be empty")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_types_are_read_whatever_their_case() {
        let names = ["MD".to_owned(), "code".into(), " md ".into()];
        assert_eq!(parse_doc_types(&names), Ok(vec![DocType::Md, DocType::Code]));
        let failure = parse_doc_types(&["markdown".into()]).unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidField);
        assert!(failure.message.contains("\"markdown\"") && failure.message.contains("code, text, md, data"));
        let failure = parse_doc_types(&["x".repeat(10_000)]).unwrap_err();
        assert!(failure.message.len() < 300);
    }

    #[test]
    fn an_empty_filter_is_no_filter() {
        let empty = filter(Some(String::new()), Some(" ".into()), Some(vec![])).unwrap();
        assert_eq!(empty, Filter::default());
    }
}
