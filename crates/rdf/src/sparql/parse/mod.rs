//! Parsing: from text to algebra, with errors that name the token.

pub(crate) mod outline;
mod paths;
pub(crate) mod prologues;
mod quoted_triples;
mod selection;
pub(crate) mod shape;
pub(crate) mod star;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod words;
