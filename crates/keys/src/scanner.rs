//! A cursor over text, for the names of types and the text form of values.

/// Text not read yet, and how much was read.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn next_char(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    pub(crate) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|character| !wanted(character)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    pub(crate) fn skip_spaces(&mut self) {
        self.take_while(|character| character == ' ');
    }

    /// Whether `wanted` came next; it is taken then.
    pub(crate) fn eat(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    pub(crate) fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.eat(wanted) { Ok(()) } else { Err(format!("expected `{wanted}` {}", self.place())) }
    }

    pub(crate) fn expect_end(&self) -> Result<(), String> {
        if self.rest().is_empty() { Ok(()) } else { Err(format!("expected the end {}", self.place())) }
    }

    /// Where the scanner stands, in words.
    pub(crate) fn place(&self) -> String {
        match self.rest().chars().next() {
            Some(next) => format!("before `{next}` (byte {})", self.at),
            None => "at the end".to_owned(),
        }
    }
}
