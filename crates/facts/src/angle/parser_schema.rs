//! The parser of schemas.

use crate::angle::diagnostic::Diagnostic;
use crate::angle::parser::Parser;
use crate::angle::token::{Keyword, Mark, TokenKind};
use crate::angle::tree::{Declaration, Derivation, DeriveWhen, Name, SchemaDefinition, SchemaFile};

/// The last version of the language with `default` derivations.
const DERIVE_IF_EMPTY_VERSION: u64 = 11;

impl Parser<'_> {
    /// Schemas and evolutions, to the end. A first line `version: N` names the version of the language.
    pub fn schema_file(&mut self) -> Result<SchemaFile, Diagnostic> {
        let mut file = SchemaFile::default();
        if self.source.slice(self.token().span) == "version" && self.second().kind == TokenKind::Mark(Mark::Colon) {
            self.next();
            self.next();
            let TokenKind::Nat(version) = self.token().kind else {
                return Err(self.unexpected("the number of a version", "write `version: 12`"));
            };
            self.next();
            self.version = version;
        }
        while self.token().kind != TokenKind::End {
            let hint = "a file has `schema name.1 { … }` and `schema name.2 evolves name.1`";
            if !self.at_keyword(Keyword::Schema) {
                return Err(self.unexpected("`schema`", hint));
            }
            self.next();
            let name = self.qualified_name("the name of a schema")?;
            if self.take_keyword(Keyword::Evolves) {
                let old = self.qualified_name("the name of the older schema")?;
                file.evolves.push((name, old));
            } else {
                let schema = self.schema_definition(name)?;
                file.schemas.push(schema);
            }
        }
        Ok(file)
    }

    fn schema_definition(&mut self, name: Name) -> Result<SchemaDefinition, Diagnostic> {
        let mut parents = Vec::new();
        if self.take_mark(Mark::Colon) {
            loop {
                parents.push(self.qualified_name("the name of a schema to inherit from")?);
                if !self.take_mark(Mark::Comma) || self.at_mark(Mark::LeftCurly) {
                    break;
                }
            }
        }
        self.expect_mark(Mark::LeftCurly, "after the name of a schema")?;
        let mut declarations = Vec::new();
        while !self.take_mark(Mark::RightCurly) {
            declarations.push(self.declaration()?);
        }
        Ok(SchemaDefinition { name, parents, declarations })
    }

    fn declaration(&mut self) -> Result<Declaration, Diagnostic> {
        match self.token().kind {
            TokenKind::Keyword(Keyword::Import) => {
                self.next();
                Ok(Declaration::Import(self.qualified_name("the name of a schema")?))
            }
            TokenKind::Keyword(Keyword::Type) => {
                self.next();
                let name = self.declared_name("the name of a type")?;
                self.expect_mark(Mark::Equal, "after the name of a type")?;
                Ok(Declaration::Type(name, self.source_type()?))
            }
            TokenKind::Keyword(Keyword::Predicate) => self.predicate(),
            TokenKind::Keyword(Keyword::Derive) => {
                self.next();
                let name = self.qualified_name("the name of a predicate")?;
                let derivation = self.derivation()?;
                Ok(Declaration::Derive(name, derivation))
            }
            _ => {
                let hint = "a schema has imports, types, predicates and derivations";
                Err(self.unexpected("`import`, `type`, `predicate`, `derive` or `}`", hint))
            }
        }
    }

    fn predicate(&mut self) -> Result<Declaration, Diagnostic> {
        self.next();
        let name = self.declared_name("the name of a predicate")?;
        self.expect_mark(Mark::Colon, "after the name of a predicate")?;
        let key = self.source_type()?;
        let value = if self.take_mark(Mark::Arrow) { Some(self.source_type()?) } else { None };
        let derivation = if self.at_declaration_end() { None } else { Some(self.derivation()?) };
        Ok(Declaration::Predicate { name, key, value, derivation })
    }

    fn declared_name(&mut self, what: &str) -> Result<Name, Diagnostic> {
        match self.token().kind {
            TokenKind::Keyword(_) => self.field_name(),
            _ => self.qualified_name(what),
        }
    }

    fn at_declaration_end(&self) -> bool {
        matches!(
            self.token().kind,
            TokenKind::End
                | TokenKind::Mark(Mark::RightCurly)
                | TokenKind::Keyword(Keyword::Import | Keyword::Type | Keyword::Predicate | Keyword::Derive)
        )
    }

    fn derivation(&mut self) -> Result<Derivation, Diagnostic> {
        let when = if self.take_keyword(Keyword::Stored) {
            DeriveWhen::Stored
        } else if self.at_keyword(Keyword::Default) {
            if self.version > DERIVE_IF_EMPTY_VERSION {
                let hint = "write `stored` or nothing, or begin the file with `version: 11`";
                return Err(self.unexpected("a query", hint));
            }
            self.next();
            DeriveWhen::IfEmpty
        } else {
            DeriveWhen::OnDemand
        };
        Ok(Derivation { when, query: self.query()? })
    }
}
