//! A language server that reads an index: definitions, references, hovers and symbols for an editor.

mod answers;
mod documents;
mod handshake;
mod input;
mod jobs;
mod kinds;
mod large;
mod places;
pub mod server;
mod shifts;
pub mod stdio;
mod waiting;
