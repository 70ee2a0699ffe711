//! Random changes of a store and of a plain set, compared again and again.

use std::collections::BTreeSet;

use oxrdf::{GraphName, GraphNameRef, Literal, Quad, QuadRef, Term};

use super::{Chance, TestStore, iri, quad};
use crate::{
    GraphPattern, IdPattern, IdQuad, Order, Position, Quads, StatementKinds, Statements, StoreOptions, SweepOptions,
    TermId, Transaction,
};

type Statement = (u8, u8, u8, Option<u8>);

/// What a store is to hold: a statement may be in both.
#[derive(Clone, Default)]
struct Model {
    explicit: BTreeSet<Statement>,
    inferred: BTreeSet<Statement>,
}

impl Model {
    fn of(&self, statements: StatementKinds) -> BTreeSet<Statement> {
        match statements {
            StatementKinds::All => &self.explicit | &self.inferred,
            StatementKinds::Explicit => self.explicit.clone(),
            StatementKinds::Inferred => &self.inferred - &self.explicit,
        }
    }
}

const STATEMENTS: [StatementKinds; 3] = [StatementKinds::All, StatementKinds::Explicit, StatementKinds::Inferred];

type Matches = Box<dyn Fn(&Statement) -> bool>;

impl Chance {
    fn statement(&mut self) -> Statement {
        let graph = self.below(4) as u8;
        let [subject, predicate, object] = [self.below(6), self.below(3), self.below(8)].map(|place| place as u8);
        (subject, predicate, object, graph.checked_sub(1))
    }
}

fn object(number: u8) -> Term {
    match number {
        0..3 => Literal::from(i64::from(number)).into(),
        3..6 => Literal::new_simple_literal(format!("a longer text {number}")).into(),
        _ => iri(&format!("s{number}")).into(),
    }
}

fn quad_of(statement: Statement) -> Quad {
    let (subject, predicate, number, graph) = statement;
    let graph = graph.map_or(GraphName::DefaultGraph, |graph| iri(&format!("g{graph}")).into());
    Quad::new(iri(&format!("s{subject}")), iri(&format!("p{predicate}")), object(number), graph)
}

fn pattern_of(chance: &mut Chance, view: &impl Quads) -> Option<(IdPattern, Matches)> {
    let (subject, predicate, number, graph) = chance.statement();
    let bound = chance.below(8);
    let graphs = chance.below(4);
    let id = |term: Term| view.id(term.as_ref()).expect("it is looked up");
    let mut pattern = IdPattern::ALL;
    if bound & 1 != 0 {
        pattern.subject = Some(id(iri(&format!("s{subject}")).into())?);
    }
    if bound & 2 != 0 {
        pattern.predicate = Some(id(iri(&format!("p{predicate}")).into())?);
    }
    if bound & 4 != 0 {
        pattern.object = Some(id(object(number))?);
    }
    pattern.graph = match (graphs, graph) {
        (0, _) => GraphPattern::Any,
        (1, _) => GraphPattern::AnyNamed,
        (2, _) => GraphPattern::Default,
        (_, None) => GraphPattern::Named(TermId::DEFAULT_GRAPH),
        (_, Some(graph)) => GraphPattern::Named(id(iri(&format!("g{graph}")).into())?),
    };
    let matches = move |statement: &Statement| {
        (bound & 1 == 0 || statement.0 == subject)
            && (bound & 2 == 0 || statement.1 == predicate)
            && (bound & 4 == 0 || statement.2 == number)
            && match graphs {
                0 => true,
                1 => statement.3.is_some(),
                2 => statement.3.is_none(),
                _ => statement.3 == graph,
            }
    };
    Some((pattern, Box::new(matches)))
}

/// Compares what a pattern gives: quads, order, counts.
fn compare(chance: &mut Chance, view: &impl Quads, model: &BTreeSet<Statement>) {
    let Some((pattern, matches)) = pattern_of(chance, view) else { return };
    let id = |term: &Term| view.id(term.as_ref()).expect("it is looked up").expect("the term is there");
    let mut expected: Vec<_> = model
        .iter()
        .filter(|statement| matches(statement))
        .map(|&statement| {
            let quad = quad_of(statement);
            let graph = match quad.graph_name {
                GraphName::NamedNode(node) => id(&node.into()),
                _ => TermId::DEFAULT_GRAPH,
            };
            (id(&quad.subject.into()), id(&quad.predicate.into()), id(&quad.object), graph)
        })
        .collect();
    expected.sort();
    let quads = view.quads(&pattern);
    let order = quads.order();
    let found: Vec<_> = quads.map(|quad| quad.expect("it is read")).collect();
    assert!(found.iter().all(|quad| pattern.matches(quad)));
    if pattern.graph != GraphPattern::Any {
        assert!(found.is_sorted_by_key(|quad| order.iter().map(|&place| quad.at(place)).collect::<Vec<_>>()));
    }
    let mut plain: Vec<_> = found.iter().map(|quad| (quad.subject, quad.predicate, quad.object, quad.graph)).collect();
    plain.sort();
    assert_eq!(plain, expected);
    assert_eq!(view.count(&pattern).expect("it is counted"), expected.len() as u64);
    compare_ways_of_reading(chance, view, &pattern, &found);
    if let Some(first) = found.first() {
        assert!(view.contains(first).expect("it is looked up"));
    }
    for position in [Position::Subject, Position::Predicate, Position::Object] {
        let Some(mut sorted) = view.quads_sorted_by(&pattern, position) else { continue };
        if pattern.graph == GraphPattern::Any {
            assert_eq!(sorted.count(), expected.len());
            continue;
        }
        let target = found.get(chance.below(found.len() as u64 + 1) as usize).map(|quad| quad.at(position));
        let passed = chance.below(4);
        let begun: Vec<_> = sorted.by_ref().take(passed as usize).map(|quad| quad.expect("it is read")).collect();
        target.into_iter().for_each(|target| sorted.skip_to(target));
        let rest: Vec<_> = sorted.map(|quad| quad.expect("it is read").at(position)).collect();
        assert!(rest.is_sorted());
        let least = target.into_iter().chain(begun.last().map(|quad| quad.at(position))).max();
        assert!(rest.iter().all(|&id| least.is_none_or(|least| id >= least)));
        let begun_past = begun.iter().filter(|quad| target.is_none_or(|target| quad.at(position) >= target)).count();
        let left = found.iter().filter(|quad| target.is_none_or(|target| quad.at(position) >= target)).count();
        assert_eq!(rest.len(), left - begun_past);
    }
}

/// Batches, folds and statements give what the iterator of numbers gives, also where they begin in the middle.
fn compare_ways_of_reading(chance: &mut Chance, view: &impl Quads, pattern: &IdPattern, found: &[IdQuad]) {
    let begun = chance.below(found.len() as u64 + 1) as usize;
    let begin = || {
        let mut quads = view.quads(pattern);
        assert_eq!(quads.by_ref().take(begun).count(), begun);
        quads
    };
    let folded = begin().fold(Vec::new(), |mut folded, quad| {
        folded.push(quad.expect("it is read"));
        folded
    });
    assert_eq!(folded, found[begun..]);
    let (mut quads, mut batched) = (begin(), Vec::new());
    while let Some(batch) = quads.next_batch() {
        let batch = batch.expect("it is read");
        assert!(!batch.is_empty());
        batched.extend_from_slice(batch);
    }
    assert_eq!(batched, found[begun..]);
    let term = |id| view.term(id).expect("it has a term");
    let texts = found.iter().map(|quad| [quad.subject, quad.predicate, quad.object].map(|id| term(id).to_string()));
    let graphs = found.iter().map(|quad| (quad.graph != TermId::DEFAULT_GRAPH).then(|| term(quad.graph)));
    let expected: Vec<_> = texts.zip(graphs).skip(begun).collect();
    let plain = |quad: QuadRef<'_>| {
        let graph = (!quad.graph_name.is_default_graph()).then(|| match quad.graph_name {
            GraphNameRef::NamedNode(node) => node.into_owned().into(),
            other => panic!("{other} is not a graph of the model"),
        });
        ([quad.subject.to_string(), quad.predicate.to_string(), quad.object.to_string()], graph)
    };
    let owned: Vec<_> = Statements::from(begin()).map(|quad| plain(quad.expect("it is read").as_ref())).collect();
    assert_eq!(owned, expected);
    let (mut statements, mut lent) = (Statements::from(begin()), Vec::new());
    while let Some(batch) = statements.next_batch() {
        let batch = batch.expect("it is read");
        assert_eq!(batch.len(), batch.iter().len());
        lent.extend(batch.into_iter().map(plain));
    }
    assert_eq!(lent, expected);
}

/// One change of the transaction and the model. It may be rolled back to where it was before.
fn change(chance: &mut Chance, txn: &mut Transaction, model: &mut Model, infers: bool) {
    let (before, savepoint) = (model.clone(), txn.savepoint());
    match chance.below(40) {
        number if infers && number % 3 == 2 => change_inferred(chance, txn, &mut model.inferred),
        0 => {
            let view = txn.view();
            if let Some((pattern, matches)) = pattern_of(chance, &view) {
                let removed = txn.remove_matching(&pattern).expect("they are removed");
                model.explicit.retain(|statement| !matches(statement));
                assert_eq!(removed as usize, before.explicit.len() - model.explicit.len());
            }
        }
        1 => {
            let graph = chance.statement().3;
            let name = graph.map_or(GraphName::DefaultGraph, |graph| iri(&format!("g{graph}")).into());
            txn.drop_graph(name.as_ref()).expect("it is dropped");
            model.explicit.retain(|statement| statement.3 != graph);
            model.inferred.retain(|statement| statement.3 != graph);
        }
        2..14 => {
            let statement = chance.statement();
            let removed = txn.remove(&quad_of(statement)).expect("it is removed");
            assert_eq!(removed, model.explicit.remove(&statement));
        }
        _ => {
            let statement = chance.statement();
            let inserted = txn.insert(&quad_of(statement)).expect("it is inserted");
            assert_eq!(inserted, model.explicit.insert(statement));
        }
    }
    if chance.below(10) == 0 {
        txn.rollback_to(savepoint).expect("it is rolled back");
        *model = before;
    }
}

/// One change of what is inferred.
fn change_inferred(chance: &mut Chance, txn: &mut Transaction, inferred: &mut BTreeSet<Statement>) {
    match chance.below(12) {
        0 => {
            let view = txn.view();
            let everything = chance.below(3) == 0;
            let pattern = if everything { None } else { pattern_of(chance, &view) };
            let (pattern, matches) = pattern.unwrap_or((IdPattern::ALL, Box::new(|_| true)));
            let (cleared, before) = (txn.clear_inferred(&pattern).expect("they are cleared"), inferred.len());
            inferred.retain(|statement| !matches(statement));
            assert_eq!(cleared as usize, before - inferred.len());
        }
        1..5 => {
            let statement = chance.statement();
            let removed = txn.remove_inferred(&quad_of(statement)).expect("it is removed");
            assert_eq!(removed, inferred.remove(&statement));
        }
        _ => {
            let statement = chance.statement();
            let inserted = txn.insert_inferred(&quad_of(statement)).expect("it is inserted");
            assert_eq!(inserted, inferred.insert(statement));
        }
    }
}

fn run(seed: u64, options: StoreOptions, infers: bool) {
    println!("seed {seed}");
    let chance = &mut Chance::new(seed);
    let mut place = TestStore::new(options);
    let mut model = Model::default();
    for _ in 0..40 {
        let mut changed = model.clone();
        let mut txn = place.store.begin().expect("a transaction");
        for _ in 0..chance.below(40) {
            change(chance, &mut txn, &mut changed, infers);
            let statements = STATEMENTS[chance.below(3) as usize];
            compare(chance, &txn.view().of_kinds(statements), &changed.of(statements));
        }
        match chance.below(4) {
            0 => drop(txn),
            _ => {
                txn.commit().expect("it is committed");
                model = changed;
            }
        }
        if chance.below(6) == 0 {
            place = place.reopen();
        }
        if chance.below(4) == 0 {
            let before = place.store.snapshot().expect("a snapshot");
            place.store.sweep(&SweepOptions::new()).expect("it is swept");
            assert_eq!(place.store.unused_terms().expect("they are counted"), 0);
            compare(chance, &before, &model.of(StatementKinds::All));
        }
        let snapshot = place.store.snapshot().expect("a snapshot");
        for statements in STATEMENTS {
            let (view, expected) = (snapshot.of_kinds(statements), model.of(statements));
            (0..7).for_each(|_| compare(chance, &view, &expected));
        }
    }
    let check = place.store.check().expect("it is checked");
    assert!(check.is_sound(), "{check:?}");
    let expected = [StatementKinds::All, StatementKinds::Inferred].map(|statements| model.of(statements).len() as u64);
    assert_eq!([check.quads, check.inferred], expected);
    let has_tables = place.store.stats().expect("statistics").tables.iter().any(|(name, _)| name == "inferred_spo");
    assert!(infers || !has_tables, "who infers nothing has no tables for that");
}

#[test]
fn a_store_holds_what_a_plain_set_holds_after_any_changes() {
    for seed in 0..6 {
        run(seed, StoreOptions::new(), false);
    }
}

#[test]
fn a_store_keeps_explicit_and_inferred_quads_apart_as_two_plain_sets_do() {
    for seed in 200..206 {
        run(seed, StoreOptions::new(), true);
    }
}

#[test]
fn a_store_with_few_orders_or_all_of_them_answers_the_same() {
    let orders = |names: &str| StoreOptions::new().orders(names.split(' ').filter_map(Order::parse));
    run(100, orders("spo gspo"), true);
    run(101, orders("osp posg"), false);
    run(102, orders("spo sop pso pos osp ops gspo gsop gpso gpos gosp gops spgo sogp psog pogs ospg opgs"), true);
}

#[test]
fn an_index_that_sorts_but_does_not_begin_with_the_pattern_is_told() {
    let few = ["spo", "pso", "osp", "gspo"].into_iter().filter_map(Order::parse);
    for (options, goes_over_others) in [(StoreOptions::new(), false), (StoreOptions::new().orders(few), true)] {
        let place = TestStore::new(options);
        place.store.update(|txn| txn.insert(&quad("a", "p", iri("b"), None))).expect("it is committed");
        let snapshot = place.store.snapshot().expect("a snapshot");
        let predicate = snapshot.id(iri("p").as_ref().into()).expect("it is looked up");
        let pattern = IdPattern { predicate, ..IdPattern::of_graph(TermId::DEFAULT_GRAPH) };
        let sorted = snapshot.quads_sorted_by(&pattern, Position::Object).expect("there is an index");
        assert_eq!(sorted.goes_over_others(), goes_over_others);
        assert_eq!(sorted.count(), 1);
    }
}
