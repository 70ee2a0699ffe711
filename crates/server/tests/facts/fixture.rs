//! A database and a server over it, on a port of its own, for one test.

use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use fulgurite_facts::{FactDatabase, Schema};
use fulgurite_server::{Event, FactServer, FactServerOptions, ServedFacts, ServerHandle};
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::client::{Answer, post};

/// What was told of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub path: String,
    pub status: u16,
}

pub struct Fixture {
    pub database: FactDatabase,
    pub address: SocketAddr,
    pub handle: ServerHandle,
    pub told: Receiver<Told>,
    thread: Option<JoinHandle<fulgurite_server::Result<()>>>,
    _directory: TempDir,
}

/// Files, lines of them, and numbers enough for queries that run long.
const SCHEMA: &str = "
schema src.1 {
predicate File : string
predicate Line : { file : File, number : nat } -> string
predicate Number : nat
predicate FileOf : { number : nat, file : File } { N, F } where Line { F, N }
}";

pub const NUMBERS: u64 = 1000;

/// A query that searches facts for longer than any test waits, and returns nothing until its end.
pub const ENDLESS: &str = "{ A, B, C, D } where src.Number A; src.Number B; src.Number C; src.Number D; \
                           A + B + C + D > 1000000000";

impl Fixture {
    pub fn new() -> Self {
        Self::with(FactServerOptions::new())
    }

    /// The databases `code` and `empty`.
    pub fn with(options: FactServerOptions) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let create = |name: &str| {
            let schema = Schema::parse("src.angle", SCHEMA).expect("the schema is right");
            FactDatabase::create(directory.path().join(name), schema).expect("there is no such file")
        };
        let (database, empty) = (create("code.ful"), create("empty.ful"));
        let lines: Vec<String> = (1..=3)
            .map(|number| format!(r#"{{"key":{{"file":{{"key":"a.rs"}},"number":{number}}},"value":"line {number}"}}"#))
            .collect();
        let numbers: Vec<String> = (0..NUMBERS).map(|number| format!(r#"{{"key":{number}}}"#)).collect();
        let (lines, numbers) = (lines.join(","), numbers.join(","));
        let facts = format!(
            r#"[{{"predicate":"src.Line.1","facts":[{lines}]}},{{"predicate":"src.Number.1","facts":[{numbers}]}}]"#
        );
        database.write_json(facts.as_bytes(), None).expect("the facts are right");
        let (sender, told) = channel();
        let sender = Mutex::new(sender);
        let options = options.on_event(move |event| {
            if let Event::Answered { path, status, .. } = event {
                let _ = sender.lock().expect("nothing panics with it").send(Told { path: path.into(), status });
            }
        });
        let served = [("code", &database), ("empty", &empty)];
        let served = served.map(|(name, database)| ServedFacts::new(name, database.clone()));
        let server = FactServer::bind(served.into(), "127.0.0.1:0", options).expect("a port is free");
        let (address, handle) = (server.address(), server.handle());
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { database, address, handle, told, thread, _directory: directory }
    }

    /// The answer to a query with options.
    pub fn query(&self, text: &str, options: &Json) -> Answer {
        self.post("/userQuery?repo=code", &serde_json::json!({ "query": text, "options": options }))
    }

    /// The results of a query.
    pub fn results(&self, text: &str, options: &Json) -> Json {
        json_of(&self.query(text, options).expect(200))
    }

    pub fn post(&self, target: &str, body: &Json) -> Answer {
        post(target, "application/json", body.to_string()).ask(self.address)
    }

    /// Shuts the server down, and waits until it has ended.
    pub fn end(&mut self) {
        self.handle.shut_down();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic").expect("it ends in order");
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

pub fn json_of(answer: &Answer) -> Json {
    assert_eq!(answer.media_type(), "application/json", "{answer:?}");
    assert!(answer.is_whole, "{answer:?}");
    serde_json::from_str(&answer.body).expect("answers are JSON")
}
