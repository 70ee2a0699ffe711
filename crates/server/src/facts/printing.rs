//! [`Printing`]: facts as JSON, within the limits of a request.

use std::cell::Cell;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use fulgurite_facts::{
    CancellationToken, DerivedFacts, Error, Expansion, FactId, FactReader, Printer, QueryResult, Reads, Result, Schema,
    StoredFact, Type, decode,
};
use serde_json::Value as Json;

use crate::facts::failures::{Stopped, stopped};

/// What a request may use while it prints.
pub struct PrintLimits {
    pub cancellation: CancellationToken,
    pub until: Option<Instant>,
    /// Of the text, which ends with the result that reaches it.
    pub bytes_max: usize,
    /// Of the facts of one result.
    pub result_bytes_max: usize,
}

impl PrintLimits {
    /// The time to print ends so long from now.
    pub fn until(time: Duration) -> Option<Instant> {
        Instant::now().checked_add(time)
    }
}

/// Results as a text of JSON.
pub struct Printing<'p> {
    schema: &'p Schema,
    reader: &'p FactReader,
    derived: Option<&'p DerivedFacts>,
    limits: &'p PrintLimits,
    /// Bytes of facts that the result may still have.
    bytes_left: Cell<usize>,
    facts_printed: Cell<u64>,
    printed: Printed,
    nested_ids: HashSet<FactId>,
}

/// What was printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// Results, with commas between them.
    pub text: Vec<u8>,
    /// Where each result ends.
    ends: Vec<usize>,
    /// Facts that results refer to, as members of an object.
    pub nested: Vec<u8>,
    /// How many facts were printed, those within others included.
    pub facts: u64,
}

impl Printed {
    /// How many results were printed.
    pub fn results(&self) -> usize {
        self.ends.len()
    }

    /// Forgets results behind the first `count`.
    pub fn truncate(&mut self, count: usize) {
        self.ends.truncate(count);
        self.text.truncate(self.ends.last().copied().unwrap_or_default());
    }
}

/// How facts that a result refers to are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// As ids.
    Ids,
    /// Where they are referred to.
    InPlace,
    /// Each once, apart from the results.
    Apart,
}

impl<'p> Printing<'p> {
    /// `derived` are the facts that a query has derived.
    pub fn new(
        schema: &'p Schema,
        reader: &'p FactReader,
        derived: Option<&'p DerivedFacts>,
        limits: &'p PrintLimits,
    ) -> Self {
        Self {
            schema,
            reader,
            derived,
            limits,
            bytes_left: Cell::new(0),
            facts_printed: Cell::new(0),
            printed: Printed::default(),
            nested_ids: HashSet::new(),
        }
    }

    /// How many bytes were printed.
    pub fn bytes(&self) -> usize {
        self.printed.text.len() + self.printed.nested.len()
    }

    /// What was printed.
    pub fn printed(self) -> Printed {
        Printed { facts: self.facts_printed.get(), ..self.printed }
    }

    /// Prints results, up to the limits: the others are for another page. There is at least one, if there are any.
    ///
    /// # Errors
    /// Those of reading; that the first result does not keep to the limits, or the request is cancelled.
    pub fn page(&mut self, ty: &Type, results: &[QueryResult], nesting: Nesting) -> Result<()> {
        for result in results {
            let printed = match result.fact {
                Some(id) => self.fact(id, nesting),
                None => self.value(ty, &result.bytes, nesting),
            };
            match printed {
                Err(error) if stopped(&error).is_some() && !self.printed.ends.is_empty() => return Ok(()),
                printed => printed?,
            }
            if self.bytes() >= self.limits.bytes_max {
                break;
            }
        }
        Ok(())
    }

    /// Prints a fact; `null` if there is none.
    ///
    /// # Errors
    /// As [`Printing::page`].
    pub fn fact(&mut self, id: FactId, nesting: Nesting) -> Result<()> {
        self.begin_result()?;
        let json = match self.find(id)? {
            None => Json::Null,
            Some(_) => {
                let expansion = if nesting == Nesting::InPlace { Expansion::RECURSIVE } else { Expansion::FLAT };
                self.as_json(|printer| printer.fact(id, expansion))?
            }
        };
        if nesting == Nesting::Apart {
            self.nest(self.references(id)?)?;
        }
        self.end_result(&json);
        Ok(())
    }

    fn value(&mut self, ty: &Type, bytes: &[u8], nesting: Nesting) -> Result<()> {
        self.begin_result()?;
        let expansion = match nesting {
            Nesting::InPlace => Expansion::RECURSIVE,
            Nesting::Ids => Expansion::FLAT,
            Nesting::Apart => Expansion { depth: 0, ..Expansion::FLAT },
        };
        let json = self.as_json(|printer| printer.value(ty, bytes, expansion))?;
        if nesting == Nesting::Apart {
            let mut found = Vec::new();
            decode(ty, bytes)?.references(&mut found);
            self.nest(found)?;
        }
        self.end_result(&json);
        Ok(())
    }

    /// Prints facts, and those that they refer to, which were not printed before.
    fn nest(&mut self, mut found: Vec<FactId>) -> Result<()> {
        while let Some(id) = found.pop() {
            if !self.nested_ids.insert(id) {
                continue;
            }
            let json = self.as_json(|printer| printer.fact(id, Expansion::FLAT))?;
            found.extend(self.references(id)?);
            let comma = if self.printed.nested.is_empty() { "" } else { "," };
            self.printed.nested.extend_from_slice(format!("{comma}\"{}\":{json}", id.get()).as_bytes());
        }
        Ok(())
    }

    /// The facts that a fact refers to.
    fn references(&self, id: FactId) -> Result<Vec<FactId>> {
        let mut found = Vec::new();
        if let Some((predicate, key, value)) = self.find(id)? {
            self.schema.references(predicate, &key, &value, &mut found)?;
        }
        Ok(found)
    }

    fn as_json(&self, print: impl FnOnce(&mut Printer<'_>) -> Result<Json>) -> Result<Json> {
        let lookup = |id| {
            self.facts_printed.set(self.facts_printed.get() + 1);
            self.lookup(id)
        };
        print(&mut Printer::new(self.schema, &lookup))
    }

    /// A fact, of the database or derived.
    fn find(&self, id: FactId) -> Result<Option<StoredFact>> {
        self.check()?;
        match self.derived.and_then(|derived| derived.get(id)) {
            Some(fact) => Ok(Some(fact.clone())),
            None => Reads::fact_by_id(self.reader.snapshot(), id),
        }
    }

    /// A fact to print, if the limits allow it.
    fn lookup(&self, id: FactId) -> Result<Option<StoredFact>> {
        let fact = self.find(id)?;
        if let Some((_, key, value)) = &fact {
            let left = self.bytes_left.get().checked_sub(key.len() + value.len() + BYTES_PER_FACT);
            let too_large = Stopped::TooLarge { bytes_max: self.limits.result_bytes_max };
            self.bytes_left.set(left.ok_or(too_large)?);
        }
        Ok(fact)
    }

    fn check(&self) -> Result<()> {
        if self.limits.cancellation.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match self.limits.until {
            Some(until) if Instant::now() >= until => Err(Stopped::TimeUp.into()),
            _ => Ok(()),
        }
    }

    fn begin_result(&mut self) -> Result<()> {
        self.bytes_left.set(self.limits.result_bytes_max);
        self.check()
    }

    fn end_result(&mut self, json: &Json) {
        let printed = &mut self.printed;
        if !printed.ends.is_empty() {
            printed.text.push(b',');
        }
        printed.text.extend_from_slice(json.to_string().as_bytes());
        printed.ends.push(printed.text.len());
    }
}

/// What a fact takes as JSON in memory besides its key and value, roughly: a node of a map.
const BYTES_PER_FACT: usize = 512;
