//! Conditions of filters that ids decide, or the terms of one value.
//!
//! | condition | is decided by |
//! |---|---|
//! | `bound(?v)`, `sameTerm(a, b)` | ids |
//! | `?v = <iri>` | ids: no other term equals an IRI |
//! | `?v < 5`, and all comparisons with a number of the text | the number in an id, or the term |
//! | `&&`, `\|\|`, `!` of these | SPARQL's logic of three values |
//!
//! Other conditions are left to the library.

use std::cmp::Ordering;

use oxrdf::{Literal, Term, Variable};
use spargebra::algebra::Expression;

use super::context::Context;
use super::scope::Refused;
use crate::TermId;
use crate::sparql::evaluation::limits::Stopped;
use crate::sparql::evaluation::value::Value;
use crate::sparql::expressions::functions::{Mode, Operation};
use crate::sparql::expressions::ill_typed::marked_term;
use crate::sparql::expressions::numeric::Number;

/// A condition on a row.
pub(super) enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    /// Whether the place has a value.
    Bound(usize),
    SameTerm(Side, Side),
    Compared(Box<Comparison>),
    /// Whether a row with this value may be among the best rows of a result that is cut off.
    MayBeInResult(usize),
}

/// A side of a comparison of terms.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Place(usize),
    Constant(Value),
}

/// A comparison with a number of the text.
pub(super) struct Comparison {
    operation: Operation,
    place: usize,
    is_constant_left: bool,
    constant: Term,
    number: Number,
}

/// Conditions that a row has to meet, with the places that they read, and their text if the query is explained.
#[derive(Default)]
pub(super) struct Conditions {
    conditions: Vec<Condition>,
    texts: Vec<String>,
}

/// A condition of a filter, before it is put to rows.
pub(super) struct Conjunct {
    pub(super) condition: Condition,
    pub(super) places: Vec<usize>,
    pub(super) text: String,
}

/// What conditions of a text are read by.
pub(super) trait Reading {
    /// The place of a variable.
    ///
    /// # Errors
    /// [`Refused::Outside`] if the filter does not see the variable.
    fn place(&mut self, variable: &Variable) -> Result<usize, Refused>;

    /// The value of a term of the text.
    ///
    /// # Errors
    /// [`Refused::Stopped`] for an error of the store.
    fn constant(&mut self, term: Term) -> Result<Value, Refused>;
}

impl Condition {
    /// The condition of an expression. Adds the places that it reads to `places`.
    pub(super) fn of(
        expression: &Expression,
        reading: &mut dyn Reading,
        places: &mut Vec<usize>,
    ) -> Result<Self, Refused> {
        use Expression as E;
        Ok(match expression {
            E::And(left, right) => Self::All(vec![Self::of(left, reading, places)?, Self::of(right, reading, places)?]),
            E::Or(left, right) => Self::Any(vec![Self::of(left, reading, places)?, Self::of(right, reading, places)?]),
            E::Not(inner) => Self::Not(Box::new(Self::of(inner, reading, places)?)),
            E::Bound(variable) => Self::Bound(noted(reading.place(variable)?, places)),
            E::SameTerm(left, right) => Self::SameTerm(side(left, reading, places)?, side(right, reading, places)?),
            E::Equal(left, right) => match (&**left, &**right) {
                (E::Variable(_), E::NamedNode(_)) | (E::NamedNode(_), E::Variable(_)) => {
                    Self::SameTerm(side(left, reading, places)?, side(right, reading, places)?)
                }
                sides => Self::compared(Operation::Equal, sides, reading, places)?,
            },
            E::Less(left, right) => Self::compared(Operation::Less, (&**left, &**right), reading, places)?,
            E::LessOrEqual(left, right) => {
                Self::compared(Operation::LessOrEqual, (&**left, &**right), reading, places)?
            }
            E::Greater(left, right) => Self::compared(Operation::Greater, (&**left, &**right), reading, places)?,
            E::GreaterOrEqual(left, right) => {
                Self::compared(Operation::GreaterOrEqual, (&**left, &**right), reading, places)?
            }
            _ => return Err(Refused::Outside),
        })
    }

    fn compared(
        operation: Operation,
        sides: (&Expression, &Expression),
        reading: &mut dyn Reading,
        places: &mut Vec<usize>,
    ) -> Result<Self, Refused> {
        let (variable, literal, is_constant_left) = match sides {
            (Expression::Variable(variable), Expression::Literal(literal)) => (variable, literal, false),
            (Expression::Literal(literal), Expression::Variable(variable)) => (variable, literal, true),
            _ => return Err(Refused::Outside),
        };
        // The library has no value for numbers that are too large for an id, so some comparisons with them are errors.
        if TermId::of_inline(literal.as_ref().into()).is_none() {
            return Err(Refused::Outside);
        }
        let number = Number::of_literal(literal.as_ref()).ok_or(Refused::Outside)?;
        let place = noted(reading.place(variable)?, places);
        let constant = literal.clone().into();
        Ok(Self::Compared(Box::new(Comparison { operation, place, is_constant_left, constant, number })))
    }

    /// Whether a row meets the condition; `None` is an error of the expression.
    fn holds(&self, row: &[Value], context: &Context<'_>) -> Result<Option<bool>, Stopped> {
        Ok(match self {
            Self::All(parts) => decided(parts, false, row, context)?,
            Self::Any(parts) => decided(parts, true, row, context)?,
            Self::Not(inner) => inner.holds(row, context)?.map(|holds| !holds),
            Self::Bound(place) => Some(row[*place].is_bound()),
            Self::SameTerm(left, right) => {
                let (left, right) = (left.value(row), right.value(row));
                (left.is_bound() && right.is_bound()).then_some(left == right)
            }
            Self::Compared(comparison) => comparison.holds(row, context)?,
            Self::MayBeInResult(place) => Some(match (context.best(), row[*place].id()) {
                (Some(best), Some(id)) => best.may_have(id),
                _ => true,
            }),
        })
    }
}

/// The value of a chain that one part decides: `&&` by a false one, `||` by a true one.
fn decided(parts: &[Condition], deciding: bool, row: &[Value], context: &Context<'_>) -> Result<Option<bool>, Stopped> {
    let mut value = Some(!deciding);
    for part in parts {
        match part.holds(row, context)? {
            Some(holds) if holds == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => value = None,
        }
    }
    Ok(value)
}

fn side(expression: &Expression, reading: &mut dyn Reading, places: &mut Vec<usize>) -> Result<Side, Refused> {
    Ok(match expression {
        Expression::Variable(variable) => Side::Place(noted(reading.place(variable)?, places)),
        Expression::NamedNode(node) => Side::Constant(reading.constant(node.clone().into())?),
        Expression::Literal(literal) => Side::Constant(reading.constant(literal.clone().into())?),
        _ => return Err(Refused::Outside),
    })
}

fn noted(place: usize, places: &mut Vec<usize>) -> usize {
    places.push(place);
    place
}

impl Side {
    fn value(self, row: &[Value]) -> Value {
        match self {
            Self::Place(place) => row[place],
            Self::Constant(value) => value,
        }
    }
}

impl Comparison {
    fn holds(&self, row: &[Value], context: &Context<'_>) -> Result<Option<bool>, Stopped> {
        let value = row[self.place];
        if let Some(number) = value.id().and_then(Number::of_inline) {
            return Ok(self.operation.of_order(self.compare(&number)));
        }
        let Some(term) = context.term(value)? else { return Ok(None) };
        // A number beyond the bounds of its type is no number.
        let term = marked_term(term);
        let constant = self.constant.clone();
        let sides = if self.is_constant_left { [constant, term] } else { [term, constant] };
        let truth = self.operation.apply(Mode::Any, &sides);
        Ok(truth.map(|truth| truth == Term::from(Literal::from(true))))
    }

    fn compare(&self, number: &Number) -> Option<Ordering> {
        match self.is_constant_left {
            true => self.number.compare(number),
            false => number.compare(&self.number),
        }
    }
}

impl Conditions {
    pub(super) fn add(&mut self, conjunct: Conjunct) {
        self.conditions.push(conjunct.condition);
        self.texts.push(conjunct.text);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether a row meets all of them. An error is none of a row that does.
    pub(super) fn hold(&self, row: &[Value], context: &Context<'_>) -> Result<bool, Stopped> {
        for condition in &self.conditions {
            if condition.holds(row, context)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The text of their operator.
    pub(super) fn name(&self) -> String {
        match &*self.texts {
            [text] => format!("Filter({text})"),
            texts => format!("Filter(({}))", texts.join(" && ")),
        }
    }
}

/// Adds the conditions that `&&` connects, each for itself.
pub(super) fn conjuncts(
    expression: &Expression,
    reading: &mut dyn Reading,
    text: &dyn Fn(&Expression) -> String,
    found: &mut Vec<Conjunct>,
) -> Result<(), Refused> {
    if let Expression::And(left, right) = expression {
        conjuncts(left, reading, text, found)?;
        return conjuncts(right, reading, text, found);
    }
    let mut places = Vec::new();
    let condition = Condition::of(expression, reading, &mut places)?;
    found.push(Conjunct { condition, places, text: text(expression) });
    Ok(())
}
