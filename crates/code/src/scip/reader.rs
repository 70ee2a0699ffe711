//! [`ScipFile`]: the parts of a file of SCIP.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use protobuf::Message;
use scip::types;

use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::model::Document;
use crate::model::details::Details;
use crate::model::part::Part;
use crate::scip::frames::{Fault, Frame, Frames};
use crate::scip::ranges::Wrong;
use crate::scip::{convert, details, packed};
use crate::source::{Source, Visit};

/// An index in a file of SCIP, and the directory with the sources.
#[derive(Clone, Debug)]
pub struct ScipFile {
    path: PathBuf,
    root: PathBuf,
    /// The directory, from `root` on, at which the paths in the index begin.
    below: String,
    /// See [`Source::outside_files`].
    outside: RefCell<BTreeSet<String>>,
}

impl ScipFile {
    /// The index at `path`, perhaps compressed by gzip, of the files below `root`. The files are read only to count
    /// columns: they may be missing.
    pub fn new(path: impl Into<PathBuf>, root: impl Into<PathBuf>) -> Self {
        Self::of_root(path, root, "")
    }

    /// As [`ScipFile::new`], if the indexer ran in the directory `below`, from `root` on: there the paths in the index
    /// begin. If `below` leads out of `root`, all files are outside of the directory, and the source fails.
    pub fn of_root(path: impl Into<PathBuf>, root: impl Into<PathBuf>, below: &str) -> Self {
        Self { path: path.into(), root: root.into(), below: below.to_owned(), outside: RefCell::default() }
    }
}

impl Source for ScipFile {
    fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
        let (bytes, length) = packed::open(&self.path)?;
        let mut frames = Frames::new(bytes, length);
        let outside = BTreeSet::new();
        let (root, below) = (self.root.as_path(), self.below.as_str());
        let mut state = Reading { root, below, tool: None, documents: 0, has_inner: false, outside };
        let at = |fault: Fault| Error::Index {
            path: self.path.clone(),
            place: format!("byte {}", fault.offset),
            message: fault.message,
        };
        while let Some(frame) = frames.next().map_err(at)? {
            let offset = frame.offset;
            let parts = state.parts(frame).map_err(|message| at(Fault { offset, message }))?;
            parts.into_iter().try_for_each(&mut *visit)?;
        }
        let at_end = |message: &str| Err(at(Fault { offset: length, message: message.to_owned() }));
        if state.tool.is_none() {
            return at_end("there is no metadata; this is not an index of SCIP, or an empty one");
        }
        if state.documents > 0 && !state.has_inner {
            return at_end("all documents are outside of the indexed directory; give the directory that was indexed");
        }
        *self.outside.borrow_mut() = state.outside;
        Ok(())
    }

    fn outside_files(&self) -> BTreeSet<String> {
        self.outside.borrow().clone()
    }
}

/// What was read until now.
struct Reading<'r> {
    root: &'r Path,
    below: &'r str,
    /// The indexer, once the metadata were read.
    tool: Option<String>,
    documents: u64,
    /// Whether a document is in the directory.
    has_inner: bool,
    /// The paths of the others.
    outside: BTreeSet<String>,
}

impl Reading<'_> {
    /// The parts of an index that are in a field.
    fn parts(&mut self, frame: Frame) -> std::result::Result<Vec<Part>, Wrong> {
        match frame.field {
            METADATA => {
                let metadata =
                    types::Metadata::parse_from_bytes(&frame.bytes).map_err(|error| wrong("metadata", &error))?;
                self.tool = Some(metadata.tool_info.as_ref().map(|tool| tool.name.clone()).unwrap_or_default());
                Ok(details::tool(metadata).map(Part::Tool).into_iter().collect())
            }
            DOCUMENTS => {
                self.documents += 1;
                let what = format!("document {}", self.documents);
                let document = types::Document::parse_from_bytes(&frame.bytes).map_err(|error| wrong(&what, &error))?;
                let path = document.relative_path.clone();
                let Some(inner) = inner_path(self.below, &path) else {
                    // Such as the main file that Go generates for tests, in a cache.
                    self.outside.insert(path);
                    return Ok(Vec::new());
                };
                self.has_inner = true;
                let document = self.document(document, inner);
                let (document, details) = document.map_err(|wrong| format!("{what}, `{path}`: {wrong}"))?;
                Ok(with_details(Part::Document(document), details))
            }
            EXTERNAL_SYMBOLS => {
                let read = types::SymbolInformation::parse_from_bytes(&frame.bytes);
                let read = read.map_err(|error| wrong("a symbol", &error))?;
                let mut details = Details::default();
                details::signature(&mut details, &read, "", "");
                details.normalise();
                Ok(with_details(Part::External(convert::symbol(read, "")), details))
            }
            // Fields of later versions.
            _ => Ok(Vec::new()),
        }
    }

    fn document(&self, mut document: types::Document, path: String) -> std::result::Result<(Document, Details), Wrong> {
        document.relative_path = path;
        let text = match document.text.is_empty() {
            false => Some(document.text.clone()),
            // Without the text, columns stay as the indexer counts them.
            true => std::fs::read_to_string(self.root.join(&document.relative_path)).ok(),
        };
        // A byte order mark is not a character of the first line: indexers do not count it.
        let text = text.as_deref().map(|text| text.strip_prefix('\u{feff}').unwrap_or(text));
        convert::document(document, text, self.unspecified_columns())
    }

    /// What columns count if the document does not say. Indexers in JavaScript or on the JVM count units of UTF-16.
    fn unspecified_columns(&self) -> Columns {
        match self.tool.as_deref() {
            Some("rust-analyzer" | "scip-go" | "scip-clang" | "scip-ruby") => Columns::Utf8,
            _ => Columns::Utf16,
        }
    }
}

/// A path from the indexed directory on as editors and users write it, also if an indexer writes `a//b` or `./a/../b`.
/// The indexer ran in `below`. `None`, if it leads out of the indexed directory, or to the directory itself.
fn inner_path(below: &str, path: &str) -> Option<String> {
    let path = Path::new(below).join(path);
    let mut names: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                names.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!names.is_empty()).then(|| names.join("/"))
}

/// A part, and what else is said of its unit, if anything is.
fn with_details(part: Part, details: Details) -> Vec<Part> {
    match details.is_empty() {
        true => vec![part],
        false => vec![part, Part::Details(Box::new(details))],
    }
}

fn wrong(what: &str, error: &protobuf::Error) -> Wrong {
    format!("{what} cannot be read: {error}; this is not an index of SCIP, or a damaged one")
}

/// Fields of an index.
const METADATA: u64 = 1;
const DOCUMENTS: u64 = 2;
const EXTERNAL_SYMBOLS: u64 = 3;
