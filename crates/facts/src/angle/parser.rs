//! What the parts of the parser share: the position, errors, lists, and the bound on nesting.

use crate::angle::diagnostic::Diagnostic;
use crate::angle::lexer::tokens;
use crate::angle::source::{Source, Span};
use crate::angle::token::{Keyword, Mark, Token, TokenKind};
use crate::angle::tree::{HEIGHT_MAX, Name, Query, SchemaFile};

/// Parses a query.
///
/// # Errors
///
/// At the first token that cannot follow.
pub fn parse_query(source: &Source) -> Result<Query, Diagnostic> {
    let mut parser = Parser::new(source)?;
    let query = parser.query()?;
    parser.end()?;
    Ok(query)
}

/// Parses a file of schemas.
///
/// # Errors
///
/// As [`parse_query`].
pub fn parse_schemas(source: &Source) -> Result<SchemaFile, Diagnostic> {
    let mut parser = Parser::new(source)?;
    let file = parser.schema_file()?;
    parser.end()?;
    Ok(file)
}

/// A position in the tokens of a text.
pub struct Parser<'a> {
    pub source: &'a Source,
    tokens: Vec<Token>,
    at: usize,
    depth: u16,
    /// The version of the language, which the file's first line may name.
    pub version: u64,
}

/// The newest version of the language.
const VERSION: u64 = 12;

impl<'a> Parser<'a> {
    fn new(source: &'a Source) -> Result<Parser<'a>, Diagnostic> {
        Ok(Parser { source, tokens: tokens(source)?, at: 0, depth: 0, version: VERSION })
    }

    /// The token here.
    pub fn token(&self) -> &Token {
        // The last token is the end, which nothing passes.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// The token after the one here.
    pub fn second(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    /// The span of the token before the one here.
    pub fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// Passes the token here and returns it.
    pub fn next(&mut self) -> Token {
        let token = self.token().clone();
        self.at += 1;
        token
    }

    /// Whether a mark is here.
    pub fn at_mark(&self, mark: Mark) -> bool {
        self.token().kind == TokenKind::Mark(mark)
    }

    /// Whether a keyword is here.
    pub fn at_keyword(&self, keyword: Keyword) -> bool {
        self.token().kind == TokenKind::Keyword(keyword)
    }

    /// Passes a mark if it is here.
    pub fn take_mark(&mut self, mark: Mark) -> bool {
        let here = self.at_mark(mark);
        self.at += usize::from(here);
        here
    }

    /// Passes a keyword if it is here.
    pub fn take_keyword(&mut self, keyword: Keyword) -> bool {
        let here = self.at_keyword(keyword);
        self.at += usize::from(here);
        here
    }

    /// Passes a mark that must be here. `after` says what it closes or continues.
    pub fn expect_mark(&mut self, mark: Mark, after: &str) -> Result<Span, Diagnostic> {
        if self.at_mark(mark) {
            return Ok(self.next().span);
        }
        Err(self.unexpected(&format!("`{}` {after}", mark.text()), ""))
    }

    /// Passes a keyword that must be here.
    pub fn expect_keyword(&mut self, keyword: Keyword, after: &str) -> Result<Span, Diagnostic> {
        if self.at_keyword(keyword) {
            return Ok(self.next().span);
        }
        Err(self.unexpected(&format!("`{}` {after}", keyword.text()), ""))
    }

    /// The error that another token is expected here.
    pub fn unexpected(&self, expected: &str, hint: &str) -> Diagnostic {
        self.source.error(self.token().span, format!("expected {expected}"), hint)
    }

    fn end(&self) -> Result<(), Diagnostic> {
        match self.token().kind {
            TokenKind::End => Ok(()),
            TokenKind::Keyword(Keyword::Where) => {
                Err(self.unexpected("the end", "one `where` follows one head; put an inner query into parentheses"))
            }
            TokenKind::Mark(Mark::Comma) => Err(self.unexpected("the end", "statements are separated by `;`")),
            TokenKind::Mark(Mark::Equal) => {
                let hint = "a statement has one `=`, which binds looser than `|`: separate statements by `;`, or put \
                            each alternative into parentheses, as in `(X = 1) | (X = 2)`";
                Err(self.unexpected("the end", hint))
            }
            _ => Err(self.unexpected("the end", "separate statements by `;`")),
        }
    }

    /// Parses one level deeper.
    pub fn nested<T>(&mut self, parse: impl FnOnce(&mut Parser<'a>) -> Result<T, Diagnostic>) -> Result<T, Diagnostic> {
        if self.depth == HEIGHT_MAX {
            return Err(self.too_deep(self.token().span));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// The height of a tree above trees of these heights.
    pub fn height_above(&self, heights: impl Iterator<Item = u16>, span: Span) -> Result<u16, Diagnostic> {
        let height = heights.max().unwrap_or(0) + 1;
        if height > HEIGHT_MAX { Err(self.too_deep(span)) } else { Ok(height) }
    }

    fn too_deep(&self, span: Span) -> Diagnostic {
        let message = format!("nested more than {HEIGHT_MAX} deep");
        self.source.error(span, message, "name parts: by variables in a query, by types in a schema")
    }

    /// The text of a token that is a name.
    pub fn name_of(&self, token: &Token) -> Name {
        Name { text: self.source.slice(token.span).to_owned(), span: token.span }
    }

    /// The name of a field: keywords may be names of fields too.
    pub fn field_name(&mut self) -> Result<Name, Diagnostic> {
        match self.token().kind {
            TokenKind::LowerName | TokenKind::UpperName | TokenKind::Keyword(_) => {
                let token = self.next();
                Ok(self.name_of(&token))
            }
            TokenKind::QualifiedName => Err(self.unexpected("a field's name", "names of fields have no dots")),
            _ => Err(self.unexpected("a field's name", "")),
        }
    }

    /// The name of a schema, a type or a predicate.
    pub fn qualified_name(&mut self, what: &str) -> Result<Name, Diagnostic> {
        match self.token().kind {
            TokenKind::LowerName | TokenKind::UpperName | TokenKind::QualifiedName => {
                let token = self.next();
                Ok(self.name_of(&token))
            }
            TokenKind::Keyword(_) => Err(self.unexpected(what, "this word has a meaning of its own")),
            _ => Err(self.unexpected(what, "")),
        }
    }
}
