//! `facts lsp`: answers an editor.

use fulgurite_code::{open_index, serve_stdio};

use crate::arguments::code::Lsp;
use crate::commands::facts::database::explain_code;
use crate::failure::Failure;

/// Serves on standard input and output until the editor ends it.
pub fn run(arguments: &Lsp) -> Result<(), Failure> {
    let database = open_index(&arguments.index.path).map_err(explain_code)?;
    let outcome = serve_stdio(&database, arguments.root.as_deref());
    // Nothing was changed, so an error of closing loses nothing.
    let _ = database.close();
    outcome.map_err(explain_code)
}
