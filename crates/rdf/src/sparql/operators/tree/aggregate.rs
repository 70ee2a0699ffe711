//! Aggregates over values of rows: what `expressions::aggregates` computes for the library, on ids.
//!
//! A value that is unbound is an error, which leaves `SUM`, `AVG`, `MIN` and `MAX` of the group unbound; `COUNT` and
//! `SAMPLE` pass over it.

use std::cmp::Ordering;

use oxrdf::Literal;
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression};

use crate::sparql::evaluation::best_rows;
use crate::sparql::evaluation::evaluation_term::EvaluationTerm;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::sort_tables::TermValues;
use crate::sparql::evaluation::value::Value;
use crate::sparql::expressions::numeric::Number;
use crate::sparql::expressions::order::compare_forms;
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
    Sum,
    Average,
    Least,
    Greatest,
    Sample,
}

impl Function {
    /// The function and the argument of an aggregate, and whether each value counts once.
    pub fn of(aggregate: &AggregateExpression) -> Result<(Self, Option<&spargebra::term::Variable>, bool), Refused> {
        let AggregateExpression::FunctionCall { name, expr, distinct } = aggregate else {
            return match aggregate {
                AggregateExpression::CountSolutions { distinct: false } => Ok((Self::Count, None, false)),
                _ => Err(Refused::Outside),
            };
        };
        let Expression::Variable(argument) = expr else { return Err(Refused::Outside) };
        let function = match name {
            AggregateFunction::Count => Self::Count,
            AggregateFunction::Sum => Self::Sum,
            AggregateFunction::Avg => Self::Average,
            AggregateFunction::Min => Self::Least,
            AggregateFunction::Max => Self::Greatest,
            AggregateFunction::Sample => Self::Sample,
            _ => return Err(Refused::Outside),
        };
        // These return the same of repeated values.
        let ignores_repeats = matches!(function, Self::Least | Self::Greatest | Self::Sample);
        Ok((function, Some(argument), *distinct && !ignores_repeats))
    }

    pub fn begin(self) -> Accumulator {
        match self {
            Self::Count => Accumulator::Count(0),
            Self::Sum | Self::Average => Accumulator::Sum { sum: Some(Number::Integer(0)), count: 0 },
            Self::Least | Self::Greatest => Accumulator::Extreme { best: Value::UNBOUND, has_failed: false },
            Self::Sample => Accumulator::Sample(Value::UNBOUND),
        }
    }
}

/// An aggregate of one group, so far.
pub enum Accumulator {
    Count(i64),
    /// `None` after what is not a number.
    Sum {
        sum: Option<Number>,
        count: i64,
    },
    Extreme {
        best: Value,
        has_failed: bool,
    },
    Sample(Value),
}

impl Accumulator {
    /// Adds a row whose argument has this value; `COUNT(*)` adds any value.
    pub fn add(&mut self, function: Function, value: Value, context: &Context<'_>) -> Result<(), Stopped> {
        match self {
            Self::Count(count) => *count += 1,
            Self::Sum { sum, count } => {
                *count += 1;
                if let Some(before) = sum {
                    *sum = number(value, context)?.and_then(|number| before.plus(&number));
                }
            }
            Self::Extreme { best, has_failed } => {
                if !value.is_bound() {
                    *has_failed = true;
                } else if !*has_failed && *best != value && is_better(function, value, *best, context)? {
                    *best = value;
                }
            }
            Self::Sample(sample) => {
                if !sample.is_bound() {
                    *sample = value;
                }
            }
        }
        Ok(())
    }

    /// The value of the aggregate.
    pub fn finish(&mut self, function: Function, context: &Context<'_>) -> Result<Value, Stopped> {
        let number = match self {
            Self::Count(count) => return context.value_of(Literal::from(*count).into()),
            Self::Extreme { has_failed: true, .. } => return Ok(Value::UNBOUND),
            Self::Extreme { best, .. } => return Ok(*best),
            Self::Sample(sample) => return Ok(*sample),
            Self::Sum { sum, count } => match sum.take() {
                Some(sum) if function == Function::Average && *count > 0 => sum.divided_by(&Number::Integer(*count)),
                sum => sum,
            },
        };
        number.map_or(Ok(Value::UNBOUND), |number| context.value_of(number.into_term()))
    }
}

/// The number that a value is, if it is one.
fn number(value: Value, context: &Context<'_>) -> Result<Option<Number>, Stopped> {
    match value.id().filter(|id| id.is_inline()) {
        Some(id) => Ok(Number::of_inline(id)),
        None => Ok(context.term(value)?.and_then(|term| Number::of(&term))),
    }
}

/// Whether a value takes the place of the best one so far.
fn is_better(function: Function, value: Value, best: Value, context: &Context<'_>) -> Result<bool, Stopped> {
    let (Some(value), Some(best)) = (value.term(), best.term()) else { return Ok(true) };
    let order = compare(value, best, context)?;
    Ok(if function == Function::Greatest { order.is_gt() } else { order.is_lt() })
}

/// The total order of terms, with forms.
fn compare(left: EvaluationTerm, right: EvaluationTerm, context: &Context<'_>) -> Result<Ordering, Stopped> {
    if let (EvaluationTerm::Stored(left), EvaluationTerm::Stored(right)) = (left, right)
        && let (Some((class, left)), Some((other, right))) = (best_rows::order(left), best_rows::order(right))
        && class == other
        && left != right
    {
        return Ok(left.cmp(&right));
    }
    let order = context.order_key(left)?.compare_values(&context.order_key(right)?);
    if order.is_ne() {
        return Ok(order);
    }
    Ok(compare_forms(&context.externalize(left)?, &context.externalize(right)?))
}
