//! A small HTTP client. It sends exactly what a test gives it, and knows whether an answer was complete.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct Asked {
    head: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
    /// Whether the body ended where it said that it would.
    pub is_whole: bool,
}

/// A connection on which the answer has begun.
pub struct Begun {
    reader: BufReader<TcpStream>,
    pub status: u16,
    headers: Vec<(String, String)>,
}

pub fn get(target: &str) -> Asked {
    Asked::new("GET", target)
}

pub fn post(target: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Asked {
    Asked::new("POST", target).header("Content-Type", content_type).body(body)
}

/// A query or update in a form.
pub fn form(name: &str, text: &str) -> Asked {
    post("/sparql", "application/x-www-form-urlencoded", format!("{name}={}", encoded(text)))
}

pub fn query(text: &str) -> Asked {
    get(&format!("/sparql?query={}", encoded(text)))
}

pub fn update(text: &str) -> Asked {
    post("/sparql", "application/sparql-update", text)
}

/// With percent escapes for everything but letters and digits.
pub fn encoded(text: &str) -> String {
    let escape = |byte: u8| match byte.is_ascii_alphanumeric() {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

impl Asked {
    pub fn new(method: &str, target: &str) -> Self {
        Self { head: format!("{method} {target} HTTP/1.1"), headers: Vec::new(), body: Vec::new() }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Of HTTP, instead of 1.1.
    pub fn version(mut self, version: &str) -> Self {
        self.head = self.head.replace("HTTP/1.1", &format!("HTTP/{version}"));
        self
    }

    pub fn accept(self, value: &str) -> Self {
        self.header("Accept", value)
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let has = |name: &str| self.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
        let mut text = format!("{}\r\n", self.head);
        if !has("Host") {
            text += &format!("Host: {address}\r\n");
        }
        if !has("Transfer-Encoding") && !has("Content-Length") && !self.body.is_empty() {
            text += &format!("Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        [text.as_bytes(), b"Connection: close\r\n\r\n", &self.body].concat()
    }

    /// Sends it, without waiting for the answer.
    pub fn send(&self, address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).expect("it listens");
        // No test takes so long: what hangs fails.
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a time-out");
        // A server that refuses a body may close before it has all of it.
        let _ = stream.write_all(&self.bytes(address));
        stream
    }

    /// Sends it, and waits for the head of the answer.
    pub fn begin(&self, address: SocketAddr) -> Begun {
        Begun::of(self.send(address))
    }

    pub fn ask(&self, address: SocketAddr) -> Answer {
        self.begin(address).finish()
    }
}

impl Begun {
    pub fn of(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status line");
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no status: {line:?}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header");
            match line.trim_end().split_once(':') {
                Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
                None => break,
            }
        }
        Self { reader, status, headers }
    }

    /// Leaves without the rest.
    pub fn leave(self) {
        let _ = self.reader.get_ref().shutdown(Shutdown::Both);
    }

    pub fn finish(mut self) -> Answer {
        let find = |name: &str| self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
        let mut body = Vec::new();
        let is_whole = match (find("transfer-encoding"), find("content-length")) {
            (Some(_), _) => read_chunks(&mut self.reader, &mut body),
            (None, length) => {
                let _ = self.reader.read_to_end(&mut body);
                length.is_none_or(|length| length == body.len().to_string())
            }
        };
        let body = String::from_utf8(body).expect("answers are UTF-8");
        Answer { status: self.status, headers: self.headers, body, is_whole }
    }
}

/// Whether the last chunk has arrived.
fn read_chunks(reader: &mut impl BufRead, body: &mut Vec<u8>) -> bool {
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() {
            return false;
        }
        let Ok(length) = u64::from_str_radix(line.trim(), 16) else { return false };
        let before = body.len() as u64;
        if reader.take(length).read_to_end(body).is_err() || body.len() as u64 != before + length {
            return false;
        }
        if reader.read_line(&mut String::new()).is_err() {
            return false;
        }
        if length == 0 {
            return true;
        }
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub fn media_type(&self) -> &str {
        self.header("content-type").and_then(|value| value.split(';').next()).unwrap_or_default()
    }

    /// Fails the test with the answer, unless its status is this one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}
