//! The store of quads that queries are counted on, and the queries.

use std::path::Path;

use fulgurite_rdf::oxrdf::{GraphNameRef, LiteralRef, NamedNode, QuadRef};
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{Snapshot, Store, StoreOptions};

use crate::error::Result;
use crate::keys::mix;
use crate::stores::engine_options;

/// People in the store; each has four statements.
const PEOPLE: u64 = 5_000;
/// Whom each of them knows.
const FRIENDS: u64 = 3;

/// Makes the store.
pub fn make(path: &Path) -> Result<()> {
    let store = Store::open_with(engine_options().create(true), path, StoreOptions::new().hash_seed(7))?;
    let (name, knows) = (iri("terms#name"), iri("terms#knows"));
    store.update(|transaction| {
        for number in 0..PEOPLE {
            let someone = person(number);
            let text = format!("Person number {number}");
            let text = LiteralRef::new_simple_literal(&text);
            transaction.insert(QuadRef::new(&someone, &name, text, GraphNameRef::DefaultGraph))?;
            for friend in 0..FRIENDS {
                let friend = person(mix(FRIENDS * number + friend) % PEOPLE);
                transaction.insert(QuadRef::new(&someone, &knows, &friend, GraphNameRef::DefaultGraph))?;
            }
        }
        Ok(())
    })?;
    store.close()?;
    Ok(())
}

/// Opens the store.
pub fn open(path: &Path) -> Result<Store> {
    Ok(Store::open_with(engine_options(), path, StoreOptions::new())?)
}

/// Queries for what one person's friends are called.
pub fn texts(count: u64) -> Vec<String> {
    let (name, knows) = (iri("terms#name"), iri("terms#knows"));
    let people = (0..count).map(|number| person(mix(number) % PEOPLE));
    people.map(|person| format!("SELECT ?name WHERE {{ {person} {knows} ?friend . ?friend {name} ?name }}")).collect()
}

/// Parses and evaluates queries; whether each had solutions.
pub fn answers_all(snapshot: &Snapshot, texts: &[String]) -> Result<bool> {
    let mut all = true;
    for text in texts {
        let QueryResults::Solutions(solutions) = Query::parse(text, None)?.evaluate(snapshot)? else {
            return Ok(false);
        };
        let mut found = 0;
        for solution in solutions {
            found += solution?.len();
        }
        all &= found > 0;
    }
    Ok(all)
}

fn iri(path: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{path}"))
}

fn person(number: u64) -> NamedNode {
    iri(&format!("person/{number}"))
}
