//! Panics planted where requests are worked on: what becomes of the client, the connection, the server and its log.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use fulgurite_rdf::{Store, StoreOptions};

use crate::{Event, Server, ServerOptions};

/// Asks, on a connection that stays open, and reads the head.
fn ask(stream: &mut BufReader<TcpStream>, target: &str) -> (u16, String) {
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.get_mut().write_all(request.as_bytes()).unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).unwrap() > 0, "cut off in the head: {head}");
    }
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_ascii_lowercase())
}

fn connect(address: SocketAddr) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    BufReader::new(stream)
}

/// Does `work` with a server, and returns when that has ended in order.
fn with_server(work: impl FnOnce(SocketAddr, &Receiver<String>)) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).unwrap();
    let (sender, failures) = channel();
    let sender = Mutex::new(sender);
    let options = ServerOptions::new().queries_max(1).on_event(move |event| {
        if let Event::Failed { message } = event {
            let _ = sender.lock().unwrap().send(message.to_owned());
        }
    });
    let server = Server::bind(&store, "127.0.0.1:0", options).unwrap();
    let (address, handle) = (server.address(), server.handle());
    let thread = std::thread::spawn(move || server.run());
    work(address, &failures);
    handle.shut_down();
    thread.join().unwrap().unwrap();
}

#[test]
fn a_request_that_panics_is_refused_and_its_connection_goes_on() {
    with_server(|address, failures| {
        let mut stream = connect(address);
        for (path, message) in [
            ("/planted/handler", "planted in a handler"),
            ("/planted/work", "planted in the work"),
            ("/planted/first", "planted before the first chunk"),
        ] {
            let (status, head) = ask(&mut stream, &format!("{path}?query=secret"));
            assert_eq!(status, 500, "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let mut body = vec![0; length.trim().parse().unwrap()];
            stream.read_exact(&mut body).unwrap();
            let body = String::from_utf8(body).unwrap();
            assert!(body.starts_with("internal error: ") && !body.contains("planted"), "{body}");
            assert!(head.contains("content-type: text/plain"), "{head}");
            let told = failures.recv().unwrap();
            assert!(told.starts_with(&format!("GET {path}: internal error at ")), "{told}");
            assert!(told.contains("planted.rs:") && told.contains(message), "{told}");
            assert!(!told.contains("secret"), "what a client asks is not part of the log: {told}");
        }
        // There is one place for requests, which none of them has kept.
        assert_eq!(ask(&mut stream, "/sparql?query=ASK%20%7B%7D").0, 200);
    });
}

#[test]
fn an_answer_whose_evaluation_panics_is_cut_before_its_end() {
    with_server(|address, failures| {
        let mut stream = connect(address);
        let (status, head) = ask(&mut stream, "/planted/later");
        assert!(status == 200 && head.contains("transfer-encoding: chunked"), "{head}");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(!rest.ends_with(b"0\r\n\r\n"), "it looks like a whole answer");
        let told = failures.recv().unwrap();
        assert!(told.starts_with("GET /planted/later: internal error at "), "{told}");
        assert!(told.contains("planted.rs:") && told.contains("planted behind 6 chunks"), "{told}");
        assert_eq!(ask(&mut connect(address), "/sparql?query=ASK%20%7B%7D").0, 200, "the server goes on");
    });
}
