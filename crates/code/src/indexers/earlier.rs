//! [`has_found`] and [`would_lose`]: whether an index has what an indexer found earlier.

use std::path::Path;

use fulgurite_facts::FactDatabase;

use crate::browse::reader::CodeReader;
use crate::ctags::SCHEME;
use crate::error::Result;
use crate::stack::{open_index, open_sound_part};

/// Whether the index at `path`, where there may be none, has a file below the directory `root` whose name has one of
/// these endings, and which is not from ctags. An empty `root` is the indexed directory.
///
/// # Errors
/// If the index cannot be read.
pub fn has_found(path: &Path, root: &str, endings: &[&str]) -> Result<bool> {
    if !path.exists() {
        return Ok(false);
    }
    is_found(&open_index(path)?, root, endings)
}

/// As [`has_found`], of what can be read of the index: a damaged increment is about to be replaced.
pub fn would_lose(path: &Path, root: &str, endings: &[&str]) -> bool {
    let found = || is_found(&open_sound_part(path)?, root, endings);
    path.exists() && found().is_ok_and(|found| found)
}

fn is_found(database: &FactDatabase, root: &str, endings: &[&str]) -> Result<bool> {
    let reader = CodeReader::new(database)?;
    for file in reader.files()? {
        let is_below = root.is_empty() || file.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'));
        if is_below && endings.iter().any(|ending| file.ends_with(ending)) && !is_of_ctags(&reader, &file)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether ctags found the definitions in a file. It lists no file without definitions.
fn is_of_ctags(reader: &CodeReader, path: &str) -> Result<bool> {
    let uses = reader.uses(&reader.file(path)?)?;
    let symbol = uses.first().map(|used| reader.describe(used.symbol)).transpose()?;
    Ok(symbol.is_some_and(|found| found.symbol.split(' ').next() == Some(SCHEME)))
}
