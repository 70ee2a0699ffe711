//! [`Documents`]: the files that an editor has open, as they are in the editor and as they were indexed.
//!
//! The index has no texts. The server takes for the indexed text of a file what the disk has when the editor opens the
//! file, or at the first message after a change of the index, if the file is open then. A file that is saved while an
//! indexer runs is not in the index. If it is saved after that and before the server reads it, its places can be wrong
//! until it is indexed again.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use lsp_server::Notification;
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, Position, Range, Uri,
};

use crate::columns::Columns;
use crate::lsp::places::Places;
use crate::lsp::shifts::{Edge, Shift, Shifted};

/// The files that an editor has open.
pub struct Documents {
    /// By the path in the index.
    texts: HashMap<String, Texts>,
    /// The identity of the index that has the places.
    index: u128,
}

/// The texts of a file. Equal ones are held once.
#[derive(Default)]
struct Texts {
    /// The name by which the editor has opened the file last.
    uri: Option<Uri>,
    /// None, if the index does not have the file.
    indexed: Option<Arc<str>>,
    /// None, if the editor has closed the file. What is saved may differ from what was indexed.
    edited: Option<Arc<str>>,
    /// Found when a place of these two texts is first asked for. None, if they are equal, or one is missing.
    shifts: OnceCell<Option<Shifts>>,
}

/// Where lines of the two texts of a file are in the other one.
struct Shifts {
    to_edited: Shift,
    to_indexed: Shift,
}

impl Documents {
    /// No file is open. The identity is that of the index.
    pub fn new(index: u128) -> Self {
        Self { texts: HashMap::new(), index }
    }

    /// Whether [`Documents::note`] handles notifications of this method.
    pub fn follow(method: &str) -> bool {
        [OPENED, CHANGED, CLOSED].contains(&method)
    }

    /// Notes that a file was opened, changed or closed. Parameters that do not fit the protocol have no effect.
    /// `is_indexed` says whether the index has the file at a path.
    pub fn note(&mut self, places: &Places, notification: Notification, is_indexed: &dyn Fn(&str) -> bool) {
        let Notification { method, params } = notification;
        match method.as_str() {
            OPENED => {
                if let Ok(DidOpenTextDocumentParams { text_document: opened }) = serde_json::from_value(params)
                    && let Some(path) = places.path(&opened.uri, is_indexed)
                {
                    let texts = self.texts.entry(path.clone()).or_default();
                    texts.uri = Some(opened.uri);
                    texts.edit(opened.text);
                    if texts.indexed.is_none() && is_indexed(&path) {
                        texts.index(places.text(&path));
                    }
                }
            }
            CHANGED => {
                if let Ok(DidChangeTextDocumentParams { text_document, content_changes }) =
                    serde_json::from_value(params)
                    && let Some(path) = self.open_path(places, &text_document.uri)
                    // The server asks for whole texts.
                    && let Some(change) = content_changes.into_iter().next_back()
                    && change.range.is_none()
                    && let Some(texts) = self.texts.get_mut(&path)
                {
                    texts.edit(change.text);
                }
            }
            CLOSED => {
                if let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(params)
                    && let Some(path) = self.open_path(places, &text_document.uri)
                {
                    self.close(&path);
                }
            }
            _ => {}
        }
    }

    /// Notes which index has the places now. If it is another one, files were indexed as they are on the disk.
    pub fn refresh(&mut self, places: &Places, index: u128, is_indexed: &dyn Fn(&str) -> bool) {
        if self.index == index {
            return;
        }
        self.index = index;
        for (path, mut texts) in std::mem::take(&mut self.texts) {
            if texts.edited.is_none() {
                continue;
            }
            // A file that was opened by a link has the path of the link until it is indexed.
            let path = texts.uri.as_ref().and_then(|uri| places.path(uri, is_indexed)).unwrap_or(path);
            texts.indexed = None;
            texts.shifts = OnceCell::new();
            if is_indexed(&path) {
                texts.index(places.text(&path));
            }
            self.texts.insert(path, texts);
        }
    }

    /// Where a place of the editor was when the file was indexed. `None`, if the text there is new.
    pub fn indexed(&self, path: &str, place: (u32, u32), columns: Columns) -> Option<(u32, u32)> {
        match self.shifts(path) {
            Some(shifts) => shifts.to_indexed.name(place, columns),
            None => Some(place),
        }
    }

    /// Where a range of the index is in the editor now. `None`, if its text is gone.
    pub fn now(&self, path: &str, range: Range, columns: Columns) -> Option<Range> {
        let Some(shifts) = self.shifts(path) else { return Some(range) };
        let (line, character) = shifts.to_edited.name((range.start.line, range.start.character), columns)?;
        let start = Position { line, character };
        match shifts.to_edited.place((range.end.line, range.end.character), columns, Edge::End) {
            Shifted::Kept(line, character) => Some(Range { start, end: Position { line, character }.max(start) }),
            Shifted::Gone(..) => None,
        }
    }

    /// The path of a file that may be open.
    fn open_path(&self, places: &Places, uri: &Uri) -> Option<String> {
        places.path(uri, &|path| self.texts.contains_key(path))
    }

    fn shifts(&self, path: &str) -> Option<&Shifts> {
        self.texts.get(path)?.shifts()
    }

    fn close(&mut self, path: &str) {
        let Some(texts) = self.texts.get_mut(path) else { return };
        // What is saved may be something else only if the file was changed.
        let is_changed = texts.indexed.is_some() && texts.edited != texts.indexed;
        texts.edited = None;
        texts.shifts = OnceCell::new();
        if !is_changed {
            self.texts.remove(path);
        }
    }
}

impl Texts {
    /// The editor has this text now.
    fn edit(&mut self, text: String) {
        let equal = self.indexed.as_ref().filter(|indexed| ***indexed == *text);
        self.edited = Some(equal.map_or_else(|| text.as_str().into(), Arc::clone));
        self.shifts = OnceCell::new();
    }

    /// The file was indexed with this text, or else, if it cannot be read, with the text that the editor has.
    fn index(&mut self, saved: Option<String>) {
        let other = saved.filter(|saved| self.edited.as_deref() != Some(saved.as_str()));
        self.indexed = other.map(Arc::from).or_else(|| self.edited.clone());
        self.shifts = OnceCell::new();
    }

    fn shifts(&self) -> Option<&Shifts> {
        let found = self.shifts.get_or_init(|| {
            let (indexed, edited) = (self.indexed.as_ref()?, self.edited.as_ref()?);
            (indexed != edited).then(|| Shifts {
                to_edited: Shift::between(indexed, edited),
                to_indexed: Shift::between(edited, indexed),
            })
        });
        found.as_ref()
    }
}

pub(super) const OPENED: &str = "textDocument/didOpen";
pub(super) const CHANGED: &str = "textDocument/didChange";
pub(super) const CLOSED: &str = "textDocument/didClose";

#[cfg(all(test, unix))]
mod tests {
    use serde_json::json;

    use super::*;

    /// Its texts kept the path of the link, by which no place of the index was found.
    #[test]
    fn a_file_that_was_opened_by_a_link_before_it_was_indexed_has_its_own_path_afterwards() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("it exists");
        std::fs::create_dir(root.join("src")).expect("a directory");
        std::fs::write(root.join("src/a.rs"), "fn a() {}\n").expect("a file");
        std::os::unix::fs::symlink(root.join("src"), root.join("link")).expect("a link");
        let places = Places::new(&root, Columns::Utf8).expect("the root is absolute");
        let uri = places.uri("link/a.rs").expect("a path has a URI");
        let mut documents = Documents::new(1);
        let text = json!({"uri": uri, "languageId": "rust", "version": 1, "text": "fn new() {}\nfn a() {}\n"});
        documents.note(&places, Notification::new(OPENED.to_owned(), json!({"textDocument": text})), &|_| false);
        let is_indexed = |path: &str| path == "src/a.rs";
        documents.refresh(&places, 2, &is_indexed);
        assert_eq!(documents.indexed("src/a.rs", (1, 3), Columns::Utf8), Some((0, 3)));
        let closed = json!({"textDocument": {"uri": uri}});
        documents.note(&places, Notification::new(CLOSED.to_owned(), closed), &is_indexed);
        assert_eq!(documents.indexed("src/a.rs", (1, 3), Columns::Utf8), Some((1, 3)), "it is closed");
    }
}
