//! How a text nests and chains, as far as that can be told without parsing it.
//!
//! Invariant: the outline is never less than what the parser meets, whichever way it reads the text. Where `<` may be
//! an operator or the beginning of an IRI, both are reckoned with. Called by `text` alone.

use std::ops::Range;

/// How a text nests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// Brackets within brackets.
    pub nesting: usize,
    /// Operators, braces and the like: no chain is longer.
    pub links: usize,
    /// Whether [`iris_after_values`] finds any.
    pub has_iris_after_values: bool,
}

impl Outline {
    /// Looks no further where the nesting exceeds `nesting_max`.
    pub(crate) fn of(text: &str, nesting_max: usize) -> Self {
        let bytes = text.as_bytes();
        let mut scan = Scan::default();
        let mut at = 0;
        while at < bytes.len() && scan.outline.nesting <= nesting_max && !scan.is_over {
            at += scan.token(&bytes[at..]);
        }
        scan.outline
    }
}

/// Where an IRI stands behind a value, within a bracket: in a list of terms, or where a comparison may be meant.
pub(crate) fn iris_after_values(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let (mut scan, mut at, mut found) = (Scan::default(), 0, Vec::new());
    while at < bytes.len() && !scan.is_over {
        scan.outline.has_iris_after_values = false;
        let length = scan.token(&bytes[at..]);
        if scan.outline.has_iris_after_values {
            found.push(at..at + length);
        }
        at += length;
    }
    found
}

/// What a bracket that is open is: itself, or one of these.
const ROW: u8 = b'r';
const ROWS: u8 = b'v';

/// A scan of a text, token by token.
#[derive(Default)]
struct Scan {
    outline: Outline,
    open: Vec<u8>,
    /// The last byte that is no space and in no comment.
    last: u8,
    /// Within a prefixed name or a language tag, where `-` is not an operator.
    in_name: bool,
    /// Whether a word has been met that expressions follow: without one the text is data.
    has_expressions: bool,
    /// The rest has been reckoned with as a whole.
    is_over: bool,
}

impl Scan {
    /// Takes the token that `rest` begins with, and returns its length.
    fn token(&mut self, rest: &[u8]) -> usize {
        let bytes = token_bytes(rest).min(rest.len());
        match rest[0] {
            b'#' => self.in_name = false,
            byte if byte.is_ascii_whitespace() => self.in_name = false,
            b'<' if bytes > 1 => self.angle(&rest[..bytes], rest),
            b'\\' => self.last = b'a',
            byte => self.byte(byte, rest),
        }
        bytes
    }

    fn byte(&mut self, byte: u8, rest: &[u8]) {
        let next = rest.get(1).copied().unwrap_or_default();
        match byte {
            b'(' | b'[' | b'{' => {
                self.outline.links += 1;
                self.open_bracket(byte);
            }
            b')' | b']' => drop(self.open.pop()),
            // The parser gets past a brace only when all brackets within are closed.
            b'}' => while self.open.pop().is_some_and(|bracket| !matches!(bracket, b'{' | ROWS)) {},
            b'<' if next == b'<' => self.two_angles(rest),
            b'>' if next == b'>' && self.open.last() == Some(&b'<') => drop(self.open.pop()),
            b'-' if self.in_name => {}
            b'?' if is_name_byte(next) => {}
            byte if is_operator(byte) => self.outline.links += 1,
            byte if byte.is_ascii_alphabetic() => self.word(rest),
            _ => {}
        }
        self.in_name =
            matches!(byte, b':' | b'@') || self.in_name && (is_name_byte(byte) || matches!(byte, b'-' | b'.' | b'%'));
        self.last = byte;
    }

    /// A letter, the first of a word or not: longer words that contain such a word are taken for it.
    fn word(&mut self, rest: &[u8]) {
        let words: [&[u8]; 5] = [b"filter", b"bind", b"having", b"select", b"by"];
        let begins = |word: &&[u8]| rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if !self.in_name && words.iter().any(begins) {
            self.has_expressions = true;
        }
    }

    fn open_bracket(&mut self, byte: u8) {
        // A block that begins with a bracket is one of `VALUES`, or begins with a list: so are brackets after brackets
        // in it.
        if let (b'(', Some(block @ b'{')) = (byte, self.open.last_mut())
            && self.last == b'{'
        {
            *block = ROWS;
        }
        let is_row = match self.open.last() {
            Some(&ROWS) => matches!(self.last, b'{' | b')'),
            Some(&ROW) => true,
            _ => false,
        };
        self.push(if byte == b'(' && is_row { ROW } else { byte });
    }

    fn push(&mut self, bracket: u8) {
        self.open.push(bracket);
        self.outline.nesting = self.outline.nesting.max(self.open.len());
    }

    /// What may be an IRI.
    fn angle(&mut self, token: &[u8], rest: &[u8]) {
        if self.may_be_less_than() {
            self.outline.has_iris_after_values = true;
            if hides_tokens(token) {
                return self.reckon_with_all(rest);
            }
            let mut level = self.open.len();
            for byte in token {
                match byte {
                    b'(' | b'[' => level += 1,
                    b')' | b']' => level = level.saturating_sub(1),
                    _ => {}
                }
                self.outline.nesting = self.outline.nesting.max(level);
                self.outline.links += usize::from(is_operator(*byte) || matches!(byte, b'(' | b'['));
            }
            while self.open.len() < level {
                self.push(b'(');
            }
        }
        self.in_name = false;
        self.last = b'>';
    }

    /// `<<` begins a triple term, unless the second begins an IRI.
    fn two_angles(&mut self, rest: &[u8]) {
        let iri = iri_bytes(&rest[1..]);
        if iri == 0 {
            self.push(b'<');
        } else if (self.last != b'<' || self.has_expressions) && hides_tokens(&rest[1..=iri]) {
            self.reckon_with_all(rest);
        }
    }

    /// Less-than stands within a round bracket, after a value.
    fn may_be_less_than(&self) -> bool {
        let operators = b"({,;|&=!<+*/^";
        self.has_expressions && self.open.last() == Some(&b'(') && !operators.contains(&self.last)
    }

    /// Where even strings and comments cannot be told: as if none were any.
    fn reckon_with_all(&mut self, rest: &[u8]) {
        let brackets = rest.iter().filter(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<')).count();
        self.outline.nesting = self.outline.nesting.max(self.open.len() + brackets);
        self.outline.links += brackets + rest.iter().filter(|byte| is_operator(**byte)).count();
        self.is_over = true;
    }
}

/// Whether the token, if it is not an IRI, has the beginning of a comment, a string or an escape in it.
fn hides_tokens(token: &[u8]) -> bool {
    token.iter().any(|byte| matches!(byte, b'#' | b'\'' | b'\\'))
}

fn is_operator(byte: u8) -> bool {
    matches!(byte, b'+' | b'-' | b'*' | b'/' | b'|' | b'&' | b'!' | b'^' | b'=' | b'?')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// The length of what these bytes begin with: a comment, an IRI, a string, an escape, or else one byte.
pub(crate) fn token_bytes(bytes: &[u8]) -> usize {
    match bytes[0] {
        b'#' => bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len()),
        b'<' if iri_bytes(bytes) > 0 => iri_bytes(bytes),
        b'"' | b'\'' => string_bytes(bytes),
        b'\\' => 2,
        _ => 1,
    }
}

/// The length of the IRI that these bytes begin with; 0 if they begin with none.
fn iri_bytes(bytes: &[u8]) -> usize {
    let end = bytes
        .iter()
        .skip(1)
        .position(|byte| matches!(byte, b'<' | b'>' | b'"' | b'{' | b'}' | b'|' | b'^' | b'`' | 0..=b' '));
    match end {
        Some(end) if bytes[end + 1] == b'>' => end + 2,
        _ => 0,
    }
}

/// The length of the string that these bytes begin with, be it closed or not.
fn string_bytes(bytes: &[u8]) -> usize {
    let quote = bytes[0];
    let long = [quote; 3];
    let (mut at, end): (usize, &[u8]) = if bytes.starts_with(&long) { (3, &long) } else { (1, &long[..1]) };
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(end) {
            return at + end.len();
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(text: &str) -> Outline {
        Outline::of(text, 500)
    }

    #[test]
    fn brackets_within_strings_iris_and_comments_do_not_nest() {
        let nesting =
            outline("SELECT * { ?s <http://e/((((> \"((((\" , '''(((' (''' . # ((((\n FILTER(?a<?b) }").nesting;
        assert_eq!(nesting, 2);
    }

    #[test]
    fn nesting_counts_every_kind_of_bracket() {
        assert_eq!(outline("{ ( [ << >> ] ) }").nesting, 4);
        assert_eq!(outline("(){}[]").nesting, 1);
    }

    #[test]
    fn iris_of_data_neither_nest_nor_chain() {
        let rows = "(<http://e/a_(b#x> <http://e/it's_((#y>)\n".repeat(600);
        assert_eq!(outline(&format!("SELECT * {{ VALUES (?a ?b) {{ {rows} }} }}")).nesting, 3);
        let data = ":s :p (<http://e/a_(b#x> <http://e/it's_((#y>) . <<<http://e/#a> :p :o>> :q 1 .\n".repeat(600);
        assert_eq!(outline(&format!("INSERT DATA {{ {data} }}")).nesting, 2);
    }

    #[test]
    fn names_and_language_tags_have_no_operators() {
        assert_eq!(outline(":550e8400-e29b-41d4 :p \"x\"@en-GB ; ?variable $other").links, 0);
        assert_eq!(outline("?a-1-?b").links, 2);
    }
}
