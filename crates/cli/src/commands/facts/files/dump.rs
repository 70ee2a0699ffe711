//! `facts dump`: all facts as JSON with the units that own them, as `facts write` reads them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;

use fulgurite_facts::{Error, Expansion, Fact, FactDatabase, FactId, FactReader, PredicateId, Snapshot};
use serde_json::{Value as Json, json};

use crate::arguments::facts_files::Dump;
use crate::commands::facts::database::reading;
use crate::commands::facts::{derived, slicing};
use crate::database::warn_of_lacking;
use crate::failure::Failure;
use crate::output::{Output, standard_output};

/// Prints batches of facts in the order of ids, so that facts come before their uses; then what units own beside the
/// first owner of each fact, and the derivations.
pub fn run(arguments: &Dump) -> Result<(), Failure> {
    reading(&arguments.database, |database| {
        if let Some(engine) = database.store().database() {
            warn_of_lacking(engine);
        }
        let mut out = standard_output();
        let reader = slicing::reader(database, &arguments.slice)?;
        dump(database, &reader, &mut out)?;
        out.flush().map_err(Failure::Output)?;
        // What is written from the dump has no record of derivations.
        derived::report_dumped(database, &reader)
    })
}

fn dump(database: &FactDatabase, reader: &FactReader, out: &mut Output) -> Result<(), Failure> {
    let snapshot = reader.snapshot();
    let mut claims = snapshot.claims()?;
    let units = claims.names().to_vec();
    let mut elements = Elements { out, database, units: &units, begun: None };
    // The facts of each unit that the batches of another one have.
    let mut further: BTreeMap<usize, Vec<(FactId, PredicateId)>> = BTreeMap::new();
    for fact in snapshot.enumerate(snapshot.starting_id(), snapshot.first_free_id()) {
        let fact = fact?;
        require_references(database, snapshot, &fact)?;
        let mut owners = claims.of(fact.id()).into_iter();
        let batch = Element::Batch(fact.predicate(), owners.next());
        owners.for_each(|unit| further.entry(unit).or_default().push((fact.id(), fact.predicate())));
        elements.add(batch, &reader.fact(fact.id(), Expansion::FLAT)?)?;
    }
    for (unit, facts) in further {
        for (id, predicate) in facts {
            elements.add(Element::Batch(predicate, Some(unit)), &json!({ "id": id.get() }))?;
        }
    }
    let mut failed = None;
    let read = snapshot.each_derivation(|fact, sources| {
        let ids: Vec<u64> = [&fact].into_iter().chain(sources).map(|id| id.get()).collect();
        elements.add(Element::Derivations, &json!(ids)).map_err(|failure| {
            failed = Some(failure);
            Error::Cancelled
        })
    });
    match failed {
        Some(failure) => return Err(failure),
        None => read?,
    }
    elements.end()
}

/// # Errors
/// If a fact refers to a hidden one: what reads the dump would find no fact of this number, or another one.
fn require_references(database: &FactDatabase, snapshot: &Snapshot, fact: &Fact<'_>) -> Result<(), Failure> {
    let mut references = Vec::new();
    database.schema().references(fact.predicate(), fact.key(), fact.value(), &mut references)?;
    let Some(hidden) = references.into_iter().find(|id| !snapshot.has(*id)) else { return Ok(()) };
    let (path, name) = (database.store().path().display(), database.schema().name_of(fact.predicate()));
    Err(Failure::Message(format!(
        "{path}: fact {} of {name} cannot be dumped: it refers to fact {hidden}, which a slice or an incremental \
         database hides; dump without the slice, or write facts that refer to others for a unit",
        fact.id()
    )))
}

/// An element of the list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    /// Facts of a predicate, which a unit owns: its place among the units.
    Batch(PredicateId, Option<usize>),
    Derivations,
}

/// Prints the list: what belongs to one element and follows each other is printed in one.
struct Elements<'d> {
    out: &'d mut Output,
    database: &'d FactDatabase,
    units: &'d [String],
    begun: Option<Element>,
}

impl Elements<'_> {
    fn add(&mut self, element: Element, entry: &Json) -> Result<(), Failure> {
        if self.begun == Some(element) {
            return self.print(&format_args!(",\n{entry}"));
        }
        let before = if self.begun.is_some() { "]},\n" } else { "[\n" };
        self.begun = Some(element);
        let (predicate, unit) = match element {
            Element::Batch(predicate, unit) => (predicate, unit),
            Element::Derivations => return self.print(&format_args!("{before}{{\"derivations\":[\n{entry}")),
        };
        let name = self.database.schema().name_of(predicate);
        let unit = unit.and_then(|unit| self.units.get(unit));
        let unit = unit.map(|unit| format!("\"unit\":{},", Json::from(unit.as_str()))).unwrap_or_default();
        self.print(&format_args!("{before}{{\"predicate\":\"{name}\",{unit}\"facts\":[\n{entry}"))
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.print(if self.begun.is_some() { &"]}\n]\n" } else { &"[]\n" })
    }

    fn print(&mut self, text: &dyn Display) -> Result<(), Failure> {
        write!(self.out, "{text}").map_err(Failure::Output)
    }
}
