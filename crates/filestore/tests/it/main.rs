//! Tests of the file store through its public interface.

mod background;
mod both;
mod clock_jumps;
mod killed_workers;
mod listing;
mod publication;
mod sides;
mod sqlite_files;
mod sqlite_world;
mod sqlite_writer;
