//! Text to tokens.

use crate::angle::diagnostic::Diagnostic;
use crate::angle::escapes::{end_of_literal, unescape_literal};
use crate::angle::source::{Source, Span};
use crate::angle::token::{Keyword, Mark, Token, TokenKind};

/// The tokens of a text. The last one is [`TokenKind::End`].
///
/// # Errors
///
/// At a character that begins no token, and at a number or a string that is wrong.
pub fn tokens(source: &Source) -> Result<Vec<Token>, Diagnostic> {
    let mut lexer = Lexer { source, text: source.text(), at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let token = lexer.token()?;
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    source: &'a Source,
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            let comment = if trimmed.starts_with('#') { trimmed.find('\n').unwrap_or(trimmed.len()) } else { 0 };
            self.at += rest.len() - trimmed.len() + comment;
            if comment == 0 {
                return;
            }
        }
    }

    fn span_to(&self, end: usize) -> Span {
        Span { start: self.at as u32, end: end as u32 }
    }

    fn take(&mut self, length: usize, kind: TokenKind) -> Token {
        let span = self.span_to(self.at + length);
        self.at += length;
        Token { kind, span }
    }

    fn token(&mut self) -> Result<Token, Diagnostic> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(self.take(0, TokenKind::End)) };
        match first {
            '0'..='9' => self.number(),
            '"' => self.string(),
            'a'..='z' | 'A'..='Z' => self.name(),
            '_' if word(&rest[1..]) > 0 => self.name(),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_lowercase()) => {
                let length = 1 + word(&rest[1..]);
                if rest[length..].starts_with('?') {
                    return Ok(self.take(length + 1, TokenKind::SelectAlternative));
                }
                Ok(self.take(length, TokenKind::Select))
            }
            _ => self.mark(first),
        }
    }

    fn mark(&mut self, first: char) -> Result<Token, Diagnostic> {
        let rest = self.rest();
        let dots = rest.bytes().take_while(|&byte| byte == b'.').count();
        if dots > 2 {
            let span = self.span_to(self.at + dots);
            return Err(self.source.error(span, "too many dots", "write `..`"));
        }
        if let Some(&mark) = Mark::ALL.iter().find(|mark| rest.starts_with(mark.text())) {
            return Ok(self.take(mark.text().len(), TokenKind::Mark(mark)));
        }
        let span = self.span_to(self.at + first.len_utf8());
        let hint = match first {
            '\'' => "strings are written in double quotes",
            '&' => "statements are separated by `;`",
            '-' => "numbers have no sign; a fact's value follows `->`",
            _ => "names have letters, digits and `_`; everything else belongs into strings",
        };
        Err(self.source.error(span, "this character begins nothing", hint))
    }

    fn number(&mut self) -> Result<Token, Diagnostic> {
        let digits = digits(self.rest());
        match self.rest()[..digits].parse() {
            Ok(nat) => Ok(self.take(digits, TokenKind::Nat(nat))),
            Err(_) => {
                let span = self.span_to(self.at + digits);
                let hint = format!("the largest number is {}", u64::MAX);
                Err(self.source.error(span, "the number needs more than 64 bits", hint))
            }
        }
    }

    fn string(&mut self) -> Result<Token, Diagnostic> {
        let inside = &self.rest()[1..];
        let Some(end) = end_of_literal(inside) else {
            let span = self.span_to(self.at + 1);
            return Err(self.source.error(span, "the string does not end", "close it by `\"`"));
        };
        match unescape_literal(&inside[..end]) {
            Ok(string) => Ok(self.take(end + 2, TokenKind::String(string))),
            Err(offset) => {
                let start = self.at + 1 + offset;
                let length = inside[offset..].chars().take(2).map(char::len_utf8).sum::<usize>();
                let span = Span { start: start as u32, end: (start + length) as u32 };
                let hint = r#"escapes are those of JSON: \" \\ \/ \b \f \n \r \t \uXXXX"#;
                Err(self.source.error(span, "the string has an escape that is wrong", hint))
            }
        }
    }

    /// A name, as long as it goes: with a lower-case beginning, `a.b` is one name; with an upper-case beginning, only
    /// a version makes `P.1` one name, because `X.field` selects.
    fn name(&mut self) -> Result<Token, Diagnostic> {
        let rest = self.rest();
        let first = word(rest);
        let lower = rest.starts_with(|c: char| c.is_ascii_lowercase());
        let mut length = first;
        let mut end = first;
        while let Some(part) = rest[end..].strip_prefix('.') {
            let version = digits(part);
            if version > 0 {
                if word(&part[version..]) == 0 {
                    length = end + 1 + version;
                }
                break;
            }
            if !part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                break;
            }
            end += 1 + word(part);
            if lower {
                length = end;
            }
        }
        let qualified = length > first;
        if qualified && rest[length..].starts_with('#') && word(&rest[length + 1..]) > 0 {
            let span = self.span_to(self.at + length + 1 + word(&rest[length + 1..]));
            let hint = "name the predicate without `#new` or `#old`: queries read the whole database";
            return Err(self.source.error(span, "a section of a predicate cannot be chosen", hint));
        }
        let keyword = Keyword::ALL.iter().find(|keyword| keyword.text() == &rest[..length]);
        let kind = match keyword {
            Some(&keyword) => TokenKind::Keyword(keyword),
            None if qualified => TokenKind::QualifiedName,
            None if lower => TokenKind::LowerName,
            None => TokenKind::UpperName,
        };
        Ok(self.take(length, kind))
    }
}

/// How many bytes of a text's beginning are letters, digits and underscores.
fn word(text: &str) -> usize {
    text.bytes().take_while(|&byte| byte.is_ascii_alphanumeric() || byte == b'_').count()
}

/// How many bytes of a text's beginning are digits.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::tokens;
    use crate::angle::source::Source;

    fn texts(text: &str) -> Vec<String> {
        let source = Source::new("test", text).expect("a short text");
        let tokens = tokens(&source).expect("tokens");
        tokens.iter().map(|token| source.slice(token.span).to_owned()).collect()
    }

    fn error(text: &str) -> String {
        let source = Source::new("test", text).expect("a short text");
        tokens(&source).expect_err("no tokens").to_string()
    }

    #[test]
    fn names_go_as_far_as_their_first_letter_says() {
        assert_eq!(
            texts("a.b.C.1 X.field Y.alt? P.1 P.q.1"),
            ["a.b.C.1", "X", ".field", "Y", ".alt?", "P.1", "P.q.1", ""]
        );
        assert_eq!(texts("a.b.3.c _x _ X.* x [..]"), ["a.b.3", ".c", "_x", "_", "X", ".*", "x", "[", "..", "]", ""]);
        assert_eq!(texts("!==!=!>=\"a\\\"\"..X"), ["!==", "!=", "!", ">=", "\"a\\\"\"", "..", "X", ""]);
    }

    #[test]
    fn comments_and_files_are_skipped_and_place_errors() {
        assert_eq!(texts("a # b \"\n#c\n d"), ["a", "d", ""]);
        let text = "#FILE one.angle\nx\n#FILE two.angle\nx\n  é";
        assert!(error(text).starts_with("two.angle:2:3: this character begins nothing, at `é`"), "{}", error(text));
    }

    #[test]
    fn wrong_tokens_are_errors_with_a_hint() {
        assert_eq!(error("x ..."), "test:1:3: too many dots, at `...`; write `..`");
        assert!(error("\n \"ab").starts_with("test:2:2: the string does not end"));
        assert!(error("\"a\\q\"").starts_with("test:1:3: the string has an escape that is wrong, at `\\q`"));
        assert!(error("18446744073709551616").contains("more than 64 bits"));
        assert!(error("a.B#new _").contains("without `#new`"));
    }
}
