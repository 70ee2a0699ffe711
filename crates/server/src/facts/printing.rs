//! [`Printing`]: facts as JSON, within the limits of a request.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use fulgurite_facts::{
    CancellationToken, DerivedFacts, Error, Expansion, FactId, FactReader, FoundResult, PageFlow, PredicateId, Printer,
    Reads, Result, Schema, StoredFact, Type, references_of,
};
use serde_json::Value as Json;

use crate::facts::failures::{Stopped, stopped};

/// What a request may use while it prints.
pub struct PrintLimits {
    pub cancellation: CancellationToken,
    pub until: Option<Instant>,
    /// Of the text, which ends with the result that reaches it.
    pub bytes_max: usize,
    /// Of the value or the facts of one result, as they are stored.
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
    limits: &'p PrintLimits,
    /// Bytes of facts that the result may still have.
    bytes_left: Cell<usize>,
    facts_printed: Cell<u64>,
    printed: Printed,
    /// The facts that were printed apart, and the predicates whose shapes they have.
    nested_shapes: HashMap<FactId, PredicateId>,
}

/// What was printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// Results, with commas between them.
    pub text: Vec<u8>,
    /// How many results these are.
    pub results: usize,
    /// Facts that results refer to, as members of an object.
    pub nested: Vec<u8>,
    /// How many facts were printed, those within others included.
    pub facts: u64,
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
    /// Nothing is printed yet.
    pub fn new(schema: &'p Schema, reader: &'p FactReader, limits: &'p PrintLimits) -> Self {
        Self {
            schema,
            reader,
            limits,
            bytes_left: Cell::new(0),
            facts_printed: Cell::new(0),
            printed: Printed::default(),
            nested_shapes: HashMap::new(),
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

    /// Prints a result of a query, and says whether the page goes on. There is at least one on a page.
    ///
    /// # Errors
    /// Those of reading; that the first result does not keep to the limits, or the request is cancelled.
    pub fn result(&mut self, found: &FoundResult<'_>, nesting: Nesting) -> Result<PageFlow> {
        let derived = Some(found.derived);
        let printed = match (found.result.fact, found.ty) {
            (Some(id), Type::Predicate(shape)) => self.fact_shaped(id, Some(*shape), nesting, derived),
            _ => self.value(found.ty, &found.result.bytes, nesting, derived),
        };
        match printed {
            Err(error) if stopped(&error).is_some() && self.printed.results > 0 => return Ok(PageFlow::EndBefore),
            printed => printed?,
        }
        let is_full = self.bytes() >= self.limits.bytes_max || self.time_is_up();
        Ok(if is_full { PageFlow::EndAfter } else { PageFlow::Continue })
    }

    /// Prints a fact in the shape of its own predicate; `null` if there is none.
    ///
    /// # Errors
    /// As [`Printing::result`].
    pub fn fact(&mut self, id: FactId, nesting: Nesting) -> Result<()> {
        self.fact_shaped(id, None, nesting, None)
    }

    /// Prints a fact in the shape of a predicate that its own evolved from.
    fn fact_shaped(
        &mut self,
        id: FactId,
        shape: Option<PredicateId>,
        nesting: Nesting,
        derived: Option<&DerivedFacts>,
    ) -> Result<()> {
        self.begin_result()?;
        let json = match self.find(id, derived)? {
            None => Json::Null,
            Some(fact) => {
                let expansion = if nesting == Nesting::InPlace { Expansion::RECURSIVE } else { Expansion::FLAT };
                let shape = shape.unwrap_or(fact.0);
                self.as_json(derived, |printer| printer.fact_shaped_as(shape, id, expansion))?
            }
        };
        if nesting == Nesting::Apart {
            self.nest(self.references(id, shape, derived)?, derived)?;
        }
        self.end_result(&json);
        Ok(())
    }

    fn value(&mut self, ty: &Type, bytes: &[u8], nesting: Nesting, derived: Option<&DerivedFacts>) -> Result<()> {
        self.begin_result()?;
        self.take(bytes.len())?;
        let expansion = match nesting {
            Nesting::InPlace => Expansion::RECURSIVE,
            Nesting::Ids => Expansion::FLAT,
            Nesting::Apart => Expansion { depth: 0, ..Expansion::FLAT },
        };
        let json = self.as_json(derived, |printer| printer.value(ty, bytes, expansion))?;
        if nesting == Nesting::Apart {
            let mut found = Vec::new();
            references_of(ty, bytes, &mut found)?;
            self.nest(found, derived)?;
        }
        self.end_result(&json);
        Ok(())
    }

    /// Prints facts, and those that they refer to, which were not printed before.
    ///
    /// # Errors
    /// [`Stopped::OtherShape`], if one of them was printed in the shape of another predicate.
    fn nest(&mut self, mut found: Vec<(FactId, PredicateId)>, derived: Option<&DerivedFacts>) -> Result<()> {
        while let Some((id, shape)) = found.pop() {
            match self.nested_shapes.insert(id, shape) {
                // Each fact has one place among those that are printed apart.
                Some(other) if other != shape => return Err(Stopped::OtherShape { id }.into()),
                Some(_) => continue,
                None => {}
            }
            let json = self.as_json(derived, |printer| printer.fact_shaped_as(shape, id, Expansion::FLAT))?;
            found.extend(self.references(id, Some(shape), derived)?);
            let comma = if self.printed.nested.is_empty() { "" } else { "," };
            self.printed.nested.extend_from_slice(format!("{comma}\"{}\":{json}", id.get()).as_bytes());
        }
        Ok(())
    }

    /// The facts that a fact in this shape refers to.
    fn references(
        &self,
        id: FactId,
        shape: Option<PredicateId>,
        derived: Option<&DerivedFacts>,
    ) -> Result<Vec<(FactId, PredicateId)>> {
        let mut found = Vec::new();
        if let Some(fact) = self.find(id, derived)? {
            let fact = self.schema.shaped_as(shape.unwrap_or(fact.0), fact)?;
            self.schema.typed_references(&fact, &mut found)?;
        }
        Ok(found)
    }

    fn as_json(
        &self,
        derived: Option<&DerivedFacts>,
        print: impl FnOnce(&mut Printer<'_>) -> Result<Json>,
    ) -> Result<Json> {
        let lookup = |id| {
            self.facts_printed.set(self.facts_printed.get() + 1);
            self.lookup(id, derived)
        };
        print(&mut Printer::new(self.schema, &lookup))
    }

    /// A fact, of the database or derived.
    fn find(&self, id: FactId, derived: Option<&DerivedFacts>) -> Result<Option<StoredFact>> {
        self.check()?;
        match derived.and_then(|derived| derived.get(id)) {
            Some(fact) => Ok(Some(fact.clone())),
            None => Reads::fact_by_id(self.reader.snapshot(), id),
        }
    }

    /// A fact to print, if the limits allow it.
    fn lookup(&self, id: FactId, derived: Option<&DerivedFacts>) -> Result<Option<StoredFact>> {
        let fact = self.find(id, derived)?;
        if let Some((_, key, value)) = &fact {
            self.take(key.len() + value.len() + BYTES_PER_FACT)?;
        }
        Ok(fact)
    }

    /// Counts bytes of the result that is being printed.
    fn take(&self, bytes: usize) -> Result<()> {
        let left = self.bytes_left.get().checked_sub(bytes);
        let too_large = Stopped::TooLarge { bytes_max: self.limits.result_bytes_max };
        self.bytes_left.set(left.ok_or(too_large)?);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.limits.cancellation.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if self.time_is_up() { Err(Stopped::TimeUp.into()) } else { Ok(()) }
    }

    fn time_is_up(&self) -> bool {
        self.limits.until.is_some_and(|until| Instant::now() >= until)
    }

    fn begin_result(&mut self) -> Result<()> {
        self.bytes_left.set(self.limits.result_bytes_max);
        self.check()
    }

    fn end_result(&mut self, json: &Json) {
        let printed = &mut self.printed;
        if printed.results > 0 {
            printed.text.push(b',');
        }
        printed.text.extend_from_slice(json.to_string().as_bytes());
        printed.results += 1;
    }
}

/// What a fact takes as JSON in memory besides its key and value, roughly: a node of a map.
const BYTES_PER_FACT: usize = 512;

#[cfg(test)]
mod tests {
    use fulgurite_facts::{FactDatabase, QueryLimits};

    use super::*;

    const SCHEMA: &str = "schema a.1 { predicate Q : { x : nat } }
        schema a.2 { predicate Q : { x : nat, y : nat } }
        schema a.2 evolves a.1";
    const FACTS: &str = r#"[{ "predicate": "a.Q.2", "facts": [{ "key": { "x": 1, "y": 2 } }] }]"#;

    /// The first page of a query's results, and the facts that are printed apart.
    fn page(database: &FactDatabase, query: &str, nesting: Nesting) -> Result<(usize, String)> {
        let limits = PrintLimits {
            cancellation: CancellationToken::new(),
            until: None,
            bytes_max: 1 << 20,
            result_bytes_max: 1 << 20,
        };
        let reader = database.reader()?;
        let mut printing = Printing::new(database.schema(), &reader, &limits);
        let limits = QueryLimits::default();
        reader.query_each(query, &limits, None, &mut |found| printing.result(&found, nesting))?;
        let printed = printing.printed();
        Ok((printed.results, String::from_utf8(printed.nested).expect("JSON is UTF-8")))
    }

    #[test]
    fn a_value_that_is_larger_than_a_result_may_be_is_refused_before_it_is_printed() {
        let directory = tempfile::tempdir().expect("a directory");
        let schema = Schema::parse("a.angle", SCHEMA).expect("the schema is right");
        let database = FactDatabase::create(directory.path().join("a.ful"), schema).expect("there is no file");
        let doubled = |times: usize| {
            let next: Vec<String> = (1..=times).map(|n| format!("A{n} = prim.concat A{} A{}", n - 1, n - 1)).collect();
            format!("A{times} where A0 = [1, 2]; {}", next.join("; "))
        };
        for nesting in [Nesting::Ids, Nesting::InPlace, Nesting::Apart] {
            // 2 MiB of numbers. As JSON, each takes more memory than its byte.
            let error = page(&database, &doubled(20), nesting).expect_err("it is too large").to_string();
            assert!(error.contains("a result has more than 1048576 bytes"), "{error}");
            assert_eq!(page(&database, &doubled(10), nesting).expect("it is small").0, 1);
        }
    }

    #[test]
    fn a_fact_is_not_printed_apart_in_the_shape_of_another_schema() {
        let directory = tempfile::tempdir().expect("a directory");
        let schema = Schema::parse("a.angle", SCHEMA).expect("the schema is right");
        let database = FactDatabase::create(directory.path().join("a.ful"), schema).expect("there is no file");
        database.write_json(FACTS.as_bytes(), None).expect("the facts are right");
        let both = "{ X, Y } where X = a.Q.1 _; Y = a.Q.2 _";
        let error = page(&database, both, Nesting::Apart).expect_err("there are two shapes").to_string();
        assert!(error.contains("fact 1024 would be in `nestedFacts`") && error.contains("expand_results"), "{error}");
        assert_eq!(page(&database, both, Nesting::InPlace).expect("each has its place").0, 1);
        let old = page(&database, "{ X, X } where X = a.Q.1 _", Nesting::Apart).expect("there is one shape");
        assert_eq!(old, (1, r#""1024":{"id":1024,"key":{"x":1}}"#.to_owned()));
    }
}
