//! Texts of Angle, and places in them.

use std::sync::Arc;

use crate::angle::diagnostic::Diagnostic;
use crate::angle::escapes::end_of_literal;

/// A range of bytes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Span {
    /// Where it begins.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
}

impl Span {
    /// From the beginning of this span to the end of the other.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }
}

/// A text with the name of its file. Clones share the text.
#[derive(Debug, Clone)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
}

/// The longest text: places are 32 bits.
const TEXT_BYTES_MAX: usize = 1 << 30;

impl Source {
    /// A text, and the file that errors name.
    ///
    /// # Errors
    ///
    /// If it has more than 1 GiB.
    pub fn new(name: &str, text: &str) -> Result<Source, Diagnostic> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Diagnostic {
                file: name.to_owned(),
                line: 1,
                column: 1,
                token: String::new(),
                message: format!("the text has {} bytes", text.len()),
                hint: format!("split it into files of at most {TEXT_BYTES_MAX} bytes"),
            });
        }
        // Some programs write a byte order mark before a text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Source { name: name.into(), text: text.into() })
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The part of the text in a span.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// An error at a span.
    pub fn error(&self, span: Span, message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
        let (file, line, column) = self.place(span.start as usize);
        let token = match self.slice(span) {
            "" if span.start as usize >= self.text.len() => "end of the text".to_owned(),
            token => token.lines().next().unwrap_or("").chars().take(TOKEN_CHARS_MAX).collect(),
        };
        Diagnostic { file, line, column, token, message: message.into(), hint: hint.into() }
    }

    /// The file, line and column of an offset. A line `#FILE name` begins another file.
    fn place(&self, offset: usize) -> (String, usize, usize) {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let mut file = self.name.to_string();
        let mut line = 1;
        let mut start = 0;
        for (at, _) in before.match_indices('\n') {
            line += 1;
            if let Some(name) = before[start..at].strip_prefix("#FILE ") {
                file = name.trim().to_owned();
                line = 1;
            }
            start = at + 1;
        }
        (file, line, before[start..].chars().count() + 1)
    }
}

/// How much of a long token an error quotes.
const TOKEN_CHARS_MAX: usize = 60;

impl Source {
    /// The name of its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The words of a part of the text, one space between them, without comments. String literals stay as they are.
    pub fn words(&self, span: Span) -> String {
        let (mut words, mut rest, mut apart) = (String::new(), self.slice(span), false);
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '#' => rest.find('\n').unwrap_or(rest.len()),
                '"' => end_of_literal(&rest[1..]).map_or(rest.len(), |end| end + 2),
                other => other.len_utf8(),
            };
            let (word, after) = rest.split_at(length);
            rest = after;
            if first == '#' || first.is_whitespace() {
                apart = true;
                continue;
            }
            if std::mem::take(&mut apart) && !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
        words
    }
}
