//! Bytes become characters: UTF-8, UTF-16 with a byte order mark or a declaration, ISO-8859-1 and US-ASCII (XML 1.0,
//! 4.3.3 and appendix F).
//!
//! (1) What is returned are characters that a document may contain (production 2), with line ends normalized (2.11).
//! (2) What was wrong is reported behind all that comes before.

use std::io::{self, Read};

use super::characters::is_character;

/// Decodes a source.
pub struct Decoder<R> {
    source: R,
    /// `None` until the first bytes were looked at.
    encoding: Option<Encoding>,
    /// Bytes that were read, of characters that are not whole.
    raw: Vec<u8>,
    /// Whether the last character was a carriage return, which was made a line feed.
    is_after_return: bool,
    is_at_end: bool,
    failure: Option<Failure>,
    bytes_read: u64,
}

/// Why the characters end.
#[derive(Debug)]
pub enum Failure {
    Read(io::Error),
    Malformed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16 { is_big_endian: bool },
    Latin1,
    Ascii,
}

impl<R: Read> Decoder<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            encoding: None,
            raw: Vec::new(),
            is_after_return: false,
            is_at_end: false,
            failure: None,
            bytes_read: 0,
        }
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// Whether a document in this encoding may declare to be in another.
    pub fn agrees_with(&self, declared: &str) -> bool {
        match (self.encoding, encoding_of(declared)) {
            (Some(Encoding::Utf16 { .. }), Some(Encoding::Utf16 { .. })) => true,
            (actual, declared) => declared.is_some() && actual == declared,
        }
    }

    /// Appends about `count` bytes of characters. Returns whether there may be more.
    ///
    /// # Errors
    /// What is wrong behind the characters.
    pub fn append(&mut self, count: usize, out: &mut String) -> Result<bool, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.is_at_end {
            return Ok(false);
        }
        let before = out.len();
        if let Err(failure) = self.decode(count, out) {
            if out.len() == before {
                return Err(failure);
            }
            self.failure = Some(failure);
        }
        Ok(true)
    }

    fn decode(&mut self, count: usize, out: &mut String) -> Result<(), Failure> {
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None => self.begin()?,
        };
        self.read(count)?;
        let raw = std::mem::take(&mut self.raw);
        let used = match encoding {
            Encoding::Utf8 => self.take_utf8(&raw, out),
            Encoding::Utf16 { is_big_endian } => self.take_utf16(&raw, is_big_endian, out),
            Encoding::Latin1 => self.take_bytes(&raw, 0xff, out),
            Encoding::Ascii => self.take_bytes(&raw, 0x7f, out),
        }?;
        self.raw = raw;
        self.raw.drain(..used);
        match self.is_at_end && !self.raw.is_empty() {
            true => Err(Failure::Malformed("the document ends within a character".into())),
            false => Ok(()),
        }
    }

    fn read(&mut self, count: usize) -> Result<(), Failure> {
        while !self.is_at_end {
            let begin = self.raw.len();
            self.raw.resize(begin + count, 0);
            let read = self.source.read(&mut self.raw[begin..]);
            self.raw.truncate(begin + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(0) => self.is_at_end = true,
                Ok(read) => {
                    self.bytes_read += read as u64;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Read(error)),
            }
        }
        Ok(())
    }

    /// Detects the encoding by the first bytes and the document's declaration.
    fn begin(&mut self) -> Result<Encoding, Failure> {
        while self.raw.len() < DECLARATION_BYTES_MAX && !self.is_at_end && !contains(&self.raw, b"?>") {
            self.read(DECLARATION_BYTES_MAX)?;
        }
        let (encoding, mark) = match self.raw[..] {
            [0, 0, 0xfe, 0xff, ..] | [0xff, 0xfe, 0, 0, ..] => return Err(unknown("UTF-32")),
            [0xfe, 0xff, ..] => (Encoding::Utf16 { is_big_endian: true }, 2),
            [0xff, 0xfe, ..] => (Encoding::Utf16 { is_big_endian: false }, 2),
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            [0, b'<', ..] => (utf16_without_mark(&self.raw, true)?, 0),
            [b'<', 0, ..] => (utf16_without_mark(&self.raw, false)?, 0),
            [0x4c, 0x6f, 0xa7, 0x94, ..] => return Err(unknown("EBCDIC")),
            _ => match declared_encoding(&self.raw) {
                None => (Encoding::Utf8, 0),
                Some(name) => match encoding_of(&name) {
                    Some(Encoding::Utf16 { .. }) => {
                        let message = format!("the document declares the encoding {name}, and is not in it");
                        return Err(Failure::Malformed(message));
                    }
                    Some(encoding) => (encoding, 0),
                    None => return Err(unknown(&name)),
                },
            },
        };
        self.raw.drain(..mark);
        self.encoding = Some(encoding);
        Ok(encoding)
    }

    fn take_utf8(&mut self, raw: &[u8], out: &mut String) -> Result<usize, Failure> {
        let (text, is_bad) = match std::str::from_utf8(raw) {
            Ok(text) => (text, false),
            Err(error) => {
                let (valid, _) = raw.split_at(error.valid_up_to());
                (std::str::from_utf8(valid).unwrap_or_default(), error.error_len().is_some())
            }
        };
        self.take_text(text, out)?;
        match is_bad {
            true => Err(Failure::Malformed("these bytes are no character in UTF-8; declare the encoding".into())),
            false => Ok(text.len()),
        }
    }

    /// Appends text with its line ends normalized.
    fn take_text(&mut self, text: &str, out: &mut String) -> Result<(), Failure> {
        let bytes = text.as_bytes();
        let (mut begin, mut at) = (0, 0);
        if self.is_after_return && bytes.first() == Some(&b'\n') {
            (begin, at) = (1, 1);
        }
        self.is_after_return &= bytes.is_empty();
        while let Some(length) = bytes[at..].iter().position(|&byte| ODD[usize::from(byte)]) {
            at += length;
            match text[at..].chars().next() {
                Some('\r') => {
                    out.push_str(&text[begin..at]);
                    out.push('\n');
                    at += 1;
                    match bytes.get(at) {
                        Some(b'\n') => at += 1,
                        Some(_) => {}
                        None => self.is_after_return = true,
                    }
                    begin = at;
                }
                Some(character) if !is_character(character) => {
                    out.push_str(&text[begin..at]);
                    return Err(Failure::Malformed(illegal(character)));
                }
                character => at += character.map_or(1, char::len_utf8),
            }
        }
        out.push_str(&text[begin..]);
        Ok(())
    }

    fn take_utf16(&mut self, raw: &[u8], is_big_endian: bool, out: &mut String) -> Result<usize, Failure> {
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if is_big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        let mut units: Vec<u16> = raw.chunks_exact(2).map(unit).collect();
        if !self.is_at_end && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            units.pop();
        }
        let mut text = String::with_capacity(units.len());
        let mut is_bad = false;
        for decoded in char::decode_utf16(units.iter().copied()) {
            match decoded {
                Ok(character) => text.push(character),
                Err(_) => {
                    is_bad = true;
                    break;
                }
            }
        }
        self.take_text(&text, out)?;
        match is_bad {
            true => Err(Failure::Malformed("half of a surrogate pair is not a character in UTF-16".into())),
            false => Ok(2 * units.len()),
        }
    }

    fn take_bytes(&mut self, raw: &[u8], largest: u8, out: &mut String) -> Result<usize, Failure> {
        let is_bad = |byte: &u8| *byte > largest;
        let sound = raw.iter().position(is_bad).unwrap_or(raw.len());
        let text: String = raw[..sound].iter().map(|&byte| char::from(byte)).collect();
        self.take_text(&text, out)?;
        match raw.get(sound) {
            Some(byte) => Err(Failure::Malformed(format!("the byte {byte:#x} is not a character in US-ASCII"))),
            None => Ok(raw.len()),
        }
    }
}

/// What is wrong with a character that no document may contain.
pub fn illegal(character: char) -> String {
    format!("U+{:04X} is a character that XML 1.0 does not permit, raw or by reference", u32::from(character))
}

fn unknown(encoding: &str) -> Failure {
    let message = format!("the encoding {encoding} is not supported; write UTF-8, UTF-16, ISO-8859-1 or US-ASCII");
    Failure::Malformed(message)
}

fn encoding_of(name: &str) -> Option<Encoding> {
    Some(match name.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" => Encoding::Utf8,
        "utf-16" | "utf-16be" | "utf-16le" => Encoding::Utf16 { is_big_endian: true },
        "iso-8859-1" | "iso_8859-1" | "iso8859-1" | "latin1" | "l1" => Encoding::Latin1,
        "us-ascii" | "ascii" => Encoding::Ascii,
        _ => return None,
    })
}

/// The encoding of a document that begins with `<` in UTF-16, and not with a byte order mark: it has to declare UTF-16.
fn utf16_without_mark(raw: &[u8], is_big_endian: bool) -> Result<Encoding, Failure> {
    let narrow: Vec<u8> = raw.iter().skip(usize::from(is_big_endian)).step_by(2).copied().collect();
    match declared_encoding(&narrow).and_then(|name| encoding_of(&name)) {
        Some(Encoding::Utf16 { .. }) => Ok(Encoding::Utf16 { is_big_endian }),
        _ => {
            let message = "the document is in UTF-16, and has no byte order mark and no declaration of the encoding; \
                           add a mark, or write UTF-8";
            Err(Failure::Malformed(message.into()))
        }
    }
}

/// What an XML declaration, if there is one, says of the encoding. Whether it is one in all else is for the reader to
/// find out.
fn declared_encoding(raw: &[u8]) -> Option<String> {
    let rest = raw.strip_prefix(b"<?xml")?;
    if !rest.first().is_some_and(|byte| byte.is_ascii_whitespace()) {
        return None;
    }
    let end = (0..rest.len()).find(|&at| rest[at..].starts_with(b"?>"))?;
    let text: String = rest[..end].iter().map(|&byte| char::from(byte)).collect();
    let (_, rest) = text.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    rest[1..].split_once(quote).map(|(name, _)| name.to_owned())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Bytes that begin a character to look at: controls, and U+FFFE and U+FFFF.
const ODD: [bool; 256] = {
    let mut odd = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        odd[byte] = byte != b'\t' as usize && byte != b'\n' as usize;
        byte += 1;
    }
    odd[0xef] = true;
    odd
};

/// An XML declaration is no longer.
const DECLARATION_BYTES_MAX: usize = 1 << 10;
