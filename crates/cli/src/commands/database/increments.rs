//! Indexes of code have more files than one: a copy of one alone would not have what has changed since.

use std::path::Path;

use fulgurite_code::{increments, index_files};

use crate::failure::Failure;

/// Refuses an index with incremental databases.
///
/// # Errors
/// If it has some.
pub fn refuse(path: &Path, instead: &str) -> Result<(), Failure> {
    let is_increased = !increments(path).is_empty() && index_files(path).is_ok_and(|files| files.len() > 1);
    if is_increased {
        let message = format!(
            "{}: an index of code, whose latest changes are in other files; use `{instead}`, which takes all of them",
            path.display()
        );
        return Err(Failure::Message(message));
    }
    Ok(())
}
