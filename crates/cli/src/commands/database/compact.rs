//! `compact`: removes unused space from the file.

use std::io::Write;

use fulgurite::Monitor;

use crate::arguments::Compact;
use crate::database::changing;
use crate::failure::Failure;
use crate::output::size;
use crate::progress::Progress;

/// Compacts, and prints how much smaller the file is.
pub fn run(arguments: &Compact) -> Result<(), Failure> {
    let path = &arguments.file.path;
    let length = || std::fs::metadata(path).map(|metadata| metadata.len());
    let before = length();
    changing(path, arguments.writing, |db| {
        let monitor = Monitor::new();
        Ok(Progress::new("compacting").follow(&monitor, || db.compact_with(&monitor))?)
    })?;
    if let (Ok(before), Ok(after)) = (before, length()) {
        // A checkpoint writes to free pages. If the file has none, it grows.
        let remark = if after < before { "" } else { "; it had no unused space, and needs some for later changes" };
        let (path, before, after) = (path.display(), size(before), size(after));
        let _ = writeln!(std::io::stderr(), "{path}: {before} before, {after} now{remark}");
    }
    Ok(())
}
