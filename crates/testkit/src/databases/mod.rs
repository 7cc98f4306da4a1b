//! PostgreSQL with pgvector and Redis for tests: on free loopback ports, ended for sure, shared by the tests of a run.
//!
//! A test that only needs a database gets one of its own on a server that all tests of a run share, though each runs in a process
//! of its own: the first one starts the server, and it ends a few seconds after the last one. A test that stops or crashes its server
//! starts one that belongs to it alone.

mod guarded;
mod postgres;
mod redis;

pub use postgres::{Database, HeldTransaction, Postgres};
pub use redis::Redis;
