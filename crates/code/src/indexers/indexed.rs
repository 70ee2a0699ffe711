//! [`Indexed`]: what the indexers of a plan wrote, as one source.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::Path;

use crate::error::{Error, KeptOutput, Result};
use crate::indexers::run::Temporary;
use crate::indexers::stamps::Stamps;
use crate::model::part::Part;
use crate::source::{Source, Visit};

/// The output of indexers. The files are removed when it is dropped, except those that [`Source::failed`] keeps.
pub struct Indexed {
    pub(super) outputs: Vec<Output>,
    /// The paths of the outputs from the directory on, if they are in it: an indexer may have read them.
    pub(super) own_paths: HashSet<String>,
    /// Why indexers failed in directories below. Nothing of the index before is from these.
    pub(super) failures: Vec<Error>,
    /// The directory before the indexers ran.
    stamps: Stamps,
    /// The files that were found to be changed.
    changed: RefCell<BTreeSet<String>>,
}

/// What one indexer wrote.
pub struct Output {
    pub(super) name: &'static str,
    /// Where it ran.
    pub(super) root: String,
    /// Whether another indexer would be left without this one.
    pub(super) can_be_skipped: bool,
    pub(super) source: Box<dyn Source>,
    /// It goes with this.
    pub(super) file: Temporary,
}

impl Indexed {
    /// Without outputs, before the indexers of a directory are run.
    pub(super) fn of(directory: &Path) -> Self {
        let (own_paths, failures, changed) = (HashSet::new(), Vec::new(), RefCell::default());
        Self { outputs: Vec::new(), own_paths, failures, stamps: Stamps::of(directory), changed }
    }

    /// Which indexers failed in directories below the indexed one, and why. The index is then without what they find
    /// there.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let said = |error: &Error| match error {
            Error::Indexer { name, message, .. } => format!("{name} failed: {message}"),
            error => error.to_string(),
        };
        self.failures.iter().map(said).collect()
    }
}

impl Source for Indexed {
    fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
        // What other indexers find in a file is more than ctags, which comes last, finds in it.
        let has_ctags = self.outputs.iter().any(|output| output.name == "ctags");
        let mut found: HashSet<String> = HashSet::new();
        let mut checked = |part: Part, is_of_ctags: bool| {
            if self.own_paths.contains(part.unit()) || (is_of_ctags && found.contains(part.unit())) {
                return Ok(());
            }
            if let (Part::Document(document), true, false) = (&part, has_ctags, is_of_ctags) {
                found.insert(document.path.clone());
            }
            // The text was read for the part before this, if columns are counted in it.
            if let Part::Document(document) = &part
                && !self.stamps.is_unchanged(&document.path)
            {
                self.changed.borrow_mut().insert(document.path.clone());
            }
            visit(part)
        };
        for output in &self.outputs {
            let is_of_ctags = output.name == "ctags";
            output.source.each(&mut |part| checked(part, is_of_ctags))?;
        }
        Ok(())
    }

    /// Decides which outputs stay after a failure, of a later indexer or of the update: all that were finished, because
    /// some take hours. One with an error stays for a report of it. Ctags is quick, and no option reads its output, so
    /// that stays only with an error. Outputs without any sources are of no use.
    fn failed(&self, error: Error) -> Error {
        if matches!(error, Error::NoSources) {
            return error;
        }
        let wrong = match &error {
            Error::Index { path, .. } => self.outputs.iter().find(|output| output.file.path() == path),
            _ => None,
        };
        let is_wrong = |output: &Output| wrong.is_some_and(|wrong| std::ptr::eq(wrong, output));
        let mut outputs = Vec::new();
        for output in self.outputs.iter().filter(|output| output.name != "ctags" || is_wrong(output)) {
            output.file.keep();
            let (path, root) = (output.file.path().to_owned(), output.root.clone());
            outputs.push(KeptOutput { path, root, is_readable: !is_wrong(output) });
        }
        let error = match wrong {
            Some(output) => output.wrong(&error),
            None => error,
        };
        if outputs.is_empty() { error } else { Error::OutputsKept { error: Box::new(error), outputs } }
    }

    fn changed_files(&self) -> BTreeSet<String> {
        self.changed.borrow().clone()
    }

    fn outside_files(&self) -> BTreeSet<String> {
        self.outputs.iter().flat_map(|output| output.source.outside_files()).collect()
    }
}

impl Output {
    /// An error in the output, as one of the indexer.
    fn wrong(&self, error: &Error) -> Error {
        let (name, message) = (self.name, format!("its index is wrong: {error}"));
        in_root(Error::Indexer { name, message, can_be_skipped: self.can_be_skipped }, &self.root)
    }
}

/// The error of an indexer, with the directory in which it ran.
pub(super) fn in_root(error: Error, root: &str) -> Error {
    match error {
        Error::Indexer { name, message, can_be_skipped } if !root.is_empty() => {
            Error::Indexer { name, message: format!("in {root}: {message}"), can_be_skipped }
        }
        error => error,
    }
}

/// The path of a file from a directory on, if the file is below it.
pub(super) fn path_within(directory: &Path, file: &Path) -> Option<String> {
    let (directory, parent) = (directory.canonicalize().ok()?, file.parent()?.canonicalize().ok()?);
    let path = parent.strip_prefix(directory).ok()?.join(file.file_name()?);
    let names: Option<Vec<&str>> = path.iter().map(OsStr::to_str).collect();
    Some(names?.join("/"))
}
