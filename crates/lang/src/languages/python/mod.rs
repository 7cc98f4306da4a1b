//! Python, as CPython's own `ast` sees it.
//!
//! Read by ruff's parser, written by hand for Python alone, and not by a grammar: it takes a tenth of the time, accepts
//! what Python accepts, and its tree is Python's.

mod depth;
pub(crate) mod lines;
mod literal;
mod outline;
pub(crate) mod print;
mod uses;

use std::ops::Range;

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, ParseOptions, Parsed as Module, lexer, parse_unchecked};
use ruff_text_size::Ranged;

use crate::facts::Gathered;
use crate::notes::line;
use crate::rules::Adapter;
use crate::{Language, OutlineLimits, ParsedSource, Shortfall};
use depth::Depth;
use outline::Reader;

pub(crate) static ADAPTER: Adapter =
    Adapter { name: "python", interpreters: &["python", "pypy"], own: Some(read), ..Adapter::DEFAULT };

/// Python itself refuses more brackets inside brackets, and more blocks inside blocks.
const MAX_BRACKETS: usize = 200;
const MAX_BLOCKS: usize = 99;
/// Expressions inside expressions, `a + a + a` among them; Python's own parser has about the same limit.
const MAX_LEVELS: usize = 3000;
/// So many fit on any thread's stack.
const FEW_LEVELS: usize = 200;
/// A longer text is measured before it is parsed: nesting without end makes a tree a hundred times its size.
const LARGE: usize = 256 * 1024;
/// What a level takes of the stack at most, in a build without optimisation.
const STACK_PER_LEVEL: usize = 4096;

fn read(source: &str, limits: &OutlineLimits, facts: Option<&mut Gathered>) -> ParsedSource {
    if let Some(at) = memchr::memchr(0, source.as_bytes()) {
        return broken(source, at);
    }
    if source.len() > LARGE {
        let depth = depth_before(source);
        if depth.levels > MAX_LEVELS {
            return too_nested(MAX_LEVELS);
        }
    }
    let module = parse_unchecked(source, ParseOptions::from(Mode::Module));
    let depth = depth::of(module.tokens().iter().map(|token| (token.kind(), token.start().to_usize())));
    // A tree is walked and freed by recursion.
    if depth.levels <= FEW_LEVELS {
        return read_module(source, limits, module, &depth, facts);
    }
    let stack = (depth.levels + FEW_LEVELS) * STACK_PER_LEVEL;
    stacker::grow(stack, || read_module(source, limits, module, &depth, facts))
}

/// The tokens of a text with their places, comments among them; `None` where it is nested too deeply to be read.
pub(crate) fn tokens(source: &str) -> Option<Vec<(TokenKind, Range<usize>)>> {
    if source.len() > LARGE && depth_before(source).levels > MAX_LEVELS {
        return None;
    }
    let module = parse_unchecked(source, ParseOptions::from(Mode::Module));
    let places = || module.tokens().iter().map(|token| (token.kind(), token.start().to_usize()));
    let levels = depth::of(places()).levels;
    let tokens = module
        .tokens()
        .iter()
        .map(|token| (token.kind(), token.start().to_usize()..token.end().to_usize()))
        .collect();
    // A tree is freed by recursion.
    if levels > FEW_LEVELS {
        stacker::grow((levels + FEW_LEVELS) * STACK_PER_LEVEL, || drop(module));
    }
    Some(tokens)
}

fn depth_before(source: &str) -> Depth {
    let mut lexer = lexer::lex(source, Mode::Module);
    depth::of(std::iter::from_fn(|| {
        let kind = lexer.next_token();
        (!kind.is_eof()).then_some((kind, 0))
    }))
}

fn read_module(
    source: &str,
    limits: &OutlineLimits,
    module: Module<ruff_python_ast::Mod>,
    depth: &Depth,
    facts: Option<&mut Gathered>,
) -> ParsedSource {
    if depth.levels > MAX_LEVELS {
        return too_nested(MAX_LEVELS);
    }
    if let Some(error) = module.errors().first() {
        return broken(source, error.location.start().to_usize());
    }
    if depth.brackets > MAX_BRACKETS {
        return too_nested(MAX_BRACKETS);
    }
    if depth.blocks > MAX_BLOCKS {
        return broken(source, depth.deepest_block);
    }
    let ruff_python_ast::Mod::Module(tree) = module.syntax() else { return broken(source, 0) };
    let mut reader = Reader::new(source, limits, &depth.comments);
    reader.body(&tree.body);
    if let Some(facts) = facts {
        crate::facts::python::collect(source, &reader.lines, &module, &tree.body, facts);
    }
    reader.notes.finish(Language::Python)
}

fn broken(source: &str, at: usize) -> ParsedSource {
    let before = source.as_bytes().get(..at).unwrap_or_default();
    let row = memchr::memchr_iter(b'\n', before).count();
    ParsedSource::nothing(Language::Python, Shortfall::SyntaxError { line: line(row) })
}

fn too_nested(limit: usize) -> ParsedSource {
    ParsedSource::nothing(Language::Python, Shortfall::TooNested { limit })
}

#[cfg(test)]
mod tests;
