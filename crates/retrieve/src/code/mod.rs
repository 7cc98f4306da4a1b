//! Questions about declarations that words cannot ask: filters on their facts, a grammar of queries, and an exact ranking of
//! what both admit.
//!
//! Filters are one table ([`FILTERS`]); arguments, flags, documentation and evaluation come from it. A filter gates what is
//! ranked, so that one that matches three declarations of a hundred thousand finds all three.

mod filters;
mod kinds;
mod query;
mod rank;
mod risk;

pub use filters::{ArgumentType, CodeCandidate, CodeFilters, FILTERS, FilterSpec};
pub use kinds::published_kind;
pub use query::{CodeQuery, QueriedText, QueryError};
pub use rank::{CodeHit, RankedPart, rank, text_of};
pub use risk::{
    Risk, RiskCaps, RiskField, RiskFlow, RiskMatch, RiskRule, RiskRules, RuleDiagnostic, RuleKind, Severity,
};
