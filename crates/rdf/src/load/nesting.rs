//! How deep triple terms are nested in a text, found out before it is parsed: parsers, and terms that are dropped, go as deep on the stack
//! as the text does.
//!
//! It knows as much of Turtle, TriG, N-Triples and N-Quads as it takes to tell brackets from what stands in texts, IRIs and comments.

use super::depth::Depth;
use crate::dictionary::bytes::TRIPLE_DEPTH_MAX;

/// Goes over a text byte by byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nesting {
    state: State,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// After `<`: an IRI, unless another follows.
    Less,
    /// After `>` outside of IRIs.
    Greater,
    Iri,
    Comment,
    /// After so many of one quotation mark: a short text, an empty one, or the beginning of a long one.
    Opening(u8, u8),
    Text(u8),
    Escape(u8),
    /// Within a long text, after so many quotation marks that may end it.
    LongText(u8, u8),
    LongEscape(u8),
}

impl Nesting {
    /// Goes over one byte. Tells whether the text is too deep there.
    #[inline]
    fn is_too_deep_at(&mut self, byte: u8) -> bool {
        self.state = match (self.state, byte) {
            (State::Less, b'<') => {
                self.depth += 1;
                State::Plain
            }
            (State::Greater, b'>') => {
                self.depth = self.depth.saturating_sub(1);
                State::Plain
            }
            (State::Less, b'>') | (State::Iri, b'>') => State::Plain,
            (State::Less | State::Iri, _) => State::Iri,
            (State::Comment, b'\n' | b'\r') => State::Plain,
            (State::Comment, _) => State::Comment,
            (State::Opening(quote, 1), _) if byte == quote => State::Opening(quote, 2),
            (State::Opening(quote, 1), b'\\') => State::Escape(quote),
            (State::Opening(quote, 1), _) => State::Text(quote),
            (State::Opening(quote, _), _) if byte == quote => State::LongText(quote, 0),
            (State::Text(quote), b'\\') => State::Escape(quote),
            (State::Text(quote), _) if byte == quote => State::Plain,
            (State::Text(quote) | State::Escape(quote), _) => State::Text(quote),
            (State::LongText(quote, 2), _) if byte == quote => State::Plain,
            (State::LongText(quote, count), _) if byte == quote => State::LongText(quote, count + 1),
            (State::LongText(quote, _), b'\\') => State::LongEscape(quote),
            (State::LongText(quote, _) | State::LongEscape(quote), _) => State::LongText(quote, 0),
            // Outside of everything, or after an empty text.
            (_, b'<') => State::Less,
            (_, b'>') => State::Greater,
            (_, b'"' | b'\'') => State::Opening(byte, 1),
            (_, b'#') => State::Comment,
            _ => State::Plain,
        };
        self.depth > TRIPLE_DEPTH_MAX
    }
}

/// Blanks out the lines that are too deep, and tells which they are, from 0.
pub fn blank_out_deep_lines(bytes: &mut [u8]) -> Vec<u64> {
    // Most texts have no triple terms.
    if !bytes.windows(2).any(|pair| pair == b"<<") {
        return Vec::new();
    }
    let mut deep = Vec::new();
    for (number, line) in bytes.split_mut(|&byte| byte == b'\n').enumerate() {
        if Nesting::default().is_too_deep(line) {
            line.fill(b' ');
            deep.push(number as u64);
        }
    }
    deep
}

impl Depth for Nesting {
    fn is_too_deep(&mut self, bytes: &[u8]) -> bool {
        let mut is_too_deep = false;
        for &byte in bytes {
            is_too_deep |= self.is_too_deep_at(byte);
        }
        is_too_deep
    }

    fn message() -> String {
        message()
    }
}

/// What is wrong with such a text.
pub fn message() -> String {
    crate::error::Error::TooDeep { limit: TRIPLE_DEPTH_MAX }.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::super::depth::Shallow;
    use super::*;

    fn depth(text: &str) -> usize {
        let mut nesting = Nesting::default();
        let mut deepest = 0;
        for byte in text.bytes() {
            nesting.is_too_deep_at(byte);
            deepest = deepest.max(nesting.depth);
        }
        deepest
    }

    #[test]
    fn only_brackets_outside_of_texts_iris_and_comments_count() {
        assert_eq!(depth("<a> <b> <c> ."), 0);
        assert_eq!(depth("<a> <b> <<( <a> <b> <<(<a><b><c>)>> )>> ."), 2);
        assert_eq!(depth("<< <a> <b> 'x' >> <b> << <a> <b> 'x' >> ."), 1);
        for quote in ["\"", "'", "\"\"\"", "'''"] {
            assert_eq!(
                depth(&format!("<a> <b> {quote}<< \\{} << {quote}, {quote}{quote} .", &quote[..1])),
                0,
                "{quote}"
            );
            assert_eq!(depth(&format!("<a> <b> {quote}\\\\{quote}, <<")), 1, "{quote}");
        }
        assert_eq!(depth("<a> <b> \"\"\"one \" two \"\" << \"\"\" <<"), 1);
        assert_eq!(depth("<a> <b> '' << ''"), 1);
        assert_eq!(depth("# << it's <<\n<a> <b#<<> <c> <<"), 1);
    }

    #[test]
    fn lines_that_are_too_deep_are_blanked_out_and_texts_end_there() {
        let deep = "<<(".repeat(TRIPLE_DEPTH_MAX + 1);
        let mut text = format!("<a> <b> <c> .\n{deep}\n<a> <b> <<( .\n").into_bytes();
        assert_eq!(blank_out_deep_lines(&mut text), [1]);
        assert_eq!(text, format!("<a> <b> <c> .\n{}\n<a> <b> <<( .\n", " ".repeat(deep.len())).into_bytes());
        let mut read = String::new();
        assert!(Shallow::<_, Nesting>::new(deep.as_bytes()).read_to_string(&mut read).is_err());
        let allowed = "<<(".repeat(TRIPLE_DEPTH_MAX);
        assert!(Shallow::<_, Nesting>::new(allowed.as_bytes()).read_to_string(&mut read).is_ok());
    }
}
