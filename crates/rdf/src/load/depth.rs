//! How deep the elements of an XML text, and the objects and arrays of a JSON text, are nested, found out before they are parsed: what the
//! parsers make of them goes as deep on the stack when it is dropped or written. In XML, what entities and long names come to is found out on
//! the way.
//!
//! (1) Tokens end where the parsers end them, also in texts that are wrong: else what is nested could be hidden. (2) What the parsers refuse
//! may be counted as anything, for they stop there.

mod entities;
mod names;

use std::io::{self, Read};

use entities::Entities;
use names::Names;

/// Goes over a text byte by byte.
pub trait Depth {
    /// Goes over bytes. Tells whether the text is too deep somewhere, or becomes too large.
    fn is_too_deep(&mut self, bytes: &[u8]) -> bool;

    /// What is wrong with a text of which that was told.
    fn message(&self) -> String;
}

/// A text that ends with an error where it is too deep.
pub struct Shallow<R, D> {
    inner: R,
    depth: D,
}

impl<R: Read, D: Depth> Shallow<R, D> {
    pub fn new(inner: R, depth: D) -> Self {
        Self { inner, depth }
    }
}

impl<R: Read, D: Depth> Read for Shallow<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if self.depth.is_too_deep(&buffer[..count]) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, self.depth.message()));
        }
        Ok(count)
    }
}

/// Of XML.
#[derive(Clone, Debug, Default)]
pub struct XmlDepth {
    state: Xml,
    depth: usize,
    entities: Entities,
    names: Names,
    read_bytes: u64,
    lines: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum Xml {
    #[default]
    Text,
    /// After `<`.
    Less,
    /// After `<!`.
    Bang,
    /// How many bytes since `<`, up to 5, and how many hyphens before.
    Comment(u8, u8),
    /// How many brackets before.
    Cdata(u8),
    /// How many `<` are open within.
    Doctype(usize),
    /// Whether `?` is before.
    Instruction(bool),
    /// The quotation mark it is within, or 0, and whether `/` is before.
    Start(u8, bool),
    /// The quotation mark it is within, or 0.
    End(u8),
}

impl XmlDepth {
    fn step(&mut self, byte: u8) {
        self.read_bytes += 1;
        self.lines += u64::from(byte == b'\n');
        match self.state {
            Xml::Doctype(0) if byte == b'>' => self.entities.end_declarations(),
            Xml::Doctype(_) => self.entities.declare(byte),
            Xml::Text | Xml::Less | Xml::Start(..) | Xml::End(_) => self.entities.refer(byte),
            Xml::Bang | Xml::Comment(..) | Xml::Cdata(_) | Xml::Instruction(_) => {}
        }
        self.state = match (self.state, byte) {
            (Xml::Text, b'<') => Xml::Less,
            (Xml::Text, _) => Xml::Text,
            (Xml::Less, b'!') => Xml::Bang,
            (Xml::Less, b'?') => Xml::Instruction(true),
            (Xml::Less, b'/') => Xml::End(0),
            (Xml::Less, _) => {
                self.names.begin_tag();
                return self.step_within_start(0, false, byte);
            }
            (Xml::Bang, b'-') => Xml::Comment(2, 1),
            (Xml::Bang, b'[') => Xml::Cdata(0),
            (Xml::Bang, b'D' | b'd') => Xml::Doctype(0),
            (Xml::Bang, _) => Xml::Text,
            // The hyphens that begin it do not end it.
            (Xml::Comment(5, 2), b'>') => Xml::Text,
            (Xml::Comment(count, hyphens), b'-') => Xml::Comment((count + 1).min(5), (hyphens + 1).min(2)),
            (Xml::Comment(count, _), _) => Xml::Comment((count + 1).min(5), 0),
            (Xml::Cdata(2), b'>') => Xml::Text,
            (Xml::Cdata(brackets), b']') => Xml::Cdata((brackets + 1).min(2)),
            (Xml::Cdata(_), _) => Xml::Cdata(0),
            (Xml::Doctype(0), b'>') => Xml::Text,
            (Xml::Doctype(open), b'>') => Xml::Doctype(open - 1),
            (Xml::Doctype(open), b'<') => Xml::Doctype(open + 1),
            (Xml::Doctype(open), _) => Xml::Doctype(open),
            (Xml::Instruction(true), b'>') => Xml::Text,
            (Xml::Instruction(_), _) => Xml::Instruction(byte == b'?'),
            (Xml::Start(quote, is_closed), _) => return self.step_within_start(quote, is_closed, byte),
            (Xml::End(0), b'>') => {
                self.depth = self.depth.saturating_sub(1);
                self.names.end_element();
                Xml::Text
            }
            (Xml::End(quote), _) => Xml::End(quote_after(quote, byte)),
        };
    }

    fn step_within_start(&mut self, quote: u8, is_closed: bool, byte: u8) {
        self.state = if quote == 0 && byte == b'>' {
            self.depth += usize::from(!is_closed);
            self.names.end_tag(is_closed);
            Xml::Text
        } else {
            self.names.take(quote, byte, self.entities.expanded_bytes());
            Xml::Start(quote_after(quote, byte), byte == b'/')
        };
    }
}

/// The quotation mark that is open after a byte of a tag.
fn quote_after(quote: u8, byte: u8) -> u8 {
    match (quote, byte) {
        (0, b'"' | b'\'') => byte,
        (quote, byte) if quote == byte => 0,
        (quote, _) => quote,
    }
}

impl Depth for XmlDepth {
    fn is_too_deep(&mut self, bytes: &[u8]) -> bool {
        for &byte in bytes {
            self.step(byte);
            // The first place is the one that is told.
            if self.depth > DEPTH_MAX || self.entities.are_too_many(self.read_bytes) || self.names.are_too_long() {
                return true;
            }
        }
        false
    }

    fn message(&self) -> String {
        if self.names.are_too_long() {
            return names::message(self.lines + 1);
        }
        if self.depth <= DEPTH_MAX {
            return entities::message(self.lines + 1);
        }
        format!(
            "elements are nested deeper than {DEPTH_MAX}; name the inner nodes, and write them beside the outer ones"
        )
    }
}

/// Of JSON.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonDepth {
    state: Json,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum Json {
    #[default]
    Plain,
    Text,
    Escape,
}

impl JsonDepth {
    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (Json::Plain, b'{' | b'[') => {
                self.depth += 1;
                Json::Plain
            }
            (Json::Plain, b'}' | b']') => {
                self.depth = self.depth.saturating_sub(1);
                Json::Plain
            }
            (Json::Plain, b'"') => Json::Text,
            (Json::Plain, _) | (Json::Text, b'"') => Json::Plain,
            (Json::Text, b'\\') => Json::Escape,
            (Json::Text | Json::Escape, _) => Json::Text,
        };
    }
}

impl Depth for JsonDepth {
    fn is_too_deep(&mut self, bytes: &[u8]) -> bool {
        let mut is_too_deep = false;
        for &byte in bytes {
            self.step(byte);
            is_too_deep |= self.depth > DEPTH_MAX;
        }
        is_too_deep
    }

    fn message(&self) -> String {
        format!(
            "objects and arrays are nested deeper than {DEPTH_MAX}; name the inner nodes, and write them beside the outer ones"
        )
    }
}

/// Deeper than anything that is written by hand or made from triples, and far from the end of a stack.
const DEPTH_MAX: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn xml(text: &str) -> usize {
        let mut depth = XmlDepth::default();
        text.bytes().for_each(|byte| depth.step(byte));
        depth.depth
    }

    fn json(text: &str) -> usize {
        let mut depth = JsonDepth::default();
        text.bytes().for_each(|byte| depth.step(byte));
        depth.depth
    }

    #[test]
    fn only_tags_count_and_only_while_they_are_open() {
        for (text, expected) in [
            ("<a><b/><c x='1'/><d></d>", 1),
            ("<a x='>' y=\"/>'\"><b", 1),
            ("<a><b></b ><c></c></a>", 0),
            ("<?xml version='1.0'?><? <a> ?><a>", 1),
            ("<!-- <a> -> --><!----><!--><a>--><a>", 1),
            ("<!---><a>--><a>", 1),
            ("<![CDATA[<a>]>]]]><a>", 1),
            ("<!DOCTYPE a [<!ENTITY b '<c>'> <!-- > -->]><a>", 1),
            ("<a x='<b><c>'><b>", 2),
        ] {
            assert_eq!(xml(text), expected, "{text}");
        }
    }

    #[test]
    fn only_brackets_outside_of_texts_count_in_json() {
        assert_eq!(json(r#"{"a": [1, {"b[{": "c\"[\\"}, ["#), 3);
        assert_eq!(json(r#"[{}, [], {"a": [[]]}]"#), 0);
    }

    #[test]
    fn texts_end_where_they_are_too_deep() {
        for (begin, end) in [("<a>", "</a>"), ("<a b='/'>", "</a>")] {
            let text = |depth: usize| begin.repeat(depth) + &end.repeat(depth);
            assert!(!XmlDepth::default().is_too_deep(text(DEPTH_MAX).as_bytes()));
            assert!(XmlDepth::default().is_too_deep(text(DEPTH_MAX + 1).as_bytes()));
        }
        let text = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(!JsonDepth::default().is_too_deep(text(DEPTH_MAX).as_bytes()));
        assert!(JsonDepth::default().is_too_deep(text(DEPTH_MAX + 1).as_bytes()));
    }

    #[test]
    fn references_count_in_texts_and_tags_and_not_in_comments() {
        let entity = format!("<!DOCTYPE a [\n<!ENTITY e \"{}\"> ]>\n", "x".repeat(1 << 19));
        let is_too_large = |text: &str| {
            let mut depth = XmlDepth::default();
            let is_too_large = depth.is_too_deep(format!("{entity}{text}").as_bytes());
            assert!(!is_too_large || depth.message().starts_with("line 3: "), "{}", depth.message());
            is_too_large
        };
        for text in ["<a>@</a>", "<a x='1' y='@'/>", "<a x=\"@\">"] {
            assert!(is_too_large(&text.replace('@', &"&e;".repeat(50))), "{text}");
            assert!(!is_too_large(&text.replace('@', &"&e;".repeat(10))), "{text}");
        }
        for text in ["<!-- @ -->", "<a><![CDATA[@]]></a>", "<?a @?>", "<a>&amp;amp;e;</a>"] {
            assert!(!is_too_large(&text.replace('@', &"&e;".repeat(50))), "{text}");
        }
    }
}
