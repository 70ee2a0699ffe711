//! What indexers say beside definitions, references and descriptions, as facts of the schema `scip.1`.

use fulgurite_facts::{FactId, Predicate, Value};

use crate::error::Result;
use crate::model::Span;
use crate::model::details::{Details, Diagnostic, Signature, Tool};
use crate::schema::range;
use crate::scip::names::package;
use crate::writing::{PartFacts, define, optional_fact, string};

impl PartFacts<'_> {
    /// Writes an indexer.
    pub fn tool(&mut self, tool: &Tool) -> Result<()> {
        let key = Value::Record(vec![string(&tool.name), string(&tool.version), string(&tool.project_root)]);
        let arguments = tool.arguments.iter().map(|argument| string(argument)).collect();
        let value = Value::Record(vec![Value::Array(arguments), string(&tool.text_encoding)]);
        self.own(&self.scip.metadata, key, &value)
    }

    /// Writes the details of a file, or of symbols of other projects.
    pub fn details(&mut self, details: &Details) -> Result<()> {
        let scip = self.scip;
        let file = details.path.as_deref().map(|path| self.file(path)).transpose()?;
        details.signatures.iter().try_for_each(|signature| self.signature(signature, file))?;
        // Ranges are those of a file.
        let Some(file) = file else { return Ok(()) };
        if let Some(text) = &details.text {
            self.own(&scip.file_text, Value::Fact(file), &string(text))?;
        }
        for (span, symbol, role) in &details.roles {
            let (symbol, role) = (Value::Fact(self.symbol(symbol)?), Value::Enum(*role as usize));
            let key = Value::Record(vec![Value::Fact(file), range(*span), symbol, role]);
            self.own(&scip.occurrence_role, key, &Value::unit())?;
        }
        for (span, kind) in &details.highlights {
            let key = Value::Record(vec![Value::Fact(file), range(*span), string(kind)]);
            self.own(&scip.highlight, key, &Value::unit())?;
        }
        details.diagnostics.iter().try_for_each(|diagnostic| self.diagnostic(diagnostic, file))?;
        for (span, symbol, documentation) in &details.documentation {
            let documentation = documentation.iter().map(|text| string(text)).collect();
            self.at_symbol(&scip.documentation, (file, *span, symbol.as_str()), &Value::Array(documentation))?;
        }
        for (span, symbol, around) in &details.enclosing {
            self.at_symbol(&scip.enclosing_range, (file, *span, symbol.as_str()), &range(*around))?;
        }
        Ok(())
    }

    /// Writes the package of a symbol that is described.
    pub fn package(&mut self, symbol: &str) -> Result<()> {
        let Some(package) = package(symbol) else { return Ok(()) };
        let parts = [&package.manager, &package.name, &package.version, &package.scheme];
        let key = Value::Record(parts.into_iter().map(|part| string(part)).collect());
        let package = define(self.batch, &self.scip.package, &key, &Value::unit())?;
        let key = Value::Record(vec![Value::Fact(package), Value::Fact(self.symbol(symbol)?)]);
        self.own(&self.scip.package_symbol, key, &Value::unit())
    }

    /// Writes a fact about a symbol at a place.
    fn at_symbol(
        &mut self,
        predicate: &Predicate,
        (file, span, symbol): (FactId, Span, &str),
        value: &Value,
    ) -> Result<()> {
        let key = Value::Record(vec![Value::Fact(file), range(span), Value::Fact(self.symbol(symbol)?)]);
        self.own(predicate, key, value)
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic, file: FactId) -> Result<()> {
        let symbol = diagnostic.symbol.as_deref().map(|symbol| self.symbol(symbol)).transpose()?;
        let key = Value::Record(vec![
            Value::Fact(file),
            range(diagnostic.span),
            Value::Enum(diagnostic.severity as usize),
            string(&diagnostic.code),
            string(&diagnostic.message),
            string(&diagnostic.source),
            optional_fact(symbol),
        ]);
        let tags = diagnostic.tags.iter().map(|tag| Value::Enum(*tag as usize)).collect();
        self.own(&self.scip.diagnostic, key, &Value::Record(vec![Value::Array(tags)]))
    }

    fn signature(&mut self, signature: &Signature, file: Option<FactId>) -> Result<()> {
        let scip = self.scip;
        let (symbol, file) = (Value::Fact(self.symbol(&signature.symbol)?), optional_fact(file));
        if let Some(language) = &signature.language {
            let key = Value::Record(vec![symbol.clone(), file.clone()]);
            self.own(&scip.signature_language, key, &string(language))?;
        }
        for occurrence in &signature.occurrences {
            let target = Value::Fact(self.symbol(&occurrence.symbol)?);
            let (range, role) = (range(occurrence.span), Value::Enum(occurrence.role as usize));
            let key = Value::Record(vec![symbol.clone(), file.clone(), range, target.clone(), role]);
            self.own(&scip.signature_occurrence, key, &Value::unit())?;
            self.own(&scip.in_signature, Value::Record(vec![target, symbol.clone()]), &Value::unit())?;
        }
        Ok(())
    }
}
