//! A store and a server over it, on a port of its own, for one test.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use fulgurite_rdf::sparql::Update;
use fulgurite_rdf::{IdPattern, LoadInput, LoadOptions, Quads, RdfFormat, Store, StoreOptions};
use fulgurite_server::{Event, Server, ServerHandle, ServerOptions};
use tempfile::TempDir;

/// What was told of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub method: String,
    pub path: String,
    pub status: u16,
    pub is_whole: bool,
}

pub struct Fixture {
    pub store: Store,
    pub address: SocketAddr,
    pub handle: ServerHandle,
    pub told: Receiver<Told>,
    thread: Option<JoinHandle<fulgurite_server::Result<()>>>,
    _directory: TempDir,
}

/// A query that reads quads for longer than any test waits, and returns nothing until its end.
pub const ENDLESS: &str = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }";

/// A query that returns rows for longer than any test waits.
pub const ENDLESS_ROWS: &str = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }";

/// How many quads [`Fixture::with_quads`] has, all in the default graph.
pub const QUADS: usize = 1000;

impl Fixture {
    /// An empty store that may be changed.
    pub fn writable() -> Self {
        Self::with(ServerOptions::new().writable(true))
    }

    pub fn with(options: ServerOptions) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a store");
        Self::start(directory, store, options)
    }

    /// With quads enough for queries that run long.
    pub fn with_quads(options: ServerOptions) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a store");
        let text: String = (0..QUADS).map(|n| format!("<http://a/s{n}> <http://a/p> {n} .\n")).collect();
        let input = LoadInput::reader("quads", std::io::Cursor::new(text.into_bytes()), RdfFormat::Turtle);
        store.load(vec![input], &LoadOptions::new()).expect("a load");
        Self::start(directory, store, options)
    }

    fn start(directory: TempDir, store: Store, options: ServerOptions) -> Self {
        let (sender, told) = channel();
        let sender = std::sync::Mutex::new(sender);
        let options = options.on_event(move |event| {
            if let Event::Answered { method, path, status, is_whole, .. } = event {
                let told = Told { method: method.into(), path: path.into(), status, is_whole };
                let _ = sender.lock().expect("nothing panics with it").send(told);
            }
        });
        let server = Server::bind(&store, "127.0.0.1:0", options).expect("a port is free");
        let (address, handle) = (server.address(), server.handle());
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { store, address, handle, told, thread, _directory: directory }
    }

    /// Changes the store without the server.
    pub fn change(&self, update: &str) {
        Update::parse(update, None).expect("an update").execute(&self.store).expect("it can be done");
    }

    /// How many quads the store has, counted without the server.
    pub fn quads(&self) -> usize {
        self.store.snapshot().expect("a snapshot").quads(&IdPattern::ALL).count()
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
