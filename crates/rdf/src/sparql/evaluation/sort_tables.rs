//! The ranks by which rows are sorted: the evaluator compares integers instead of terms.
//!
//! Each key of an `ORDER BY` has a table, by its slot. While the evaluator collects rows, the term of each row is added
//! to the table. When the evaluator compares the first two rows, the table is sealed: every term gets a rank by value,
//! and a rank by value and form, which the last key of an `ORDER BY` uses. The next evaluation of the same `ORDER BY`
//! starts the table again. By then the one before has sorted its rows, because the evaluator sorts right after it has
//! collected.
//!
//! Invariants: (1) Ranks compare as the terms do in the [order](crate::sparql::expressions::order). (2) Terms are read,
//! which may fail, before sorting: the comparisons of a sort cannot fail.

use std::cell::{Cell, RefCell};

use oxrdf::Term;

use crate::sparql::evaluation::evaluation_term::{EvaluationTerm, RankBy, Slot, SortKey};
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::expressions::order::{Key, compare_forms, id_order};

/// The values of an evaluation's terms.
pub(crate) trait TermValues {
    /// The term itself.
    fn externalize(&self, term: EvaluationTerm) -> Result<Term, Stopped>;

    /// The place of a term in the total order.
    fn order_key(&self, term: EvaluationTerm) -> Result<Key, Stopped> {
        if let EvaluationTerm::Stored(id) = term
            && let Some(key) = Key::of_id(id)
        {
            return Ok(key);
        }
        Ok(Key::of(self.externalize(term)?.as_ref()))
    }
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
    terms: Vec<Value>,
    ranks: Option<Ranks>,
}

fn term_of(value: Value) -> EvaluationTerm {
    value.term().expect("what is sorted is a term")
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
        table.terms.push(Value::of(term)?);
        self.added.set(Some(SortKey { place, slot }));
        Some(())
    }

    pub(crate) fn take_added(&self) -> Option<SortKey> {
        self.added.take()
    }

    /// The rank of a row's term among those of its table.
    pub(crate) fn rank(&self, key: SortKey, terms: &impl TermValues) -> Result<i64, Stopped> {
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
        let ranks = table.ranks.as_ref().expect("the table was sealed above");
        Ok(ranks.rank(&table.terms, key.place as usize, key.slot.by))
    }
}

/// The ranks of the terms of one key of an `ORDER BY`, in the order of the rows. Requires: each row has a term.
pub(crate) fn ranks_of(column: &[Value], by: RankBy, terms: &impl TermValues) -> Result<Vec<i64>, Stopped> {
    let ranks = Ranks::of(column, terms)?;
    Ok((0..column.len()).map(|place| ranks.rank(column, place, by)).collect())
}

/// The number, moved so that it orders with a sign as it did without.
fn signed(order: u64) -> i64 {
    (order ^ 1 << 63) as i64
}

/// Terms of one of these classes order as their numbers do, forms of equal values too.
fn id_class(term: Value) -> Option<(id_order::Class, u64)> {
    let id = term.id()?;
    Some((id_order::order(id)?.0, id_order::form(id)))
}

impl Ranks {
    /// The rank of a row. `terms` are those of all rows; ranks that are listed do not need them.
    fn rank(&self, terms: &[Value], place: usize, by: RankBy) -> i64 {
        match (self, by) {
            (Self::Listed(ranks), RankBy::Value) => ranks[place].0.into(),
            (Self::Listed(ranks), RankBy::Form) => ranks[place].1.into(),
            (Self::Ids, RankBy::Value) => {
                terms[place].id().and_then(id_order::order).map_or(0, |(_, order)| signed(order))
            }
            (Self::Ids, RankBy::Form) => signed(terms[place].to_bits()),
        }
    }

    fn of(added: &[Value], terms: &impl TermValues) -> Result<Self, Stopped> {
        let class = added.first().and_then(|first| id_class(*first));
        if class.is_some() && added.iter().all(|term| id_class(*term) == class) {
            return Ok(Self::Ids);
        }
        let mut distinct = added.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let ranks = ranks_of_distinct(&distinct, terms)?;
        let rank = |term: &Value| {
            interrupt::touch();
            ranks[distinct.binary_search(term).expect("each term is among the distinct ones")]
        };
        Ok(Self::Listed(added.iter().map(rank).collect()))
    }
}

/// The ranks of each of the terms.
fn ranks_of_distinct(distinct: &[Value], terms: &impl TermValues) -> Result<Vec<(u32, u32)>, Stopped> {
    let mut keyed = Vec::with_capacity(distinct.len());
    for (place, term) in distinct.iter().enumerate() {
        interrupt::touch();
        keyed.push((terms.order_key(term_of(*term))?, place));
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
fn by_forms(equal: &[(Key, usize)], distinct: &[Value], terms: &impl TermValues) -> Result<Vec<usize>, Stopped> {
    if let [(_, place)] = equal {
        return Ok(vec![*place]);
    }
    let mut forms = Vec::with_capacity(equal.len());
    for (_, place) in equal {
        forms.push((terms.externalize(term_of(distinct[*place]))?, *place));
    }
    forms.sort_unstable_by(|(left, _), (right, _)| compare_forms(left, right));
    Ok(forms.into_iter().map(|(_, place)| place).collect())
}
