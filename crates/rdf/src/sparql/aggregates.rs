//! `SUM`, `AVG`, `MIN` and `MAX` of our own: over numbers of any length, and by the total order.
//!
//! A variable is handed to them in [`Form::Handle`](super::terms::Form), by the number of its term where that has the value, so that no text is made or
//! read for it. What `MIN` and `MAX` return is wrapped, lest the evaluator make its canonical form of it. Names of IRIs that begin with a space are no
//! IRIs, and stand for what could be confused otherwise.

use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Literal, NamedNode, Term};
use spareval::{AggregateFunctionAccumulator, QueryEvaluator};
use spargebra::algebra::AggregateFunction;

use super::numeric::Number;
use super::order::{Key, compare_forms};
use crate::TermId;

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aggregate {
    Sum,
    Average,
    Least,
    Greatest,
}

/// How its arguments are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arguments {
    Terms,
    Handles,
}

const AGGREGATES: [Aggregate; 4] = [Aggregate::Sum, Aggregate::Average, Aggregate::Least, Aggregate::Greatest];

impl Aggregate {
    /// The one that takes the place of one of the evaluator.
    pub(super) fn of(function: &AggregateFunction) -> Option<Self> {
        Some(match function {
            AggregateFunction::Sum => Self::Sum,
            AggregateFunction::Avg => Self::Average,
            AggregateFunction::Min => Self::Least,
            AggregateFunction::Max => Self::Greatest,
            _ => return None,
        })
    }

    /// What it is called by in planned patterns.
    pub(super) fn name(self, arguments: Arguments) -> NamedNode {
        NamedNode::new_unchecked(match (self, arguments) {
            (Self::Sum, Arguments::Terms) => " sum",
            (Self::Sum, Arguments::Handles) => " sum of handles",
            (Self::Average, Arguments::Terms) => " average",
            (Self::Average, Arguments::Handles) => " average of handles",
            (Self::Least, Arguments::Terms) => " least",
            (Self::Least, Arguments::Handles) => " least of handles",
            (Self::Greatest, Arguments::Terms) => " greatest",
            (Self::Greatest, Arguments::Handles) => " greatest of handles",
        })
    }
}

/// The evaluator with all of them.
pub(super) fn registered(mut evaluator: QueryEvaluator) -> QueryEvaluator {
    for aggregate in AGGREGATES {
        for arguments in [Arguments::Terms, Arguments::Handles] {
            let has_handles = arguments == Arguments::Handles;
            evaluator = evaluator.with_custom_aggregate_function(aggregate.name(arguments), move || match aggregate {
                Aggregate::Sum => Box::new(Sum::new(has_handles)),
                Aggregate::Average => Box::new(Average(Sum::new(has_handles))),
                Aggregate::Least => Box::new(Extreme::new(false, has_handles)),
                Aggregate::Greatest => Box::new(Extreme::new(true, has_handles)),
            });
        }
    }
    evaluator
}

/// What stands for a term whose number has its value. The upper half tells it from blank nodes of the same label.
pub(super) fn handle(id: TermId) -> BlankNode {
    BlankNode::new_from_unique_id(HANDLE << 64 | u128::from(id.to_bits()))
}

/// What stands for a blank node where handles are taken.
pub(super) fn blank_handle(node: &BlankNode) -> NamedNode {
    NamedNode::new_unchecked(format!("{BLANK}{}", node.as_str()))
}

/// What stands for a literal with a datatype, which the evaluator would make a canonical form of.
pub(super) fn literal_handle(literal: &Literal) -> Option<NamedNode> {
    let datatype = literal.datatype();
    let has_a_type = literal.language().is_none() && datatype != xsd::STRING;
    // Datatypes are IRIs, and so have no spaces. One that has is handed over as it is: the evaluator knows no such type.
    let is_apart = has_a_type && !datatype.as_str().contains(' ');
    is_apart.then(|| NamedNode::new_unchecked(format!("{LITERAL}{} {}", datatype.as_str(), literal.value())))
}

/// What an aggregate has returned.
pub(super) enum Returned {
    Id(TermId),
    Literal(Literal),
}

/// What stands behind a name that an aggregate has returned.
pub(super) fn returned(name: &NamedNode) -> Option<Returned> {
    if let Some(bits) = name.as_str().strip_prefix(ID) {
        return bits.parse().ok().and_then(TermId::from_bits).map(Returned::Id);
    }
    let (datatype, text) = name.as_str().strip_prefix(LITERAL)?.split_once(' ')?;
    Some(Returned::Literal(Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype))))
}

const ID: &str = " id ";
const LITERAL: &str = " literal ";
const HANDLE: u128 = 0x6675_6c67_7572_6974;
const BLANK: &str = " _:";

fn id_of(node: &BlankNode) -> Option<TermId> {
    let id = node.as_ref().unique_id()?;
    if id >> 64 == HANDLE { TermId::from_bits(id as u64) } else { None }
}

/// The sum, and how many there are.
struct Sum {
    has_handles: bool,
    /// `None` after what is no number.
    sum: Option<Number>,
    count: i64,
}

impl Sum {
    fn new(has_handles: bool) -> Self {
        Self { has_handles, sum: Some(Number::Integer(0)), count: 0 }
    }
}

impl AggregateFunctionAccumulator for Sum {
    fn accumulate(&mut self, element: Term) {
        self.count += 1;
        let Some(sum) = &self.sum else { return };
        let number = match Handed::of(element, self.has_handles) {
            Some(Handed::Id(id)) => Number::of_inline(id),
            Some(Handed::Term(term)) => Number::of(&term),
            None => None,
        };
        self.sum = number.and_then(|number| sum.plus(&number));
    }

    fn finish(&mut self) -> Option<Term> {
        self.sum.take().map(Number::into_term)
    }
}

struct Average(Sum);

impl AggregateFunctionAccumulator for Average {
    fn accumulate(&mut self, element: Term) {
        self.0.accumulate(element);
    }

    fn finish(&mut self) -> Option<Term> {
        let sum = self.0.sum.take()?;
        let average = if self.0.count == 0 { sum } else { sum.divided_by(&Number::Integer(self.0.count))? };
        Some(average.into_term())
    }
}

/// The first or last of the total order.
struct Extreme {
    is_greatest: bool,
    has_handles: bool,
    best: Option<Candidate>,
}

/// A term, with its place in the order.
struct Candidate {
    term: Handed,
    key: Key,
}

enum Handed {
    Id(TermId),
    Term(Term),
}

impl Handed {
    fn of(element: Term, has_handles: bool) -> Option<Self> {
        Some(match element {
            Term::BlankNode(node) if has_handles => Self::Id(id_of(&node)?),
            Term::NamedNode(node) => match node.as_str().strip_prefix(BLANK) {
                Some(label) => Self::Term(BlankNode::new_unchecked(label).into()),
                None => match returned(&node) {
                    Some(Returned::Literal(literal)) => Self::Term(literal.into()),
                    Some(Returned::Id(id)) => Self::Id(id),
                    None => Self::Term(node.into()),
                },
            },
            term => Self::Term(term),
        })
    }

    fn key(&self) -> Option<Key> {
        match self {
            Self::Id(id) => Key::of_id(*id),
            Self::Term(term) => Some(Key::of(term.as_ref())),
        }
    }

    /// As what is [returned].
    fn wrapped(self) -> Term {
        match self {
            Self::Id(id) => NamedNode::new_unchecked(format!("{ID}{}", id.to_bits())).into(),
            Self::Term(Term::Literal(literal)) => match literal_handle(&literal) {
                Some(name) => name.into(),
                None => literal.into(),
            },
            Self::Term(term) => term,
        }
    }

    fn to_term(&self) -> Option<Term> {
        match self {
            Self::Id(id) => id.inline_term(),
            Self::Term(term) => Some(term.clone()),
        }
    }
}

impl Extreme {
    fn new(is_greatest: bool, has_handles: bool) -> Self {
        Self { is_greatest, has_handles, best: None }
    }

    fn is_better(&self, candidate: &Candidate, best: &Candidate) -> bool {
        let order = candidate.key.compare_values(&best.key).then_with(|| match (&candidate.term, &best.term) {
            (Handed::Id(left), Handed::Id(right)) if left == right => std::cmp::Ordering::Equal,
            (left, right) => match (left.to_term(), right.to_term()) {
                (Some(left), Some(right)) => compare_forms(&left, &right),
                _ => std::cmp::Ordering::Equal,
            },
        });
        if self.is_greatest { order.is_gt() } else { order.is_lt() }
    }
}

impl AggregateFunctionAccumulator for Extreme {
    fn accumulate(&mut self, element: Term) {
        let Some(term) = Handed::of(element, self.has_handles) else { return };
        let Some(key) = term.key() else { return };
        let candidate = Candidate { term, key };
        if self.best.as_ref().is_none_or(|best| self.is_better(&candidate, best)) {
            self.best = Some(candidate);
        }
    }

    fn finish(&mut self) -> Option<Term> {
        Some(self.best.take()?.term.wrapped())
    }
}
