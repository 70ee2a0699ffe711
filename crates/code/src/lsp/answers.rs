//! Answers to the requests of an editor.

use std::collections::HashMap;

use lsp_types::{
    DocumentSymbol, DocumentSymbolParams, GotoDefinitionParams, Hover, HoverContents, HoverParams, Location,
    MarkupContent, MarkupKind, ReferenceParams, SymbolInformation, TextDocumentPositionParams, WorkspaceSymbolParams,
};

use crate::browse::outline::Definition;
use crate::browse::reader::{CodeReader, IndexedFile, Place, Use};
use crate::error::{Error, Result};
use crate::lsp::kinds::kind;
use crate::lsp::places::Places;

/// Answers from an index.
pub struct Answers<'r> {
    pub reader: &'r CodeReader,
    pub places: &'r Places,
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
        let range = self.places.range(self.reader, &file, first.span)?;
        let mut parts = Vec::new();
        for used in &uses {
            let what = self.reader.describe(used.symbol)?;
            let declared = match what.signature.is_empty() {
                true => format!("{} {}", what.kind, what.name),
                false => what.signature,
            };
            parts.push(format!("```{}\n{}\n```", file.language, declared.trim()));
            parts.extend(what.documentation);
        }
        let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: parts.join("\n\n") });
        Ok(Some(Hover { contents, range: Some(range) }))
    }

    /// The definitions of a file, those of members within those of what they are part of.
    pub fn document_symbols(&self, parameters: &DocumentSymbolParams) -> Result<Vec<DocumentSymbol>> {
        let Some(path) = self.places.path(&parameters.text_document.uri) else { return Ok(Vec::new()) };
        let Some(file) = found(self.reader.file(&path))? else { return Ok(Vec::new()) };
        let mut outline: Vec<Definition> = self.reader.whole_outline(&file)?.collect::<Result<_>>()?;
        outline.retain(|Definition { what, .. }| !what.is_local && !what.name.is_empty());
        let mut symbols = Vec::with_capacity(outline.len());
        for definition in &outline {
            symbols.push(Some(self.document_symbol(&file, definition)?));
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

    #[allow(deprecated)] // The field must be given.
    fn document_symbol(&self, file: &IndexedFile, definition: &Definition) -> Result<DocumentSymbol> {
        let Definition { what, place, .. } = definition;
        let selection_range = self.places.range(self.reader, file, place.span)?;
        let range = place.extent.map(|extent| self.places.range(self.reader, file, extent)).transpose()?;
        // The protocol wants the name within the whole.
        let range = range.filter(|range| range.start <= selection_range.start && selection_range.end <= range.end);
        let detail = Some(what.signature.clone()).filter(|signature| !signature.is_empty());
        Ok(DocumentSymbol {
            name: what.name.clone(),
            detail,
            kind: kind(&what.kind),
            tags: None,
            deprecated: None,
            range: range.unwrap_or(selection_range),
            selection_range,
            children: None,
        })
    }

    /// Symbols whose names have a text in them.
    #[allow(deprecated)] // The field must be given.
    pub fn workspace_symbols(&self, parameters: &WorkspaceSymbolParams) -> Result<Vec<SymbolInformation>> {
        let mut symbols = Vec::new();
        for symbol in self.reader.search(&parameters.query, SYMBOLS_MAX)? {
            let Some(place) = self.reader.definitions(symbol)?.into_iter().next() else { continue };
            let what = self.reader.describe(symbol)?;
            let container_name = what.enclosing.map(|outer| self.reader.describe(outer)).transpose()?;
            symbols.push(SymbolInformation {
                name: what.name,
                kind: kind(&what.kind),
                tags: None,
                deprecated: None,
                location: self.places.location(self.reader, &place)?,
                container_name: container_name.map(|outer| outer.name),
            });
        }
        Ok(symbols)
    }

    /// The file of a position, and the symbols there. `None`, if the index does not have the file.
    fn at(&self, parameters: &TextDocumentPositionParams) -> Result<Option<(IndexedFile, Vec<Use>)>> {
        let Some(path) = self.places.path(&parameters.text_document.uri) else { return Ok(None) };
        let Some(file) = found(self.reader.file(&path))? else { return Ok(None) };
        let (line, column) = self.places.position(self.reader, &file, parameters.position)?;
        let uses = self.reader.symbols_at(&file, line, column)?;
        Ok(Some((file, uses)))
    }

    fn locations(&self, mut places: Vec<Place>) -> Result<Vec<Location>> {
        places.sort_unstable();
        places.dedup_by(|a, b| (&a.path, a.span) == (&b.path, b.span));
        places.iter().map(|place| self.places.location(self.reader, place)).collect()
    }
}

/// Editors open files that the index does not have: there is nothing to say about them.
fn found(file: Result<IndexedFile>) -> Result<Option<IndexedFile>> {
    match file {
        Err(Error::NoSuchFile { .. }) => Ok(None),
        file => file.map(Some),
    }
}

/// Symbols are nested so deeply at most: those further within are beside the others. Editors read answers recursively.
const DEPTH_MAX: usize = 100;
/// So many symbols a search returns at most: editors ask again with each letter.
const SYMBOLS_MAX: usize = 200;
