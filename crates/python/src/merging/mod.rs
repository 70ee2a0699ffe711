//! Merge functions of Python.
//!
//! Invariants:
//!
//! 1. While a function runs, its thread uses no database, transaction or store ([`running::check_not_merging`]). The
//!    call that called the function may hold a lock that such a use would wait for.
//! 2. A function waits for the interpreter while its caller may hold locks: that of a write transaction here, and that
//!    of the log in the engine. So no thread waits for one of these with the interpreter's lock held.

pub mod functions;
pub mod raised;
pub mod running;
