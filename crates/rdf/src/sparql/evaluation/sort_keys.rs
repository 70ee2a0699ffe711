//! Keys of rows that are to be sorted: the evaluator compares their ranks in the total order, and so nothing but
//! integers.
//!
//! Each key of an `ORDER BY` has a table, by its slot. While the evaluator collects rows, each row's term is added;
//! when it compares the first two, the table is sealed: every term gets a rank by value, and one by value and form,
//! which the last key of an `ORDER BY` uses. The next evaluation of the same `ORDER BY` begins the table anew: by then
//! the one before has sorted its rows, since the evaluator sorts as soon as it has collected.
//!
//! Invariants: (1) ranks compare as the [order](crate::sparql::expressions::order) of the terms does. (2) Terms are
//! read, and reading may fail, before sorting: the comparisons of a sort cannot fail.

use std::cell::{Cell, RefCell};

use super::interrupt;
use super::limits::Stopped;
use super::terms::{EvaluationTerm, Terms};
use crate::Quads;
use crate::TermId;
use crate::sparql::evaluation::best_rows;
use crate::sparql::expressions::order::{Key, compare_forms};

/// A row's place in the table of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SortKey {
    place: u32,
    slot: Slot,
}

/// The table of a key, and by what its terms are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub number: u32,
    pub by: RankBy,
}

/// By what a term is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RankBy {
    /// Equal values have one rank.
    Value,
    /// Of equal values the forms decide.
    Form,
}

/// The tables of one evaluation.
#[derive(Default)]
pub(crate) struct SortTables {
    tables: RefCell<Vec<Table>>,
    /// What was added last, and is not yet in its row.
    added: Cell<Option<SortKey>>,
}

#[derive(Default)]
struct Table {
    terms: Vec<Packed>,
    ranks: Option<Ranks>,
}

/// A term in eight bytes: the bits of its number, or its place among computed terms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Packed(u64);

/// A tag that no number has.
const COMPUTED: u64 = 0xff << 56;

impl Packed {
    fn of(term: EvaluationTerm) -> Option<Self> {
        match term {
            EvaluationTerm::Stored(id) => Some(Self(id.to_bits())),
            EvaluationTerm::Computed(place) => Some(Self(COMPUTED | u64::from(place))),
            EvaluationTerm::Form(_) | EvaluationTerm::SortKey(_) => None,
        }
    }

    fn id(self) -> Option<TermId> {
        TermId::from_bits(self.0)
    }

    fn term(self) -> EvaluationTerm {
        self.id().map_or(EvaluationTerm::Computed(self.0 as u32), EvaluationTerm::Stored)
    }
}

enum Ranks {
    /// Numbers of terms order as the terms do.
    Ids,
    /// By place: the rank by value, and that by form.
    Listed(Vec<(u32, u32)>),
}

impl SortTables {
    /// Adds the term of a row. What the row holds of it is then to be [taken](Self::take_added). `None`: the table is
    /// full.
    pub(crate) fn add(&self, slot: Slot, term: EvaluationTerm) -> Option<()> {
        let mut tables = self.tables.borrow_mut();
        let index = slot.number as usize;
        if tables.len() <= index {
            tables.resize_with(index + 1, Table::default);
        }
        let table = &mut tables[index];
        if table.ranks.take().is_some() {
            table.terms.clear();
        }
        let place = u32::try_from(table.terms.len()).ok()?;
        table.terms.push(Packed::of(term)?);
        self.added.set(Some(SortKey { place, slot }));
        Some(())
    }

    pub(crate) fn take_added(&self) -> Option<SortKey> {
        self.added.take()
    }

    /// The rank of a row's term among those of its table.
    pub(crate) fn rank<Q: Quads>(&self, key: SortKey, terms: &Terms<Q>) -> Result<i64, Stopped> {
        let slot = key.slot.number as usize;
        let is_sealed = self.tables.borrow()[slot].ranks.is_some();
        if !is_sealed {
            let added = std::mem::take(&mut self.tables.borrow_mut()[slot].terms);
            let ranks = Ranks::of(&added, terms)?;
            let table = &mut self.tables.borrow_mut()[slot];
            // Ranks that are listed stand for the terms.
            table.terms = if matches!(ranks, Ranks::Ids) { added } else { Vec::new() };
            table.ranks = Some(ranks);
        }
        let table = &self.tables.borrow()[slot];
        let place = key.place as usize;
        Ok(match (&table.ranks, key.slot.by) {
            (Some(Ranks::Listed(ranks)), RankBy::Value) => ranks[place].0.into(),
            (Some(Ranks::Listed(ranks)), RankBy::Form) => ranks[place].1.into(),
            (_, RankBy::Value) => {
                table.terms[place].id().and_then(best_rows::order).map_or(0, |(_, order)| signed(order))
            }
            (_, RankBy::Form) => signed(table.terms[place].0),
        })
    }
}

/// The number, moved so that it orders with a sign as it did without.
fn signed(order: u64) -> i64 {
    (order ^ 1 << 63) as i64
}

/// Terms of one of these classes order as their numbers do, forms of equal values too.
fn id_class(term: Packed) -> Option<(best_rows::Class, u64)> {
    let id = term.id()?;
    Some((best_rows::order(id)?.0, best_rows::form(id)))
}

impl Ranks {
    fn of<Q: Quads>(added: &[Packed], terms: &Terms<Q>) -> Result<Self, Stopped> {
        let class = added.first().and_then(|first| id_class(*first));
        if class.is_some() && added.iter().all(|term| id_class(*term) == class) {
            return Ok(Self::Ids);
        }
        let mut distinct = added.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let ranks = ranks_of_distinct(&distinct, terms)?;
        let rank = |term: &Packed| {
            interrupt::touch();
            ranks[distinct.binary_search(term).expect("each term is among the distinct ones")]
        };
        Ok(Self::Listed(added.iter().map(rank).collect()))
    }
}

/// The ranks of each of the terms.
fn ranks_of_distinct<Q: Quads>(distinct: &[Packed], terms: &Terms<Q>) -> Result<Vec<(u32, u32)>, Stopped> {
    let mut keyed = Vec::with_capacity(distinct.len());
    for (place, term) in distinct.iter().enumerate() {
        interrupt::touch();
        keyed.push((terms.order_key(term.term())?, place));
    }
    keyed.sort_unstable_by(|(left, _), (right, _)| {
        interrupt::touch();
        left.compare_values(right)
    });
    let mut ranks = vec![(0, 0); distinct.len()];
    let (mut by_value, mut by_form) = (0, 0);
    for equal in keyed.chunk_by(|(left, _), (right, _)| left.compare_values(right).is_eq()) {
        for place in by_forms(equal, distinct, terms)? {
            ranks[place] = (by_value, by_form);
            by_form += 1;
        }
        by_value += 1;
    }
    Ok(ranks)
}

/// The places of terms that have one value, in the order of their forms.
fn by_forms<Q: Quads>(equal: &[(Key, usize)], distinct: &[Packed], terms: &Terms<Q>) -> Result<Vec<usize>, Stopped> {
    if let [(_, place)] = equal {
        return Ok(vec![*place]);
    }
    let mut forms = Vec::with_capacity(equal.len());
    for (_, place) in equal {
        forms.push((terms.externalize(distinct[*place].term())?, *place));
    }
    forms.sort_unstable_by(|(left, _), (right, _)| compare_forms(left, right));
    Ok(forms.into_iter().map(|(_, place)| place).collect())
}
