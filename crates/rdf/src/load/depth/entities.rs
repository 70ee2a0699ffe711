//! How many bytes the entities that an XML text declares take where they are referred to, counted before the text is parsed: the parser
//! puts their values in place as it meets them, in the values of later entities too, and bounds nothing.
//!
//! (1) Entities are those that the parser takes for such, not those of the standard alone. (2) Every reference is counted, also in what the
//! parser passes over.

use std::collections::HashMap;

/// Goes over the parts of a text in which entities are declared, or referred to.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    /// The names, and the most bytes that their values take.
    lengths: HashMap<Vec<u8>, u64>,
    longest_name: usize,
    /// Within the document type: what stands behind a `<` so far, if it may be a declaration.
    declaration: Option<Vec<u8>>,
    /// What stands behind an `&` so far, if it may be a name.
    name: Option<Vec<u8>>,
    expanded_bytes: u64,
    /// A declaration is longer than any may be.
    is_too_long: bool,
}

impl Entities {
    /// Goes over a byte of the document type, from `<!` on.
    pub fn declare(&mut self, byte: u8) {
        if byte == b'<' {
            self.end_declaration();
            self.declaration = Some(Vec::new());
        } else if let Some(text) = &mut self.declaration {
            match DECLARATION.get(text.len()) {
                Some(&expected) if expected != byte => self.declaration = None,
                _ if text.len() >= DECLARATION_BYTES_MAX => {
                    self.is_too_long = true;
                    self.declaration = None;
                }
                _ => text.push(byte),
            }
        }
    }

    /// The document type ends.
    pub fn end_declarations(&mut self) {
        self.end_declaration();
    }

    /// Goes over a byte of a text or tag.
    pub fn refer(&mut self, byte: u8) {
        if self.lengths.is_empty() {
            return;
        }
        match byte {
            b'&' => self.name = Some(Vec::new()),
            b';' => {
                if let Some(name) = self.name.take() {
                    self.expanded_bytes += self.length(&name);
                }
            }
            byte => match &mut self.name {
                Some(name) if name.len() < self.longest_name => name.push(byte),
                _ => self.name = None,
            },
        }
    }

    /// Bytes that references have come to so far.
    pub fn expanded_bytes(&self) -> u64 {
        self.expanded_bytes
    }

    /// Whether references come to more than a text of `read_bytes` so far may have.
    pub fn are_too_many(&self, read_bytes: u64) -> bool {
        self.is_too_long || self.expanded_bytes > EXPANDED_BYTES_MIN + EXPANDED_BYTES_PER_BYTE * read_bytes
    }

    fn length(&self, name: &[u8]) -> u64 {
        self.lengths.get(name).copied().unwrap_or(0)
    }

    /// Takes up what is declared, as the parser reads it.
    fn end_declaration(&mut self) {
        let Some(text) = self.declaration.take() else { return };
        // The parser refuses what is no UTF-8, and all that is written otherwise.
        let Some(text) = std::str::from_utf8(&text).ok().and_then(|text| text.strip_prefix("!ENTITY")) else { return };
        let text = text.trim_start().strip_prefix('%').unwrap_or(text).trim_start();
        let Some((name, rest)) = text.split_once(|character: char| character.is_ascii_whitespace()) else { return };
        let Some((value, _)) = rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"')) else {
            return;
        };
        let mut length = value.len() as u64;
        for part in value.split('&').skip(1) {
            let Some((reference, _)) = part.split_once(';') else { continue };
            let expanded = self.length(reference.as_bytes());
            length += expanded;
            self.expanded_bytes += expanded;
        }
        // These mean what they always do.
        if !["amp", "lt", "gt", "quot", "apos"].contains(&name) {
            self.longest_name = self.longest_name.max(name.len());
            self.lengths.insert(name.as_bytes().to_vec(), length);
        }
    }
}

/// What is wrong with a text in which they are too many.
pub fn message(line: u64) -> String {
    format!(
        "line {line}: the entities of the document take too much memory where they are put in place of references (more than \
         {} MiB and {EXPANDED_BYTES_PER_BYTE} bytes for each of the document before, or one of more than {} MiB); write what they stand for",
        EXPANDED_BYTES_MIN >> 20,
        DECLARATION_BYTES_MAX >> 20
    )
}

const DECLARATION: &[u8] = b"!ENTITY";
/// Entities are prefixes of names, seldom longer than a line.
const DECLARATION_BYTES_MAX: usize = 1 << 20;
/// So many bytes any document may have for its references,
const EXPANDED_BYTES_MIN: u64 = 16 << 20;
/// and so many more for each byte of its own: references of which a document consists are of some bytes for names of a hundred.
const EXPANDED_BYTES_PER_BYTE: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that references come to.
    fn expanded(declarations: &str, text: &str) -> u64 {
        let mut entities = Entities::default();
        declarations.bytes().for_each(|byte| entities.declare(byte));
        entities.end_declarations();
        text.bytes().for_each(|byte| entities.refer(byte));
        entities.expanded_bytes
    }

    #[test]
    fn references_count_with_what_they_stand_for() {
        for (declarations, text, bytes) in [
            (r#"<!ENTITY a "12345">"#, "&a;&a; &b; &amp; & a; &a &a;", 15),
            (r#"<!ENTITY  %  a  "12345" >"#, "&a;", 5),
            (r#"<!ENTITY% a "12345">"#, "&a;", 5),
            (r#"<!ENTITY a "12345"><!-- --><!ENTITY a "1">"#, "&a;", 1),
            (r#"<!ENTITY a "12345"><!ENTITY b "&a;&a;1">"#, "&b;", 27),
            (r#"<!ENTITY a "12345"><!ENTITY b "&amp;a;">"#, "&b;", 7),
            (r#"<!ENTITY b "&a;"><!ENTITY a "12345">"#, "&b;", 3),
            (r#"<!ENTITY amp "12345"><!ELEMENT a "12345">"#, "&amp;&a;", 0),
            ("", "&a;", 0),
        ] {
            assert_eq!(expanded(declarations, text), bytes, "{declarations} {text}");
        }
    }

    #[test]
    fn entities_that_double_again_and_again_are_too_many_and_so_is_a_long_one_named_often() {
        let doubled: String = (1..40).map(|n| format!(r#"<!ENTITY e{n} "&e{};&e{};">"#, n - 1, n - 1)).collect();
        let mut entities = Entities::default();
        format!(r#"<!ENTITY e0 "12">{doubled}<"#).bytes().for_each(|byte| entities.declare(byte));
        assert!(entities.are_too_many(0));
        let mut entities = Entities::default();
        format!(r#"<!ENTITY long "{}"><"#, "x".repeat(100_000)).bytes().for_each(|byte| entities.declare(byte));
        "&long;".repeat(100).bytes().for_each(|byte| entities.refer(byte));
        assert!(!entities.are_too_many(100_000));
        "&long;".repeat(1000).bytes().for_each(|byte| entities.refer(byte));
        assert!(entities.are_too_many(100_000));
        let mut entities = Entities::default();
        format!(r#"<!ENTITY long "{}"><"#, "x".repeat(2 << 20)).bytes().for_each(|byte| entities.declare(byte));
        assert!(entities.are_too_many(2 << 20));
    }
}
