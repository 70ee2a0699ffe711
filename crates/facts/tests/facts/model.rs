//! Random operations beside a naive model: stacks of databases, incomplete and complete, that hide units, with slices.
//! Owners follow the references of facts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use fulgurite_facts::{Backend, Error, Fact, FactId, Result, Slice, Snapshot, Store};

use crate::support::{Directory, Random, id, plain, predicate};

/// Every fact of a stack, by id; facts before the last database's first in the order of databases.
#[derive(Clone, Default)]
struct Model {
    facts: Vec<ModelFact>,
}

#[derive(Clone)]
struct ModelFact {
    predicate: u64,
    key: Vec<u8>,
    value: Vec<u8>,
    /// Those that no database hides.
    owners: BTreeSet<String>,
    /// The number of the database.
    layer: usize,
    /// Whether a database hides it.
    is_hidden: bool,
}

type Plain = (u64, Vec<u8>, Vec<u8>);

impl Model {
    fn of(&self, id: u64) -> &ModelFact {
        &self.facts[id as usize - 1024]
    }

    /// The facts that are not hidden, with their ids.
    fn shown(&self) -> impl Iterator<Item = (u64, &ModelFact)> {
        (1024..).zip(&self.facts).filter(|(_, fact)| !fact.is_hidden)
    }

    fn find(&self, number: u64, key: &[u8]) -> Option<u64> {
        self.shown().find(|(_, fact)| fact.predicate == number && fact.key == key).map(|(id, _)| id)
    }

    fn define(&mut self, number: u64, key: &[u8], value: &[u8], layer: usize) -> Option<u64> {
        match self.find(number, key) {
            Some(id) => (self.of(id).value == value).then_some(id),
            None => {
                let (key, value) = (key.to_vec(), value.to_vec());
                let owners = BTreeSet::new();
                self.facts.push(ModelFact { predicate: number, key, value, owners, layer, is_hidden: false });
                Some(1023 + self.facts.len() as u64)
            }
        }
    }

    /// What a seek returns: databases from the base up, each in the order of keys.
    fn seek(&self, number: u64, prefix: &[u8], shown: impl Fn(u64) -> bool) -> Vec<Plain> {
        let has_prefix = |fact: &ModelFact| fact.predicate == number && fact.key.starts_with(prefix);
        let found = self.shown().filter(|(id, fact)| has_prefix(fact) && shown(*id));
        let mut found: Vec<_> =
            found.map(|(id, fact)| (fact.layer, fact.key.clone(), id, fact.value.clone())).collect();
        found.sort();
        found.into_iter().map(|(_, key, id, value)| (id, key, value)).collect()
    }

    /// Makes a unit own a fact.
    fn own(&mut self, unit: &str, id: u64, layer: usize) {
        let fact = &mut self.facts[id as usize - 1024];
        // A fact without owners stays in every slice, once its database is complete.
        if !fact.is_hidden && (fact.layer == layer || !fact.owners.is_empty()) {
            fact.owners.insert(unit.to_owned());
        }
    }

    /// The units that own a fact own what it refers to.
    fn complete(&mut self, layer: usize) {
        for id in (1024..1024 + self.facts.len() as u64).rev() {
            let fact = self.of(id);
            if let Some(reference) = reference(id, &fact.key) {
                fact.owners.clone().iter().for_each(|unit| self.own(unit, reference, layer));
            }
        }
    }

    /// Units own nothing any more. Facts that only they own are hidden.
    fn hide(&mut self, units: &[String]) {
        for fact in self.facts.iter_mut().filter(|fact| !fact.owners.is_empty()) {
            fact.owners.retain(|owner| !units.contains(owner));
            fact.is_hidden |= fact.owners.is_empty();
        }
    }
}

/// The fact that a fact refers to: its id and its key decide this.
fn reference(id: u64, key: &[u8]) -> Option<u64> {
    let sum = key.iter().fold(id, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
    let mixed = Random(sum).next();
    (id > 1024 && !mixed.is_multiple_of(3)).then(|| 1024 + (mixed >> 8) % (id - 1024))
}

fn references(fact: &Fact<'_>, found: &mut Vec<FactId>) -> Result<()> {
    found.extend(reference(fact.id().get(), fact.key()).map(id));
    Ok(())
}

/// Up to three of some units.
fn random_units(units: &[String], random: &mut Random) -> Vec<String> {
    let chosen = (0..1 + random.below(3)).map(|_| units[random.below(units.len() as u64) as usize].clone());
    chosen.collect::<BTreeSet<String>>().into_iter().collect()
}

fn random_key(random: &mut Random) -> Vec<u8> {
    let alphabet = [0, b'a', b'b', 0xff];
    let length = match random.below(20) {
        0 => 250 + random.below(20),
        1 => 3000,
        _ => random.below(7),
    };
    // Long keys begin alike.
    let fixed = length.saturating_sub(4);
    (0..length).map(|at| if at < fixed { b'a' } else { alphabet[random.below(4) as usize] }).collect()
}

fn check(snapshot: &Snapshot, model: &Model, random: &mut Random) {
    let end = 1024 + model.facts.len() as u64;
    assert_eq!(snapshot.first_free_id().get(), end);
    let (from, to) = (1024 + random.below(end - 1023), 1024 + random.below(end - 1023));
    let part = model.shown().filter(|(id, _)| (from..to).contains(id));
    let part: Vec<Plain> = part.map(|(id, fact)| (id, fact.key.clone(), fact.value.clone())).collect();
    assert_eq!(snapshot.enumerate(id(from), id(to)).map(plain).collect::<Vec<_>>(), part);
    let back = snapshot.enumerate(id(from), id(to)).rev().map(plain);
    assert_eq!(back.collect::<Vec<_>>(), part.into_iter().rev().collect::<Vec<_>>());
    for _ in 0..20 {
        let (number, key) = (random.below(3), random_key(random));
        let expected = model.find(number, &key);
        let found = snapshot.id_by_key(predicate(number), &key).expect("sound");
        assert_eq!(found.map(FactId::get), expected);
        let fact = snapshot.fact_by_key(predicate(number), &key).expect("sound");
        assert_eq!(fact.map(|fact| plain(Ok(fact)).0), expected);
        check_seek(snapshot, model, number, &key, random);
    }
    let mut counts = BTreeMap::new();
    for (_, fact) in model.shown() {
        let (count, bytes) = counts.entry(predicate(fact.predicate)).or_insert((0, 0));
        (*count, *bytes) = (*count + 1, *bytes + (fact.key.len() + fact.value.len()) as u64);
    }
    let found = snapshot.statistics().expect("sound");
    assert_eq!(found.into_iter().map(|(of, sum)| (of, (sum.count, sum.bytes))).collect::<BTreeMap<_, _>>(), counts);
}

fn check_seek(snapshot: &Snapshot, model: &Model, number: u64, key: &[u8], random: &mut Random) {
    let prefix = &key[..random.below(key.len() as u64 + 1) as usize];
    let found = snapshot.seek(predicate(number), prefix).expect("a seek");
    let expected: Vec<Plain> = found.map(plain).collect();
    assert_same(expected.clone(), model.seek(number, prefix, |_| true));
    let mut scanned = Vec::new();
    let each = |id: FactId, key: &[u8], value: &[u8]| scanned.push((id.get(), key.to_vec(), value.to_vec()));
    snapshot.scan(predicate(number), prefix, each).expect("a scan");
    assert_eq!(scanned, expected);
    let (wanted, mut begun) = (random.below(scanned.len() as u64 + 2) as usize, Vec::new());
    let ended = snapshot.scan_until(predicate(number), prefix, |id, key, value| {
        begun.push((id.get(), key.to_vec(), value.to_vec()));
        if begun.len() == wanted { ControlFlow::Break(id) } else { ControlFlow::Continue(()) }
    });
    let last = wanted.checked_sub(1).and_then(|last| scanned.get(last)).map(|fact| id(fact.0));
    assert_eq!(ended.expect("a scan").break_value(), last);
    assert_eq!(begun, scanned[..if last.is_some() { wanted } else { scanned.len() }]);
    let Some(at) = random.below(expected.len() as u64 + 1).checked_sub(1) else { return };
    let last = id(expected[at as usize].0);
    let found = snapshot.seek_after(predicate(number), prefix, last).expect("a seek");
    assert_eq!(found.map(plain).collect::<Vec<_>>(), expected[at as usize + 1..]);
    let (from, to) = (last.get().saturating_sub(random.below(30)).max(1), last.get() + random.below(30));
    let found = snapshot.seek_within_section(predicate(number), prefix, id(from), id(to)).expect("a seek");
    let expected = expected.into_iter().filter(|(id, ..)| from <= *id && *id < to);
    assert_eq!(found.map(plain).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

/// LMDB has an unspecified but stable order for keys that share their first 487 bytes.
fn assert_same(mut found: Vec<Plain>, mut expected: Vec<Plain>) {
    if crate::BACKEND != Backend::Fulgurite {
        found.sort();
        expected.sort();
    }
    assert_eq!(found, expected);
}

/// The slices of some units and of all but these have exactly the facts that the model says.
fn check_slices(store: &Store, model: &Model, random: &mut Random) {
    let all = store.snapshot().expect("a snapshot").units().expect("sound");
    for _ in 0..all.len() {
        let units = random_units(&all, random);
        let snapshot = store.snapshot().expect("a snapshot");
        let slices = [snapshot.slice_of(&units), snapshot.slice_without(&units)];
        let [with, without] = slices.map(|slice| slice.expect("a slice"));
        let owners = |id: u64| &model.of(id).owners;
        let has = |id: u64, is_with: bool| owners(id).iter().any(|owner| units.contains(owner) == is_with);
        check_slice(store, model, with, |id| owners(id).is_empty() || has(id, true));
        check_slice(store, model, without, |id| owners(id).is_empty() || has(id, false));
    }
}

fn check_slice(store: &Store, model: &Model, slice: Slice, shown: impl Fn(u64) -> bool) {
    let snapshot = store.snapshot().expect("a snapshot").sliced(Arc::new(slice));
    let found = snapshot.enumerate(snapshot.starting_id(), snapshot.first_free_id());
    let ids = model.shown().map(|(id, _)| id).filter(|id| shown(*id));
    assert_eq!(found.map(|fact| plain(fact).0).collect::<Vec<_>>(), ids.collect::<Vec<_>>());
    let found = snapshot.seek(predicate(1), b"a").expect("a seek");
    assert_same(found.map(plain).collect(), model.seek(1, b"a", &shown));
}

/// Fills a batch, and commits it or drops it.
fn write(store: &Store, model: &mut Model, layer: usize, random: &mut Random) {
    let mut batch = store.batch().expect("incomplete");
    let mut after = model.clone();
    for _ in 0..random.below(60) {
        let (number, key, value) = (random.below(3), random_key(random), random.below(4));
        // Most keys have one value always.
        let value = if value == 0 { &b"other"[..] } else { &key[..key.len().min(3)] };
        match (batch.define(predicate(number), &key, value), after.define(number, &key, value, layer)) {
            (Ok(found), Some(expected)) => {
                assert_eq!(found.get(), expected);
                if random.below(3) == 0 {
                    let unit = format!("unit{}", random.below(4));
                    batch.own(&unit, [found]);
                    after.own(&unit, expected, layer);
                }
            }
            (Err(Error::KeyHasOtherValue(_)), None) => {}
            (found, expected) => panic!("{found:?}, and the model says {expected:?}"),
        }
    }
    if random.below(5) > 0 {
        batch.commit(None).expect("a commit");
        *model = after;
    }
}

fn run(seed: u64) {
    let (directory, mut random) = (Directory::new(), Random(seed));
    let mut model = Model::default();
    let mut stack: Vec<Store> = Vec::new();
    for layer in 0..3 {
        let path = directory.path(&format!("{layer}.ful"));
        let units = stack.last().map(|base| base.snapshot().and_then(|base| base.units()).expect("sound"));
        let units = units.unwrap_or_default();
        let hidden = match random.below(4) {
            choice if choice == 0 || units.is_empty() => Vec::new(),
            // All units but some.
            1 => {
                let kept = random_units(&units, &mut random);
                units.into_iter().filter(|unit| !kept.contains(unit)).collect()
            }
            _ => random_units(&units, &mut random),
        };
        model.hide(&hidden);
        let options = || {
            let options = Store::options().backend(crate::backend_of(layer));
            match stack.last() {
                Some(base) => options.base(base),
                None => options,
            }
        };
        let mut store = options().hide_units(hidden).create(&path).expect("a new store");
        for _ in 0..1 + random.below(6) {
            write(&store, &mut model, layer, &mut random);
            match random.below(4) {
                0 => {
                    store.close().expect("it closes");
                    store = options().open(&path).expect("it opens again");
                }
                1 => {
                    drop(store);
                    store = options().open(&path).expect("it opens again");
                }
                _ => {}
            }
            check(&store.snapshot().expect("a snapshot"), &model, &mut random);
        }
        store.complete(references).expect("it is completed");
        model.complete(layer);
        if random.below(2) == 0 {
            drop(store);
            store = options().open(&path).expect("it opens again");
        }
        check(&store.snapshot().expect("a snapshot"), &model, &mut random);
        check_slices(&store, &model, &mut random);
        stack.push(store);
    }
}

#[test]
fn store_agrees_with_the_model() {
    let repeated = std::env::var("FACTS_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seeds = repeated.map_or(1..=12, |seed: u64| seed..=seed);
    for seed in seeds {
        let result = std::panic::catch_unwind(|| run(seed));
        if result.is_err() {
            panic!("repeat with: FACTS_SEED={seed} cargo test -p fulgurite-facts --test facts model");
        }
    }
}
