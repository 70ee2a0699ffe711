//! Terms as an evaluation holds them, and the forms in which expressions take them.

use oxrdf::{NamedNode, Term};

use crate::TermId;

/// A term within one evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum EvaluationTerm {
    /// One that the store has a number for.
    Stored(TermId),
    /// One that was computed, by its place in the evaluation's table.
    Computed(u32),
    /// No term of anybody's: what a term is compared with to get it in this form. Only planned expressions have it.
    Form(Form),
    /// What a row is sorted by. Only rows on their way to being sorted have it.
    SortKey(SortKey),
}

/// In which form expressions get the next term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Form {
    /// A literal as its text, as it is written: for `STR`.
    Text,
    /// Ill-typed numbers and truth values as false: for operators that take truth values.
    Truth,
    /// As whether a row with the term may be in the result that is sorted by it and cut off.
    Candidate,
    /// As [`Form::Candidate`], of a row that is about to be sorted.
    Reached,
    /// As the key of this slot, by which a row is to be sorted: see the module
    /// [`sort_tables`](crate::sparql::evaluation::sort_tables).
    Sort(Slot),
    /// As what an [aggregate](crate::sparql::expressions::aggregates) takes: a name of the term.
    Named,
    /// As true if it is a number, and else as what is not a truth value: for operators that take numbers alone.
    MustBeNumber,
    /// As true if it is a number, a truth value, a date, a time or a duration, and else as what is not a truth value:
    /// for operators that compare these alone.
    MustBeOrdered,
    /// A literal as one of its datatype: for `DATATYPE`.
    Datatype,
    /// As what `GROUP_CONCAT` takes: texts as they are, other literals and IRIs as texts.
    Concatenated,
    /// As whether it is a date, a time or a duration.
    IsTime,
    /// As whether it is a number.
    IsNumber,
    /// As whether it is NaN.
    IsNan,
}

const NAMED_FORMS: [(Form, &str); 12] = [
    (Form::Text, " text"),
    (Form::Truth, " truth"),
    (Form::Candidate, " candidate"),
    (Form::Reached, " reached"),
    (Form::Named, " named"),
    (Form::MustBeNumber, " must be number"),
    (Form::MustBeOrdered, " must be ordered"),
    (Form::Datatype, " datatype"),
    (Form::Concatenated, " concatenated"),
    (Form::IsTime, " is time"),
    (Form::IsNumber, " is number"),
    (Form::IsNan, " is nan"),
];
const SORT: [(RankBy, &str); 2] = [(RankBy::Value, " sort by value "), (RankBy::Form, " sort by form ")];

impl Form {
    pub(super) fn of(term: &Term) -> Option<Self> {
        let Term::NamedNode(node) = term else { return None };
        let name = node.as_str();
        if !name.starts_with(' ') {
            return None;
        }
        for (by, prefix) in SORT {
            if let Some(number) = name.strip_prefix(prefix) {
                return number.parse().ok().map(|number| Self::Sort(Slot { number, by }));
            }
        }
        NAMED_FORMS.iter().find(|(_, known)| *known == name).map(|(form, _)| *form)
    }
}

impl Form {
    /// The form with this name, as planned expressions have it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::of(&NamedNode::new_unchecked(name).into())
    }
}

/// What stands for it in expressions: no IRI, so that no text can have it.
impl From<Form> for NamedNode {
    fn from(form: Form) -> Self {
        if let Form::Sort(slot) = form {
            let [by_value, by_form] = SORT.map(|(_, prefix)| prefix);
            let prefix = if slot.by == RankBy::Value { by_value } else { by_form };
            return Self::new_unchecked(format!("{prefix}{}", slot.number));
        }
        let named = NAMED_FORMS.iter().find(|(known, _)| *known == form);
        Self::new_unchecked(named.map(|(_, name)| *name).expect("each other form has a name"))
    }
}

/// A row's place in the table of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SortKey {
    pub(super) place: u32,
    pub(super) slot: Slot,
}

/// The table of a key, and the kind of rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub number: u32,
    pub by: RankBy,
}

/// The kind of rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RankBy {
    /// Equal values have one rank.
    Value,
    /// Equal values are ranked by their forms.
    Form,
}
