//! A SPARQL server inside a program, and one request to it over HTTP.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use fulgurite_rdf::sparql::Update;
use fulgurite_rdf::{Store, StoreOptions};
use fulgurite_server::{Server, ServerOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let store = Store::create(directory.path().join("people.ful"), StoreOptions::new())?;
    Update::parse("INSERT DATA { <http://example.org/ann> <http://example.org/age> 30 }", None)?.execute(&store)?;

    // Port 0 lets the system choose. Bind to a public address only behind a proxy: the server has no passwords.
    let server = Server::bind(&store, "127.0.0.1:0", ServerOptions::new())?;
    let (address, handle) = (server.address(), server.handle());
    let serving = thread::spawn(move || server.run());

    let mut connection = TcpStream::connect(address)?;
    write!(
        connection,
        "GET /sparql?query=SELECT%20?age%20%7B%20?s%20?p%20?age%20%7D HTTP/1.1\r\nHost: {address}\r\n\
         Accept: text/csv\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    println!("{}", answer.lines().next().unwrap_or_default());
    println!("has a row 30: {}", answer.lines().any(|line| line == "30"));

    handle.shut_down();
    serving.join().expect("the server does not panic")?;
    store.close()?;
    Ok(())
}
