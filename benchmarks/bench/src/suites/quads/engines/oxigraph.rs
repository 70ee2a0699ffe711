//! Oxigraph on RocksDB.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use fulgurite_rdf::RdfFormat;
use fulgurite_rdf::oxrdf::{GraphNameRef, NamedNode, NamedOrBlankNode, NamedOrBlankNodeRef, Term, TermRef};
use fulgurite_rdf::oxrdfio::RdfParser;
use fulgurite_rivals::Failure;
use fulgurite_rivals::oxigraph::sparql::{QueryResults, SparqlEvaluator};
use fulgurite_rivals::oxigraph::store::Store;

use crate::error::Result;
use crate::suites::quads::engines::engine::{ENGINE_NAMES, Pattern, QuadEngine};

/// As it comes.
pub struct Oxigraph(Store);

fn failed<E: std::error::Error + Send + Sync + 'static>(operation: &'static str) -> impl FnOnce(E) -> Failure {
    move |error| Failure::new(ENGINE_NAMES[3], operation, error)
}

impl QuadEngine for Oxigraph {
    const NAME: &'static str = ENGINE_NAMES[3];

    fn create(directory: &Path) -> Result<Self, Failure> {
        Self::open(directory)
    }

    fn open(directory: &Path) -> Result<Self, Failure> {
        Ok(Self(Store::open(directory).map_err(failed("open"))?))
    }

    fn bulk_load(&self, file: &Path) -> Result<(), Failure> {
        let mut loader = self.0.bulk_loader();
        let parser = RdfParser::from_format(RdfFormat::NTriples);
        loader.parallel_load_from_file(parser, file).map_err(failed("load"))?;
        loader.commit().map_err(failed("commit"))?;
        self.0.flush().map_err(failed("flush"))
    }

    fn load_in_transactions(&self, file: &Path, batch: usize) -> Result<(), Failure> {
        let reader = BufReader::with_capacity(1 << 20, File::open(file).map_err(failed("read"))?);
        let mut quads = RdfParser::from_format(RdfFormat::NTriples).for_reader(reader);
        let mut ended = false;
        while !ended {
            let mut txn = self.0.start_transaction().map_err(failed("begin"))?;
            for _ in 0..batch {
                match quads.next() {
                    Some(quad) => txn.insert(&quad.map_err(failed("parse"))?),
                    None => {
                        ended = true;
                        break;
                    }
                }
            }
            txn.commit().map_err(failed("commit"))?;
        }
        self.0.flush().map_err(failed("flush"))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.0.optimize().map_err(failed("optimize"))
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }

    fn scan_ids(&self) -> Option<Result<(u64, u64), Failure>> {
        None
    }

    fn find(&self, pattern: &Pattern, mut each: impl FnMut([TermRef<'_>; 3])) -> Result<(), Failure> {
        let subject: Option<NamedOrBlankNodeRef<'_>> = match &pattern.subject {
            Some(Term::NamedNode(node)) => Some(node.as_ref().into()),
            Some(Term::BlankNode(node)) => Some(node.as_ref().into()),
            Some(_) => return Ok(()),
            None => None,
        };
        let predicate = pattern.predicate.as_ref().map(NamedNode::as_ref);
        let object = pattern.object.as_ref().map(Term::as_ref);
        for quad in self.0.quads_for_pattern(subject, predicate, object, Some(GraphNameRef::DefaultGraph)) {
            let quad = quad.map_err(failed("read"))?;
            let subject: TermRef<'_> = match &quad.subject {
                NamedOrBlankNode::NamedNode(node) => node.as_ref().into(),
                NamedOrBlankNode::BlankNode(node) => node.as_ref().into(),
            };
            each([subject, quad.predicate.as_ref().into(), quad.object.as_ref()]);
        }
        Ok(())
    }

    fn query(&self, text: &str, mut each: impl FnMut(&[Option<Term>])) -> Result<(), Failure> {
        let prepared = SparqlEvaluator::new().parse_query(text).map_err(failed("parse"))?;
        let results = prepared.on_store(&self.0).execute().map_err(failed("query"))?;
        let QueryResults::Solutions(solutions) = results else {
            unreachable!("every query that is measured is a SELECT");
        };
        for solution in solutions {
            each(solution.map_err(failed("query"))?.values());
        }
        Ok(())
    }
}
