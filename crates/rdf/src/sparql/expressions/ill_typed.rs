//! Literals that the evaluator would take for others: ill-typed ones of types derived from `xsd:integer`, forms of
//! floats and doubles that are not XML Schema's, and what `STRDT` makes.
//!
//! The evaluator takes every integer form of such a type for an integer, whatever the bounds of the type, and forms
//! such as `inf` for doubles. In expressions an ill-typed literal therefore has a datatype that the evaluator does not
//! know: its own, with a space behind it. IRIs have no spaces, so no other literal has such a type. Invariant: only
//! values of expressions are marked, and no term of a row is.

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{Literal, LiteralRef, NamedNode, Term, Triple};
use spareval::QueryEvaluator;

use super::aggregates;
use super::numeric::Number;
use super::order::{is_double_form, is_integer_type};

const MARK: char = ' ';

/// What a call of `STRDT` returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// The literal, as an expression computes with it.
    Value,
    /// The [name](aggregates::name_of) of the literal: for what becomes a term of a row.
    Term,
    /// The form of the literal: for `STR`.
    Text,
    /// A literal of its datatype that the evaluator knows no value of: for `DATATYPE`.
    Datatype,
}

const FUNCTIONS: [(Typed, &str); 4] = [
    (Typed::Value, " typed"),
    (Typed::Term, " typed term"),
    (Typed::Text, " typed text"),
    (Typed::Datatype, " typed type"),
];

impl Typed {
    /// What the function is called by in planned expressions.
    pub(crate) fn name(self) -> NamedNode {
        let (_, name) = FUNCTIONS.iter().find(|(function, _)| *function == self).expect("each has a name");
        NamedNode::new_unchecked(*name)
    }

    /// Whether a function has this name.
    pub(crate) fn is_name(name: &str) -> bool {
        FUNCTIONS.iter().any(|(_, known)| *known == name)
    }

    fn apply(self, arguments: &[Term]) -> Option<Term> {
        let literal = typed(arguments)?;
        Some(match self {
            Self::Value => marked(literal).into(),
            Self::Term => aggregates::name_of(&literal).map_or_else(|| literal.into(), Term::from),
            Self::Text => Literal::from(literal.value()).into(),
            Self::Datatype => Literal::new_typed_literal("", literal.datatype()).into(),
        })
    }
}

/// Whether the literal is of a type derived from `xsd:integer`, a float or a double, and is none of the type's values
/// although the evaluator would take it for one.
fn is_ill_typed(literal: LiteralRef<'_>) -> bool {
    match literal.datatype() {
        xsd::STRING | xsd::INTEGER => false,
        xsd::DOUBLE | xsd::FLOAT => !is_double_form(literal.value()),
        datatype => is_integer_type(datatype) && Number::of_literal(literal).is_none(),
    }
}

/// The literal as expressions have it.
pub(crate) fn marked(literal: Literal) -> Literal {
    match is_ill_typed(literal.as_ref()) {
        true => {
            let datatype = NamedNode::new_unchecked(format!("{}{MARK}", literal.datatype().as_str()));
            Literal::new_typed_literal(literal.destruct().0, datatype)
        }
        false => literal,
    }
}

/// The term with its literals as expressions have them.
pub(crate) fn marked_term(term: Term) -> Term {
    match term {
        Term::Literal(literal) => marked(literal).into(),
        Term::Triple(mut triple) => {
            triple.object = marked_term(triple.object);
            Term::Triple(triple)
        }
        other => other,
    }
}

/// The term with its literals as rows have them, if one is marked.
pub(crate) fn unmarked_term(term: &Term) -> Option<Term> {
    match term {
        Term::Literal(literal) => is_marked(literal.as_ref()).then(|| unmarked(literal.clone()).into()),
        Term::Triple(triple) => {
            let object = unmarked_term(&triple.object)?;
            Some(Triple::new(triple.subject.clone(), triple.predicate.clone(), object).into())
        }
        _ => None,
    }
}

/// Whether the literal is [`marked`].
pub(crate) fn is_marked(literal: LiteralRef<'_>) -> bool {
    literal.datatype().as_str().ends_with(MARK)
}

/// The literal as rows have it.
pub(crate) fn unmarked(literal: Literal) -> Literal {
    match literal.datatype().as_str().strip_suffix(MARK) {
        Some(datatype) => {
            let datatype = NamedNode::new_unchecked(datatype);
            Literal::new_typed_literal(literal.destruct().0, datatype)
        }
        None => literal,
    }
}

/// The evaluator with these functions.
pub(crate) fn registered(evaluator: QueryEvaluator) -> QueryEvaluator {
    FUNCTIONS.iter().fold(evaluator, |evaluator, (function, _)| {
        evaluator.with_custom_function(function.name(), |arguments| function.apply(arguments))
    })
}

/// The literal of a form and a datatype. A text with a language needs its language, so there is none of its type.
fn typed(arguments: &[Term]) -> Option<Literal> {
    let [Term::Literal(form), Term::NamedNode(datatype)] = arguments else { return None };
    let is_of_languages = [rdf::LANG_STRING, rdf::DIR_LANG_STRING].contains(&datatype.as_ref());
    let is_text = form.datatype() == xsd::STRING;
    (is_text && !is_of_languages).then(|| Literal::new_typed_literal(form.value(), datatype.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_marked_only_if_it_is_no_value_of_its_type() {
        for (form, datatype, is_ill_typed) in [
            ("127", xsd::BYTE, false),
            ("128", xsd::BYTE, true),
            ("+0127", xsd::BYTE, false),
            ("-129", xsd::BYTE, true),
            ("x", xsd::BYTE, true),
            ("18446744073709551615", xsd::UNSIGNED_LONG, false),
            ("18446744073709551616", xsd::UNSIGNED_LONG, true),
            ("9223372036854775808", xsd::LONG, true),
            ("100000000000000000000", xsd::NON_NEGATIVE_INTEGER, false),
            ("-0", xsd::NON_NEGATIVE_INTEGER, false),
            ("-1", xsd::NON_NEGATIVE_INTEGER, true),
            ("0", xsd::POSITIVE_INTEGER, true),
            ("1", xsd::NON_POSITIVE_INTEGER, true),
            ("0", xsd::NEGATIVE_INTEGER, true),
            ("-100000000000000000000", xsd::NEGATIVE_INTEGER, false),
            ("x", xsd::INTEGER, false),
            ("INF", xsd::DOUBLE, false),
            ("NaN", xsd::FLOAT, false),
            ("1e5", xsd::DOUBLE, false),
            ("inf", xsd::DOUBLE, true),
            ("Infinity", xsd::FLOAT, true),
            ("-nan", xsd::DOUBLE, true),
            ("300", xsd::STRING, false),
        ] {
            let literal = Literal::new_typed_literal(form, datatype);
            let marked = marked(literal.clone());
            assert_eq!(is_marked(marked.as_ref()), is_ill_typed, "{literal}");
            assert_eq!(unmarked(marked), literal);
        }
    }
}
