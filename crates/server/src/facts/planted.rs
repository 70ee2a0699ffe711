//! A request that panics, on a server of facts.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::channel;

use fulgurite_facts::{FactDatabase, Schema};

use crate::{Event, FactServer, FactServerOptions, ServedFacts};

#[test]
fn a_request_that_panics_is_refused_and_the_server_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let schema = Schema::parse("a.angle", "schema a.1 { predicate B : string }").unwrap();
    let database = FactDatabase::create(directory.path().join("a.ful"), schema).unwrap();
    let (sender, failures) = channel();
    let sender = Mutex::new(sender);
    let options = FactServerOptions::new().queries_max(1).on_event(move |event| {
        if let Event::Failed { message } = event {
            let _ = sender.lock().unwrap().send(message.to_owned());
        }
    });
    let served = vec![ServedFacts::new("a", database)];
    let server = FactServer::bind(served, "127.0.0.1:0", options).unwrap();
    let (address, handle) = (server.address(), server.handle());
    let thread = std::thread::spawn(move || server.run());
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    for path in ["/planted/handler", "/planted/work", "/planted/first"] {
        let answer = ask(&format!("{path}?repo=secret"));
        assert!(answer.starts_with("HTTP/1.1 500 ") && answer.contains("\r\n\r\ninternal error: "), "{answer}");
        let told = failures.recv().unwrap();
        assert!(told.starts_with(&format!("GET {path}: internal error at ")) && !told.contains("secret"), "{told}");
    }
    assert!(ask("/listDatabases").starts_with("HTTP/1.1 200 "));
    handle.shut_down();
    thread.join().unwrap().unwrap();
}
