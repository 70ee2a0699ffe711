//! Fulgurite's store of quads, through its public interface alone.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use fulgurite_rdf::oxrdf::{GraphName, GraphNameRef, NamedNode, Quad, Term, TermRef};
use fulgurite_rdf::oxrdfio::RdfParser;
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{
    Error, IdPattern, IdQuad, LoadInput, LoadOptions, Order, Quads, RdfFormat, Store, StoreOptions, TermId,
};
use fulgurite_rivals::Failure;

use crate::error::Result;
use crate::suites::quads::engines::engine::{ENGINE_NAMES, Pattern, QuadEngine};

/// With the six orders of subject, predicate and object, as LmdbStore is measured.
pub struct SixOrders(Store);

/// As it comes.
pub struct DefaultOrders(Store);

/// For the default graph and for named ones; all quads measured are in the default graph.
const SIX_ORDERS: [&str; 12] =
    ["spo", "sop", "pso", "pos", "osp", "ops", "spog", "sopg", "psog", "posg", "ospg", "opsg"];

macro_rules! engine {
    ($type:ident, $name:expr, $options:expr) => {
        impl QuadEngine for $type {
            const NAME: &'static str = $name;

            fn create(directory: &Path) -> Result<Self, Failure> {
                Ok(Self(Store::create(directory.join(FILE), $options).map_err(failed("create"))?))
            }

            fn open(directory: &Path) -> Result<Self, Failure> {
                Ok(Self(Store::open(directory.join(FILE)).map_err(failed("open"))?))
            }

            fn bulk_load(&self, file: &Path) -> Result<(), Failure> {
                self.0.load(vec![LoadInput::file(file)], &LoadOptions::new()).map(drop).map_err(failed("load"))
            }

            fn load_in_transactions(&self, file: &Path, batch: usize) -> Result<(), Failure> {
                load_in_transactions(&self.0, file, batch)
            }

            fn settle(&self) -> Result<(), Failure> {
                Ok(())
            }

            fn close(self) -> Result<(), Failure> {
                self.0.close().map_err(failed("close"))
            }

            fn scan_ids(&self) -> Option<Result<(u64, u64), Failure>> {
                Some(scan_ids(&self.0).map_err(failed("scan")))
            }

            fn find(&self, pattern: &Pattern, each: impl FnMut([TermRef<'_>; 3])) -> Result<(), Failure> {
                find(&self.0, pattern, each).map_err(failed("read"))
            }

            fn query(&self, text: &str, each: impl FnMut(&[Option<Term>])) -> Result<(), Failure> {
                query(&self.0, text, each).map_err(failed("query"))
            }
        }
    };
}

engine!(SixOrders, ENGINE_NAMES[0], StoreOptions::new().orders(SIX_ORDERS.into_iter().filter_map(Order::parse)));
engine!(DefaultOrders, ENGINE_NAMES[1], StoreOptions::new());

/// The store's file in its directory.
const FILE: &str = "quads.ful";

fn failed(operation: &'static str) -> impl FnOnce(Error) -> Failure {
    move |error| Failure::new(ENGINE_NAMES[0], operation, error)
}

fn load_in_transactions(store: &Store, file: &Path, batch: usize) -> Result<(), Failure> {
    let other = |error: std::io::Error| Failure::new(ENGINE_NAMES[0], "read", error);
    let reader = BufReader::with_capacity(1 << 20, File::open(file).map_err(other)?);
    let mut quads = RdfParser::from_format(RdfFormat::NTriples).for_reader(reader);
    let mut ended = false;
    while !ended {
        let mut txn = store.begin().map_err(failed("begin"))?;
        for _ in 0..batch {
            let Some(quad) = quads.next() else {
                ended = true;
                break;
            };
            let quad: Quad = quad.map_err(|error| Failure::new(ENGINE_NAMES[0], "parse", error))?;
            debug_assert!(quad.graph_name == GraphName::DefaultGraph);
            txn.insert(&quad).map_err(failed("insert"))?;
        }
        txn.commit().map_err(failed("commit"))?;
    }
    Ok(())
}

fn scan_ids(store: &Store) -> fulgurite_rdf::Result<(u64, u64)> {
    let (mut count, mut sum) = (0, 0u64);
    let mut quads = store.snapshot()?.quads(&IdPattern::of_graph(TermId::DEFAULT_GRAPH));
    while let Some(batch) = quads.next_batch() {
        let batch = batch?;
        count += batch.len() as u64;
        let bits = |quad: &IdQuad| quad.subject.to_bits() ^ quad.predicate.to_bits() ^ quad.object.to_bits();
        sum = batch.iter().fold(sum, |sum, quad| sum.wrapping_add(bits(quad)));
    }
    Ok((count, sum))
}

fn find(store: &Store, pattern: &Pattern, mut each: impl FnMut([TermRef<'_>; 3])) -> fulgurite_rdf::Result<()> {
    let snapshot = store.snapshot()?;
    let subject = pattern.subject.as_ref().and_then(|subject| match subject {
        Term::NamedNode(node) => Some(node.as_ref().into()),
        Term::BlankNode(node) => Some(node.as_ref().into()),
        Term::Literal(_) | Term::Triple(_) => None,
    });
    let predicate = pattern.predicate.as_ref().map(NamedNode::as_ref);
    let object = pattern.object.as_ref().map(Term::as_ref);
    let mut statements = snapshot.matching(subject, predicate, object, Some(GraphNameRef::DefaultGraph))?;
    while let Some(batch) = statements.next_batch() {
        for statement in batch? {
            each([statement.subject.into(), statement.predicate.into(), statement.object]);
        }
    }
    Ok(())
}

fn query(store: &Store, text: &str, mut each: impl FnMut(&[Option<Term>])) -> fulgurite_rdf::Result<()> {
    let results = Query::parse(text, None)?.evaluate(&store.snapshot()?)?;
    let QueryResults::Solutions(solutions) = results else {
        unreachable!("every query that is measured is a SELECT");
    };
    for solution in solutions {
        each(solution?.values());
    }
    Ok(())
}
