//! [`Source`]: the source of the parts of an index.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::part::Part;

/// The function that receives each part.
pub type Visit<'v> = dyn FnMut(Part) -> Result<()> + 'v;

/// The output of an indexer. It is read twice: first to find the changed files.
pub trait Source {
    /// Calls `visit` for each part, in an order that does not matter.
    ///
    /// # Errors
    /// [`Error::Index`](crate::Error::Index) with a place, if it is damaged or in another format; those of `visit`.
    fn each(&self, visit: &mut Visit<'_>) -> Result<()>;

    /// The files that were changed while an indexer ran, as far as [`Source::each`] has come to them: their places may
    /// be those of another text. They are left out of the index.
    fn changed_files(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// The paths that lead out of the indexed directory, as far as [`Source::each`] has come to them. These files are
    /// left out of the index.
    fn outside_files(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// An update from the source failed for this reason. A source that removes its files may keep them, and name them
    /// in the error that it returns.
    fn failed(&self, error: Error) -> Error {
        error
    }
}

/// A source without some of its files.
pub struct Without<'s> {
    source: &'s dyn Source,
    /// From the indexed directory on.
    paths: Vec<String>,
}

impl<'s> Without<'s> {
    /// That without the files and directories at these paths, which begin at the indexed directory.
    #[must_use]
    pub fn new(source: &'s dyn Source, paths: &[String]) -> Self {
        let plain = |path: &String| path.trim_start_matches("./").trim_end_matches('/').to_owned();
        Self { source, paths: paths.iter().map(plain).collect() }
    }

    fn has(&self, path: &str) -> bool {
        let is_at = |left: &String| path.strip_prefix(left.as_str());
        !self.paths.iter().filter_map(is_at).any(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Source for Without<'_> {
    fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
        self.source.each(&mut |part| if self.has(part.unit()) { visit(part) } else { Ok(()) })
    }

    fn changed_files(&self) -> BTreeSet<String> {
        self.source.changed_files().into_iter().filter(|path| self.has(path)).collect()
    }

    fn outside_files(&self) -> BTreeSet<String> {
        self.source.outside_files()
    }

    fn failed(&self, error: Error) -> Error {
        self.source.failed(error)
    }
}

/// Several sources, one after the other.
impl Source for Vec<Box<dyn Source>> {
    fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
        self.iter().try_for_each(|source| source.each(visit))
    }

    fn changed_files(&self) -> BTreeSet<String> {
        self.iter().flat_map(|source| source.changed_files()).collect()
    }

    fn outside_files(&self) -> BTreeSet<String> {
        self.iter().flat_map(|source| source.outside_files()).collect()
    }

    fn failed(&self, error: Error) -> Error {
        self.iter().fold(error, |error, source| source.failed(error))
    }
}
