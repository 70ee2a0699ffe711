//! The file of namespaces: `nnf`, a version, then IRI and prefix of each.
//!
//! Texts are those of Java's `writeUTF`: a length of two bytes, then UTF-16 units in one to three bytes each.

use std::io;
use std::path::Path;

use crate::error::{Error, Result, damaged};

/// The prefixes and IRIs of a file. None if there is no file, as RDF4J has it.
///
/// # Errors
/// [`Error::Read`], [`Error::Damaged`], [`Error::Unsupported`].
pub fn read(path: &Path) -> Result<Vec<(String, String)>> {
    match std::fs::read(path) {
        Ok(bytes) => parse(&bytes).map_err(|reason| match reason {
            Refusal::Damaged => damaged(path, "it is not a file of namespaces, or it ends within one"),
            Refusal::Newer(version) => {
                let found = format!("it has version {version} of the format of namespaces");
                Error::Unsupported { path: path.to_path_buf(), found }
            }
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Error::Read { path: path.to_path_buf(), source }),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Damaged,
    Newer(u8),
}

fn parse(bytes: &[u8]) -> Result<Vec<(String, String)>, Refusal> {
    let (&version, mut rest) = bytes.strip_prefix(MAGIC).and_then(<[u8]>::split_first).ok_or(Refusal::Damaged)?;
    match version {
        VERSION => {}
        0 => return Err(Refusal::Damaged),
        newer => return Err(Refusal::Newer(newer)),
    }
    let mut found: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let iri = take_text(&mut rest).ok_or(Refusal::Damaged)?;
        let prefix = take_text(&mut rest).ok_or(Refusal::Damaged)?;
        // RDF4J takes the last of a prefix.
        found.retain(|(other, _)| *other != prefix);
        found.push((prefix, iri));
    }
    Ok(found)
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (mut text, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    *bytes = rest;
    let mut units = Vec::with_capacity(text.len());
    while let Some((&first, after)) = text.split_first() {
        let count = match first {
            0x00..=0x7f => 0,
            0xc0..=0xdf => 1,
            0xe0..=0xef => 2,
            _ => return None,
        };
        let (more, after) = after.split_at_checked(count)?;
        let begin = u16::from(first) & [0x7f, 0x1f, 0x0f][count];
        if more.iter().any(|byte| byte & 0xc0 != 0x80) {
            return None;
        }
        units.push(more.iter().fold(begin, |unit, byte| unit << 6 | u16::from(byte & 0x3f)));
        text = after;
    }
    String::from_utf16(&units).ok()
}

const MAGIC: &[u8] = b"nnf";
const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn file(texts: &[&[u8]]) -> Vec<u8> {
        let mut bytes = b"nnf\x01".to_vec();
        for text in texts {
            bytes.extend_from_slice(&(text.len() as u16).to_be_bytes());
            bytes.extend_from_slice(text);
        }
        bytes
    }

    #[test]
    fn the_last_namespace_of_a_prefix_is_taken_and_texts_are_those_of_java() {
        // A smiley as two surrogates, and a null character as two bytes.
        let smiley = b"http://a/\xed\xa0\xbd\xed\xb8\x80\xc0\x80";
        let bytes = file(&[b"http://a/", b"a", smiley, "ü".as_bytes(), b"http://b/", b"a"]);
        let expected = [("ü", "http://a/\u{1f600}\0"), ("a", "http://b/")];
        assert_eq!(parse(&bytes), Ok(expected.map(|(prefix, iri)| (prefix.to_owned(), iri.to_owned())).to_vec()));
        assert_eq!(parse(b"nnf\x01"), Ok(Vec::new()));
    }

    #[test]
    fn a_file_that_ends_early_or_is_newer_is_refused() {
        let bytes = file(&[b"http://a/", b"a"]);
        for length in (0..bytes.len()).filter(|length| *length != 4) {
            assert_eq!(parse(&bytes[..length]), Err(Refusal::Damaged), "{length}");
        }
        assert_eq!(parse(b"nnf\x02"), Err(Refusal::Newer(2)));
        assert_eq!(parse(&file(&[b"\xff", b"a"])), Err(Refusal::Damaged));
    }
}
