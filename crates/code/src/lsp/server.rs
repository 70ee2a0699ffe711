//! The server: the handshake, and what an editor sends after it.
//!
//! (1) One thread answers the requests, in their order, and follows what the editor does to files. (2) The thread that
//! receives does not wait for answers, so that a request can be cancelled while it is answered. (3) Each request gets
//! one answer, also if it is cancelled.

use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
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
use crate::lsp::input::read_message;
use crate::lsp::waiting::Waiting;

/// Serves an editor on standard input and output until it says `exit`, or ends.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio(index: &LiveIndex, root: Option<&Path>) -> Result<()> {
    let (ours, Connection { sender, receiver }) = Connection::memory();
    let failed = Arc::new(Mutex::new(None));
    let of_reader = Arc::clone(&failed);
    // Nothing waits for this thread: it ends with the input, which may stay open.
    thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            match read_message(&mut input) {
                Ok(Some(message)) => {
                    let is_last = matches!(&message, Message::Notification(last) if last.method == EXIT);
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
    let writer = thread::spawn(move || {
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
    written.map_err(|error| Error::Client(error.to_string()))
}

/// Serves an editor: definitions, references, hovers, symbols of files and of the whole index. Each request is answered
/// from the index as it is then. Places in files that are open are those of the texts in the editor. Without `root`,
/// the sources are in the directory that the editor has open.
///
/// # Errors
/// As [`LiveIndex::database`]; [`Error::NotAnIndex`]; [`Error::Client`], if the editor does not keep to the protocol,
/// which is also that it says `exit` without `shutdown` before. Errors of single requests are answers to them.
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
    let waiting = Waiting::default();
    thread::scope(|scope| {
        let (jobs, queue) = mpsc::channel();
        let answering = Answering { connection, index, agreed: &agreed, waiting: &waiting, documents };
        scope.spawn(move || answering.work(queue));
        let served = receive(connection, &waiting, &jobs);
        // Nobody reads what is still to be answered.
        waiting.cancel_all();
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

/// What the thread that answers is to do.
enum Job {
    /// Answer a request, unless it is cancelled.
    Answer(Request, CancellationToken),
    /// Note what the editor did to a file.
    Note(Notification),
}

/// Receives messages until the editor says `exit`, or ends.
fn receive(connection: &Connection, waiting: &Waiting, jobs: &mpsc::Sender<Job>) -> Result<()> {
    let hand_over = |job| jobs.send(job).map_err(|_| client("it does not take answers any more"));
    let refuse =
        |id, why: &str| send(connection, Response::new_err(id, ErrorCode::InvalidRequest as i32, why.to_owned()));
    let mut is_shut_down = false;
    for message in &connection.receiver {
        match message {
            Message::Request(request) if is_shut_down => refuse(request.id, "the server is shut down; send `exit`")?,
            Message::Request(request) if request.method == INITIALIZE => {
                refuse(request.id, "the server is initialized already")?;
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
}

impl Answering<'_> {
    /// Does all jobs, until there will be no more, or answers cannot be sent.
    fn work(mut self, queue: mpsc::Receiver<Job>) {
        for job in queue {
            match job {
                Job::Note(notification) => self.documents.note(&self.agreed.places, notification),
                Job::Answer(request, token) => {
                    let id = request.id.clone();
                    let response = self.answer(request, token);
                    self.waiting.end(&id);
                    if send(self.connection, response).is_err() {
                        return;
                    }
                }
            }
        }
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
            self.documents.refresh(places, database.store().identity());
            CodeReader::within(&database, ReadLimits { cancellation, ..ReadLimits::default() })
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
const EXIT: &str = "exit";
