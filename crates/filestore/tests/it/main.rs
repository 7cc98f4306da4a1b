//! Tests of the file store through its public interface.

mod listing;
mod publication;
mod sqlite_files;
mod sqlite_world;
mod sqlite_writer;
