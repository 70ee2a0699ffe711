//! How deep triple terms are nested in a text, found out before it is parsed: parsers, and terms that are dropped, go
//! as deep on the stack as the text does.
//!
//! It knows just enough of Turtle, TriG, N-Triples and N-Quads to distinguish brackets from texts, IRIs and comments.

use memchr::memmem;

use crate::dictionary::bytes::TRIPLE_DEPTH_MAX;
use crate::load::formats::json_depth::Depth;

/// Goes over a text byte by byte.
///
/// In texts that are wrong the parser may end a token elsewhere. Where it goes on behind that, every `<<` counts from
/// then on, wherever it stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nesting {
    state: State,
    depth: usize,
    /// Whether the parser goes on behind errors.
    is_lenient: bool,
    /// Whether it knows no more where tokens end.
    is_lost: bool,
    /// Whether statements end with their lines, and texts are short and in double quotation marks.
    has_lines: bool,
    /// How many `<<` there are since the last text began, and whether another `<` makes it one more.
    pairs: usize,
    is_less: bool,
    utf8: Utf8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// After `<`: an IRI, unless another follows.
    Less,
    /// After `>` outside of IRIs.
    Greater,
    Comment,
    /// After `\\` outside of texts and IRIs.
    NameEscape,
    /// Before so many digits of `%` in a name.
    Percent(u8),
    /// After so many of one quotation mark: a short text, an empty one, or the beginning of a long one.
    Opening(u8, u8),
    Within(Place),
    Escape(Place),
    /// Within the escape of a character: the number of digits left, and the value so far.
    Digits(Place, u8, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Iri,
    Text(u8),
    /// After so many quotation marks that may end it.
    LongText(u8, u8),
}

impl Nesting {
    pub fn new(is_lenient: bool) -> Self {
        Self { is_lenient, ..Self::default() }
    }

    /// Goes over one byte. Returns whether the text is too deep there.
    #[inline]
    fn is_too_deep_at(&mut self, byte: u8) -> bool {
        let is_pair = self.is_less && byte == b'<';
        self.is_less = byte == b'<' && !is_pair;
        self.pairs += usize::from(is_pair);
        if self.is_lost {
            self.depth += usize::from(is_pair);
        } else {
            if self.is_lenient && !self.utf8.goes_on_with(byte) {
                self.lose();
            }
            self.state = self.after(byte);
        }
        self.depth > TRIPLE_DEPTH_MAX
    }

    fn after(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (State::Less, b'<') => {
                self.depth += 1;
                State::Plain
            }
            (State::Greater, b'>') => {
                self.depth = self.depth.saturating_sub(usize::from(!self.is_lost));
                State::Plain
            }
            (State::Less, b'>') => State::Plain,
            (State::Less, _) => self.within(Place::Iri, byte),
            (State::Comment, b'\n' | b'\r') => State::Plain,
            (State::Comment, _) => State::Comment,
            (State::NameEscape, _) => {
                // Within a name it belongs there, elsewhere something may begin with it.
                self.lose_if(matches!(byte, b'\'' | b'"' | b'#' | b'<' | b'>' | b'\\'));
                State::Plain
            }
            (State::Percent(digits), _) => {
                self.lose_if(!byte.is_ascii_hexdigit());
                if digits == 1 { State::Plain } else { State::Percent(digits - 1) }
            }
            (State::Opening(quote, 1), _) if byte == quote => State::Opening(quote, 2),
            (State::Opening(quote, 1), _) => self.within(Place::Text(quote), byte),
            (State::Opening(quote, _), _) if byte == quote => {
                self.lose_if(self.has_lines);
                State::Within(Place::LongText(quote, 0))
            }
            (State::Within(place), _) => self.within(place, byte),
            (State::Escape(place), b'u') => State::Digits(place, 4, 0),
            (State::Escape(place), b'U') => State::Digits(place, 8, 0),
            (State::Escape(place), _) => {
                let is_known = matches!(byte, b't' | b'b' | b'n' | b'r' | b'f' | b'"' | b'\'' | b'\\');
                self.lose_if(place == Place::Iri || !is_known);
                State::Within(place)
            }
            (State::Digits(place, left, value), _) => self.after_digit(place, left, value, byte),
            // Outside of everything, or after an empty text.
            (_, b'<') => State::Less,
            (_, b'>') => State::Greater,
            (_, b'"' | b'\'') => {
                self.lose_if(self.has_lines && byte == b'\'');
                self.pairs = 0;
                State::Opening(byte, 1)
            }
            (_, b'#') => State::Comment,
            (_, b'\\') => State::NameEscape,
            (_, b'%') => State::Percent(2),
            _ => State::Plain,
        }
    }

    fn within(&mut self, place: Place, byte: u8) -> State {
        match (place, byte) {
            (Place::LongText(quote, _), b'\\') => State::Escape(Place::LongText(quote, 0)),
            (_, b'\\') => State::Escape(place),
            (Place::Iri, b'>') => State::Plain,
            (Place::Text(quote), _) if byte == quote => State::Plain,
            (Place::LongText(quote, 2), _) if byte == quote => State::Plain,
            (Place::LongText(quote, count), _) if byte == quote => State::Within(Place::LongText(quote, count + 1)),
            (Place::LongText(quote, _), _) => State::Within(Place::LongText(quote, 0)),
            (Place::Iri | Place::Text(_), _) => {
                self.lose_if(place != Place::Iri && matches!(byte, b'\n' | b'\r'));
                State::Within(place)
            }
        }
    }

    fn after_digit(&mut self, place: Place, left: u8, value: u32, byte: u8) -> State {
        let Some(digit) = char::from(byte).to_digit(16) else {
            self.lose();
            return self.within(place, byte);
        };
        let value = value << 4 | digit;
        if left > 1 {
            return State::Digits(place, left - 1, value);
        }
        self.lose_if(char::from_u32(value).is_none());
        State::Within(place)
    }

    fn lose_if(&mut self, is_wrong: bool) {
        if is_wrong {
            self.lose();
        }
    }

    /// The parser may end this token elsewhere, even before here.
    fn lose(&mut self) {
        if self.is_lenient && !self.is_lost {
            self.is_lost = true;
            self.depth += self.pairs;
        }
    }

    /// Ends a line. Returns whether it is too deep for that.
    fn end_line(&mut self) -> bool {
        let is_between_tokens =
            matches!(self.state, State::Plain | State::Greater | State::Comment | State::Opening(_, 2));
        self.lose_if(!is_between_tokens || self.utf8.left > 0);
        let is_too_deep = self.depth > TRIPLE_DEPTH_MAX;
        let Self { is_lenient, is_lost, has_lines, .. } = *self;
        *self = Self { is_lenient, is_lost, has_lines, ..Self::default() };
        is_too_deep
    }
}

/// Whether bytes are UTF-8.
#[derive(Clone, Copy, Debug, Default)]
struct Utf8 {
    /// How many bytes of a character are left, and what the next must be between.
    left: u8,
    low: u8,
    high: u8,
}

impl Utf8 {
    #[inline]
    fn goes_on_with(&mut self, byte: u8) -> bool {
        if self.left > 0 {
            let goes_on = (self.low..=self.high).contains(&byte);
            *self = Self { left: self.left - 1, low: 0x80, high: 0xbf };
            return goes_on;
        }
        let (left, low, high) = match byte {
            0..0x80 => return true,
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _ => return false,
        };
        *self = Self { left, low, high };
        true
    }
}

/// Blanks out the lines that are too deep, and returns their numbers, from 0.
pub fn blank_out_deep_lines(bytes: &mut [u8], is_lenient: bool) -> Vec<u64> {
    // Most texts have no triple terms.
    if memmem::find(bytes, b"<<").is_none() {
        return Vec::new();
    }
    let (mut deep, mut nesting) = (Vec::new(), Nesting { has_lines: true, ..Nesting::new(is_lenient) });
    for (number, line) in bytes.split_mut(|&byte| byte == b'\n').enumerate() {
        for statement in line.split_mut(|&byte| byte == b'\r') {
            let is_too_deep = nesting.is_too_deep(statement);
            if nesting.end_line() | is_too_deep {
                statement.fill(b' ');
                deep.push(number as u64);
            }
        }
    }
    deep.dedup();
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

    fn message(&self) -> String {
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

    use super::*;
    use crate::load::formats::json_depth::Shallow;

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
        assert_eq!(blank_out_deep_lines(&mut text, false), [1]);
        assert_eq!(text, format!("<a> <b> <c> .\n{}\n<a> <b> <<( .\n", " ".repeat(deep.len())).into_bytes());
        let mut read = String::new();
        assert!(Shallow::new(deep.as_bytes(), Nesting::new(false)).read_to_string(&mut read).is_err());
        let allowed = "<<(".repeat(TRIPLE_DEPTH_MAX);
        assert!(Shallow::new(allowed.as_bytes(), Nesting::new(false)).read_to_string(&mut read).is_ok());
    }
    #[test]
    fn what_is_escaped_in_names_begins_nothing() {
        assert_eq!(depth("a:b\\'c a:b\\#c << "), 1);
    }

    #[test]
    fn nothing_is_hidden_behind_what_the_parser_ends_elsewhere() {
        let deep = "<<( <http://a/s> <http://a/p> ".repeat(TRIPLE_DEPTH_MAX + 1);
        for (begin, end) in [
            ("<http://a/\\x", ""),
            ("<http://a/\\u00g0", ""),
            ("\"\\x\\\"", ""),
            ("'\\ug\\'", ""),
            ("\"\\uD800\\\"", ""),
            ("\"\"\"\\x", ""),
            ("\"\n\\\"", ""),
            ("a:\\\"", ""),
            ("_:a\\' \"", ""),
            ("a:%\"\"", ""),
        ] {
            let text = format!("{begin}{deep}{end}");
            assert!(Nesting::new(true).is_too_deep(text.as_bytes()), "{begin}");
        }
        // The parser goes back to within such a text.
        let text = [b"\"", deep.as_bytes(), b"\\t", deep.as_bytes(), b"\xff\""].concat();
        assert!(Nesting::new(true).is_too_deep(&text));
        assert!(!Nesting::new(true).is_too_deep(&text[..text.len() - 2]));
    }

    #[test]
    fn nothing_is_hidden_in_lines_behind_what_the_parser_ends_elsewhere() {
        let deep = "<<( <http://a/s> <http://a/p> ".repeat(TRIPLE_DEPTH_MAX + 1);
        for begin in ["' ", "\"\"\" ", "<http://a\n> ", "\"a\n\" ", "\"a\r\" ", "<http://a\\", "# a\r"] {
            let mut text = format!("{begin}{deep}\n<a> <b> <c> .\n").into_bytes();
            let lines = begin.matches('\n').count() as u64;
            assert_eq!(blank_out_deep_lines(&mut text, true), [lines], "{begin}");
            assert!(text.ends_with(b"\n<a> <b> <c> .\n"));
        }
        let mut text = format!("<a> <b> \"{deep}\" .\n").into_bytes();
        assert!(blank_out_deep_lines(&mut text, true).is_empty());
    }
}
