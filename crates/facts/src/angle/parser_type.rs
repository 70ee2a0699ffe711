//! The parser of types.

use crate::angle::diagnostic::Diagnostic;
use crate::angle::parser::Parser;
use crate::angle::source::Span;
use crate::angle::token::{Keyword, Mark, TokenKind};
use crate::angle::tree::{Name, SourceType, SourceTypeKind};

impl Parser<'_> {
    /// `byte`, `[t]`, `{…}`, a name, …
    pub fn source_type(&mut self) -> Result<SourceType, Diagnostic> {
        self.nested(|parser| {
            let token = parser.next();
            let inner = |parser: &mut Parser<'_>| parser.source_type().map(Box::new);
            let kind = match token.kind {
                TokenKind::Keyword(Keyword::Byte) => SourceTypeKind::Byte,
                TokenKind::Keyword(Keyword::Nat) => SourceTypeKind::Nat,
                TokenKind::Keyword(Keyword::String) => SourceTypeKind::String,
                TokenKind::Keyword(Keyword::Bool) => SourceTypeKind::Bool,
                TokenKind::Keyword(Keyword::Maybe) => SourceTypeKind::Maybe(inner(parser)?),
                TokenKind::Keyword(Keyword::Set) => SourceTypeKind::Set(inner(parser)?),
                TokenKind::Keyword(Keyword::Enum) => SourceTypeKind::Enum(parser.enumerators()?),
                TokenKind::Mark(Mark::LeftSquare) => {
                    let element = inner(parser)?;
                    parser.expect_mark(Mark::RightSquare, "after the type of an array's elements")?;
                    SourceTypeKind::Array(element)
                }
                TokenKind::Mark(Mark::LeftCurly) => parser.record_or_sum()?,
                TokenKind::Mark(Mark::LeftParen) => {
                    let ty = parser.source_type()?;
                    parser.expect_mark(Mark::RightParen, "after a type in parentheses")?;
                    return Ok(ty);
                }
                TokenKind::LowerName | TokenKind::UpperName | TokenKind::QualifiedName => {
                    SourceTypeKind::Named(parser.source.slice(token.span).to_owned())
                }
                _ => {
                    let hint = "types are byte, nat, string, bool, [t], set t, maybe t, enum, records, sums, names";
                    return Err(parser.source.error(token.span, "expected a type", hint));
                }
            };
            let span = token.span.to(parser.last_span());
            parser.type_of_kind(kind, span)
        })
    }

    fn type_of_kind(&self, kind: SourceTypeKind, span: Span) -> Result<SourceType, Diagnostic> {
        let height = match &kind {
            SourceTypeKind::Array(inner) | SourceTypeKind::Set(inner) | SourceTypeKind::Maybe(inner) => inner.height,
            SourceTypeKind::Record(fields) | SourceTypeKind::Sum(fields) => {
                fields.iter().filter_map(|(_, ty)| ty.as_ref()).map(|ty| ty.height).max().unwrap_or(0)
            }
            _ => 0,
        };
        let height = self.height_above(std::iter::once(height), span)?;
        Ok(SourceType { kind, span, height })
    }

    fn enumerators(&mut self) -> Result<Vec<Name>, Diagnostic> {
        self.expect_mark(Mark::LeftCurly, "after `enum`")?;
        let mut names = Vec::new();
        loop {
            names.push(self.field_name()?);
            if !self.take_mark(Mark::Bar) || self.at_mark(Mark::RightCurly) {
                break;
            }
        }
        self.expect_mark(Mark::RightCurly, "or `|` after an enumerator")?;
        Ok(names)
    }

    /// After `{`: fields with commas between them, or alternatives with bars.
    fn record_or_sum(&mut self) -> Result<SourceTypeKind, Diagnostic> {
        let mut fields = Vec::new();
        let mut separator = None;
        while !self.at_mark(Mark::RightCurly) {
            let name = self.field_name()?;
            let ty = if self.take_mark(Mark::Colon) { Some(self.source_type()?) } else { None };
            fields.push((name, ty));
            let here = [Mark::Comma, Mark::Bar].into_iter().find(|&mark| self.at_mark(mark));
            match (here, separator) {
                (None, _) => break,
                (Some(here), Some(before)) if here != before => {
                    let hint = "records separate fields by `,`, sums separate alternatives by `|`";
                    return Err(self.unexpected(&format!("`{}`", before.text()), hint));
                }
                (Some(_), _) => {
                    separator = here;
                    self.next();
                }
            }
        }
        self.expect_mark(Mark::RightCurly, "after the fields of a type")?;
        Ok(match separator {
            Some(Mark::Bar) => SourceTypeKind::Sum(fields),
            _ => SourceTypeKind::Record(fields),
        })
    }
}
