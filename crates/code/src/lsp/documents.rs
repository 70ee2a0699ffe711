//! [`Documents`]: the files that an editor has open, as they are in the editor and as they were indexed.
//!
//! The index has no texts. What was indexed of a file is what the disk had when the editor opened the file, or when the
//! index changed while the file was open.

use std::collections::HashMap;

use lsp_server::Notification;
use lsp_types::{DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams};

use crate::columns::Columns;
use crate::lsp::places::Places;
use crate::lsp::shifts::{Edge, Shifted, shift};

/// The files that an editor has open.
pub struct Documents {
    /// By the path in the index.
    texts: HashMap<String, Texts>,
    /// The identity of the index that has the places.
    index: u128,
}

struct Texts {
    indexed: String,
    /// None, if the editor has closed the file, and what is saved may be different from what was indexed.
    edited: Option<String>,
}

impl Documents {
    /// No file is open. The identity is that of the index.
    pub fn new(index: u128) -> Self {
        Self { texts: HashMap::new(), index }
    }

    /// Whether [`Documents::note`] does something with notifications of this method.
    pub fn follow(method: &str) -> bool {
        [OPENED, CHANGED, CLOSED].contains(&method)
    }

    /// Notes that a file was opened, changed or closed. Parameters that do not fit the protocol have no effect.
    pub fn note(&mut self, places: &Places, notification: Notification) {
        let Notification { method, params } = notification;
        match method.as_str() {
            OPENED => {
                if let Ok(DidOpenTextDocumentParams { text_document: opened }) = serde_json::from_value(params)
                    && let Some(path) = places.path(&opened.uri)
                {
                    self.open(places, path, opened.text);
                }
            }
            CHANGED => {
                if let Ok(DidChangeTextDocumentParams { text_document, content_changes }) =
                    serde_json::from_value(params)
                    && let Some(path) = places.path(&text_document.uri)
                    // The server asks for whole texts.
                    && let Some(change) = content_changes.into_iter().next_back()
                    && change.range.is_none()
                    && let Some(texts) = self.texts.get_mut(&path)
                {
                    texts.edited = Some(change.text);
                }
            }
            CLOSED => {
                if let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(params)
                    && let Some(path) = places.path(&text_document.uri)
                {
                    self.close(&path);
                }
            }
            _ => {}
        }
    }

    /// Notes which index has the places now. If it is another one, files were indexed as they are on the disk.
    pub fn refresh(&mut self, places: &Places, index: u128) {
        if self.index == index {
            return;
        }
        self.index = index;
        self.texts.retain(|path, Texts { indexed, edited }| {
            let Some(edited) = edited else { return false };
            *indexed = places.text(path).unwrap_or_else(|| edited.clone());
            true
        });
    }

    /// Where a place of the editor was when the file was indexed. `None`, if the text there is new.
    pub fn indexed(&self, path: &str, place: (u32, u32), columns: Columns) -> Option<(u32, u32)> {
        let Some((indexed, edited)) = self.edited(path) else { return Some(place) };
        match shift(edited, indexed, place, columns, Edge::Start) {
            Shifted::Kept(line, column) => Some((line, column)),
            Shifted::Gone(..) => None,
        }
    }

    /// Where a place of the index is in the editor now, or where it was, if its text is gone.
    pub fn now(&self, path: &str, place: (u32, u32), columns: Columns, edge: Edge) -> (u32, u32) {
        let Some((indexed, edited)) = self.edited(path) else { return place };
        match shift(indexed, edited, place, columns, edge) {
            Shifted::Kept(line, column) | Shifted::Gone(line, column) => (line, column),
        }
    }

    /// The texts of an open file, if they differ: what was indexed, and what the editor has.
    fn edited(&self, path: &str) -> Option<(&str, &str)> {
        let Texts { indexed, edited } = self.texts.get(path)?;
        edited.as_deref().filter(|edited| edited != indexed).map(|edited| (indexed.as_str(), edited))
    }

    fn open(&mut self, places: &Places, path: String, text: String) {
        let indexed = match self.texts.remove(&path) {
            Some(texts) => texts.indexed,
            None => places.text(&path).unwrap_or_else(|| text.clone()),
        };
        self.texts.insert(path, Texts { indexed, edited: Some(text) });
    }

    fn close(&mut self, path: &str) {
        let Some(texts) = self.texts.get_mut(path) else { return };
        if texts.edited.take().is_some_and(|edited| edited == texts.indexed) {
            self.texts.remove(path);
        }
    }
}

const OPENED: &str = "textDocument/didOpen";
const CHANGED: &str = "textDocument/didChange";
const CLOSED: &str = "textDocument/didClose";
