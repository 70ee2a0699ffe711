//! Parts of an index as facts, owned by the units of the parts.

use std::collections::{HashMap, HashSet};

use fulgurite_facts::{Batch, FactDatabase, FactId, Predicate, Value, encode, lower_case};

use crate::error::Result;
use crate::model::part::Part;
use crate::model::{Document, Occurrence, Role, SymbolInfo};
use crate::schema::{Predicates, ScipPredicates, range};
use crate::scip::names::local;

mod details;

/// Writes parts into a database, a batch of many at a time.
pub struct Writer<'d> {
    database: &'d FactDatabase,
    predicates: &'d Predicates,
    scip: &'d ScipPredicates,
    batch: Batch,
    /// Facts that were committed.
    written: u64,
}

impl<'d> Writer<'d> {
    /// Begins. Requires: the predicates are those of the database.
    pub fn new(database: &'d FactDatabase, predicates: &'d Predicates, scip: &'d ScipPredicates) -> Result<Self> {
        Ok(Self { database, predicates, scip, batch: database.store().batch()?, written: 0 })
    }

    /// Writes a part.
    pub fn part(&mut self, part: &Part) -> Result<()> {
        let mut facts = PartFacts {
            predicates: self.predicates,
            scip: self.scip,
            batch: &mut self.batch,
            owned: Vec::new(),
            symbols: HashMap::new(),
        };
        match part {
            Part::Document(document) => facts.document(document)?,
            Part::External(info) => facts.info(info, None)?,
            Part::Details(details) => facts.details(details)?,
            Part::Tool(tool) => facts.tool(tool)?,
        }
        let owned = facts.owned;
        self.own(part.unit(), owned)
    }

    /// Writes what the parts of a unit have in common.
    pub fn digest(&mut self, unit: &str, digest: u128) -> Result<()> {
        let (key, value) = (string(unit), string(&format!("{digest:032x}")));
        let fact = define(&mut self.batch, &self.predicates.digest, &key, &value)?;
        self.own(unit, vec![fact])
    }

    /// Commits the facts of the last batch, and returns how many facts were written in all.
    pub fn finish(mut self) -> Result<u64> {
        self.commit()?;
        Ok(self.written)
    }

    fn own(&mut self, unit: &str, facts: Vec<FactId>) -> Result<()> {
        self.batch.own(unit, facts);
        if self.batch.len() >= FACTS_PER_BATCH { self.commit() } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<()> {
        let next = self.database.store().batch()?;
        let batch = std::mem::replace(&mut self.batch, next);
        // The database is new, and nobody else writes to it: ids are final.
        self.written += batch.commit(None)?.new_facts() as u64;
        self.batch = self.database.store().batch()?;
        Ok(())
    }
}

/// The facts of one part.
struct PartFacts<'w> {
    predicates: &'w Predicates,
    scip: &'w ScipPredicates,
    batch: &'w mut Batch,
    /// Facts that the unit owns. It owns those that they refer to as well.
    owned: Vec<FactId>,
    symbols: HashMap<String, FactId>,
}

impl PartFacts<'_> {
    fn document(&mut self, document: &Document) -> Result<()> {
        let predicates = self.predicates;
        let file = self.file(&document.path)?;
        let info = Value::Record(vec![string(&document.language), Value::Enum(document.columns as usize)]);
        self.own(&predicates.file_info, Value::Fact(file), &info)?;
        for (line, text) in &document.wide_lines {
            let key = Value::Record(vec![Value::Fact(file), Value::Nat(u64::from(*line) + 1)]);
            self.own(&predicates.wide_line, key, &string(text))?;
        }
        for info in &document.symbols {
            self.info(info, Some(file))?;
        }
        document.occurrences.iter().try_for_each(|occurrence| self.occurrence(occurrence, file))?;
        self.names(document)
    }

    /// The names of what the document defines. Local names are found by their places.
    fn names(&mut self, document: &Document) -> Result<()> {
        let defined = document.occurrences.iter().filter(|occurrence| occurrence.role == Role::Definition);
        let defined: HashSet<&str> = defined.map(|occurrence| occurrence.symbol.as_str()).collect();
        for info in &document.symbols {
            if defined.contains(info.symbol.as_str()) && !info.name.is_empty() && local(&info.symbol).is_none() {
                let symbol = Value::Fact(self.symbol(&info.symbol)?);
                let key = Value::Record(vec![string(&lower_case(&info.name)), symbol]);
                self.own(&self.predicates.name, key, &Value::unit())?;
            }
        }
        Ok(())
    }

    fn occurrence(&mut self, occurrence: &Occurrence, file: FactId) -> Result<()> {
        let predicates = self.predicates;
        let symbol = Value::Fact(self.symbol(&occurrence.symbol)?);
        let (file, range) = (Value::Fact(file), range(occurrence.span));
        let role = Value::Enum(occurrence.role as usize);
        let key = Value::Record(vec![file.clone(), range.clone(), symbol.clone(), role.clone()]);
        self.own(&predicates.occurrence, key, &Value::unit())?;
        match occurrence.role {
            Role::Definition => {
                let extent = Value::Maybe(occurrence.extent.map(|extent| Box::new(crate::schema::range(extent))));
                let key = Value::Record(vec![symbol, file, range]);
                self.own(&predicates.definition, key, &Value::Record(vec![extent]))
            }
            _ => self.own(&predicates.reference, Value::Record(vec![symbol, file, range, role]), &Value::unit()),
        }
    }

    fn info(&mut self, info: &SymbolInfo, file: Option<FactId>) -> Result<()> {
        let predicates = self.predicates;
        let symbol = Value::Fact(self.symbol(&info.symbol)?);
        let enclosing = info.enclosing.as_deref().map(|enclosing| self.symbol(enclosing)).transpose()?;
        let documentation = info.documentation.iter().map(|text| string(text)).collect();
        let value = Value::Record(vec![
            string(&info.name),
            string(&info.kind),
            string(&info.signature),
            Value::Array(documentation),
            optional_fact(enclosing),
        ]);
        let key = Value::Record(vec![symbol.clone(), optional_fact(file)]);
        self.own(&predicates.symbol_info, key, &value)?;
        self.package(&info.symbol)?;
        if let Some(enclosing) = enclosing {
            let key = Value::Record(vec![Value::Fact(enclosing), symbol.clone()]);
            self.own(&predicates.member, key, &Value::unit())?;
        }
        for (kind, target) in &info.relations {
            let (kind, target) = (Value::Enum(*kind as usize), Value::Fact(self.symbol(target)?));
            let key = Value::Record(vec![symbol.clone(), kind.clone(), target.clone()]);
            self.own(&predicates.relation, key, &Value::unit())?;
            self.own(&predicates.related, Value::Record(vec![target, kind, symbol.clone()]), &Value::unit())?;
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<FactId> {
        define(self.batch, &self.predicates.file, &string(path), &Value::unit())
    }

    fn symbol(&mut self, symbol: &str) -> Result<FactId> {
        if let Some(fact) = self.symbols.get(symbol) {
            return Ok(*fact);
        }
        let fact = define(self.batch, &self.predicates.symbol, &string(symbol), &Value::unit())?;
        self.symbols.insert(symbol.to_owned(), fact);
        Ok(fact)
    }

    fn own(&mut self, predicate: &Predicate, key: Value, value: &Value) -> Result<()> {
        match define(self.batch, predicate, &key, value) {
            Ok(fact) => self.owned.push(fact),
            // Indexers describe a symbol twice in different words; the first description stays.
            Err(crate::Error::Facts(fulgurite_facts::Error::KeyHasOtherValue(other))) => {
                self.owned.push(other.existing);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn define(batch: &mut Batch, predicate: &Predicate, key: &Value, value: &Value) -> Result<FactId> {
    let (key, value) = (encode(&predicate.key, key)?, encode(&predicate.value, value)?);
    Ok(batch.define(predicate.id, &key, &value)?)
}

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

fn optional_fact(fact: Option<FactId>) -> Value {
    Value::Maybe(fact.map(|fact| Box::new(Value::Fact(fact))))
}

/// So many facts are in memory at a time, and written together.
const FACTS_PER_BATCH: usize = 200_000;
