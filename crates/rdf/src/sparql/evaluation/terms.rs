//! Terms as an evaluation holds them: a stored term by its number, a computed one by its place in a table of the
//! evaluation, and a row's key of an `ORDER BY` by its place in a table of keys.
//!
//! Invariant: a term has one [`EvaluationTerm`] in one evaluation, so that comparing these compares terms. A computed
//! term whose number the store knows is held by its number.

use std::cell::Cell;
use std::rc::Rc;

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{Literal, LiteralRef, NamedNode, NamedNodeRef, Term, TermRef};
use oxsdatatypes::Boolean;
use spareval::ExpressionTerm;

use super::known_terms::KnownTerms;
use super::limits::{EvaluationMonitor, Stopped};
use crate::sparql::evaluation::best_rows::Best;
use crate::sparql::evaluation::evaluation_term::{EvaluationTerm, Form};
use crate::sparql::evaluation::sort_tables::{SortTables, TermValues};
use crate::sparql::expressions::aggregates::{self, Named};
use crate::sparql::expressions::ill_typed;
use crate::sparql::expressions::numeric::Number;
use crate::sparql::expressions::order::is_time_or_duration;
use crate::{InlineValue, Quads, TermId, TermKind, meter};

/// Translates terms of one evaluation. Clones share the table.
pub(crate) struct Terms<Q> {
    quads: Q,
    watch: EvaluationMonitor,
    known: Rc<KnownTerms>,
    best: Option<Rc<Best>>,
    sorted: Rc<SortTables>,
    /// The text that an expression has taken last: neither a number nor a time, as is asked next where an operator has
    /// failed.
    last_text: Cell<Option<EvaluationTerm>>,
}

impl<Q: Clone> Clone for Terms<Q> {
    fn clone(&self) -> Self {
        let (known, sorted, best) = (Rc::clone(&self.known), Rc::clone(&self.sorted), self.best.clone());
        let (quads, watch) = (self.quads.clone(), self.watch.clone());
        Self { quads, watch, known, best, sorted, last_text: Cell::default() }
    }
}

impl<Q: Quads> Terms<Q> {
    pub(crate) fn new(quads: Q, watch: EvaluationMonitor) -> Self {
        let known = Rc::new(KnownTerms::new(&watch));
        Self { quads, watch, known, best: None, sorted: Rc::default(), last_text: Cell::default() }
    }

    /// With the best rows of a result that is cut off.
    pub(crate) fn with_best(self, best: Option<Rc<Best>>) -> Self {
        Self { best, ..self }
    }

    pub(crate) fn best(&self) -> Option<&Rc<Best>> {
        self.best.as_ref()
    }

    pub(crate) fn quads(&self) -> &Q {
        &self.quads
    }

    pub(crate) fn watch(&self) -> &EvaluationMonitor {
        &self.watch
    }

    /// The number of a term, if the store has one for it.
    pub(crate) fn stored(&self, term: &Term) -> Result<Option<TermId>, Stopped> {
        self.watch.keep(meter::uncounted(|| self.quads.id(TermRef::from(term))))
    }

    pub(crate) fn has_named_graphs(&self) -> Result<bool, Stopped> {
        self.watch.keep(self.quads.graph_names().next().transpose()).map(|name| name.is_some())
    }

    pub(crate) fn internalize(&self, term: Term) -> Result<EvaluationTerm, Stopped> {
        if let Some(form) = Form::of(&term) {
            return Ok(EvaluationTerm::Form(form));
        }
        if let Term::NamedNode(node) = &term
            && node.as_str().starts_with(' ')
            && let Some(named) = aggregates::named(node)
        {
            return match named {
                Named::Id(id) => Ok(EvaluationTerm::Stored(id)),
                Named::Term(term) => self.internalize(term),
            };
        }
        if let Some(term) = ill_typed::unmarked_term(&term) {
            return self.internalize(term);
        }
        if let Some(id) = self.stored(&term)? {
            return Ok(EvaluationTerm::Stored(id));
        }
        self.known.place(term, &self.watch).map(EvaluationTerm::Computed)
    }

    /// As [`Terms::internalize`], of what an expression has computed.
    pub(crate) fn internalize_expression(&self, term: ExpressionTerm) -> Result<EvaluationTerm, Stopped> {
        if let Some(key) = self.sorted.take_added() {
            return Ok(EvaluationTerm::SortKey(key));
        }
        match term {
            ExpressionTerm::DoubleLiteral(value) => self.internalize(Number::Double(value).into_term()),
            ExpressionTerm::FloatLiteral(value) => self.internalize(Number::Float(value).into_term()),
            ExpressionTerm::LangStringLiteral { value, language } if language.starts_with(OF_NO_TEXT) => {
                self.internalize(Literal::from(value).into())
            }
            term => self.internalize(term.into()),
        }
    }

    /// For expressions: a value that is in its number needs no dictionary and no text.
    pub(crate) fn externalize_expression(&self, term: EvaluationTerm) -> Result<ExpressionTerm, Stopped> {
        match term {
            EvaluationTerm::Stored(id) if id.kind() == TermKind::Literal => {
                if let Some(value) = id.inline_value().and_then(|value| expression_of(id, value)) {
                    return Ok(value);
                }
            }
            EvaluationTerm::SortKey(key) => {
                return Ok(ExpressionTerm::IntegerLiteral(self.sorted.rank(key, self)?.into()));
            }
            _ => {}
        }
        let value = ill_typed::marked_term(self.externalize(term)?).into();
        if matches!(value, ExpressionTerm::StringLiteral(_) | ExpressionTerm::LangStringLiteral { .. }) {
            self.last_text.set(Some(term));
        }
        Ok(value)
    }

    /// As [`Terms::externalize_expression`], in a form.
    pub(crate) fn externalize_in_form(&self, term: EvaluationTerm, form: Form) -> Result<ExpressionTerm, Stopped> {
        match form {
            Form::Text => Ok(match self.externalize(term)? {
                Term::Literal(literal) => ExpressionTerm::StringLiteral(literal.destruct().0),
                other => other.into(),
            }),
            Form::Truth => Ok(match self.externalize_expression(term)? {
                ExpressionTerm::OtherTypedLiteral { value, datatype } if has_truth_values(datatype.as_ref()) => {
                    is_true(&value, datatype.as_ref()).into()
                }
                ExpressionTerm::OtherTypedLiteral { value, datatype }
                    if ill_typed::is_marked(LiteralRef::new_typed_literal(&value, &datatype)) =>
                {
                    false.into()
                }
                other => other,
            }),
            Form::Candidate | Form::Reached => Ok(self.may_be_among_the_best(term, form).into()),
            Form::Sort(slot) => match self.sorted.add(slot, term) {
                Some(()) => Ok(ExpressionTerm::IntegerLiteral(0.into())),
                None => Err(self.watch.fail_full("rows to sort")),
            },
            Form::Named => self.named(term),
            Form::MustBeNumber => Ok(true_or_error(self.is_number(term)?)),
            Form::MustBeOrdered => {
                Ok(true_or_error(self.is_number(term)? || self.is_truth(term)? || self.is_time(term)?))
            }
            Form::Datatype => self.of_its_datatype(term),
            Form::Concatenated => self.concatenated(term),
            Form::IsTime => Ok(self.is_time(term)?.into()),
            Form::IsNumber => Ok(self.is_number(term)?.into()),
            Form::IsNan => Ok(is_nan(term).into()),
        }
    }

    /// What an aggregate takes for the term.
    fn named(&self, term: EvaluationTerm) -> Result<ExpressionTerm, Stopped> {
        match term {
            EvaluationTerm::Stored(id) if id.is_inline() => Ok(aggregates::name_of_id(id).into()),
            other => Ok(match self.externalize(other)? {
                Term::Literal(literal) => match aggregates::name_of(&literal) {
                    Some(name) => name.into(),
                    None => Term::from(literal).into(),
                },
                term => term.into(),
            }),
        }
    }

    /// What `GROUP_CONCAT` takes for the term. Its texts have languages that no text has, one for each datatype: so
    /// `DISTINCT` takes terms of one text for different ones, and the result has no language.
    fn concatenated(&self, term: EvaluationTerm) -> Result<ExpressionTerm, Stopped> {
        let text = |value: String, kind: &str| ExpressionTerm::LangStringLiteral {
            value,
            language: format!("{OF_NO_TEXT}{kind}"),
        };
        Ok(match self.externalize(term)? {
            Term::NamedNode(node) => text(node.into_string(), ""),
            Term::Literal(literal) if !is_of_texts(literal.datatype()) => {
                let (value, datatype, ..) = literal.destruct();
                text(value, datatype.as_ref().map_or("", NamedNode::as_str))
            }
            other => other.into(),
        })
    }

    fn is_number(&self, term: EvaluationTerm) -> Result<bool, Stopped> {
        match term {
            EvaluationTerm::Stored(id) if id.is_inline() => Ok(Number::of_inline(id).is_some()),
            other => self.is_literal(other, |literal| Number::of_literal(literal).is_some()),
        }
    }

    fn is_time(&self, term: EvaluationTerm) -> Result<bool, Stopped> {
        match term {
            EvaluationTerm::Stored(id) if id.is_inline() => Ok(id.inline_datatype().is_some_and(is_time_or_duration)),
            other => self.is_literal(other, |literal| is_time_or_duration(literal.datatype())),
        }
    }

    fn is_truth(&self, term: EvaluationTerm) -> Result<bool, Stopped> {
        match term {
            EvaluationTerm::Stored(id) if id.is_inline() => Ok(id.inline_datatype() == Some(xsd::BOOLEAN)),
            other => self.is_literal(other, |literal| literal.datatype() == xsd::BOOLEAN),
        }
    }

    /// What the evaluator takes for a literal of the term's datatype, and of no value that it knows.
    fn of_its_datatype(&self, term: EvaluationTerm) -> Result<ExpressionTerm, Stopped> {
        let of = |datatype: NamedNodeRef<'_>| ExpressionTerm::OtherTypedLiteral {
            value: String::new(),
            datatype: datatype.into_owned(),
        };
        if let EvaluationTerm::Stored(id) = term
            && let Some(datatype) = id.inline_datatype().filter(|datatype| !is_of_texts(*datatype))
        {
            return Ok(of(datatype));
        }
        Ok(match self.externalize(term)? {
            Term::Literal(literal) if !is_of_texts(literal.datatype()) => of(literal.datatype()),
            other => other.into(),
        })
    }

    /// Whether the term is a literal that meets the condition. Texts never do. Cached terms are not copied.
    fn is_literal(&self, term: EvaluationTerm, holds: impl Fn(LiteralRef<'_>) -> bool) -> Result<bool, Stopped> {
        if self.last_text.get() == Some(term) {
            return Ok(false);
        }
        let of_term = |term: &Term| matches!(term, Term::Literal(literal) if holds(literal.as_ref()));
        if let EvaluationTerm::Stored(id) = term {
            if id.kind() != TermKind::Literal {
                return Ok(false);
            }
            if let Some(is_one) = self.known.look_at(id, of_term) {
                return Ok(is_one);
            }
        }
        Ok(of_term(&self.externalize(term)?))
    }

    /// What [`Form::Candidate`] and [`Form::Reached`] say.
    fn may_be_among_the_best(&self, term: EvaluationTerm, form: Form) -> bool {
        match (&self.best, term) {
            (Some(best), EvaluationTerm::Stored(id)) if form == Form::Reached => best.offer(id),
            (Some(best), EvaluationTerm::Stored(id)) => best.may_have(id),
            _ => true,
        }
    }

    /// As [`Terms::effective_boolean_value`], of the term in a form.
    pub(crate) fn effective_boolean_value_in_form(
        &self,
        term: EvaluationTerm,
        form: Form,
    ) -> Result<Option<bool>, Stopped> {
        match form {
            Form::Candidate | Form::Reached => Ok(Some(self.may_be_among_the_best(term, form))),
            Form::IsTime => self.is_time(term).map(Some),
            Form::IsNumber => self.is_number(term).map(Some),
            Form::IsNan => Ok(Some(is_nan(term))),
            _ => self.effective_boolean_value(term),
        }
    }

    /// Whether the term counts as true; `None` if it is neither.
    pub(crate) fn effective_boolean_value(&self, term: EvaluationTerm) -> Result<Option<bool>, Stopped> {
        if let EvaluationTerm::Stored(id) = term
            && matches!(id.kind(), TermKind::Iri | TermKind::BlankNode | TermKind::Triple)
        {
            return Ok(None);
        }
        Ok(match self.externalize_expression(term)? {
            ExpressionTerm::BooleanLiteral(value) => Some(value.into()),
            ExpressionTerm::StringLiteral(value) => Some(!value.is_empty()),
            ExpressionTerm::IntegerLiteral(value) => Some(Boolean::from(value).into()),
            ExpressionTerm::DecimalLiteral(value) => Some(Boolean::from(value).into()),
            ExpressionTerm::DoubleLiteral(value) => Some(Boolean::from(value).into()),
            ExpressionTerm::FloatLiteral(value) => Some(Boolean::from(value).into()),
            ExpressionTerm::OtherTypedLiteral { value, datatype } if has_truth_values(datatype.as_ref()) => {
                Some(is_true(&value, datatype.as_ref()))
            }
            ExpressionTerm::OtherTypedLiteral { value, datatype }
                if ill_typed::is_marked(LiteralRef::new_typed_literal(&value, &datatype)) =>
            {
                Some(false)
            }
            _ => None,
        })
    }
}

impl<Q: Quads> TermValues for Terms<Q> {
    fn externalize(&self, term: EvaluationTerm) -> Result<Term, Stopped> {
        match term {
            EvaluationTerm::Stored(id) => self.known.stored(id, &self.watch, |id| self.quads.term(id)),
            EvaluationTerm::Computed(place) => Ok(self.known.computed(place)),
            EvaluationTerm::Form(form) => Ok(NamedNode::from(form).into()),
            EvaluationTerm::SortKey(key) => self.sorted.rank(key, self).map(|rank| Literal::from(rank).into()),
        }
    }
}

/// What begins the language of a text that stands for a term which is none. No language tag has it.
const OF_NO_TEXT: char = ' ';

/// Whether its literals are texts, with languages or without.
fn is_of_texts(datatype: NamedNodeRef<'_>) -> bool {
    [xsd::STRING, rdf::LANG_STRING, rdf::DIR_LANG_STRING].contains(&datatype)
}

/// Whether the term is NaN, which is always in its id.
fn is_nan(term: EvaluationTerm) -> bool {
    match term {
        EvaluationTerm::Stored(id) => Number::of_inline(id).is_some_and(|number| number.is_nan()),
        _ => false,
    }
}

/// True, or what is not a truth value.
fn true_or_error(is_true: bool) -> ExpressionTerm {
    match is_true {
        true => true.into(),
        false => NamedNode::new_unchecked(String::new()).into(),
    }
}

/// Whether a literal that the evaluator's own numbers do not hold counts as true: a long number does, and one that is
/// ill-formed does not.
fn is_true(text: &str, datatype: NamedNodeRef<'_>) -> bool {
    Number::of_literal(LiteralRef::new_typed_literal(text, datatype)).is_some_and(|number| number.is_true())
}

/// Whether literals of the datatype count as true or false: those that are none of its values as false (SPARQL 1.1,
/// 17.2.2).
fn has_truth_values(datatype: NamedNodeRef<'_>) -> bool {
    const TYPES: [NamedNodeRef<'_>; 17] = [
        xsd::BOOLEAN,
        xsd::INTEGER,
        xsd::DECIMAL,
        xsd::DOUBLE,
        xsd::FLOAT,
        xsd::BYTE,
        xsd::SHORT,
        xsd::INT,
        xsd::LONG,
        xsd::UNSIGNED_BYTE,
        xsd::UNSIGNED_SHORT,
        xsd::UNSIGNED_INT,
        xsd::UNSIGNED_LONG,
        xsd::POSITIVE_INTEGER,
        xsd::NEGATIVE_INTEGER,
        xsd::NON_POSITIVE_INTEGER,
        xsd::NON_NEGATIVE_INTEGER,
    ];
    TYPES.contains(&datatype)
}

/// What the evaluator makes of a literal with this value; `None` where its datatype decides more than the value says,
/// so that the literal has to be looked at whole.
fn expression_of(id: TermId, value: InlineValue) -> Option<ExpressionTerm> {
    Some(match value {
        InlineValue::Boolean(value) => ExpressionTerm::BooleanLiteral(Boolean::from(value)),
        InlineValue::Integer(value) => {
            // The evaluator knows some of the derived types as integers, and the others as opaque: only the base type
            // is plain.
            if id.inline_datatype() != Some(oxrdf::vocab::xsd::INTEGER) {
                return None;
            }
            ExpressionTerm::IntegerLiteral(value.into())
        }
        InlineValue::Decimal(value) => ExpressionTerm::DecimalLiteral(value),
        InlineValue::Double(value) => ExpressionTerm::DoubleLiteral(value),
        InlineValue::Float(value) => ExpressionTerm::FloatLiteral(value),
        InlineValue::DateTime(value) => ExpressionTerm::DateTimeLiteral(value),
        InlineValue::Date(value) => ExpressionTerm::DateLiteral(value),
        InlineValue::Time(value) => ExpressionTerm::TimeLiteral(value),
        InlineValue::String(text) => ExpressionTerm::StringLiteral(text.as_str().to_owned()),
        InlineValue::LangString(language, text) => ExpressionTerm::LangStringLiteral {
            value: text.as_str().to_owned(),
            language: language.as_str().to_owned(),
        },
        _ => return None,
    })
}
