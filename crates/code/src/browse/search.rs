//! Symbols by their names.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use fulgurite_facts::{Type, Value, decode, encode, lower_case};

use crate::browse::limits::{FACTS_PER_CHECK, Held};
use crate::browse::reader::{CodeReader, SymbolId, fact, string};
use crate::browse::similar::Similar;
use crate::error::{Error, Result};
use crate::scip::names::{descriptors, without_parameters};

impl CodeReader {
    /// Symbols whose names have `text` in them, in any case: equal names first, then those that begin with it, then
    /// the others; shorter names before longer ones. At most `limit`, and memory holds no more of them.
    ///
    /// # Errors
    /// Errors of the database; so do all others.
    pub fn search(&self, text: &str, limit: usize) -> Result<Vec<SymbolId>> {
        let lower = lower_case(text);
        let mut found = Best::of(limit, self.limits.held());
        self.names(&lower, |name, symbol| found.add(name != lower, name, symbol))?;
        let mut symbols = found.symbols();
        if symbols.len() < limit && !lower.is_empty() {
            let mut others = Best::of(limit - symbols.len(), self.limits.held());
            self.names("", |name, symbol| match name.find(&lower) {
                Some(at) if at > 0 => others.add(true, name, symbol),
                _ => Ok(()),
            })?;
            symbols.append(&mut others.symbols());
        }
        Ok(symbols)
    }

    /// The symbols that a user means by `text`: the symbol itself, or those with this name, which may have names of
    /// what they are part of before it: `Store::open`, `Store.open`. These may lack their type parameters.
    ///
    /// # Errors
    /// [`Error::NoSuchSymbol`].
    pub fn resolve(&self, text: &str) -> Result<Vec<SymbolId>> {
        let key = encode(&Type::String, &Value::String(text.to_owned()))?;
        if let Some(id) = self.facts.snapshot().id_by_key(self.predicates.symbol.id, &key)? {
            return Ok(vec![SymbolId(id)]);
        }
        let mut within: Vec<&str> = text.split(SEPARATORS).filter(|part| !part.is_empty()).collect();
        let name = within.pop().unwrap_or_default();
        let lower = lower_case(name);
        let (mut named, mut held) = (Vec::new(), self.limits.held());
        self.names(&lower, |found, symbol| {
            if found == lower {
                held.add(size_of::<SymbolId>())?;
                named.push(symbol);
            }
            Ok(())
        })?;
        let (mut exact, mut other, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        for symbol in named {
            let description = self.describe(symbol)?;
            if self.is_within(symbol, &within)? {
                if description.name == name { exact.push(symbol) } else { other.push(symbol) }
            } else if elsewhere.len() < ELSEWHERE_MAX {
                let proposed = self.with_outer(symbol, description.name)?;
                if !elsewhere.contains(&proposed) {
                    elsewhere.push(proposed);
                }
            }
        }
        match (exact.is_empty(), other.is_empty(), elsewhere.is_empty()) {
            (false, ..) => Ok(exact),
            (true, false, _) => Ok(other),
            (true, true, false) => {
                let symbol = format!("`{name}` within `{}`", within.join("."));
                Err(Error::NoSuchSymbol { symbol, similar: elsewhere })
            }
            (true, true, true) => {
                Err(Error::NoSuchSymbol { symbol: format!("`{text}`"), similar: self.similar_names(&lower)? })
            }
        }
    }

    /// The name of a symbol, behind the name of what it is part of.
    fn with_outer(&self, symbol: SymbolId, name: String) -> Result<String> {
        let around = self.around(symbol)?;
        Ok(match around.first().filter(|outer| !outer.is_empty() && !outer.contains(SEPARATORS)) {
            Some(outer) => format!("{}.{name}", without_parameters(outer)),
            None => name,
        })
    }

    fn similar_names(&self, name: &str) -> Result<Vec<String>> {
        let Some(mut similar) = Similar::to(name) else { return Ok(Vec::new()) };
        self.names("", |name, _| {
            similar.add(name);
            Ok(())
        })?;
        similar.names().into_iter().map(|lower| self.as_written(lower)).collect()
    }

    /// A name as the first symbol that has it spells it. The index of names has only their lower case.
    fn as_written(&self, lower: String) -> Result<String> {
        match self.search(&lower, 1)?.first() {
            Some(symbol) => Ok(self.describe(*symbol)?.name),
            None => Ok(lower),
        }
    }

    /// Whether the symbols around one have these names, in this order, perhaps with others in between.
    fn is_within(&self, symbol: SymbolId, names: &[&str]) -> Result<bool> {
        if names.is_empty() {
            return Ok(true);
        }
        let around = self.around(symbol)?;
        let mut around = around.iter();
        Ok(names.iter().rev().all(|name| around.any(|other| other == name || without_parameters(other) == *name)))
    }

    /// The names of the symbols around one, the innermost first.
    fn around(&self, symbol: SymbolId) -> Result<Vec<String>> {
        let text = self.text(symbol.0)?;
        if let Some(steps) = descriptors(&text) {
            return Ok(steps.iter().rev().skip(1).map(|step| step.name.to_owned()).collect());
        }
        let (mut around, mut inner) = (Vec::new(), symbol);
        // A damaged index could have a circle.
        while let (Some(outer), true) = (self.describe(inner)?.enclosing, around.len() < DEPTH_MAX) {
            around.push(self.describe(outer)?.name);
            inner = outer;
        }
        Ok(around)
    }

    /// Calls `each` with the names, in lower case, that begin with `prefix`, and their symbols.
    pub(crate) fn names(&self, prefix: &str, mut each: impl FnMut(&str, SymbolId) -> Result<()>) -> Result<()> {
        let predicate = &self.predicates.name;
        let mut bytes = encode(&Type::String, &Value::String(prefix.to_owned()))?;
        // Without the end of the string.
        bytes.truncate(bytes.len() - 2);
        let mut count = 0_usize;
        let mut read = |key: &[u8]| -> Result<()> {
            if count.is_multiple_of(FACTS_PER_CHECK) {
                self.limits.check()?;
            }
            count += 1;
            match decode(&predicate.key, key)? {
                Value::Record(fields) => each(string(&fields[0]), SymbolId(fact(&fields[1]))),
                _ => Ok(()),
            }
        };
        let ended = self.facts.snapshot().scan_until(predicate.id, &bytes, |_, key, _| match read(key) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        })?;
        ended.break_value().map_or(Ok(()), Err)
    }
}

/// The best matches of a search: equal names first, then shorter ones before longer ones.
struct Best {
    /// Whether the name is another one than the text, its length, the name and the symbol. The worst is on top.
    found: BinaryHeap<(bool, usize, String, SymbolId)>,
    limit: usize,
    held: Held,
}

impl Best {
    fn of(limit: usize, held: Held) -> Self {
        Self { found: BinaryHeap::new(), limit, held }
    }

    /// Adds a match, if it is one of the best until now.
    fn add(&mut self, is_other: bool, name: &str, symbol: SymbolId) -> Result<()> {
        if self.found.len() == self.limit {
            let worst = self.found.peek().map(|(other, length, name, of)| (*other, *length, name.as_str(), *of));
            if worst.is_none_or(|worst| worst <= (is_other, name.len(), name, symbol)) {
                return Ok(());
            }
            if let Some((_, length, ..)) = self.found.pop() {
                self.held.remove(length + BYTES_PER_MATCH);
            }
        }
        self.held.add(name.len() + BYTES_PER_MATCH)?;
        self.found.push((is_other, name.len(), name.to_owned(), symbol));
        Ok(())
    }

    /// The symbols, the best first.
    fn symbols(self) -> Vec<SymbolId> {
        self.found.into_sorted_vec().into_iter().map(|(.., symbol)| symbol).collect()
    }
}

/// The memory of a match beside its name.
const BYTES_PER_MATCH: usize = size_of::<(bool, usize, String, SymbolId)>();
/// What names of symbols are written with between them.
const SEPARATORS: [char; 4] = ['.', '#', '/', ':'];
/// So many symbols of the same name an error names.
const ELSEWHERE_MAX: usize = 3;
/// No symbol is in so many others.
const DEPTH_MAX: usize = 100;
