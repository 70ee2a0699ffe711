//! Aggregates over values of rows.
//!
//! A value that is unbound is an error, which leaves `SUM`, `AVG`, `MIN` and `MAX` of the group unbound; `COUNT` and
//! `SAMPLE` pass over it.

use std::borrow::Cow;

use oxrdf::{Literal, Term};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression};
use spargebra::term::Variable;

use crate::TermId;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::expressions::accumulator::{self, Accumulator, Elements, Outcome};
use crate::sparql::operators::context::Context;
use crate::sparql::operators::scope::Refused;

/// An aggregate of a `SELECT` or `HAVING`.
#[derive(Clone, Copy)]
pub struct Aggregate {
    pub function: Function,
    /// The place of its argument; `None` for `COUNT(*)`.
    pub argument: Option<usize>,
    pub is_distinct: bool,
    /// The place of its value.
    pub place: usize,
}

/// What an aggregate computes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Count,
    Sample,
    Computed(accumulator::Aggregate),
}

impl Function {
    /// The function and the argument of an aggregate, and whether each value counts once.
    pub fn of(aggregate: &AggregateExpression) -> Result<(Self, Option<&Variable>, bool), Refused> {
        let AggregateExpression::FunctionCall { name, expr, distinct } = aggregate else {
            return match aggregate {
                AggregateExpression::CountSolutions { distinct: false } => Ok((Self::Count, None, false)),
                _ => Err(Refused::Outside),
            };
        };
        let Expression::Variable(argument) = expr else { return Err(Refused::Outside) };
        let (function, counts_repeats) = match name {
            AggregateFunction::Count => (Self::Count, true),
            AggregateFunction::Sample => (Self::Sample, false),
            other => {
                let aggregate = accumulator::Aggregate::of(other).ok_or(Refused::Outside)?;
                (Self::Computed(aggregate), aggregate.counts_repeats())
            }
        };
        Ok((function, Some(argument), *distinct && counts_repeats))
    }

    /// The value of a group before its first row.
    pub fn begin(self) -> GroupValue {
        match self {
            Self::Count => GroupValue::Count(0),
            Self::Sample => GroupValue::Sample(Value::UNBOUND),
            Self::Computed(aggregate) => GroupValue::Computed(Accumulator::new(aggregate)),
        }
    }
}

/// An aggregate of one group, so far.
pub enum GroupValue {
    Count(i64),
    Sample(Value),
    Computed(Accumulator<Value>),
}

impl GroupValue {
    /// Adds a row whose argument has this value; `COUNT(*)` adds any value.
    pub fn add(&mut self, value: Value, context: &Context<'_>) -> Result<(), Stopped> {
        match self {
            Self::Count(count) => *count += 1,
            Self::Sample(sample) if !sample.is_bound() => *sample = value,
            Self::Sample(_) => {}
            Self::Computed(accumulator) if value.is_bound() => accumulator.add(value, context)?,
            Self::Computed(accumulator) => accumulator.fail(),
        }
        Ok(())
    }

    /// The value of the aggregate.
    pub fn finish(&mut self, context: &Context<'_>) -> Result<Value, Stopped> {
        match self {
            Self::Count(count) => context.value_of(Literal::from(*count).into()),
            Self::Sample(sample) => Ok(*sample),
            Self::Computed(accumulator) => match accumulator.finish() {
                Some(Outcome::Element(value)) => Ok(value),
                Some(Outcome::Number(number)) => context.value_of(number.into_term()),
                None => Ok(Value::UNBOUND),
            },
        }
    }
}

impl Elements for Context<'_> {
    type Element = Value;
    type Error = Stopped;

    fn id(&self, value: &Value) -> Option<TermId> {
        value.id()
    }

    fn term<'e>(&self, value: &'e Value) -> Result<Option<Cow<'e, Term>>, Stopped> {
        Ok(Context::term(self, *value)?.map(Cow::Owned))
    }
}
