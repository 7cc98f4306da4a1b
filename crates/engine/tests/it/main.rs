//! The engine through its public interface: one folder, one or two engines over it, a clock that the test sets.

mod answers;
mod audit;
mod cancellation;
mod code_search;
mod injections;
mod recognition;
mod refresh;
mod roles;
mod roots;
mod watching;
mod world;
