//! The server: the handshake, and one request after the other.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lsp_server::{Connection, ErrorCode, Message, ProtocolError, Request, RequestId, Response};
use lsp_types::{
    HoverProviderCapability, InitializeParams, InitializeResult, OneOf, PositionEncodingKind, ServerCapabilities,
    ServerInfo,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::browse::reader::CodeReader;
use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::live::LiveIndex;
use crate::lsp::answers::Answers;
use crate::lsp::input::read_message;
use crate::lsp::places::{Places, path_of};

/// Serves an editor on standard input and output until it says `exit`, or ends.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio(index: &LiveIndex, root: Option<&Path>) -> Result<()> {
    let (ours, Connection { sender, receiver }) = Connection::memory();
    let failed = Arc::new(Mutex::new(None));
    let of_reader = Arc::clone(&failed);
    // Nothing waits for this thread: it ends with the input, which may stay open.
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            match read_message(&mut input) {
                Ok(Some(message)) => {
                    let is_last = matches!(&message, Message::Notification(last) if last.method == "exit");
                    if sender.send(message).is_err() || is_last {
                        return;
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    *of_reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return;
                }
            }
        }
    });
    let writer = std::thread::spawn(move || {
        let mut output = std::io::stdout().lock();
        receiver.iter().try_for_each(|message: Message| message.write(&mut output))
    });
    let served = serve(&ours, index, root);
    // The writer ends when the connection does, after the last answer.
    drop(ours);
    let written = writer.join().unwrap_or_else(|_| Err(std::io::Error::other("writing to it ended early")));
    let read = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    // What is wrong in the input is why serving ended.
    read.map_or(served, Err)?;
    written.map_err(|error| client(&error))
}

/// Serves an editor: definitions, references, hovers, symbols of files and of the whole index. Each request is answered
/// from the index as it is then. Without `root`, the sources are in the directory that the editor has open.
///
/// # Errors
/// As [`LiveIndex::database`]; [`Error::NotAnIndex`]; [`Error::Client`], if the editor does not keep to the protocol.
/// Errors of single requests are answers to them.
pub fn serve(connection: &Connection, index: &LiveIndex, root: Option<&Path>) -> Result<()> {
    // A database that is not an index is refused before the editor is answered.
    CodeReader::new(&index.database()?)?;
    let (id, parameters) = connection.initialize_start().map_err(|error| handshake_failed(&error, "initialize"))?;
    let (places, result) = match handshake(parameters, root) {
        Ok(agreed) => agreed,
        Err(error) => {
            let response = Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string());
            // An editor that is gone needs no answer.
            let _ = connection.sender.send(response.into());
            return Err(error);
        }
    };
    connection.initialize_finish(id, result).map_err(|error| handshake_failed(&error, "initialized"))?;
    for message in &connection.receiver {
        let Message::Request(request) = message else { continue };
        if connection.handle_shutdown(&request).map_err(|error| client(&error))? {
            return Ok(());
        }
        let response = match index.database().and_then(|database| CodeReader::new(&database)) {
            Ok(reader) => answer(&Answers { reader: &reader, places: &places }, request),
            Err(error) => Response::new_err(request.id, ErrorCode::InternalError as i32, error.to_string()),
        };
        connection.sender.send(response.into()).map_err(|error| client(&error))?;
    }
    Ok(())
}

/// What the editor and the server agree on, and the answer that says so.
fn handshake(parameters: serde_json::Value, root: Option<&Path>) -> Result<(Places, serde_json::Value)> {
    let parameters: InitializeParams = serde_json::from_value(parameters).map_err(|error| client(&error))?;
    let places = Places::new(&root_of(&parameters, root), columns_of(&parameters))?;
    let result = serde_json::to_value(capabilities(places.columns)).map_err(|error| client(&error))?;
    Ok((places, result))
}

fn handshake_failed(error: &ProtocolError, wanted: &str) -> Error {
    match error.channel_is_disconnected() {
        true => Error::Client(format!("the input ended before a message `{wanted}`")),
        false => client(error),
    }
}

fn client(error: &dyn std::fmt::Display) -> Error {
    Error::Client(error.to_string())
}

fn capabilities(columns: Columns) -> InitializeResult {
    let encoding = match columns {
        Columns::Utf8 => PositionEncodingKind::UTF8,
        Columns::Utf16 | Columns::Utf32 => PositionEncodingKind::UTF16,
    };
    let capabilities = ServerCapabilities {
        position_encoding: Some(encoding),
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

#[allow(deprecated)] // Older editors name their directory so.
fn root_of(parameters: &InitializeParams, given: Option<&Path>) -> PathBuf {
    let folder = parameters.workspace_folders.iter().flatten().next().map(|folder| &folder.uri);
    let opened = || folder.or(parameters.root_uri.as_ref()).and_then(|uri| path_of(uri.as_str()));
    given.map(Path::to_owned).or_else(opened).unwrap_or_else(|| PathBuf::from("."))
}

fn answer(answers: &Answers<'_>, request: Request) -> Response {
    let Request { id, method, params } = request;
    match method.as_str() {
        "textDocument/definition" => respond(id, params, |parameters| answers.definition(&parameters)),
        "textDocument/references" => respond(id, params, |parameters| answers.references(&parameters)),
        "textDocument/hover" => respond(id, params, |parameters| answers.hover(&parameters)),
        "textDocument/documentSymbol" => respond(id, params, |parameters| answers.document_symbols(&parameters)),
        "workspace/symbol" => respond(id, params, |parameters| answers.workspace_symbols(&parameters)),
        _ => Response::new_err(id, ErrorCode::MethodNotFound as i32, format!("{method} is not served")),
    }
}

fn respond<P: DeserializeOwned, R: Serialize>(
    id: RequestId,
    parameters: serde_json::Value,
    answer: impl FnOnce(P) -> Result<R>,
) -> Response {
    let parameters = match serde_json::from_value(parameters) {
        Ok(parameters) => parameters,
        Err(error) => return Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
    };
    match answer(parameters) {
        Ok(result) => Response::new_ok(id, result),
        Err(error) => Response::new_err(id, ErrorCode::InternalError as i32, error.to_string()),
    }
}
