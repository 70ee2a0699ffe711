//! Damage that no checksum shows: entries of a store's tables are changed through the engine, and the store is used. It
//! may fail with an error. It must do no harm, and a store that [`Store::check`] calls sound must hold what it held
//! before.

use std::fmt;
use std::ops::Bound;

use fulgurite::{Read, Table, WriteTxn};
use fulgurite_rdf::sparql::{Query, Update};
use fulgurite_rdf::{Error, IdPattern, Quads, Store, SweepOptions};
use fulgurite_testkit::panics::catch;
use fulgurite_testkit::{CrashDisk, Random};

use crate::contents::Contents;
use crate::workload::{Session, open};

/// Damages one store in many ways.
pub struct Damager {
    seed: u64,
    disk: CrashDisk,
    contents: Contents,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct DamageReport {
    /// Stores that were damaged.
    pub tried: u64,
    /// Those that did not open, with an error.
    pub refused: u64,
    /// Those that opened, and that a check said to be damaged.
    pub told: u64,
    /// Those that a check said to be sound, and that held what they had held.
    pub harmless: u64,
    /// Those that did harm.
    pub failures: Vec<Damage>,
}

/// A damage that did harm.
#[derive(Debug)]
pub struct Damage {
    seed: u64,
    number: u64,
    what: String,
    offence: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, number, what, offence } = self;
        write!(out, "{what}: {offence}; repeat: cargo xtask quads damage --seed {seed} --number {number}")
    }
}

impl Damager {
    /// Makes the store that is damaged.
    ///
    /// # Errors
    /// Why it could not be made.
    pub fn new(seed: u64) -> Result<Self, String> {
        let failed = |error| format!("seed {seed}: the session failed: {error}");
        let mut session = Session::with_all_orders(seed).map_err(failed)?;
        session.run().map_err(failed)?;
        let (disk, mut states) = session.into_parts();
        let contents = states.pop().expect("there is the empty one at least");
        Ok(Self { seed, disk, contents })
    }

    /// How many quads the store has.
    pub fn quads(&self) -> usize {
        self.contents.len()
    }

    /// Damages a copy of the store in the way of this number, and uses it.
    pub fn try_damage(&self, number: u64, report: &mut DamageReport) {
        report.tried += 1;
        let mut random = Random::for_part(self.seed, &[3, number]);
        let mut what = String::new();
        let outcome = catch(|| self.damage_and_use(&mut random, &mut what)).unwrap_or_else(Err);
        match outcome {
            Ok(Found::Refused) => report.refused += 1,
            Ok(Found::Told) => report.told += 1,
            Ok(Found::Harmless) => report.harmless += 1,
            Err(offence) => report.failures.push(Damage { seed: self.seed, number, what, offence }),
        }
    }

    fn damage_and_use(&self, random: &mut Random, what: &mut String) -> Result<Found, String> {
        let disk = self.disk.fork();
        let failed = |error: Error| format!("the store that is to be damaged: {error}");
        let store = open(&disk).map_err(failed)?;
        *what = damage(&store, random).map_err(|error| failed(error.into()))?;
        store.close().map_err(failed)?;
        let store = match open(&disk) {
            Ok(store) => store,
            Err(Error::Damaged { .. } | Error::NotAStore { .. } | Error::Unsupported { .. }) => {
                return Ok(Found::Refused);
            }
            Err(error) => return Err(format!("it was refused by another error than that of damage: {error}")),
        };
        let check = store.check().map_err(|error| format!("it cannot be checked: {error}"))?;
        if !check.pages.is_sound() {
            return Err(format!("the damage is none of pages: {:?}", check.pages.damages));
        }
        let read = store.snapshot().and_then(|snapshot| Contents::read(&snapshot));
        if check.is_sound() {
            // The listed graphs and the prefixes are by themselves: nothing else says what they were.
            match read {
                Ok(contents) if contents.has_quads_of(&self.contents) => {}
                Ok(_) => return Err("a check says that it is sound, and its quads are others".into()),
                Err(error) => return Err(format!("a check says that it is sound, and reading it fails: {error}")),
            }
        }
        use_store(&store, check.is_sound())?;
        Ok(if check.is_sound() { Found::Harmless } else { Found::Told })
    }
}

/// What a damage led to.
enum Found {
    Refused,
    Told,
    Harmless,
}

/// Changes an entry of one of the tables, or a few. Returns what was done, in words.
fn damage(store: &Store, random: &mut Random) -> fulgurite::Result<String> {
    let database = store.database();
    let tables = database.tables()?;
    let table = &tables[random.index(tables.len())];
    let mut txn = database.write()?;
    let mut what = format!("table `{}`", table.name());
    for _ in 0..=random.below(2) {
        let keys: Vec<(Vec<u8>, Vec<u8>)> = txn
            .range(table, (Bound::<&[u8]>::Unbounded, Bound::Unbounded))?
            .map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())))
            .collect::<fulgurite::Result<_>>()?;
        what += &change_an_entry(&mut txn, table, &keys, random)?;
    }
    txn.commit()?;
    Ok(what)
}

fn change_an_entry(
    txn: &mut WriteTxn,
    table: &Table,
    entries: &[(Vec<u8>, Vec<u8>)],
    random: &mut Random,
) -> fulgurite::Result<String> {
    let any = |random: &mut Random| (0..random.below(12)).map(|_| random.next_u64() as u8).collect::<Vec<u8>>();
    if entries.is_empty() || random.chance(1, 6) {
        let (key, value) = (any(random), any(random));
        txn.put(table, &key, &value)?;
        return Ok(format!(", put {key:02x?} = {value:02x?}"));
    }
    let (key, value) = &entries[random.index(entries.len())];
    let (mut new_key, mut new_value) = (key.clone(), value.clone());
    match random.below(5) {
        0 => {
            txn.delete(table, key)?;
            return Ok(format!(", delete {key:02x?}"));
        }
        1 => new_value.clone_from(&entries[random.index(entries.len())].1),
        2 if !new_value.is_empty() => mutate(&mut new_value, random),
        _ => {
            mutate(&mut new_key, random);
            if random.chance(1, 2) {
                txn.delete(table, key)?;
            }
        }
    }
    txn.put(table, &new_key, &new_value)?;
    Ok(format!(", {key:02x?} to {new_key:02x?} = {:02x?}", &new_value[..new_value.len().min(40)]))
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.index(bytes.len().max(1));
    match random.below(4) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at.min(bytes.len()), random.next_u64() as u8),
        _ if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        _ => bytes.push(random.next_u64() as u8),
    }
}

/// Queries and changes a store. If it is not sound, that may fail with errors.
fn use_store(store: &Store, is_sound: bool) -> Result<(), String> {
    let told = |error: Error| -> Result<(), String> {
        match error {
            // The damage may be that a graph is not there, which is nothing that a check can know.
            Error::Graph { .. } => Ok(()),
            Error::Damaged { .. }
            | Error::NoSuchTerm { .. }
            | Error::MalformedTerm { .. }
            | Error::Evaluation { .. }
                if !is_sound =>
            {
                Ok(())
            }
            error => Err(format!("it is {} and fails: {error:?}", if is_sound { "sound" } else { "damaged" })),
        }
    };
    for text in QUERIES {
        let answered = store.snapshot().and_then(|snapshot| {
            let results = Query::parse(text, None)?.evaluate(&snapshot)?;
            results.write(
                fulgurite_rdf::sparesults::QueryResultsFormat::Json,
                fulgurite_rdf::RdfFormat::NQuads,
                std::io::sink(),
            )
        });
        answered.map(drop).or_else(told)?;
    }
    let counted = store.snapshot().and_then(|snapshot| snapshot.count(&IdPattern::ALL));
    counted.map(drop).or_else(told)?;
    store.stats().map(drop).or_else(told)?;
    store.sweep(&SweepOptions::new()).map(drop).or_else(told)?;
    store.update(|txn| txn.clear_inferred(&IdPattern::ALL)).map(drop).or_else(told)?;
    for text in UPDATES {
        Update::parse(text, None).and_then(|update| update.execute(store)).map(drop).or_else(told)?;
    }
    Ok(())
}

const QUERIES: [&str; 4] = [
    "SELECT * { ?s ?p ?o . ?o ?q ?r }",
    "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?n",
    "SELECT ?o { ?s <http://example.org/terms#1> ?o FILTER (?o > 3 || STRLEN(STR(?o)) > 2) } ORDER BY ?o",
    "CONSTRUCT { ?o <http://example.org/back> ?s } { ?s (<http://example.org/terms#2>|!<http://example.org/x>)+ ?o }",
];

const UPDATES: [&str; 4] = [
    "INSERT DATA { <http://example.org/new> <http://example.org/terms#1> \"a new text of some length\", 1 }",
    "DELETE { ?s ?p ?o } INSERT { ?s ?p \"another text of some length\" } WHERE { ?s ?p ?o FILTER isLiteral(?o) }",
    "DROP GRAPH <http://example.org/graph/4> ; CREATE SILENT GRAPH <http://example.org/graph/9>",
    "CLEAR ALL",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_refused_or_told_or_harmless() {
        let damager = Damager::new(3).expect("a store");
        let mut report = DamageReport::default();
        (0..150).for_each(|number| damager.try_damage(number, &mut report));
        assert!(report.failures.is_empty(), "{}", report.failures[0]);
        assert!(damager.quads() > 50 && report.refused > 0 && report.told > 50, "{report:?}");
    }
}
