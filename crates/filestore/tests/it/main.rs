//! Tests of the file store through its public interface.

mod both;
mod listing;
mod sqlite_files;
mod sqlite_world;
mod sqlite_writer;
