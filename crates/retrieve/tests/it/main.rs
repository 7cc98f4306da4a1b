//! Searches over a real index: routing, widening, filters, order, snippets.

mod corpus;
mod properties;
mod query_vector;
mod search;
