//! The server: the handshake, and what an editor sends after it.
//!
//! (1) One thread answers the requests, in their order, and follows what the editor does to files. (2) The thread that
//! receives does not wait for answers, so that a request can be cancelled while it is answered. (3) Each request gets
//! one answer, also if it is cancelled. (4) At the end of the input, all requests before it are answered.

use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use fulgurite_facts::CancellationToken;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::browse::limits::ReadLimits;
use crate::browse::reader::CodeReader;
use crate::error::{Error, Result};
use crate::live::LiveIndex;
use crate::lsp::answers::Answers;
use crate::lsp::documents::Documents;
use crate::lsp::handshake::{Agreed, handshake};
use crate::lsp::jobs::{Closing, Job, Jobs, is_partial_change};
use crate::lsp::waiting::Waiting;

/// Serves an editor: definitions, references, hovers, symbols of files and of the whole index. Each request is answered
/// from the index as it is then. Places in files that are open are those of the texts in the editor. Without `root`,
/// the sources are in the directory that the editor has open.
///
/// # Errors
/// As [`LiveIndex::database`]; [`Error::NotAnIndex`]; [`Error::Client`], if the editor does not keep to the protocol,
/// which is also that it says `exit` without `shutdown` before, or if it reads no answers. Errors of single requests
/// are answers to them.
pub fn serve(connection: &Connection, index: &LiveIndex, root: Option<&Path>) -> Result<()> {
    // A database that is not an index is refused before the editor is answered.
    let database = index.database()?;
    CodeReader::new(&database)?;
    let documents = Documents::new(database.store().identity());
    drop(database);
    let (id, parameters) = initialize(connection)?;
    let (agreed, result) = match handshake(parameters, root) {
        Ok(agreed) => agreed,
        Err(error) => {
            let response = Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string());
            // An editor that is gone needs no answer.
            let _ = connection.sender.send(response.into());
            return Err(error);
        }
    };
    send(connection, Response::new_ok(id, result))?;
    let (waiting, jobs) = (Waiting::default(), Jobs::default());
    thread::scope(|scope| {
        // The thread ends when it has done the jobs before this end.
        let _closing = Closing(&jobs);
        let answering =
            Answering { connection, index, agreed: &agreed, waiting: &waiting, documents, has_warned: false };
        let to_answer = &jobs;
        scope.spawn(move || answering.work(to_answer));
        let served = receive(connection, &waiting, &jobs);
        if served.is_err() {
            // Nobody reads what is still to be answered.
            waiting.cancel_all();
        }
        served
    })
}

/// Waits for the request with which an editor begins: its id and its parameters.
fn initialize(connection: &Connection) -> Result<(RequestId, serde_json::Value)> {
    for message in &connection.receiver {
        match message {
            Message::Request(request) if request.method == INITIALIZE => return Ok((request.id, request.params)),
            Message::Request(Request { id, method, .. }) => {
                let message = format!("{method} came before `initialize`");
                send(connection, Response::new_err(id, ErrorCode::ServerNotInitialized as i32, message))?;
            }
            Message::Notification(notification) if notification.method == EXIT => {
                return Err(client("it said `exit` before a message `initialize`"));
            }
            Message::Notification(_) | Message::Response(_) => {}
        }
    }
    Err(client("the input ended before a message `initialize`"))
}

/// Receives messages until the editor says `exit`, or ends.
fn receive(connection: &Connection, waiting: &Waiting, jobs: &Jobs) -> Result<()> {
    let hand_over = |job| match jobs.add(job) {
        true => Ok(()),
        false => Err(client("it does not take answers any more")),
    };
    let refuse =
        |id, why: &str| send(connection, Response::new_err(id, ErrorCode::InvalidRequest as i32, why.to_owned()));
    let mut is_shut_down = false;
    for message in &connection.receiver {
        if connection.sender.len() > UNREAD_MAX {
            return Err(client("it does not read the answers"));
        }
        match message {
            Message::Request(request) if is_shut_down => refuse(request.id, "the server is shut down; send `exit`")?,
            Message::Request(request) if request.method == INITIALIZE => {
                refuse(request.id, "the server is initialized already")?;
            }
            Message::Request(Request { id, method, .. }) if method != SHUTDOWN && waiting.count() >= WAITING_MAX => {
                let message = format!("{WAITING_MAX} requests wait for their answers; ask again after one of these");
                send(connection, Response::new_err(id, ErrorCode::RequestFailed as i32, message))?;
            }
            Message::Request(request) => {
                is_shut_down = request.method == SHUTDOWN;
                let token = waiting.begin(request.id.clone());
                hand_over(Job::Answer(request, token))?;
            }
            Message::Notification(notification) => match notification.method.as_str() {
                EXIT if is_shut_down => return Ok(()),
                EXIT => return Err(client("it said `exit` without `shutdown` before")),
                "$/cancelRequest" => waiting.cancel(notification.params),
                method if Documents::follow(method) => hand_over(Job::Note(notification))?,
                _ => {}
            },
            // The server has no requests of its own.
            Message::Response(_) => {}
        }
    }
    Ok(())
}

/// The thread that answers.
struct Answering<'s> {
    connection: &'s Connection,
    index: &'s LiveIndex,
    agreed: &'s Agreed,
    waiting: &'s Waiting,
    documents: Documents,
    /// Whether the editor knows that parts of texts are ignored.
    has_warned: bool,
}

impl Answering<'_> {
    /// Does all jobs, until there will be no more, or answers cannot be sent.
    fn work(mut self, jobs: &Jobs) {
        jobs.each(|job| match job {
            Job::Note(notification) => {
                self.note(notification);
                ControlFlow::Continue(())
            }
            Job::Answer(request, token) => {
                let id = request.id.clone();
                let response = self.answer(request, token);
                self.waiting.end(&id);
                match send(self.connection, response) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            }
        });
    }

    fn note(&mut self, notification: Notification) {
        if is_partial_change(&notification) && !std::mem::replace(&mut self.has_warned, true) {
            let params = serde_json::json!({ "type": WARNING, "message": PARTIAL });
            // An editor that is gone needs no message.
            let _ = self.connection.sender.send(Notification::new("window/logMessage".to_owned(), params).into());
        }
        let index = self.index;
        // If the index cannot be read, it may have the file.
        let is_indexed = |path: &str| {
            let found = index.database().and_then(|database| CodeReader::new(&database)?.find_file(path));
            !matches!(found, Ok(None))
        };
        self.documents.note(&self.agreed.places, notification, &is_indexed);
    }

    fn answer(&mut self, request: Request, cancellation: CancellationToken) -> Response {
        if request.method == SHUTDOWN {
            return Response::new_ok(request.id, ());
        }
        if cancellation.is_cancelled() {
            return failed(request.id, &Error::Facts(fulgurite_facts::Error::Cancelled));
        }
        let Agreed { places, shows } = self.agreed;
        let reader = self.index.database().and_then(|database| {
            let reader = CodeReader::within(&database, ReadLimits { cancellation, ..ReadLimits::default() })?;
            let is_indexed = |path: &str| !matches!(reader.find_file(path), Ok(None));
            self.documents.refresh(places, database.store().identity(), &is_indexed);
            Ok(reader)
        });
        match reader {
            Ok(reader) => {
                answer(&Answers { reader: &reader, places, documents: &self.documents, shows: *shows }, request)
            }
            Err(error) => failed(request.id, &error),
        }
    }
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
        Err(error) => failed(id, &error),
    }
}

fn failed(id: RequestId, error: &Error) -> Response {
    let code = match error {
        Error::Facts(fulgurite_facts::Error::Cancelled) => ErrorCode::RequestCanceled as i32,
        _ => ErrorCode::InternalError as i32,
    };
    Response::new_err(id, code, error.to_string())
}

fn send(connection: &Connection, response: Response) -> Result<()> {
    connection.sender.send(response.into()).map_err(|error| client(&error.to_string()))
}

fn client(message: &str) -> Error {
    Error::Client(message.to_owned())
}

const INITIALIZE: &str = "initialize";
const SHUTDOWN: &str = "shutdown";
pub(super) const EXIT: &str = "exit";
/// The number of warnings in the protocol.
const WARNING: u8 = 2;
const PARTIAL: &str = "textDocument/didChange with a range is ignored, so answers are about an earlier text; send \
                       whole texts, as textDocumentSync of the server's capabilities says";
/// The most requests that wait for answers.
const WAITING_MAX: usize = 256;
/// The most answers that the editor has not read when it sends a further message.
const UNREAD_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value as Json, json};
    use tempfile::TempDir;

    use super::*;
    use crate::columns::Columns;
    use crate::model::part::Part;
    use crate::model::{Document, Occurrence, Role, Span};
    use crate::source::{Source, Visit};
    use crate::update::update_index;

    /// A file with one function.
    struct OneFile;

    impl Source for OneFile {
        fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
            let span = Span { line: 0, column: 3, end_line: 0, end_column: 4 };
            let symbol = "test . demo . f().".to_owned();
            visit(Part::Document(Document {
                path: "a.rs".to_owned(),
                language: "rust".to_owned(),
                columns: Columns::Utf8,
                wide_lines: BTreeMap::new(),
                occurrences: vec![Occurrence { span, symbol, role: Role::Definition, extent: None }],
                symbols: Vec::new(),
            }))
        }
    }

    fn indexed() -> (TempDir, LiveIndex) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("code.ful");
        update_index(&path, &OneFile, false, &mut |_| {}).expect("it is written");
        let index = LiveIndex::open(path).expect("it is there");
        (directory, index)
    }

    fn request(id: i32, method: &str, params: Json) -> Request {
        Request { id: id.into(), method: method.to_owned(), params }
    }

    fn code(response: Response) -> Option<i32> {
        response.response_result.err().map(|error| error.code)
    }

    #[test]
    fn a_request_that_is_cancelled_before_or_while_it_is_answered_gets_an_error() {
        let (directory, index) = indexed();
        let (connection, _editor) = Connection::memory();
        let root = Some(directory.path());
        let (agreed, _) = handshake(json!({ "capabilities": {} }), root).expect("the parameters are right");
        let (waiting, database) = (Waiting::default(), index.database().expect("it is there"));
        let documents = Documents::new(database.store().identity());
        let uri = agreed.places.uri("a.rs").expect("a path is a URI");
        let symbols = |id| request(id, "textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } }));
        let mut answering = Answering {
            connection: &connection,
            index: &index,
            agreed: &agreed,
            waiting: &waiting,
            documents,
            has_warned: false,
        };
        let token = CancellationToken::new();
        assert_eq!(code(answering.answer(symbols(1), token.clone())), None);
        token.cancel();
        assert_eq!(code(answering.answer(symbols(2), token.clone())), Some(-32800));
        // Its reader finds that it is cancelled.
        let limits = ReadLimits { cancellation: token, ..ReadLimits::default() };
        let reader = CodeReader::within(&database, limits).expect("it is an index");
        let Agreed { places, shows } = &agreed;
        let answers = Answers { reader: &reader, places, documents: &answering.documents, shows: *shows };
        assert_eq!(code(answer(&answers, symbols(3))), Some(-32800));
    }

    #[test]
    fn requests_are_refused_while_too_many_wait_but_a_shutdown_is_not() {
        let (connection, editor) = Connection::memory();
        let (waiting, jobs) = (Waiting::default(), Jobs::default());
        let last = i32::try_from(WAITING_MAX).expect("a small number") + 2;
        for id in 1..=last {
            editor.sender.send(request(id, "workspace/symbol", Json::Null).into()).expect("it is open");
        }
        editor.sender.send(request(0, SHUTDOWN, Json::Null).into()).expect("it is open");
        let Connection { sender, receiver } = editor;
        drop(sender);
        receive(&connection, &waiting, &jobs).expect("the input ends");
        assert_eq!(waiting.count(), WAITING_MAX + 1);
        let refused = receiver.try_iter().map(|message| match message {
            Message::Response(response) => (response.id.clone(), code(response)),
            other => panic!("{other:?}"),
        });
        let expected = [last - 1, last].map(|id| (RequestId::from(id), Some(-32803)));
        assert_eq!(refused.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_editor_that_reads_no_answers_is_left() {
        let (connection, editor) = Connection::memory();
        for id in 0..=UNREAD_MAX {
            let id = i32::try_from(id).expect("a small number");
            send(&connection, Response::new_ok(id.into(), ())).expect("it is open");
        }
        editor.sender.send(request(1, "workspace/symbol", Json::Null).into()).expect("it is open");
        let error = receive(&connection, &Waiting::default(), &Jobs::default()).expect_err("nothing is read");
        assert!(error.to_string().contains("it does not read the answers"), "{error}");
    }
}
