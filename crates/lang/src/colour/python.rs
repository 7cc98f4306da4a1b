//! Colours of Python by the tokens of its own parser, which the outlines use, too.

use ruff_python_ast::token::TokenKind;

use super::{ColouredPiece, Pieces, colour_of};
use crate::languages::python;

pub(super) fn pieces(source: &str) -> Option<Vec<ColouredPiece>> {
    let tokens = python::tokens(source)?;
    let mut found = Pieces::default();
    for (at, (kind, place)) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| tokens[before].0);
        let after = tokens.get(at + 1).map(|token| token.0);
        if let Some(colour) = colour(*kind, before, after) {
            found.push(place.start, place.end, colour_of(colour));
        }
    }
    Some(found.all)
}

/// What a token is, by itself and its neighbours.
fn colour(kind: TokenKind, before: Option<TokenKind>, after: Option<TokenKind>) -> Option<&'static str> {
    use TokenKind::{
        At, Class, Comment, Complex, Def, FStringEnd, FStringMiddle, FStringStart, False, Float, Int, Lpar,
        Name, None as Nothing, String, TStringEnd, TStringMiddle, TStringStart, True,
    };
    match kind {
        Comment => Some("comment"),
        String | FStringStart | FStringMiddle | FStringEnd | TStringStart | TStringMiddle | TStringEnd => {
            Some("string")
        }
        Int | Float | Complex => Some("number"),
        True | False | Nothing => Some("constant"),
        Name => match (before, after) {
            (Some(At), _) => Some("attribute"),
            (Some(Class), _) => Some("type"),
            (Some(Def), _) | (_, Some(Lpar)) => Some("function"),
            _ => None,
        },
        At => Some("attribute"),
        // Such as `match` and `type`, which are names elsewhere: the lexer alone cannot tell.
        soft if soft.is_soft_keyword() => None,
        keyword if keyword.is_keyword() => Some("keyword"),
        operator if operator.is_operator() => Some("operator"),
        _ => None,
    }
}
