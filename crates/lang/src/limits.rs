//! How much one file may cost.

use std::time::Duration;

/// Beyond these, a file is indexed as plain lines and the [`Shortfall`](crate::Shortfall) says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineLimits {
    /// A syntax tree takes ten to thirty times the room of its source.
    pub max_bytes: usize,
    /// The parser's own steps for each byte of source. Steps and not seconds, so that a busy machine gives the
    /// same outline as an idle one. Real files take less than 1; repairing hopeless input takes hundreds.
    pub max_steps_per_byte: u32,
    /// The last resort, for input that makes single steps slow: time of a processor, not of the clock on the wall.
    pub max_time: Duration,
    /// Brackets inside brackets. Nobody writes hundreds; a parser's time grows with the square of thousands.
    pub max_nesting: usize,
    /// Declarations nested deeper than this are left out.
    pub max_depth: usize,
    pub max_symbols: usize,
    /// With 0, uses are not looked for, and that is no shortfall. Nor are the insides of functions that declare
    /// nothing, so that an error there is not noticed.
    pub max_references: usize,
}

impl Default for OutlineLimits {
    fn default() -> OutlineLimits {
        OutlineLimits {
            max_bytes: 4 * 1024 * 1024,
            max_steps_per_byte: 16,
            max_time: Duration::from_secs(10),
            max_nesting: 1000,
            max_depth: 100,
            max_symbols: 50_000,
            max_references: 200_000,
        }
    }
}
