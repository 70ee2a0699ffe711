//! `cargo xtask tidy`: rules on the sources that no compiler checks.
//!
//! Each rule is a file of `structure` or `prose` with one `check` over the [`Tree`](tree::Tree), a table at its head
//! that says what is allowed, and tests that plant violations. A [`Finding`](finding::Finding) names the file, the
//! line, and the mend.

mod command;
mod finding;
#[cfg(test)]
mod planted;
mod prose;
mod ratchet;
mod structure;
mod tree;

pub use command::{TIDY, check_workspace};
