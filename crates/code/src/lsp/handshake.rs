//! What an editor and the server agree on before the first request.

use std::path::{Path, PathBuf};

use lsp_types::{
    HoverProviderCapability, InitializeParams, InitializeResult, MarkupKind, OneOf, PositionEncodingKind,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
};

use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::lsp::places::{Places, path_of};

/// What both sides agree on.
pub struct Agreed {
    /// Paths, and what columns count.
    pub places: Places,
    /// What the editor can show.
    pub shows: Shows,
}

/// What an editor can show.
#[derive(Clone, Copy, Debug)]
pub struct Shows {
    /// Symbols of a file within others. Otherwise they are a list.
    pub nested_symbols: bool,
    /// Markdown. Otherwise texts are plain.
    pub markdown: bool,
}

/// What the editor's parameters and `root` agree on, and the answer that says so.
///
/// # Errors
/// [`Error::Client`], if the parameters are malformed; as [`Places::new`].
pub fn handshake(parameters: serde_json::Value, root: Option<&Path>) -> Result<(Agreed, InitializeResult)> {
    let parameters: InitializeParams =
        serde_json::from_value(parameters).map_err(|error| Error::Client(error.to_string()))?;
    let places = Places::new(&root_of(&parameters, root), columns_of(&parameters))?;
    let result = capabilities(places.columns);
    Ok((Agreed { places, shows: shows(&parameters) }, result))
}

fn capabilities(columns: Columns) -> InitializeResult {
    let encoding = match columns {
        Columns::Utf8 => PositionEncodingKind::UTF8,
        Columns::Utf16 | Columns::Utf32 => PositionEncodingKind::UTF16,
    };
    let texts = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::FULL),
        ..TextDocumentSyncOptions::default()
    };
    let capabilities = ServerCapabilities {
        position_encoding: Some(encoding),
        text_document_sync: Some(TextDocumentSyncCapability::Options(texts)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    };
    let version = Some(env!("CARGO_PKG_VERSION").to_owned());
    InitializeResult { capabilities, server_info: Some(ServerInfo { name: "fulgurite".to_owned(), version }) }
}

/// Bytes, if the editor can count them; or else what all editors count.
fn columns_of(parameters: &InitializeParams) -> Columns {
    let general = parameters.capabilities.general.as_ref();
    let offered = general.and_then(|general| general.position_encodings.as_deref()).unwrap_or_default();
    if offered.contains(&PositionEncodingKind::UTF8) { Columns::Utf8 } else { Columns::Utf16 }
}

fn shows(parameters: &InitializeParams) -> Shows {
    let document = parameters.capabilities.text_document.as_ref();
    let symbols = document.and_then(|document| document.document_symbol.as_ref());
    let formats = document.and_then(|document| document.hover.as_ref()?.content_format.as_ref());
    Shows {
        nested_symbols: symbols.and_then(|symbols| symbols.hierarchical_document_symbol_support).unwrap_or(false),
        // An editor that names no formats takes any.
        markdown: formats.is_none_or(|formats| formats.contains(&MarkupKind::Markdown)),
    }
}

#[allow(deprecated)] // Older editors name their directory so.
fn root_of(parameters: &InitializeParams, given: Option<&Path>) -> PathBuf {
    let folder = parameters.workspace_folders.iter().flatten().next().map(|folder| &folder.uri);
    let opened = || folder.or(parameters.root_uri.as_ref()).and_then(|uri| path_of(uri.as_str()));
    given.map(Path::to_owned).or_else(opened).unwrap_or_else(|| PathBuf::from("."))
}
