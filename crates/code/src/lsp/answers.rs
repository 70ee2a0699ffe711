//! Answers to the requests of an editor.

use std::collections::HashMap;

use lsp_types::{
    DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, GotoDefinitionParams, Hover, HoverContents,
    HoverParams, Location, MarkupContent, MarkupKind, Position, Range, ReferenceParams, SymbolInformation,
    TextDocumentPositionParams, Uri, WorkspaceSymbolParams,
};

use crate::browse::outline::Definition;
use crate::browse::reader::{CodeReader, IndexedFile, Place, Use};
use crate::error::Result;
use crate::lsp::documents::Documents;
use crate::lsp::handshake::Shows;
use crate::lsp::kinds::kind;
use crate::lsp::places::Places;
use crate::model::Span;

/// Answers from an index.
pub struct Answers<'r> {
    pub reader: &'r CodeReader,
    pub places: &'r Places,
    pub documents: &'r Documents,
    pub shows: Shows,
}

impl Answers<'_> {
    /// Where the symbol at a position is defined.
    pub fn definition(&self, parameters: &GotoDefinitionParams) -> Result<Vec<Location>> {
        let mut found = Vec::new();
        for used in self.at(&parameters.text_document_position_params)?.map(|(_, uses)| uses).unwrap_or_default() {
            found.extend(self.reader.definitions(used.symbol)?);
        }
        self.locations(found)
    }

    /// Where the symbol at a position is used.
    pub fn references(&self, parameters: &ReferenceParams) -> Result<Vec<Location>> {
        let mut found = Vec::new();
        for used in self.at(&parameters.text_document_position)?.map(|(_, uses)| uses).unwrap_or_default() {
            found.extend(self.reader.references(used.symbol)?);
            if parameters.context.include_declaration {
                found.extend(self.reader.definitions(used.symbol)?);
            }
        }
        self.locations(found)
    }

    /// What is known of the symbol at a position.
    pub fn hover(&self, parameters: &HoverParams) -> Result<Option<Hover>> {
        let Some((file, uses)) = self.at(&parameters.text_document_position_params)? else { return Ok(None) };
        let Some(first) = uses.first() else { return Ok(None) };
        let range = self.range(&file, first.span)?;
        let mut parts = Vec::new();
        for used in &uses {
            let what = self.reader.describe(used.symbol)?;
            let declared = match what.signature.is_empty() {
                true => format!("{} {}", what.kind, what.name),
                false => what.signature,
            };
            parts.push(match self.shows.markdown {
                true => format!("```{}\n{}\n```", file.language, declared.trim()),
                false => declared.trim().to_owned(),
            });
            parts.extend(what.documentation);
        }
        let kind = if self.shows.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
        let contents = HoverContents::Markup(MarkupContent { kind, value: parts.join("\n\n") });
        Ok(Some(Hover { contents, range }))
    }

    /// The definitions of a file, as the editor shows them.
    pub fn document_symbols(&self, parameters: &DocumentSymbolParams) -> Result<DocumentSymbolResponse> {
        let uri = &parameters.text_document.uri;
        let symbols = self.nested_symbols(uri)?;
        Ok(match self.shows.nested_symbols {
            true => DocumentSymbolResponse::Nested(symbols),
            false => DocumentSymbolResponse::Flat(flat(symbols, uri)),
        })
    }

    /// The definitions of a file, those of members within those of what they are part of.
    fn nested_symbols(&self, uri: &Uri) -> Result<Vec<DocumentSymbol>> {
        let Some(file) = self.file(uri)? else { return Ok(Vec::new()) };
        let mut outline: Vec<Definition> = self.reader.whole_outline(&file)?.collect::<Result<_>>()?;
        outline.retain(|Definition { what, .. }| !what.is_local && !what.name.is_empty());
        let mut symbols = Vec::with_capacity(outline.len());
        for definition in &outline {
            self.reader.check()?;
            symbols.push(self.document_symbol(&file, definition)?);
        }
        let at: HashMap<_, _> =
            outline.iter().enumerate().rev().map(|(at, definition)| (definition.symbol, at)).collect();
        let parent_of = |child: usize| {
            outline[child].what.enclosing.and_then(|outer| at.get(&outer).copied()).filter(|at| *at < child)
        };
        let mut depths = vec![0; outline.len()];
        for child in 0..outline.len() {
            depths[child] = parent_of(child).map_or(0, |parent| depths[parent] + 1);
        }
        // From the end, so that a member has its own members, the last first, before it is moved.
        for child in (0..outline.len()).rev() {
            let Some(mut symbol) = symbols[child].take() else { continue };
            symbol.children.iter_mut().for_each(|children| children.reverse());
            match parent_of(child).filter(|_| depths[child] < DEPTH_MAX).and_then(|parent| symbols[parent].as_mut()) {
                Some(parent) => parent.children.get_or_insert_default().push(symbol),
                None => symbols[child] = Some(symbol),
            }
        }
        Ok(symbols.into_iter().flatten().collect())
    }

    /// A definition as the editor shows it. `None`, if its name is gone.
    #[allow(deprecated)] // The field must be given.
    fn document_symbol(&self, file: &IndexedFile, definition: &Definition) -> Result<Option<DocumentSymbol>> {
        let Definition { what, place, .. } = definition;
        let Some(selection_range) = self.range(file, place.span)? else { return Ok(None) };
        let range = place.extent.map(|extent| self.range(file, extent)).transpose()?.flatten();
        // The protocol wants the name within the whole.
        let range = range.filter(|range| range.start <= selection_range.start && selection_range.end <= range.end);
        let detail = Some(what.signature.clone()).filter(|signature| !signature.is_empty());
        Ok(Some(DocumentSymbol {
            name: what.name.clone(),
            detail,
            kind: kind(&what.kind),
            tags: None,
            deprecated: None,
            range: range.unwrap_or(selection_range),
            selection_range,
            children: None,
        }))
    }

    /// Symbols whose names have a text in them.
    #[allow(deprecated)] // The field must be given.
    pub fn workspace_symbols(&self, parameters: &WorkspaceSymbolParams) -> Result<Vec<SymbolInformation>> {
        let mut symbols = Vec::new();
        for symbol in self.reader.search(&parameters.query, SYMBOLS_MAX)? {
            let Some(place) = self.reader.first_definition(symbol)? else { continue };
            let Some(location) = self.location(&place)? else { continue };
            let what = self.reader.describe(symbol)?;
            let container_name = what.enclosing.map(|outer| self.reader.describe(outer)).transpose()?;
            symbols.push(SymbolInformation {
                name: what.name,
                kind: kind(&what.kind),
                tags: None,
                deprecated: None,
                location,
                container_name: container_name.map(|outer| outer.name),
            });
        }
        Ok(symbols)
    }

    /// The file of a position, and the symbols there. `None`, if the index does not have the file, or the text there is
    /// newer than the index.
    fn at(&self, parameters: &TextDocumentPositionParams) -> Result<Option<(IndexedFile, Vec<Use>)>> {
        let Some(file) = self.file(&parameters.text_document.uri)? else { return Ok(None) };
        let Position { line, character } = parameters.position;
        let indexed = self.documents.indexed(&file.path, (line, character), self.places.columns);
        let Some(place) = indexed else { return Ok(None) };
        let column = self.places.indexed_column(self.reader, &file, place)?;
        let uses = self.reader.symbols_at(&file, place.0, column)?;
        Ok(Some((file, uses)))
    }

    /// The file with a URI. `None`, if the index does not have it.
    fn file(&self, uri: &Uri) -> Result<Option<IndexedFile>> {
        let is_indexed = |path: &str| matches!(self.reader.find_file(path), Ok(Some(_)));
        match self.places.path(uri, &is_indexed) {
            Some(path) => self.reader.find_file(&path),
            None => Ok(None),
        }
    }

    /// A range of the editor's text. `None`, if what was there is gone.
    fn range(&self, file: &IndexedFile, span: Span) -> Result<Option<Range>> {
        let indexed = self.places.range(self.reader, file, span)?;
        Ok(self.documents.now(&file.path, indexed, self.places.columns))
    }

    /// A place as the editor calls it. `None`, if what was there is gone.
    fn location(&self, place: &Place) -> Result<Option<Location>> {
        let file = self.reader.file(&place.path)?;
        let Some(range) = self.range(&file, place.span)? else { return Ok(None) };
        Ok(Some(Location { uri: self.places.uri(&place.path)?, range }))
    }

    fn locations(&self, mut places: Vec<Place>) -> Result<Vec<Location>> {
        places.sort_unstable();
        places.dedup_by(|a, b| (&a.path, a.span) == (&b.path, b.span));
        let mut locations = Vec::with_capacity(places.len());
        for place in &places {
            self.reader.check()?;
            locations.extend(self.location(place)?);
        }
        Ok(locations)
    }
}

/// Symbols of a file one after the other, each with the name of the one that it is in.
#[allow(deprecated)] // The field must be given.
fn flat(symbols: Vec<DocumentSymbol>, uri: &Uri) -> Vec<SymbolInformation> {
    let mut flat = Vec::new();
    // The next one is the last.
    let mut left: Vec<(DocumentSymbol, Option<String>)> =
        symbols.into_iter().rev().map(|symbol| (symbol, None)).collect();
    while let Some((symbol, container_name)) = left.pop() {
        let DocumentSymbol { name, kind, range, children, .. } = symbol;
        let children = children.unwrap_or_default().into_iter().rev();
        left.extend(children.map(|child| (child, Some(name.clone()))));
        let location = Location { uri: uri.clone(), range };
        flat.push(SymbolInformation { name, kind, tags: None, deprecated: None, location, container_name });
    }
    flat
}

/// Symbols are nested so deeply at most: those further within are beside the others. Editors read answers recursively.
const DEPTH_MAX: usize = 100;
/// So many symbols a search returns at most: editors ask again with each letter.
const SYMBOLS_MAX: usize = 200;
