//! [`Group`]: groups of rows, with their aggregates.

use super::aggregate::{Aggregate, GroupValue};
use super::operator::{Operator, node};
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::explain::plan_node::PlanNode;
use crate::sparql::operators::context::Context;
use crate::sparql::operators::row_table::RowTable;

/// See the module. Without keys there is one group, even without rows.
pub struct Group {
    input: Box<dyn Operator>,
    /// The places of the keys.
    keys: Vec<usize>,
    aggregates: Vec<Aggregate>,
    groups: RowTable,
    /// Those of a group follow each other, in the order of the groups.
    values: Vec<GroupValue>,
    /// For each aggregate of distinct values: group and value.
    seen: Vec<Option<RowTable>>,
    key: Vec<Value>,
    /// The next group to return; `None` before all rows are grouped.
    next: Option<usize>,
    name: String,
}

impl Group {
    pub fn new(input: Box<dyn Operator>, keys: Vec<usize>, aggregates: Vec<Aggregate>, name: String) -> Self {
        let seen = aggregates.iter().map(|aggregate| aggregate.is_distinct.then(|| RowTable::new(2))).collect();
        Self {
            input,
            groups: RowTable::new(keys.len()),
            key: vec![Value::UNBOUND; keys.len()],
            keys,
            aggregates,
            values: Vec::new(),
            seen,
            next: None,
            name,
        }
    }

    /// The group of the key at hand, which is new if it is the first one of it.
    fn group(&mut self, context: &Context<'_>) -> Result<usize, Stopped> {
        let (group, is_new) = self.groups.insert(&self.key).ok_or_else(|| context.watch().fail_full("groups"))?;
        if is_new {
            self.values.extend(self.aggregates.iter().map(|aggregate| aggregate.function.begin()));
        }
        Ok(group)
    }

    fn add(&mut self, row: &[Value], context: &Context<'_>) -> Result<(), Stopped> {
        self.key.iter_mut().zip(&self.keys).for_each(|(value, place)| *value = row[*place]);
        let group = self.group(context)?;
        let first = group * self.aggregates.len();
        let values = &mut self.values[first..];
        for ((aggregate, of_group), seen) in self.aggregates.iter().zip(values).zip(&mut self.seen) {
            let Some(argument) = aggregate.argument else {
                of_group.add(Value::UNBOUND, context)?;
                continue;
            };
            let value = row[argument];
            if !value.is_bound() && matches!(of_group, GroupValue::Count(_)) {
                continue;
            }
            let is_repeated = match seen {
                Some(seen) => {
                    let number = u32::try_from(group).map_err(|_| context.watch().fail_full("groups"))?;
                    let pair = [Value::computed(number), value];
                    let (_, is_new) = seen.insert(&pair).ok_or_else(|| context.watch().fail_full("distinct values"))?;
                    !is_new
                }
                None => false,
            };
            if !is_repeated {
                of_group.add(value, context)?;
            }
        }
        Ok(())
    }

    /// Puts a group and its aggregates into the row.
    fn put(&mut self, group: usize, row: &mut [Value], context: &Context<'_>) -> Result<(), Stopped> {
        self.keys.iter().zip(self.groups.row(group)).for_each(|(place, value)| row[*place] = *value);
        let first = group * self.aggregates.len();
        for (aggregate, value) in self.aggregates.iter().zip(&mut self.values[first..]) {
            row[aggregate.place] = value.finish(context)?;
        }
        Ok(())
    }
}

impl Operator for Group {
    fn advance(&mut self, row: &mut [Value], context: &mut Context<'_>) -> Result<JoinStep, Stopped> {
        while self.next.is_none() {
            match self.input.advance(row, context)? {
                JoinStep::Row => {
                    self.add(row, context)?;
                    if context.is_spent() {
                        return Ok(JoinStep::Paused);
                    }
                }
                JoinStep::Paused => return Ok(JoinStep::Paused),
                JoinStep::End => {
                    if self.keys.is_empty() {
                        self.group(context)?;
                    }
                    // Variables of the rows are not those of the groups.
                    row.fill(Value::UNBOUND);
                    self.next = Some(0);
                }
            }
        }
        if context.is_spent() {
            return Ok(JoinStep::Paused);
        }
        context.spend(1)?;
        let group = self.next.unwrap_or_default();
        if group == self.groups.len() {
            return Ok(JoinStep::End);
        }
        self.next = Some(group + 1);
        self.put(group, row, context)?;
        Ok(JoinStep::Row)
    }

    fn plan(&self) -> PlanNode {
        node(&self.name, self.next.unwrap_or_default() as u64, vec![self.input.plan()])
    }
}
