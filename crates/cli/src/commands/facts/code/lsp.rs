//! `facts lsp`: answers an editor.

use fulgurite_code::{LiveIndex, serve_stdio};

use crate::arguments::code::Lsp;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;

/// Serves on standard input and output until the editor ends it.
pub fn run(arguments: &Lsp) -> Result<(), Failure> {
    let index = LiveIndex::open(&arguments.index.path).map_err(explain_code)?;
    serve_stdio(&index, arguments.root.as_deref()).map_err(explain_code)
}
