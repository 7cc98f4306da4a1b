//! Source text in, structure out, within limits.

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tree_sitter::{ParseOptions, Parser, Tree};

use crate::facts::{Gathered, collect};
use crate::languages::macros::blank;
use crate::notes::line;
use crate::rules::Table;
use crate::skim::{skim, without};
use crate::visit::Visit;
use crate::walk::walk;
use crate::{Import, Language, OutlineLimits, Reference, ReferenceKind, Shortfall, Symbol};

/// What a file declares and uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSource {
    pub language: Language,
    /// The outline, by first line, last line, name, kind.
    pub symbols: Vec<Symbol>,
    pub imports: Vec<Import>,
    /// In the order of the text, calls and imports among them.
    pub references: Vec<Reference>,
    /// Why something is missing, if anything is.
    pub shortfall: Option<Shortfall>,
}

impl ParsedSource {
    pub fn calls(&self) -> impl Iterator<Item = &Reference> {
        self.references
            .iter()
            .filter(|use_| matches!(use_.kind, ReferenceKind::Call | ReferenceKind::Instantiation))
    }

    pub(crate) fn nothing(language: Language, shortfall: Shortfall) -> ParsedSource {
        ParsedSource {
            language,
            symbols: Vec::new(),
            imports: Vec::new(),
            references: Vec::new(),
            shortfall: Some(shortfall),
        }
    }
}

/// Reads a source text. Lines end with `\n`.
pub fn parse(language: Language, source: &str, limits: &OutlineLimits) -> ParsedSource {
    parse_into(language, source, limits, None)
}

/// The same, and the facts about its declarations where they are asked for.
pub(crate) fn parse_into(
    language: Language,
    source: &str,
    limits: &OutlineLimits,
    facts: Option<&mut Gathered>,
) -> ParsedSource {
    if source.len() > limits.max_bytes {
        let shortfall = Shortfall::TooLarge { bytes: source.len(), limit: limits.max_bytes };
        return ParsedSource::nothing(language, shortfall);
    }
    if nesting(source) > limits.max_nesting || (language.adapter().too_nested)(source) {
        return ParsedSource::nothing(language, Shortfall::TooNested { limit: limits.max_nesting });
    }
    if language.adapter().minified
        && let Some(line_bytes) = minified(source)
    {
        return ParsedSource::nothing(language, Shortfall::Minified { line_bytes });
    }
    if let Some(own) = language.adapter().own {
        return own(source, limits, facts);
    }
    let older = (language.adapter().older)(source);
    let macros = (language.adapter().macros)(source);
    let plain = (!macros.is_empty()).then(|| blank(source, &macros));
    let dialect = language.adapter().skim.filter(|_| limits.max_references == 0 && facts.is_none());
    if let Some(dialect) = dialect
        && let Some(left_out) = skim(dialect, plain.as_deref().unwrap_or(source))
    {
        let shorter = without(source, &left_out);
        let older = older.as_ref().map(|older| without(older, &left_out));
        let plain = plain.as_ref().map(|plain| without(plain, &left_out));
        // Only uses need to know where the macros are.
        let text = Text { source: &shorter, older: older.as_deref(), plain: plain.as_deref(), macros: &[] };
        let parsed = parse_with_stack(language, &text, limits, None);
        if parsed.shortfall.is_none() || dialect.bears_errors() {
            return parsed;
        }
    }
    let text = Text { source, older: older.as_deref(), plain: plain.as_deref(), macros: &macros };
    parse_with_stack(language, &text, limits, facts)
}

/// One text in the versions that a grammar may read. All are equally long.
struct Text<'s> {
    /// As it is: what is shown.
    source: &'s str,
    /// Without syntax that the grammar does not know yet. If it has errors, `source` may have fewer.
    older: Option<&'s str>,
    /// With blanks in place of macros, which are always in the way.
    plain: Option<&'s str>,
    /// Where those macros are.
    macros: &'s [Range<usize>],
}

/// The average length of a line, where it is longer than people write. A short text costs little in any case.
fn minified(source: &str) -> Option<usize> {
    const SHORT: usize = 16 * 1024;
    const LINE: usize = 500;
    let ends = || memchr::memchr_iter(b'\n', source.as_bytes()).count();
    let line = (source.len() > SHORT).then(|| source.len() / (ends() + 1))?;
    (line > LINE).then_some(line)
}

/// Whether lines are longer than people write.
pub(crate) fn is_minified(source: &str) -> bool {
    minified(source).is_some()
}

/// Whether brackets are nested deeper than any grammar should be asked to read.
pub(crate) fn is_too_nested(language: Language, source: &str) -> bool {
    nesting(source) > OutlineLimits::default().max_nesting || (language.adapter().too_nested)(source)
}

fn parse_with_stack(
    language: Language,
    text: &Text<'_>,
    limits: &OutlineLimits,
    facts: Option<&mut Gathered>,
) -> ParsedSource {
    with_stack(text.source.len(), || parse_here(language, text, limits, facts))
}

/// Runs a parser over so many bytes with the stack that it may need.
pub(crate) fn with_stack<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes <= SMALL {
        return work();
    }
    stacker::grow(2 * 1024 * 1024 + bytes * STACK_PER_BYTE, work)
}

/// The parser frees its own stack by recursion, 112 bytes for each token not yet understood, which hostile input
/// makes as many as it likes. So a file that could overflow a thread of 2 MB has a stack of its own, with room for
/// the worst; what is not touched is not used.
const SMALL: usize = 12 * 1024;
const STACK_PER_BYTE: usize = 160;

/// How deep brackets are nested, taking those in strings and comments for real ones. Angle brackets are comparisons
/// as often as brackets, so what is open is forgotten at the end of a statement.
fn nesting(source: &str) -> usize {
    let (mut depth, mut angles, mut deepest) = (0_usize, 0_usize, 0);
    for byte in source.bytes() {
        // Most bytes are none of these.
        if !BRACKET[usize::from(byte)] {
            continue;
        }
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'<' => {
                angles += 1;
                deepest = deepest.max(angles);
            }
            b'>' => angles = angles.saturating_sub(1),
            _ => {}
        }
        if matches!(byte, b';' | b'{' | b'}') {
            angles = 0;
        }
    }
    deepest
}

const BRACKET: [bool; 256] = {
    let mut table = [false; 256];
    let signs = b"()[]{}<>;";
    let mut at = 0;
    while at < signs.len() {
        table[signs[at] as usize] = true;
        at += 1;
    }
    table
};

fn parse_here(
    language: Language,
    text: &Text<'_>,
    limits: &OutlineLimits,
    facts: Option<&mut Gathered>,
) -> ParsedSource {
    let adapter = language.adapter();
    let table = language.table();
    let source = text.source;
    let Some(mut tree) = read(table, text.plain.or(text.older).unwrap_or(source), limits) else {
        return ParsedSource::nothing(language, Shortfall::TooHard);
    };
    if text.older.is_some()
        && tree.root_node().has_error()
        && let Some(second) = read(table, source, limits)
        && (!second.root_node().has_error() || first_error(&second) > first_error(&tree))
    {
        tree = second;
    }
    let broken = tree.root_node().has_error().then(|| first_error(&tree));
    let mut visit = Visit::new(source, table, limits, adapter.separator);
    visit.wants_facts = facts.is_some();
    walk(&tree, &mut visit, text.macros);
    if let Some(facts) = facts {
        collect(language, &tree, &visit, facts);
    }
    if broken.is_some() {
        (adapter.recover)(&mut visit);
    }
    if let Some(line) = broken {
        visit.shortfall.get_or_insert(Shortfall::Recovered { line });
    }
    visit.notes.finish(language)
}

/// The syntax tree as text, for work on a language's rules; empty for a language that is read without a grammar.
pub fn tree(language: Language, source: &str) -> String {
    if language.adapter().own.is_some() {
        return String::new();
    }
    let tree = read(language.table(), source, &OutlineLimits::default());
    tree.map_or_else(String::new, |tree| tree.root_node().to_sexp())
}

thread_local! {
    /// A parser keeps its buffers; making one for each file costs as much as a small file.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

fn read(table: &Table, source: &str, limits: &OutlineLimits) -> Option<Tree> {
    // The parser reports once in this many steps.
    const STEPS_PER_REPORT: u64 = 100;
    let max_steps = (source.len() as u64 + 10_000) * u64::from(limits.max_steps_per_byte);
    // Asking for the time of a thread costs more than a report.
    const REPORTS_PER_LOOK: u64 = 64;
    let mut reports = 0_u64;
    let started = time_spent();
    let mut progress = |_: &tree_sitter::ParseState| {
        reports += 1;
        let over = reports * STEPS_PER_REPORT > max_steps
            || reports.is_multiple_of(REPORTS_PER_LOOK)
                && time_spent().saturating_sub(started) > limits.max_time;
        if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&table.grammar).ok()?;
        let options = ParseOptions::new().progress_callback(&mut progress);
        let bytes = source.as_bytes();
        let tree = parser.parse_with_options(
            &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
            None,
            Some(options),
        );
        if tree.is_none() {
            parser.reset();
        }
        tree
    })
}

/// The time that this thread has had of a processor: on a busy machine, less than went by.
fn time_spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The line of the first error, found by going down to it.
fn first_error(tree: &Tree) -> u32 {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() || !cursor.goto_first_child() {
            return line(node.start_position().row);
        }
        loop {
            let child = cursor.node();
            if child.has_error() || child.is_missing() {
                break;
            }
            if !cursor.goto_next_sibling() {
                return line(child.start_position().row);
            }
        }
    }
}
