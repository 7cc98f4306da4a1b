//! How deep a text nests, from its tokens: what the tree will cost to walk, and what Python refuses.

use ruff_python_ast::token::TokenKind;

#[derive(Default)]
pub(super) struct Depth {
    pub(super) brackets: usize,
    pub(super) blocks: usize,
    /// Where the deepest block begins.
    pub(super) deepest_block: usize,
    /// No tree of these tokens is deeper.
    pub(super) levels: usize,
    /// Where comments begin.
    pub(super) comments: Vec<u32>,
}

/// Every token but a name and a literal may be a level of its own: an operator, a bracket, a call after a call. Commas
/// separate what is side by side, except in front of the body of a lambda.
pub(super) fn of(tokens: impl Iterator<Item = (TokenKind, usize)>) -> Depth {
    let mut depth = Depth::default();
    let (mut here, mut base, mut blocks) = (0_usize, 0_usize, 0_usize);
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (kind, start) in tokens {
        match kind {
            TokenKind::Name
            | TokenKind::Int
            | TokenKind::Float
            | TokenKind::Complex
            | TokenKind::String
            | TokenKind::NonLogicalNewline
            | TokenKind::FStringMiddle
            | TokenKind::TStringMiddle => {}
            TokenKind::Comment => depth.comments.push(u32::try_from(start).unwrap_or(u32::MAX)),
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => {
                open.push((here, base));
                here += 1;
                base = here;
                depth.brackets = depth.brackets.max(open.len());
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                if let Some(before) = open.pop() {
                    (here, base) = (before.0 + 1, before.1);
                }
            }
            TokenKind::Comma => here = base,
            TokenKind::Lambda => {
                here += 1;
                base = here;
            }
            TokenKind::Newline => {
                open.clear();
                (here, base) = (blocks, blocks);
            }
            TokenKind::Semi if open.is_empty() => (here, base) = (blocks, blocks),
            TokenKind::Indent => {
                blocks += 1;
                if blocks > depth.blocks {
                    (depth.blocks, depth.deepest_block) = (blocks, start);
                }
            }
            TokenKind::Dedent => blocks = blocks.saturating_sub(1),
            _ => here += 1,
        }
        depth.levels = depth.levels.max(here);
    }
    depth
}
