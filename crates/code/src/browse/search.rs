//! Symbols by their names.

use fulgurite_facts::{Type, Value, decode, encode, lower_case};

use crate::browse::reader::{CodeReader, SymbolId, fact, string};
use crate::browse::similar::similar;
use crate::error::{Error, Result};
use crate::scip::names::descriptors;

impl CodeReader {
    /// Symbols whose names have `text` in them, in any case: equal names first, then those that begin with it, then
    /// the others; shorter names before longer ones. At most `limit`.
    ///
    /// # Errors
    /// Errors of the database; so do all others.
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<SymbolId>> {
        let lower = lower_case(text);
        let mut found = Vec::new();
        self.names(&lower, |name, symbol| found.push((name != lower, name.len(), name.to_owned(), symbol)))?;
        found.sort_unstable();
        found.dedup();
        let mut symbols: Vec<SymbolId> = found.into_iter().map(|(.., symbol)| symbol).take(limit).collect();
        if symbols.len() < limit && !lower.is_empty() {
            let mut others = Vec::new();
            self.names("", |name, symbol| {
                if name.find(&lower).is_some_and(|at| at > 0) && !name.starts_with(&lower) {
                    others.push((name.len(), name.to_owned(), symbol));
                }
            })?;
            others.sort_unstable();
            symbols.extend(others.into_iter().map(|(.., symbol)| symbol));
            symbols.truncate(limit);
        }
        Ok(symbols)
    }

    /// The symbols that a user means by `text`: the symbol itself, or those with this name, which may have names of
    /// what they are part of before it: `Store::open`, `Store.open`.
    ///
    /// # Errors
    /// [`Error::NoSuchSymbol`].
    pub fn resolve(&self, text: &str) -> Result<Vec<SymbolId>> {
        let key = encode(&Type::String, &Value::String(text.to_owned()))?;
        if let Some(id) = self.facts.snapshot().id_by_key(self.predicates.symbol.id, &key)? {
            return Ok(vec![SymbolId(id)]);
        }
        let parts: Vec<&str> = text.split(['.', '#', '/', ':']).filter(|part| !part.is_empty()).collect();
        let name = parts.last().copied().unwrap_or_default();
        let lower = lower_case(name);
        let mut named = Vec::new();
        self.names(&lower, |found, symbol| {
            if found == lower {
                named.push(symbol);
            }
        })?;
        let mut exact = Vec::new();
        let mut other = Vec::new();
        for symbol in named {
            let description = self.describe(symbol)?;
            if self.is_within(symbol, &parts[..parts.len().saturating_sub(1)])? {
                if description.name == name { exact.push(symbol) } else { other.push(symbol) }
            }
        }
        match (exact.is_empty(), other.is_empty()) {
            (false, _) => Ok(exact),
            (true, false) => Ok(other),
            (true, true) => {
                let mut names = Vec::new();
                self.names("", |name, _| names.push(name.to_owned()))?;
                names.dedup();
                let similar = similar(&lower, names.iter().map(String::as_str));
                Err(Error::NoSuchSymbol { symbol: format!("`{text}`"), similar })
            }
        }
    }

    /// Whether the symbols around one have these names, in this order, perhaps with others in between.
    fn is_within(&self, symbol: SymbolId, names: &[&str]) -> Result<bool> {
        if names.is_empty() {
            return Ok(true);
        }
        let text = self.text(symbol.0)?;
        let around: Vec<String> = match descriptors(&text) {
            Some(steps) => steps.iter().rev().skip(1).map(|step| step.name.to_owned()).collect(),
            None => {
                let (mut around, mut inner) = (Vec::new(), symbol);
                // A damaged index could have a circle.
                while let (Some(outer), true) = (self.describe(inner)?.enclosing, around.len() < DEPTH_MAX) {
                    around.push(self.describe(outer)?.name);
                    inner = outer;
                }
                around
            }
        };
        let mut around = around.iter();
        Ok(names.iter().rev().all(|name| around.any(|other| other == name)))
    }

    /// Calls `each` with the names, in lower case, that begin with `prefix`, and their symbols.
    fn names(&self, prefix: &str, mut each: impl FnMut(&str, SymbolId)) -> Result<()> {
        let predicate = &self.predicates.name;
        let mut bytes = encode(&Type::String, &Value::String(prefix.to_owned()))?;
        // Without the end of the string.
        bytes.truncate(bytes.len() - 2);
        let mut failure = None;
        self.facts.snapshot().scan(predicate.id, &bytes, |_, key, _| match decode(&predicate.key, key) {
            Ok(Value::Record(fields)) => each(string(&fields[0]), SymbolId(fact(&fields[1]))),
            Ok(_) => {}
            Err(error) => failure = Some(error),
        })?;
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// No symbol is in so many others.
const DEPTH_MAX: usize = 100;
