//! Where tenants' files are kept: embedded in SQLite, or in PostgreSQL for many server processes.

pub mod postgres;
pub mod sqlite;
