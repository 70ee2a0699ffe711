//! `facts lsp`: answers an editor.

use fulgurite_code::{LiveIndex, serve_stdio};

use crate::arguments::code::Lsp;
use crate::commands::facts::database::{explain_code, explain_index, refuse_directory};
use crate::failure::Failure;

/// Serves on standard input and output until the editor ends it.
pub fn run(arguments: &Lsp) -> Result<(), Failure> {
    refuse_directory(&arguments.index.path)?;
    if let Some(root) = arguments.root.as_ref().filter(|root| !root.is_dir()) {
        let message = format!("{}: there is no such directory; --root is the indexed directory", root.display());
        return Err(Failure::Message(message));
    }
    let index = LiveIndex::open(&arguments.index.path).map_err(explain_index)?;
    serve_stdio(&index, arguments.root.as_deref()).map_err(explain_code)
}
