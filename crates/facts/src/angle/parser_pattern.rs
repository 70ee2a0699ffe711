//! The parser of queries and patterns.
//!
//! From the loosest to the tightest: `where`, `;`, `=`, `|` (and the older `++`), `!` and `if`, `: type`, comparisons,
//! `+`, application, `->`, `[..]`, `.field`.

use crate::angle::diagnostic::Diagnostic;
use crate::angle::parser::Parser;
use crate::angle::source::Span;
use crate::angle::token::{Keyword, Mark, Token, TokenKind};
use crate::angle::tree::{Name, Operator, Pattern, PatternKind, Query, Statement};

impl Parser<'_> {
    /// `head where statements`, or statements.
    pub fn query(&mut self) -> Result<Query, Diagnostic> {
        let start = self.token().span;
        let first = self.pattern()?;
        if self.take_keyword(Keyword::Where) {
            let statement = self.statement()?;
            let statements = self.statements(statement)?;
            return Ok(Query { head: Some(first), statements, span: start.to(self.last_span()) });
        }
        let statement = self.rest_of_statement(first)?;
        let statements = self.statements(statement)?;
        Ok(Query { head: None, statements, span: start.to(self.last_span()) })
    }

    fn statements(&mut self, first: Statement) -> Result<Vec<Statement>, Diagnostic> {
        let mut statements = vec![first];
        while self.take_mark(Mark::Semicolon) {
            if !self.at_pattern() {
                break;
            }
            statements.push(self.statement()?);
        }
        Ok(statements)
    }

    fn statement(&mut self) -> Result<Statement, Diagnostic> {
        let pattern = self.pattern()?;
        self.rest_of_statement(pattern)
    }

    fn rest_of_statement(&mut self, pattern: Pattern) -> Result<Statement, Diagnostic> {
        if self.take_mark(Mark::Equal) {
            return Ok(Statement { left: Some(pattern), right: self.pattern()? });
        }
        Ok(Statement { left: None, right: pattern })
    }

    /// A pattern as high as its parts and the queries in it allow.
    fn node(&self, kind: PatternKind, span: Span) -> Result<Pattern, Diagnostic> {
        let mut pattern = Pattern { kind, span, height: 0 };
        let of_children = pattern.children().iter().map(|child| child.height).max().unwrap_or(0);
        let of_rest = match &pattern.kind {
            PatternKind::Query(query) => query_height(query),
            PatternKind::Signature(_, ty) => ty.height,
            _ => 0,
        };
        pattern.height = self.height_above([of_children, of_rest].into_iter(), span)?;
        Ok(pattern)
    }

    /// `a | b`, `! a`, `if a then b else c`, or an operand of these.
    pub fn pattern(&mut self) -> Result<Pattern, Diagnostic> {
        self.nested(|parser| {
            let start = parser.token().span;
            let mut alternatives = Vec::new();
            loop {
                // These end a chain of alternatives: `a | !b`.
                let (pattern, ends) = parser.alternative()?;
                alternatives.push(pattern);
                if ends || !(parser.take_mark(Mark::Bar) || parser.take_mark(Mark::Append)) {
                    break;
                }
            }
            match alternatives.len() {
                1 => Ok(alternatives.remove(0)),
                _ => parser.node(PatternKind::Or(alternatives), start.to(parser.last_span())),
            }
        })
    }

    fn alternative(&mut self) -> Result<(Pattern, bool), Diagnostic> {
        let start = self.token().span;
        if self.take_mark(Mark::Not) {
            let inner = Box::new(self.signed()?);
            let span = start.to(inner.span);
            return Ok((self.node(PatternKind::Not(inner), span)?, true));
        }
        if self.take_keyword(Keyword::If) {
            let condition = self.pattern()?;
            self.expect_keyword(Keyword::Then, "after the condition of `if`")?;
            let then = self.pattern()?;
            self.expect_keyword(Keyword::Else, "after the first branch of `if`")?;
            let parts = Box::new([condition, then, self.pattern()?]);
            let span = start.to(parts[2].span);
            return Ok((self.node(PatternKind::If(parts), span)?, true));
        }
        Ok((self.signed()?, false))
    }

    /// `a : type`
    fn signed(&mut self) -> Result<Pattern, Diagnostic> {
        let pattern = self.comparison()?;
        if !self.take_mark(Mark::Colon) {
            return Ok(pattern);
        }
        let ty = self.source_type()?;
        let span = pattern.span.to(ty.span);
        self.node(PatternKind::Signature(Box::new(pattern), ty), span)
    }

    fn comparison(&mut self) -> Result<Pattern, Diagnostic> {
        let left = self.sum()?;
        let operator = match self.token().kind {
            TokenKind::Mark(Mark::NotEqual) => Operator::NotEqual,
            TokenKind::Mark(Mark::NotEqualNat) => Operator::NotEqualNat,
            TokenKind::Mark(Mark::Greater) => Operator::Greater,
            TokenKind::Mark(Mark::GreaterOrEqual) => Operator::GreaterOrEqual,
            TokenKind::Mark(Mark::Less) => Operator::Less,
            TokenKind::Mark(Mark::LessOrEqual) => Operator::LessOrEqual,
            _ => return Ok(left),
        };
        self.next();
        let right = self.sum()?;
        let span = left.span.to(right.span);
        self.node(PatternKind::Binary(operator, Box::new([left, right])), span)
    }

    fn sum(&mut self) -> Result<Pattern, Diagnostic> {
        let mut left = self.application()?;
        while self.take_mark(Mark::Plus) {
            let right = self.application()?;
            let span = left.span.to(right.span);
            left = self.node(PatternKind::Binary(Operator::Add, Box::new([left, right])), span)?;
        }
        Ok(left)
    }

    /// `f a b`, `elements a`, `all a`
    fn application(&mut self) -> Result<Pattern, Diagnostic> {
        let start = self.token().span;
        for (keyword, kind) in [
            (Keyword::Elements, PatternKind::Elements as fn(Box<Pattern>) -> PatternKind),
            (Keyword::All, PatternKind::All),
        ] {
            if self.take_keyword(keyword) {
                let inner = self.nested(Parser::fact)?;
                let span = start.to(inner.span);
                return self.node(kind(Box::new(inner)), span);
            }
        }
        let function = self.fact()?;
        let mut arguments = Vec::new();
        while self.at_operand() {
            arguments.push(self.fact()?);
        }
        if arguments.is_empty() {
            return Ok(function);
        }
        let span = start.to(self.last_span());
        self.node(PatternKind::Apply(Box::new(function), arguments), span)
    }

    /// `key -> value`, and `a[..]`
    fn fact(&mut self) -> Result<Pattern, Diagnostic> {
        let key = self.selection()?;
        let mut pattern = if self.take_mark(Mark::Arrow) {
            let value = self.selection()?;
            let span = key.span.to(value.span);
            self.node(PatternKind::KeyValue(Box::new(key), Box::new(value)), span)?
        } else {
            key
        };
        while self.at_mark(Mark::LeftSquare) && self.second().kind == TokenKind::Mark(Mark::DotDot) {
            self.next();
            self.next();
            let end = self.expect_mark(Mark::RightSquare, "after `[..`")?;
            let span = pattern.span.to(end);
            pattern = self.node(PatternKind::Elements(Box::new(pattern)), span)?;
        }
        Ok(pattern)
    }

    /// `a.field`, `a.alternative?`, `a.*`
    fn selection(&mut self) -> Result<Pattern, Diagnostic> {
        let mut pattern = self.operand()?;
        loop {
            let token = self.token().clone();
            let inner = |pattern| Box::new(pattern);
            let text = self.source.slice(token.span).trim_start_matches('.').trim_end_matches('?').to_owned();
            let name = Name { text, span: token.span };
            let span = pattern.span.to(token.span);
            let kind = match token.kind {
                TokenKind::Select => PatternKind::Field(inner(pattern), name),
                TokenKind::SelectAlternative => PatternKind::Alternative(inner(pattern), name),
                TokenKind::Mark(Mark::DotStar) => PatternKind::Key(inner(pattern)),
                _ => return Ok(pattern),
            };
            self.next();
            pattern = self.node(kind, span)?;
        }
    }

    fn at_operand(&self) -> bool {
        match self.token().kind {
            // `a[..]` has been passed: another one is an error of its own.
            TokenKind::Mark(Mark::LeftSquare) => self.second().kind != TokenKind::Mark(Mark::DotDot),
            TokenKind::Mark(Mark::LeftCurly | Mark::LeftParen | Mark::Underscore | Mark::Dollar)
            | TokenKind::Nat(_)
            | TokenKind::String(_)
            | TokenKind::LowerName
            | TokenKind::UpperName
            | TokenKind::QualifiedName
            | TokenKind::Keyword(Keyword::Never) => true,
            _ => false,
        }
    }

    fn at_pattern(&self) -> bool {
        self.at_operand()
            || matches!(
                self.token().kind,
                TokenKind::Mark(Mark::Not | Mark::LeftSquare)
                    | TokenKind::Keyword(Keyword::If | Keyword::Elements | Keyword::All)
            )
    }

    fn operand(&mut self) -> Result<Pattern, Diagnostic> {
        let token = self.next();
        let text = self.source.slice(token.span).to_owned();
        let kind = match token.kind {
            TokenKind::Nat(nat) => PatternKind::Nat(nat),
            TokenKind::String(string) => {
                if self.take_mark(Mark::DotDot) {
                    PatternKind::StringPrefix(string)
                } else {
                    PatternKind::String(string)
                }
            }
            TokenKind::Mark(Mark::Dollar) => self.fact_id()?,
            TokenKind::Mark(Mark::LeftSquare) => self.array()?,
            TokenKind::Mark(Mark::LeftCurly) => self.braces()?,
            TokenKind::Mark(Mark::Underscore) => PatternKind::Wildcard,
            TokenKind::UpperName | TokenKind::QualifiedName => PatternKind::Variable(text),
            TokenKind::LowerName => PatternKind::Enumerator(text),
            TokenKind::Keyword(Keyword::Never) => PatternKind::Never,
            TokenKind::Mark(Mark::LeftParen) => return self.parentheses(token.span),
            _ => return Err(self.no_pattern(&token)),
        };
        self.node(kind, token.span.to(self.last_span()))
    }

    fn no_pattern(&self, token: &Token) -> Diagnostic {
        let hint = match token.kind {
            TokenKind::Mark(Mark::DotDot) => "`..` follows a string, or ends an array: `\"a\"..`, `[a, ..]`",
            TokenKind::Mark(Mark::Not) => "put a negation into parentheses",
            TokenKind::Keyword(Keyword::If) => "put `if` into parentheses",
            TokenKind::Keyword(Keyword::Where) => "a head stands before `where`",
            TokenKind::Keyword(_) => "this word has a meaning of its own",
            TokenKind::End => "the text ends where a pattern should follow",
            _ => "",
        };
        self.source.error(token.span, "expected a pattern", hint)
    }

    fn fact_id(&mut self) -> Result<PatternKind, Diagnostic> {
        let predicate = match self.token().kind {
            TokenKind::UpperName | TokenKind::QualifiedName => Some(self.qualified_name("a predicate")?),
            _ => None,
        };
        match self.token().kind {
            TokenKind::Nat(id) => {
                self.next();
                Ok(PatternKind::FactId(predicate, id))
            }
            _ => Err(self.unexpected("the number of a fact", "a fact is written as `$1024`")),
        }
    }

    /// After `[`.
    fn array(&mut self) -> Result<PatternKind, Diagnostic> {
        let mut elements = Vec::new();
        while !self.at_mark(Mark::RightSquare) {
            if !elements.is_empty() && self.take_mark(Mark::DotDot) {
                self.expect_mark(Mark::RightSquare, "after the `..` of an array")?;
                return Ok(PatternKind::ArrayPrefix(elements));
            }
            elements.push(self.pattern()?);
            if !self.take_mark(Mark::Comma) {
                break;
            }
        }
        self.expect_mark(Mark::RightSquare, "or `,` after an element of an array")?;
        Ok(PatternKind::Array(elements))
    }

    /// After `{`: `field = pattern` each, or patterns.
    fn braces(&mut self) -> Result<PatternKind, Diagnostic> {
        let named = self.second().kind == TokenKind::Mark(Mark::Equal);
        let mut patterns = Vec::new();
        let mut fields = Vec::new();
        while !self.at_mark(Mark::RightCurly) {
            if named {
                let name = self.field_name()?;
                self.expect_mark(Mark::Equal, "after the name of a field: give all fields names, or none")?;
                fields.push((name, self.pattern()?));
            } else {
                patterns.push(self.pattern()?);
            }
            if !self.take_mark(Mark::Comma) {
                break;
            }
        }
        if patterns.len() == 1 {
            let hint = "a record of one field is written with its name: `{ name = … }`";
            return Err(self.source.error(patterns[0].span, "expected a field", hint));
        }
        self.expect_mark(Mark::RightCurly, "or `,` after a field")?;
        Ok(if patterns.is_empty() { PatternKind::Struct(fields) } else { PatternKind::Tuple(patterns) })
    }

    /// After `(`: a query, or a pattern alone, which is as if there were no parentheses.
    fn parentheses(&mut self, start: Span) -> Result<Pattern, Diagnostic> {
        let mut query = self.query()?;
        let end = self.expect_mark(Mark::RightParen, "after a query in parentheses")?;
        if query.head.is_none() && query.statements.len() == 1 && query.statements[0].left.is_none() {
            return Ok(query.statements.remove(0).right);
        }
        self.node(PatternKind::Query(Box::new(query)), start.to(end))
    }
}

fn query_height(query: &Query) -> u16 {
    let of_statements = query.statements.iter().flat_map(|statement| {
        [Some(statement.right.height), statement.left.as_ref().map(|left| left.height)].into_iter().flatten()
    });
    of_statements.chain(query.head.as_ref().map(|head| head.height)).max().unwrap_or(0)
}
