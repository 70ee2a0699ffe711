//! [`Context`]: what operators read terms by, and what ends them.

use oxrdf::{Term, TermRef};

use crate::error::Result;
use crate::meter;
use crate::quads::joined::{JoinStep, Joined};
use crate::sparql::evaluation::best_rows::Best;
use crate::sparql::evaluation::evaluation_term::EvaluationTerm;
use crate::sparql::evaluation::known_terms::KnownTerms;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::sparql::evaluation::sort_tables::TermValues;
use crate::sparql::evaluation::value::Value;
use crate::{Quads, TermId};

/// Keys of indexes, and rows, between two looks at the limits: some microseconds.
const KEYS_PER_LOOK: usize = 256;

/// Where terms are read.
pub(crate) trait TermStore {
    /// As [`Quads::term`].
    fn read_term(&self, id: TermId) -> Result<Term>;

    /// As [`Quads::id`].
    fn find_id(&self, term: TermRef<'_>) -> Result<Option<TermId>>;
}

impl<Q: Quads> TermStore for Q {
    fn read_term(&self, id: TermId) -> Result<Term> {
        self.term(id)
    }

    fn find_id(&self, term: TermRef<'_>) -> Result<Option<TermId>> {
        self.id(term)
    }
}

/// What an evaluation keeps beside its operators.
pub(crate) struct Kept {
    known: KnownTerms,
    /// The best rows of a result that is sorted and cut off.
    pub(super) best: Option<Best>,
}

impl Kept {
    pub(super) fn new(watch: &EvaluationMonitor) -> Self {
        Self { known: KnownTerms::new(watch), best: None }
    }

    /// The computed term at a place.
    pub(crate) fn computed(&self, place: u32) -> Term {
        self.known.computed(place)
    }
}

/// What is lent to operators for a call.
pub(crate) struct Context<'c> {
    watch: &'c EvaluationMonitor,
    store: &'c dyn TermStore,
    kept: &'c Kept,
    /// Keys that operators may look at before they return.
    pub(super) keys_left: usize,
    keys_until_look: usize,
}

impl<'c> Context<'c> {
    pub(super) fn new(
        watch: &'c EvaluationMonitor,
        store: &'c dyn TermStore,
        kept: &'c Kept,
        keys_left: usize,
    ) -> Self {
        Self { watch, store, kept, keys_left, keys_until_look: KEYS_PER_LOOK }
    }

    pub(super) fn watch(&self) -> &'c EvaluationMonitor {
        self.watch
    }

    pub(super) fn best(&self) -> Option<&'c Best> {
        self.kept.best.as_ref()
    }

    /// Whether operators are to return without a row.
    pub(super) fn is_spent(&self) -> bool {
        self.keys_left == 0
    }

    /// So many keys or rows were looked at.
    pub(super) fn spend(&mut self, keys: usize) -> Result<(), Stopped> {
        self.keys_left = self.keys_left.saturating_sub(keys);
        if keys < self.keys_until_look {
            self.keys_until_look -= keys;
            return Ok(());
        }
        self.keys_until_look = KEYS_PER_LOOK;
        self.watch.step()?;
        self.watch.look()
    }

    /// The next row of a join.
    pub(super) fn advance(&mut self, joined: &mut Joined) -> Result<JoinStep, Stopped> {
        loop {
            let may = self.keys_left.min(KEYS_PER_LOOK);
            let mut left = may;
            let step = joined.advance(&mut left);
            let quads = joined.take_quads_read();
            let step = self.watch.keep(step)?;
            self.watch.count_quads(quads)?;
            self.spend(may - left)?;
            if step != JoinStep::Paused || self.is_spent() {
                return Ok(step);
            }
        }
    }

    /// The term of a value; `None` if there is no value.
    pub(super) fn term(&self, value: Value) -> Result<Option<Term>, Stopped> {
        value.term().map(|term| self.externalize(term)).transpose()
    }

    /// The value of a term.
    pub(super) fn value_of(&self, term: Term) -> Result<Value, Stopped> {
        let id = match TermId::of_inline(term.as_ref()) {
            Some(id) => Some(id),
            None => self.watch.keep(meter::uncounted(|| self.store.find_id(term.as_ref())))?,
        };
        match id {
            Some(id) => Ok(Value::stored(id)),
            None => self.kept.known.place(term, self.watch).map(Value::computed),
        }
    }
}

impl TermValues for Context<'_> {
    /// Requires: it is a stored or a computed term.
    fn externalize(&self, term: EvaluationTerm) -> Result<Term, Stopped> {
        match term {
            EvaluationTerm::Stored(id) => self.kept.known.stored(id, self.watch, |id| self.store.read_term(id)),
            EvaluationTerm::Computed(place) => Ok(self.kept.computed(place)),
            EvaluationTerm::Form(_) | EvaluationTerm::SortKey(_) => unreachable!("rows of ids have no such terms"),
        }
    }
}
