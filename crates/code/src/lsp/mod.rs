//! A language server that reads an index: definitions, references, hovers and symbols for an editor.

mod answers;
mod documents;
mod handshake;
mod input;
mod kinds;
mod places;
pub mod server;
mod shifts;
mod waiting;
