//! What an editor sends: messages with headers, read within bounds.

use std::io::{self, BufRead, Read};

use lsp_server::Message;

use crate::error::{Error, Result};
use crate::lsp::large::Outline;

/// The most bytes of a message that is held. Editors send the text of one file at most. The content of a larger
/// message is skipped.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// The most bytes of a message that is skipped.
const SKIPPED_BYTES_MAX: u64 = 4 << 30;
/// The most bytes of one header line.
const HEADER_BYTES_MAX: u64 = 8 << 10;
/// The most header lines of a message. The protocol has two.
const HEADERS_MAX: usize = 100;

/// Reads a message. `None` at the end of the input. A request that is too large has no parameters. Instead of a
/// notification that a file is opened or changed with too large a text, there is one that it is closed.
///
/// # Errors
/// [`Error::Client`], which says what is wrong in the input, or why it cannot be read.
pub fn read_message(input: &mut impl BufRead) -> Result<Option<Message>> {
    read_within(input, MESSAGE_BYTES_MAX)
}

/// As [`read_message`], with at most so many bytes of a message that is held.
fn read_within(input: &mut impl BufRead, held_max: u64) -> Result<Option<Message>> {
    loop {
        let Some(length) = read_headers(input)? else { return Ok(None) };
        if length <= held_max {
            return read_whole(input, length).map(Some);
        }
        if let Some(message) = read_outline(input, length)? {
            return Ok(Some(message));
        }
    }
}

fn read_whole(input: &mut impl BufRead, length: u64) -> Result<Message> {
    let mut body = Vec::new();
    // The buffer grows with the bytes that come, whatever length was announced.
    let read = input.by_ref().take(length).read_to_end(&mut body).map_err(failed)? as u64;
    if read < length {
        return Err(ended_within(read, length));
    }
    let json: serde_json::Value = serde_json::from_slice(&body).map_err(|error| not_json(&error))?;
    let message = serde_json::from_value(json);
    message.map_err(|_| wrong("a message is not a request, a response or a notification of JSON-RPC".into()))
}

/// Reads a message without its content. `None`, if it needs no answer.
fn read_outline(input: &mut impl BufRead, length: u64) -> Result<Option<Message>> {
    let mut body = input.by_ref().take(length);
    let outline: serde_json::Result<Outline> = serde_json::from_reader(&mut body);
    // What is behind a mistake.
    io::copy(&mut body, &mut io::sink()).map_err(failed)?;
    if body.limit() > 0 {
        return Err(ended_within(length - body.limit(), length));
    }
    outline.map(Outline::message).map_err(|error| not_json(&error))
}

/// Reads the headers before a message, and returns its length.
fn read_headers(input: &mut impl BufRead) -> Result<Option<u64>> {
    let mut length = None;
    for number in 0..HEADERS_MAX {
        let mut line = Vec::new();
        input.by_ref().take(HEADER_BYTES_MAX).read_until(b'\n', &mut line).map_err(failed)?;
        if line.is_empty() && number == 0 {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix(b"\r\n") else {
            return Err(wrong(format!("a header line does not end with CR LF: `{}`", shown(&line))));
        };
        if line.is_empty() {
            return length.map(Some).ok_or_else(|| wrong("a message has no header Content-Length".to_owned()));
        }
        let header = shown(line);
        let Some((name, value)) = header.split_once(':') else {
            return Err(wrong(format!("a header line has no `:`: `{header}`")));
        };
        if name.eq_ignore_ascii_case("Content-Length") {
            length = Some(length_of(value.trim())?);
        }
    }
    Err(wrong(format!("a message has more than {HEADERS_MAX} header lines")))
}

fn length_of(value: &str) -> Result<u64> {
    let bounds = format!("write a number of bytes, at most {SKIPPED_BYTES_MAX}");
    match value.parse() {
        Ok(length) if length <= SKIPPED_BYTES_MAX => Ok(length),
        Ok(_) => Err(wrong(format!("Content-Length is {value}, which is too large; {bounds}"))),
        Err(_) => Err(wrong(format!("Content-Length is `{value}`; {bounds}"))),
    }
}

/// The beginning of a header, for a message of one line.
fn shown(line: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(line).chars().take(HEADER_CHARS_SHOWN).collect();
    text.escape_debug().to_string()
}

fn ended_within(read: u64, length: u64) -> Error {
    wrong(format!("the input ended within a message, after {read} of {length} bytes"))
}

fn not_json(error: &serde_json::Error) -> Error {
    wrong(format!("a message is not JSON: {error}"))
}

fn failed(error: io::Error) -> Error {
    wrong(format!("the input cannot be read: {error}"))
}

fn wrong(message: String) -> Error {
    Error::Client(message)
}

const HEADER_CHARS_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> std::result::Result<Option<Message>, String> {
        read_message(&mut &*input).map_err(|error| error.to_string())
    }

    #[test]
    fn a_message_is_read_with_its_headers() {
        let body = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let input = format!("Content-Type: x\r\ncontent-length:{}\r\n\r\n{body}", body.len());
        assert!(matches!(read(input.as_bytes()), Ok(Some(Message::Notification(exit))) if exit.method == "exit"));
        assert!(matches!(read(b""), Ok(None)));
    }

    #[test]
    fn the_content_of_a_message_that_is_too_large_is_skipped() {
        let text = "x".repeat(200);
        let framed = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let opened = |method: &str| {
            let document = format!(r#"{{"text":"{text}","id":7,"uri":"file:///a.rs","version":1}}"#);
            framed(&format!(r#"{{"params":{{"textDocument":{document},"uri":"b"}},"method":"{method}"}}"#))
        };
        let input = [
            opened("textDocument/didOpen"),
            opened("textDocument/didChange"),
            opened("other"),
            framed(&format!(r#"{{"id":"i","result":"{text}"}}"#)),
            framed(&format!(r#"{{"method":"m","id":3,"params":{{"query":"{text}"}}}}"#)),
            framed(r#"{"method":"exit"}"#),
        ];
        let (input, mut found) = (input.concat(), Vec::new());
        let mut input = input.as_bytes();
        while let Some(message) = read_within(&mut input, 100).expect("the messages are right") {
            found.push(serde_json::to_value(message).expect("a message is JSON"));
        }
        let closed = serde_json::json!({
            "method": "textDocument/didClose",
            "params": { "textDocument": { "uri": "file:///a.rs" } },
        });
        let others = ["other", "exit"].map(|method| serde_json::json!({ "method": method }));
        let request = serde_json::json!({ "id": 3, "method": "m" });
        assert_eq!(found, [closed.clone(), closed, others[0].clone(), request, others[1].clone()]);
        let cut = format!("Content-Length: 300\r\n\r\n{{\"method\":\"{text}");
        let error = read_within(&mut cut.as_bytes(), 100).expect_err("the input ends").to_string();
        assert!(error.contains("ended within a message, after 211 of 300 bytes"), "{error}");
        let wrong = read_within(&mut framed(&text).as_bytes(), 100).expect_err("it is not JSON").to_string();
        assert!(wrong.contains("a message is not JSON"), "{wrong}");
    }

    #[test]
    fn malformed_input_is_an_error_that_says_what_is_wrong() {
        for (input, expected) in [
            ("Content-Length: 99999999999\r\n\r\n", "99999999999, which is too large; write a number of bytes"),
            ("Content-Length: 99999999999999999999999\r\n\r\n", "Content-Length is `99999999999999999999999`"),
            ("Content-Length: -1\r\n\r\n", "Content-Length is `-1`"),
            ("Content-Length: 67108864\r\n\r\n{}", "within a message, after 2 of 67108864 bytes"),
            ("Content-Length: 2\r\n\r\n{]", "a message is not JSON"),
            ("Content-Length: 2\r\n\r\n{}", "a message is not a request"),
            ("Content-Length: 2\n\n{}", "does not end with CR LF: `Content-Length: 2\\n`"),
            ("Content-Length\r\n\r\n{}", "a header line has no `:`: `Content-Length`"),
            ("Content-Type: x\r\n\r\n{}", "no header Content-Length"),
            ("{\"jsonrpc\"", "does not end with CR LF"),
        ] {
            let error = read(input.as_bytes()).expect_err(input);
            assert!(error.starts_with("the client of the language server: "), "{error}");
            assert!(error.contains(expected) && !error.contains('\n'), "{input}\n{error}");
        }
        let endless = read(&vec![b'a'; 1 << 20]).expect_err("the line does not end");
        assert!(endless.len() < 300, "{endless}");
        let many = read(&b"A: b\r\n".repeat(1000)).expect_err("there are too many lines");
        assert!(many.contains("more than 100 header lines"), "{many}");
    }
}
