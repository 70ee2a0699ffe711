//! [`Sort`]: the best rows of its input, in order.
//!
//! Rows that cannot be among the best are dropped on their way ([`Best`](crate::sparql::evaluation::best_rows::Best));
//! the others are ranked by the same tables as the library's rows, so that the order is the same.

use std::cmp::Ordering;

use super::operator::{Operator, node};
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::evaluation_term::RankBy;
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::sort_tables::ranks_of;
use crate::sparql::evaluation::value::Value;
use crate::sparql::explain::plan_node::PlanNode;
use crate::sparql::operators::context::Context;

/// See the module.
pub struct Sort {
    input: Box<dyn Operator>,
    keys: Vec<SortBy>,
    /// The places that rows keep.
    places: Vec<usize>,
    /// The rows, one after the other.
    kept: Vec<Value>,
    /// So many values are kept before those that cannot be among the best are dropped.
    values_max: usize,
    /// The rows in order, the next one last; `None` before they are sorted.
    sorted: Option<Vec<usize>>,
    rows: u64,
    name: String,
}

/// A key of an `ORDER BY`.
#[derive(Clone, Copy)]
pub struct SortBy {
    /// The key's position among the places that rows keep.
    pub column: usize,
    pub is_descending: bool,
}

impl Sort {
    /// Requires: there is a key, and the first one is that of the evaluation's best rows.
    pub fn new(input: Box<dyn Operator>, keys: Vec<SortBy>, places: Vec<usize>, name: String) -> Self {
        Self { input, keys, places, kept: Vec::new(), values_max: VALUES_FIRST, sorted: None, rows: 0, name }
    }

    fn add(&mut self, row: &[Value], context: &Context<'_>) {
        let first = row[self.places[self.keys[0].column]].id();
        if let (Some(best), Some(first)) = (context.best(), first)
            && !best.offer(first)
        {
            return;
        }
        self.kept.extend(self.places.iter().map(|place| row[*place]));
        if self.kept.len() >= self.values_max {
            self.drop_worse(context);
            self.values_max = (2 * self.kept.len()).max(VALUES_FIRST);
        }
    }

    /// Drops the rows that better ones have come after.
    fn drop_worse(&mut self, context: &Context<'_>) {
        let Some(best) = context.best() else { return };
        let (width, column) = (self.places.len(), self.keys[0].column);
        let mut end = 0;
        for at in (0..self.kept.len()).step_by(width) {
            if self.kept[at + column].id().is_none_or(|first| best.may_have(first)) {
                self.kept.copy_within(at..at + width, end);
                end += width;
            }
        }
        self.kept.truncate(end);
    }

    /// The numbers of the rows, the last one first.
    fn in_order(&self, context: &Context<'_>) -> Result<Vec<usize>, Stopped> {
        let count = self.kept.len() / self.places.len();
        let last = self.keys.len() - 1;
        let mut ranks = Vec::with_capacity(self.keys.len());
        for (number, key) in self.keys.iter().enumerate() {
            let by = if number == last { RankBy::Form } else { RankBy::Value };
            ranks.push((self.ranks(*key, by, context)?, key.is_descending));
        }
        let mut rows: Vec<usize> = (0..count).collect();
        rows.sort_unstable_by(|left, right| {
            interrupt::touch();
            let by_key = |(ranks, is_descending): &(Vec<Option<i64>>, bool)| {
                let order = ranks[*left].cmp(&ranks[*right]);
                if *is_descending { order.reverse() } else { order }
            };
            ranks.iter().map(by_key).find(|order| order.is_ne()).unwrap_or(Ordering::Equal).reverse()
        });
        Ok(rows)
    }

    /// The ranks of the rows by a key; `None` where it is unbound, which comes first.
    fn ranks(&self, key: SortBy, by: RankBy, context: &Context<'_>) -> Result<Vec<Option<i64>>, Stopped> {
        let column = || self.kept.iter().skip(key.column).step_by(self.places.len());
        let bound: Vec<Value> = column().copied().filter(|value| value.is_bound()).collect();
        let mut ranks = ranks_of(&bound, by, context)?.into_iter();
        Ok(column().map(|value| if value.is_bound() { ranks.next() } else { None }).collect())
    }
}

impl Operator for Sort {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        while self.sorted.is_none() {
            match self.input.advance(row, context)? {
                JoinStep::Row => {
                    self.add(row, context);
                    if context.is_spent() {
                        return Ok(JoinStep::Paused);
                    }
                }
                JoinStep::Paused => return Ok(JoinStep::Paused),
                JoinStep::End => {
                    self.drop_worse(context);
                    self.sorted = Some(self.in_order(context)?);
                }
            }
        }
        context.spend(1)?;
        let Some(number) = self.sorted.as_mut().and_then(Vec::pop) else { return Ok(JoinStep::End) };
        let values = &self.kept[number * self.places.len()..];
        self.places.iter().zip(values).for_each(|(place, value)| row[*place] = *value);
        self.rows += 1;
        Ok(JoinStep::Row)
    }

    fn plan(&self) -> PlanNode {
        node(&self.name, self.rows, vec![self.input.plan()])
    }
}

/// Values that are kept before the first time that worse ones are dropped.
const VALUES_FIRST: usize = 4096;
