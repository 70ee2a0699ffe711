//! [`Accumulator`]: `SUM`, `AVG`, `MIN` and `MAX` of one group, over numbers of any length and by the total order.
//!
//! The evaluation by the library and that on ids compute these aggregates here. Each says by [`Elements`] what its
//! elements are.

use std::borrow::Cow;
use std::cmp::Ordering;

use oxrdf::Term;
use spargebra::algebra::AggregateFunction;

use super::numeric::Number;
use super::order::{Key, compare_forms, id_order};
use crate::TermId;

/// Which aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Sum,
    Average,
    Least,
    Greatest,
}

impl Aggregate {
    /// The one that takes the place of one of the evaluator.
    pub(crate) fn of(function: &AggregateFunction) -> Option<Self> {
        Some(match function {
            AggregateFunction::Sum => Self::Sum,
            AggregateFunction::Avg => Self::Average,
            AggregateFunction::Min => Self::Least,
            AggregateFunction::Max => Self::Greatest,
            _ => return None,
        })
    }

    /// Whether repeated elements change the value.
    pub(crate) fn counts_repeats(self) -> bool {
        matches!(self, Self::Sum | Self::Average)
    }
}

/// How an evaluation reads the elements of aggregates.
pub(crate) trait Elements {
    /// Equal elements have equal terms.
    type Element;
    type Error;

    /// The id of the element, if it is held by one.
    fn id(&self, element: &Self::Element) -> Option<TermId>;

    /// The term of the element. `None`: it has none, which is an error of the aggregate.
    fn term<'e>(&self, element: &'e Self::Element) -> Result<Option<Cow<'e, Term>>, Self::Error>;

    /// The number that the element is, if it is one.
    fn number(&self, element: &Self::Element) -> Result<Option<Number>, Self::Error> {
        match self.id(element).filter(|id| id.is_inline()) {
            Some(id) => Ok(Number::of_inline(id)),
            None => Ok(self.term(element)?.and_then(|term| Number::of(&term))),
        }
    }

    /// The place of the element in the total order.
    fn key(&self, element: &Self::Element) -> Result<Option<Key>, Self::Error> {
        match self.id(element).and_then(Key::of_id) {
            Some(key) => Ok(Some(key)),
            None => Ok(self.term(element)?.map(|term| Key::of(Cow::as_ref(&term).as_ref()))),
        }
    }
}

/// An aggregate of one group, so far.
pub(crate) enum Accumulator<E> {
    Total {
        sum: Number,
        count: i64,
        is_average: bool,
    },
    Extreme(Extreme<E>),
    /// After an element that is an error of the aggregate.
    Failed,
}

/// The least or the greatest element.
pub(crate) struct Extreme<E> {
    is_greatest: bool,
    best: Option<E>,
    /// The key of the best one, if it was needed.
    key: Option<Box<Key>>,
}

/// The value of an aggregate.
pub(crate) enum Outcome<E> {
    /// This element of the group.
    Element(E),
    Number(Number),
}

impl<E: PartialEq> Accumulator<E> {
    pub(crate) fn new(aggregate: Aggregate) -> Self {
        match aggregate {
            Aggregate::Sum | Aggregate::Average => {
                Self::Total { sum: Number::Integer(0), count: 0, is_average: aggregate == Aggregate::Average }
            }
            Aggregate::Least | Aggregate::Greatest => {
                Self::Extreme(Extreme { is_greatest: aggregate == Aggregate::Greatest, best: None, key: None })
            }
        }
    }

    /// Adds an element of the group.
    pub(crate) fn add<S: Elements<Element = E>>(&mut self, element: E, elements: &S) -> Result<(), S::Error> {
        let added = match self {
            Self::Failed => return Ok(()),
            Self::Total { sum, count, .. } => {
                *count += 1;
                elements.number(&element)?.and_then(|number| sum.plus(&number)).map(|next| *sum = next)
            }
            Self::Extreme(extreme) => extreme.offer(element, elements)?,
        };
        if added.is_none() {
            self.fail();
        }
        Ok(())
    }

    /// An element of the group is an error.
    pub(crate) fn fail(&mut self) {
        *self = Self::Failed;
    }

    /// The value of the aggregate; `None` is an error.
    pub(crate) fn finish(&mut self) -> Option<Outcome<E>> {
        match std::mem::replace(self, Self::Failed) {
            Self::Failed => None,
            Self::Total { sum, count, is_average } if is_average && count > 0 => {
                sum.divided_by(&Number::Integer(count)).map(Outcome::Number)
            }
            Self::Total { sum, .. } => Some(Outcome::Number(sum)),
            Self::Extreme(extreme) => extreme.best.map(Outcome::Element),
        }
    }
}

impl<E: PartialEq> Extreme<E> {
    /// Keeps the element if it is better than the best one. `None`: it has no place in the order.
    fn offer<S: Elements<Element = E>>(&mut self, element: E, elements: &S) -> Result<Option<()>, S::Error> {
        let Some(best) = &self.best else {
            self.best = Some(element);
            return Ok(Some(()));
        };
        // Groups often repeat a value, whose key is costly.
        if element == *best {
            return Ok(Some(()));
        }
        if let Some(order) = order_of_ids(elements.id(&element), elements.id(best)) {
            if self.is_better(order) {
                (self.best, self.key) = (Some(element), None);
            }
            return Ok(Some(()));
        }
        let best_key = match self.key.take() {
            Some(key) => Some(key),
            None => elements.key(best)?.map(Box::new),
        };
        let (Some(mut best_key), Some(key)) = (best_key, elements.key(&element)?) else { return Ok(None) };
        let order = match key.compare_values(&best_key) {
            Ordering::Equal => match (elements.term(&element)?, elements.term(best)?) {
                (Some(term), Some(best)) => compare_forms(&term, &best),
                _ => return Ok(None),
            },
            order => order,
        };
        if self.is_better(order) {
            self.best = Some(element);
            *best_key = key;
        }
        self.key = Some(best_key);
        Ok(Some(()))
    }

    fn is_better(&self, order: Ordering) -> bool {
        if self.is_greatest { order.is_gt() } else { order.is_lt() }
    }
}

/// The order of two terms, where their ids decide it.
fn order_of_ids(left: Option<TermId>, right: Option<TermId>) -> Option<Ordering> {
    let ((class, left), (other, right)) = (id_order::order(left?)?, id_order::order(right?)?);
    // Forms decide between equal values.
    (class == other && left != right).then(|| left.cmp(&right))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;

    use oxrdf::vocab::xsd;
    use oxrdf::{Literal, NamedNode};

    use super::*;

    /// Terms, held by their ids if these have them. Counts the terms that are looked at.
    #[derive(Default)]
    struct Held {
        looked_at: Cell<u32>,
    }

    #[derive(PartialEq)]
    enum Element {
        Id(TermId),
        Term(Term),
        Nothing,
    }

    impl Elements for Held {
        type Element = Element;
        type Error = Infallible;

        fn id(&self, element: &Element) -> Option<TermId> {
            match element {
                Element::Id(id) => Some(*id),
                _ => None,
            }
        }

        fn term<'e>(&self, element: &'e Element) -> Result<Option<Cow<'e, Term>>, Infallible> {
            self.looked_at.set(self.looked_at.get() + 1);
            Ok(match element {
                Element::Id(id) => id.inline_term().map(Cow::Owned),
                Element::Term(term) => Some(Cow::Borrowed(term)),
                Element::Nothing => None,
            })
        }
    }

    fn number(form: &str, datatype: oxrdf::NamedNodeRef<'_>) -> Term {
        Literal::new_typed_literal(form, datatype).into()
    }

    fn element(term: &Term) -> Element {
        TermId::of_inline(term.as_ref()).map_or_else(|| Element::Term(term.clone()), Element::Id)
    }

    fn value(aggregate: Aggregate, elements: impl IntoIterator<Item = Element>) -> Option<Term> {
        let (mut accumulator, held) = (Accumulator::new(aggregate), Held::default());
        for element in elements {
            accumulator.add(element, &held).unwrap_or_else(|never| match never {});
        }
        match accumulator.finish()? {
            Outcome::Number(number) => Some(number.into_term()),
            Outcome::Element(element) => {
                held.term(&element).unwrap_or_else(|never| match never {}).map(Cow::into_owned)
            }
        }
    }

    fn of(aggregate: Aggregate, terms: &[Term]) -> Option<Term> {
        value(aggregate, terms.iter().map(element))
    }

    #[test]
    fn an_empty_group_has_a_sum_and_an_average_and_no_extremes() {
        let zero = Some(number("0", xsd::INTEGER));
        assert_eq!(of(Aggregate::Sum, &[]), zero);
        assert_eq!(of(Aggregate::Average, &[]), zero);
        assert_eq!(of(Aggregate::Least, &[]), None);
        assert_eq!(of(Aggregate::Greatest, &[]), None);
    }

    #[test]
    fn sums_and_averages_have_the_type_that_their_numbers_need() {
        let (one, long) = (number("1", xsd::INTEGER), number("100000000000000000000", xsd::INTEGER));
        for (others, sum, average) in [
            (vec![], number("1", xsd::INTEGER), number("1", xsd::DECIMAL)),
            (vec![number("2", xsd::BYTE)], number("3", xsd::INTEGER), number("1.5", xsd::DECIMAL)),
            (vec![number("1.5", xsd::DECIMAL)], number("2.5", xsd::DECIMAL), number("1.25", xsd::DECIMAL)),
            (vec![number("2", xsd::FLOAT)], number("3", xsd::FLOAT), number("1.5", xsd::FLOAT)),
            (
                vec![number("2", xsd::FLOAT), number("0", xsd::DOUBLE), one.clone()],
                number("4", xsd::DOUBLE),
                number("1", xsd::DOUBLE),
            ),
            (vec![long], number("100000000000000000001", xsd::INTEGER), number("50000000000000000000.5", xsd::DECIMAL)),
        ] {
            let terms = [vec![one.clone()], others].concat();
            assert_eq!(of(Aggregate::Sum, &terms), Some(sum), "{terms:?}");
            assert_eq!(of(Aggregate::Average, &terms), Some(average), "{terms:?}");
        }
    }

    #[test]
    fn an_error_leaves_an_aggregate_without_a_value_whatever_follows_it() {
        let one = number("1", xsd::INTEGER);
        for aggregate in [Aggregate::Sum, Aggregate::Average] {
            for other in [Literal::from("x").into(), number("300", xsd::BYTE), Term::from(xsd::BYTE.into_owned())] {
                assert_eq!(of(aggregate, &[one.clone(), other, one.clone()]), None);
            }
        }
        for aggregate in [Aggregate::Sum, Aggregate::Average, Aggregate::Least, Aggregate::Greatest] {
            assert_eq!(value(aggregate, [element(&one), Element::Nothing, element(&one)]), None, "{aggregate:?}");
            let mut failed = Accumulator::new(aggregate);
            failed.fail();
            failed.add(element(&one), &Held::default()).unwrap_or_else(|never| match never {});
            assert!(failed.finish().is_none(), "{aggregate:?}");
        }
    }

    #[test]
    fn extremes_are_those_of_the_total_order_whatever_order_the_elements_come_in() {
        // With several forms of one value, and values that are in ids beside others.
        let terms = [
            Term::from(NamedNode::new_unchecked("http://e/a")),
            number("-INF", xsd::DOUBLE),
            number("-5", xsd::INTEGER),
            number("1", xsd::INTEGER),
            number("1", xsd::BYTE),
            number("1.0", xsd::DECIMAL),
            number("1.0E0", xsd::DOUBLE),
            number("2", xsd::INTEGER),
            number("7", xsd::INTEGER),
            number("123456789012345678901234567890", xsd::INTEGER),
            number("NaN", xsd::DOUBLE),
            Literal::from("a text that is too long to be in a number").into(),
            Literal::from("x").into(),
            number("2020-01-01", xsd::DATE),
        ];
        let total = |left: &Term, right: &Term| {
            let by_value = Key::of(left.as_ref()).compare_values(&Key::of(right.as_ref()));
            by_value.then_with(|| compare_forms(left, right))
        };
        let mut compared = 0;
        for first in 0..terms.len() {
            for second in 0..terms.len() {
                for third in 0..terms.len() {
                    let group = [first, second, third].map(|place| terms[place].clone());
                    let least = group.iter().min_by(|left, right| total(left, right)).cloned();
                    let greatest = group.iter().max_by(|left, right| total(left, right)).cloned();
                    assert_eq!(of(Aggregate::Least, &group), least, "{group:?}");
                    assert_eq!(of(Aggregate::Greatest, &group), greatest, "{group:?}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, terms.len().pow(3));
    }

    #[test]
    fn extremes_read_no_term_of_numbers_in_ids_and_each_other_term_once() {
        let held = Held::default();
        let mut greatest = Accumulator::new(Aggregate::Greatest);
        let mut add = |term: Term| greatest.add(element(&term), &held).unwrap_or_else(|never| match never {});
        (0..100).for_each(|value| add(Literal::from(value).into()));
        assert_eq!(held.looked_at.get(), 0);
        (0..100).for_each(|value| add(Literal::from(format!("a text that is too long: {value:03}")).into()));
        assert_eq!(held.looked_at.get(), 100);
        (0..100).for_each(|_| add(Literal::from("a text that is too long: 099").into()));
        assert_eq!(held.looked_at.get(), 100, "the best one, again");
    }
}
