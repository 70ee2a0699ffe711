//! The total order of RDF terms by which SPARQL sorts (SPARQL 1.1, 15.1): pure, without a store or an evaluation.
//!
//! Terms sort by their kind first, then by value. The kinds, lowest first:
//!
//! | kind | order within the kind |
//! |---|---|
//! | blank nodes, then IRIs | code points |
//! | numbers of all types | exact value; `-INF` first, `INF` and then `NaN` last |
//! | texts | code points, then language, then direction |
//! | truth values | false, true |
//! | dates and times, type by type | the instant; without a zone, UTC is taken, and comes before the same instant with one |
//! | durations | the end of one that begins at 1903-03-01, then months, then seconds |
//! | other literals, ill-formed ones too | code points, then datatype |
//! | triple terms | subject, predicate, object |
//!
//! Invariants: (1) [`Key::compare_values`] is a total preorder, and wherever the operator `<` is defined for two terms,
//! the smaller one comes first. (2) [`compare_forms`] orders different terms of one value, so that with it only equal
//! terms are equal. (3) No step rounds. (4) Dates whose years, and durations whose forms, have more than [`DIGITS_MAX`]
//! characters are other literals: their values are not computed.

mod duration;
pub(crate) mod id_order;
mod number;
mod time;

use std::cmp::Ordering;

use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, LiteralRef, NamedNodeRef, NamedOrBlankNodeRef, Term, TermRef};

use self::duration::Span;
pub(crate) use self::number::{DIGITS_MAX, NumberKey, is_double_form, is_integer_type, is_within_bounds};
pub(crate) use self::time::{Instant, TimeType};
use crate::{InlineValue, TermId};

/// A term's place in the order, but for its form.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Blank(String),
    Iri(String),
    Number(NumberKey),
    Text { text: String, language: String, direction: Option<BaseDirection> },
    Boolean(bool),
    Time(TimeType, Instant),
    Duration(Span),
    Other { text: String, datatype: String },
    Triple(Box<[Self; 3]>),
}

impl Key {
    /// The key of a term.
    pub(crate) fn of(term: TermRef<'_>) -> Self {
        match term {
            TermRef::BlankNode(node) => Self::Blank(node.as_str().to_owned()),
            TermRef::NamedNode(node) => Self::Iri(node.as_str().to_owned()),
            TermRef::Literal(literal) => Self::of_literal(literal),
            TermRef::Triple(triple) => {
                let subject = match triple.subject.as_ref() {
                    NamedOrBlankNodeRef::NamedNode(node) => TermRef::from(node),
                    NamedOrBlankNodeRef::BlankNode(node) => node.into(),
                };
                let parts = [subject, triple.predicate.as_ref().into(), triple.object.as_ref()];
                Self::Triple(Box::new(parts.map(Self::of)))
            }
        }
    }

    /// The key of a term whose number has it.
    pub(crate) fn of_id(id: TermId) -> Option<Self> {
        Some(Self::Number(match id.inline_value() {
            Some(InlineValue::Integer(value)) => NumberKey::Integer(value),
            Some(InlineValue::Decimal(value)) => value.into(),
            Some(InlineValue::Double(value)) => NumberKey::Double(value.into()),
            Some(InlineValue::Float(value)) => NumberKey::Double(f32::from(value).into()),
            _ => return Some(Self::of(id.inline_term()?.as_ref())),
        }))
    }

    fn of_literal(literal: LiteralRef<'_>) -> Self {
        let text = literal.value();
        if let Some(language) = literal.language() {
            return Self::Text { text: text.to_owned(), language: language.to_owned(), direction: literal.direction() };
        }
        let datatype = literal.datatype();
        if datatype == xsd::STRING {
            return Self::Text { text: text.to_owned(), language: String::new(), direction: None };
        }
        Self::of_value(text, datatype)
            .unwrap_or_else(|| Self::Other { text: text.to_owned(), datatype: datatype.as_str().to_owned() })
    }

    /// The key of a well-formed literal of a known type.
    fn of_value(text: &str, datatype: NamedNodeRef<'_>) -> Option<Self> {
        if let Some(number) = NumberKey::parse(text, datatype) {
            return Some(Self::Number(number));
        }
        if let Some(kind) = TimeType::of(datatype) {
            return Some(Self::Time(kind, Instant::parse(text, kind)?));
        }
        match datatype {
            xsd::BOOLEAN => match text {
                "true" | "1" => Some(Self::Boolean(true)),
                "false" | "0" => Some(Self::Boolean(false)),
                _ => None,
            },
            xsd::DURATION | xsd::YEAR_MONTH_DURATION | xsd::DAY_TIME_DURATION => {
                Span::parse(text, datatype).map(Self::Duration)
            }
            _ => None,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Blank(_) => 0,
            Self::Iri(_) => 1,
            Self::Number(_) => 2,
            Self::Text { .. } => 3,
            Self::Boolean(_) => 4,
            Self::Time(..) => 5,
            Self::Duration(_) => 6,
            Self::Other { .. } => 7,
            Self::Triple(_) => 8,
        }
    }

    /// The order by kind and value. Terms of one value are equal here, whatever their forms.
    pub(crate) fn compare_values(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => left.compare(right),
            (Self::Blank(left), Self::Blank(right)) | (Self::Iri(left), Self::Iri(right)) => left.cmp(right),
            (
                Self::Text { text, language, direction },
                Self::Text { text: other_text, language: other_language, direction: other_direction },
            ) => text
                .cmp(other_text)
                .then_with(|| language.cmp(other_language))
                .then_with(|| direction.map(direction_rank).cmp(&other_direction.map(direction_rank))),
            (Self::Boolean(left), Self::Boolean(right)) => left.cmp(right),
            (Self::Time(kind, left), Self::Time(other_kind, right)) => {
                kind.cmp(other_kind).then_with(|| left.cmp(right))
            }
            (Self::Duration(left), Self::Duration(right)) => left.compare(right),
            (Self::Other { text, datatype }, Self::Other { text: other_text, datatype: other_datatype }) => {
                text.cmp(other_text).then_with(|| datatype.cmp(other_datatype))
            }
            (Self::Triple(left), Self::Triple(right)) => left
                .iter()
                .zip(right.iter())
                .map(|(left, right)| left.compare_values(right))
                .fold(Ordering::Equal, Ordering::then),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// What the operator `=` says of two terms that are not the same. `None`: an error.
    pub(crate) fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => {
                Some(!left.is_nan() && !right.is_nan() && left.compare(right) == Ordering::Equal)
            }
            (Self::Time(kind, left), Self::Time(other_kind, right)) if kind == other_kind => {
                Some(left.compare_defined(right)? == Ordering::Equal)
            }
            // What a literal of an unknown type, or an ill-formed one, says is not known; it is not a text with a
            // language, and no other term.
            (Self::Other { .. }, Self::Text { language, .. }) | (Self::Text { language, .. }, Self::Other { .. }) => {
                (!language.is_empty()).then_some(false)
            }
            (Self::Other { .. }, right) => right.is_no_literal().then_some(false),
            (left, Self::Other { .. }) => left.is_no_literal().then_some(false),
            (Self::Triple(left), Self::Triple(right)) => {
                if left[..2].iter().zip(&right[..2]).any(|(left, right)| left.compare_values(right).is_ne()) {
                    return Some(false);
                }
                left[2].equals(&right[2])
            }
            _ => Some(self.compare_values(other) == Ordering::Equal),
        }
    }

    /// What the operator `<` knows of two dates, times or durations. `None`: no order is defined between the two.
    pub(crate) fn compare_times(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Time(kind, left), Self::Time(other_kind, right)) if kind == other_kind => {
                left.compare_defined(right)
            }
            (Self::Duration(left), Self::Duration(right)) => left.compare_defined(right),
            _ => None,
        }
    }

    fn is_no_literal(&self) -> bool {
        matches!(self, Self::Blank(_) | Self::Iri(_) | Self::Triple(_))
    }
}

/// Whether values of the datatype are dates, times or durations.
pub(crate) fn is_time_or_duration(datatype: NamedNodeRef<'_>) -> bool {
    TimeType::of(datatype).is_some()
        || [xsd::DURATION, xsd::YEAR_MONTH_DURATION, xsd::DAY_TIME_DURATION].contains(&datatype)
}

fn direction_rank(direction: BaseDirection) -> u8 {
    match direction {
        BaseDirection::Ltr => 0,
        BaseDirection::Rtl => 1,
    }
}

/// The order of terms that are equal by value: by their forms, then by their datatypes.
pub(crate) fn compare_forms(left: &Term, right: &Term) -> Ordering {
    match (left, right) {
        (Term::Literal(left), Term::Literal(right)) => {
            left.value().cmp(right.value()).then_with(|| left.datatype().as_str().cmp(right.datatype().as_str()))
        }
        (Term::Triple(left), Term::Triple(right)) => compare_forms(&left.object, &right.object),
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests;
