//! `SUM`, `AVG`, `MIN` and `MAX` of the library's evaluation: [accumulators](super::accumulator) of ours.
//!
//! A variable is handed to them by [names](name_of) of its values: of the id of a term that is in its id, so that no
//! text is made or read for it, and of other literals with a datatype, lest the evaluator make its canonical form of
//! them. What `MIN` and `MAX` return is wrapped in the same way. These names begin with a space, and so are no IRIs.

use std::borrow::Cow;
use std::convert::Infallible;

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};
use spareval::{AggregateFunctionAccumulator, QueryEvaluator};

use super::accumulator::{Accumulator, Aggregate, Elements, Outcome};
use crate::TermId;

/// The name of the node that `COUNT` counts in place of the values of an expression.
pub(crate) const COUNTED: &str = " counted";

const AGGREGATES: [Aggregate; 4] = [Aggregate::Sum, Aggregate::Average, Aggregate::Least, Aggregate::Greatest];

impl Aggregate {
    /// What it is called by in planned patterns.
    pub(crate) fn name(self) -> NamedNode {
        NamedNode::new_unchecked(match self {
            Self::Sum => " sum",
            Self::Average => " average",
            Self::Least => " least",
            Self::Greatest => " greatest",
        })
    }
}

/// The evaluator with all of them.
pub(crate) fn registered(mut evaluator: QueryEvaluator) -> QueryEvaluator {
    for aggregate in AGGREGATES {
        evaluator = evaluator
            .with_custom_aggregate_function(aggregate.name(), move || Box::new(OfNames(Accumulator::new(aggregate))));
    }
    evaluator
}

/// The aggregate with this name, as texts have it.
pub(crate) fn written(name: &str) -> Option<&'static str> {
    let aggregate = AGGREGATES.into_iter().find(|aggregate| aggregate.name().as_str() == name)?;
    Some(match aggregate {
        Aggregate::Sum => "SUM",
        Aggregate::Average => "AVG",
        Aggregate::Least => "MIN",
        Aggregate::Greatest => "MAX",
    })
}

/// The term that a name stands for, as texts have it.
pub(crate) fn text_of_name(name: &str) -> Option<String> {
    Some(named(&NamedNode::new_unchecked(name))?.to_term()?.to_string())
}

/// A term that a name stands for.
#[derive(PartialEq)]
pub(crate) enum Named {
    Id(TermId),
    Term(Term),
}

/// The name of a term that is in its id.
pub(crate) fn name_of_id(id: TermId) -> NamedNode {
    let mut name = *b" id 0123456789";
    for (place, byte) in name[ID.len()..].iter_mut().enumerate() {
        *byte = (id.to_bits() >> (7 * place)) as u8 & 0x7f;
    }
    NamedNode::new_unchecked(std::str::from_utf8(&name).expect("seven bits are a character"))
}

/// The name of a literal that the evaluator would make a canonical form of; `None` if it makes none.
pub(crate) fn name_of(literal: &Literal) -> Option<NamedNode> {
    let datatype = literal.datatype();
    let has_a_type = literal.language().is_none() && datatype != xsd::STRING;
    // Datatypes are IRIs, and so have no spaces. The evaluator knows no type that has.
    let is_named = has_a_type && !datatype.as_str().contains(' ');
    is_named.then(|| NamedNode::new_unchecked(format!("{LITERAL}{} {}", datatype.as_str(), literal.value())))
}

/// The name of a term of any kind: for `VALUES`, which have no blank nodes.
pub(crate) fn name_of_term(term: &Term) -> NamedNode {
    NamedNode::new_unchecked(format!("{TERM}{term}"))
}

/// The term that a name stands for, if it stands for one.
pub(crate) fn named(name: &NamedNode) -> Option<Named> {
    let name = name.as_str();
    if let Some(characters) = name.strip_prefix(ID) {
        let bits = characters.bytes().rev().fold(0, |bits: u64, byte| bits << 7 | u64::from(byte));
        return TermId::from_bits(bits).map(Named::Id);
    }
    if let Some(term) = name.strip_prefix(TERM) {
        return term.parse().ok().map(Named::Term);
    }
    let (datatype, text) = name.strip_prefix(LITERAL)?.split_once(' ')?;
    Some(Named::Term(Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype)).into()))
}

const ID: &str = " id ";
const LITERAL: &str = " literal ";
const TERM: &str = " term ";

impl Named {
    fn of(element: Term) -> Self {
        match element {
            Term::NamedNode(node) => named(&node).unwrap_or_else(|| Self::Term(node.into())),
            term => Self::Term(term),
        }
    }

    fn to_term(&self) -> Option<Term> {
        match self {
            Self::Id(id) => id.inline_term(),
            Self::Term(term) => Some(term.clone()),
        }
    }

    /// As a name, if the evaluator would make a canonical form of it.
    fn wrapped(self) -> Term {
        match self {
            Self::Id(id) => name_of_id(id).into(),
            Self::Term(Term::Literal(literal)) => match name_of(&literal) {
                Some(name) => name.into(),
                None => literal.into(),
            },
            Self::Term(term) => term,
        }
    }
}

/// An aggregate of the evaluator's elements.
struct OfNames(Accumulator<Named>);

/// How these are read.
struct Names;

impl Elements for Names {
    type Element = Named;
    type Error = Infallible;

    fn id(&self, element: &Named) -> Option<TermId> {
        match element {
            Named::Id(id) => Some(*id),
            Named::Term(_) => None,
        }
    }

    fn term<'e>(&self, element: &'e Named) -> Result<Option<Cow<'e, Term>>, Infallible> {
        Ok(match element {
            Named::Id(id) => id.inline_term().map(Cow::Owned),
            Named::Term(term) => Some(Cow::Borrowed(term)),
        })
    }
}

impl AggregateFunctionAccumulator for OfNames {
    fn accumulate(&mut self, element: Term) {
        let Ok(()) = self.0.add(Named::of(element), &Names);
    }

    fn finish(&mut self) -> Option<Term> {
        Some(match self.0.finish()? {
            Outcome::Element(element) => element.wrapped(),
            Outcome::Number(number) => number.into_term(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_the_term_that_it_is_of() {
        for value in [i64::from(i32::MIN), -1, 0, 1, 127, 128, 1 << 40] {
            let literal = Literal::from(value);
            let id = TermId::of_inline(literal.as_ref().into()).expect("it is in its id");
            assert!(matches!(named(&name_of_id(id)), Some(Named::Id(found)) if found == id), "{value}");
            let name = name_of(&literal).expect("it has a datatype");
            assert!(matches!(named(&name), Some(Named::Term(found)) if found == literal.clone().into()), "{value}");
        }
        for text in ["_:f0000000000000a", "<<( _:a <http://e/p> <<( <http://e/s> <http://e/p> \"x\"@en )>> )>>"] {
            let term: Term = text.parse().expect("a term");
            assert!(matches!(named(&name_of_term(&term)), Some(Named::Term(found)) if found == term), "{text}");
        }
        assert!(name_of(&Literal::new_simple_literal("1")).is_none());
        assert!(named(&NamedNode::new_unchecked("http://e/")).is_none());
    }
}
