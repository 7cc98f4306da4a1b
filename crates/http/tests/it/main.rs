//! The edge as clients and attackers meet it: real sockets, requests written byte by byte.

mod bodies;
mod checks;
mod harness;
mod lifecycle;
mod limits;
mod secrecy;
mod sessions;
mod wire;
