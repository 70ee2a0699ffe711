//! Copies statements and namespaces into an empty store.

use fulgurite::Isolation;
use fulgurite_rdf::{IdQuad, Quads, Store, TermId, TermKind, Transaction};

use super::statement_sum::{DEFAULT_GRAPH_HASH, StatementSum, term_hash};
use crate::directory::StatementIds;
use crate::error::{Error, Result};
use crate::store::Rdf4jStore;

/// What was copied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copied {
    /// The explicit statements.
    pub explicit: StatementSum,
    /// Those that are only inferred.
    pub inferred: StatementSum,
    /// Statements that another one is equal to, but for the case of language tags.
    pub merged: u64,
}

/// Copies all, in transactions of bounded size. `told` is called with the number of statements after each.
///
/// # Errors
/// Those of the source; [`Error::Store`]; [`Error::Differs`] if the store has a statement already that it cannot have.
pub fn copy(source: &Rdf4jStore, store: &Store, told: &mut dyn FnMut(u64)) -> Result<Copied> {
    let mut copy = Copy {
        source,
        store,
        txn: Some(store.begin_with(Isolation::Snapshot)?),
        terms: (0..TERMS_KEPT).map(|_| None).collect(),
        copied: Copied::default(),
        done: 0,
        told,
    };
    for (prefix, iri) in source.namespaces() {
        copy.txn().set_namespace(prefix, iri)?;
    }
    for statement in source.explicit() {
        copy.explicit(statement?)?;
    }
    for statement in source.inferred() {
        copy.inferred(statement?)?;
    }
    copy.commit()?;
    Ok(copy.copied)
}

struct Copy<'c> {
    source: &'c Rdf4jStore,
    store: &'c Store,
    /// None while there is none between two.
    txn: Option<Transaction>,
    /// Terms that were copied last, each in the slot of its id in the source.
    terms: Box<[Option<Known>]>,
    copied: Copied,
    done: u64,
    told: &'c mut dyn FnMut(u64),
}

/// A term that the store has.
#[derive(Clone, Copy)]
struct Known {
    source: u64,
    id: TermId,
    hash: u128,
}

impl Copy<'_> {
    fn explicit(&mut self, statement: StatementIds) -> Result<()> {
        let (quad, hashes) = self.quad(&statement)?;
        if self.txn().insert_ids(&quad)? {
            self.copied.explicit.add(hashes);
        } else {
            self.merge(&statement, &quad)?;
        }
        self.go_on()
    }

    /// Copies a statement, unless it is explicit too.
    fn inferred(&mut self, statement: StatementIds) -> Result<()> {
        if !self.source.is_explicit(&statement)? {
            let (quad, hashes) = self.quad(&statement)?;
            if self.txn().view().contains(&quad)? {
                self.merge(&statement, &quad)?;
            } else {
                self.txn().insert_inferred_ids(&quad)?;
                self.copied.inferred.add(hashes);
            }
        }
        self.go_on()
    }

    /// Counts a statement whose terms are those of another one. Such terms have other ids in the source, because of
    /// letters of language tags, but must be the same here.
    fn merge(&mut self, statement: &StatementIds, quad: &IdQuad) -> Result<()> {
        let view = self.txn().view();
        let pairs = [
            (statement.subject, quad.subject),
            (statement.predicate, quad.predicate),
            (statement.object, quad.object),
            (statement.context, quad.graph),
        ];
        for (source, id) in pairs.into_iter().filter(|(source, _)| *source != DEFAULT_GRAPH) {
            if view.term(id)? != self.source.term(source)? {
                return Err(Error::Differs { what: format!("the value {source} is another one's in the copy") });
            }
        }
        self.copied.merged += 1;
        Ok(())
    }

    /// Reports a statement, and begins another transaction after many.
    fn go_on(&mut self) -> Result<()> {
        self.done += 1;
        (self.told)(self.done);
        if self.done.is_multiple_of(STATEMENTS_OF_A_TRANSACTION) {
            self.commit()?;
            self.txn = Some(self.store.begin_with(Isolation::Snapshot)?);
        }
        Ok(())
    }

    fn txn(&mut self) -> &mut Transaction {
        self.txn.as_mut().expect("the copy ends when a transaction cannot begin")
    }

    fn commit(&mut self) -> Result<()> {
        match self.txn.take() {
            Some(txn) => Ok(txn.commit().map(drop)?),
            None => Ok(()),
        }
    }

    /// The statement in the store, whose terms get ids if they have none, and the hashes of its terms.
    fn quad(&mut self, statement: &StatementIds) -> Result<(IdQuad, [u128; 4])> {
        let subject = self.term(statement.subject)?;
        let predicate = self.term(statement.predicate)?;
        let object = self.term(statement.object)?;
        let graph = match statement.context {
            DEFAULT_GRAPH => Known { source: DEFAULT_GRAPH, id: TermId::DEFAULT_GRAPH, hash: DEFAULT_GRAPH_HASH },
            context => self.term(context)?,
        };
        let is_resource = |term: &Known| matches!(term.id.kind(), TermKind::Iri | TermKind::BlankNode);
        let is_named = statement.context == DEFAULT_GRAPH || is_resource(&graph);
        if !is_resource(&subject) || predicate.id.kind() != TermKind::Iri || !is_named {
            return Err(self.source.damaged_statement(statement));
        }
        let quad = IdQuad { subject: subject.id, predicate: predicate.id, object: object.id, graph: graph.id };
        Ok((quad, [subject.hash, predicate.hash, object.hash, graph.hash]))
    }

    /// A term of the source, which gets an id in the store.
    fn term(&mut self, source: u64) -> Result<Known> {
        let slot = source as usize % TERMS_KEPT;
        if let Some(known) = self.terms[slot].filter(|known| known.source == source) {
            return Ok(known);
        }
        let term = self.source.term(source)?;
        let id = self.txn().intern(term.as_ref())?;
        let known = Known { source, id, hash: term_hash(term.as_ref()) };
        self.terms[slot] = Some(known);
        Ok(known)
    }
}

/// The context of statements in the default graph.
const DEFAULT_GRAPH: u64 = 0;
const STATEMENTS_OF_A_TRANSACTION: u64 = 100_000;
/// Each takes 48 bytes.
const TERMS_KEPT: usize = 1 << 19;
