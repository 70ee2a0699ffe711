//! Operators and functions of our own that planned expressions call, and the evaluators that know them.
//!
//! Each has two modes. In [`Mode::Fallback`] it takes only numbers, or what an order compares, and is called if the
//! evaluator's own operator has failed. In [`Mode::Any`] it replaces the evaluator's operator, and takes the same
//! operands.
//!
//! Their names are no IRIs, so that no text can call them.

use std::cmp::Ordering;
use std::sync::LazyLock;

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, NamedNodeRef, Term, Variable};
use spareval::QueryEvaluator;
use sparopt::algebra::Expression as Native;

use super::aggregates;
use super::numeric::Number;
use super::order::{Key, is_time_or_duration};
use crate::sparql::expressions::ill_typed;

/// An operator or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Keep,
    Absolute,
    Ceiling,
    Floor,
    Round,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    In,
    IsNumeric,
    ToInteger,
    ToDecimal,
    ToDouble,
    ToFloat,
    ToBoolean,
    ToString,
    Substring,
    /// What a cast to a date, a time or a duration takes.
    WithoutSpace,
}

/// What an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What the evaluator's own operator refuses though it has a value: numbers, and for an order also truth values,
    /// dates, times and durations. All else is an error.
    Fallback,
    /// What the evaluator's own operator takes.
    Any,
}

const OPERATIONS: [(Operation, &str); 25] = [
    (Operation::Add, "add"),
    (Operation::Subtract, "subtract"),
    (Operation::Multiply, "multiply"),
    (Operation::Divide, "divide"),
    (Operation::Negate, "negate"),
    (Operation::Keep, "keep"),
    (Operation::Absolute, "absolute"),
    (Operation::Ceiling, "ceiling"),
    (Operation::Floor, "floor"),
    (Operation::Round, "round"),
    (Operation::Less, "less"),
    (Operation::LessOrEqual, "less or equal"),
    (Operation::Greater, "greater"),
    (Operation::GreaterOrEqual, "greater or equal"),
    (Operation::Equal, "equal"),
    (Operation::In, "in"),
    (Operation::IsNumeric, "is numeric"),
    (Operation::ToInteger, "to integer"),
    (Operation::ToDecimal, "to decimal"),
    (Operation::ToDouble, "to double"),
    (Operation::ToFloat, "to float"),
    (Operation::ToBoolean, "to boolean"),
    (Operation::ToString, "to string"),
    (Operation::Substring, "substring"),
    (Operation::WithoutSpace, "without space"),
];

/// The name of the node that replaces an item in the list of `IN` if the item's expression fails. A call with an
/// argument that fails is an error, but `IN` is true if another item equals the value.
pub(crate) const FAILED: &str = " failed";

/// How texts have an operation.
enum Sign {
    Between(char),
    /// As `Between`, in brackets.
    Compared(&'static str),
    Before(char),
    Call(&'static str),
    Cast(NamedNodeRef<'static>),
    In,
    /// The operand alone: texts have no such operation.
    Hidden,
}

/// The evaluator for a query that calls functions of ours, or for one that calls none and need not carry them.
pub(crate) fn evaluator(calls_functions: bool) -> &'static QueryEvaluator {
    static WITHOUT: LazyLock<QueryEvaluator> = LazyLock::new(QueryEvaluator::new);
    static WITH: LazyLock<QueryEvaluator> = LazyLock::new(|| {
        let mut evaluator = ill_typed::registered(aggregates::registered(QueryEvaluator::new()));
        for (operation, _) in OPERATIONS {
            for mode in [Mode::Fallback, Mode::Any] {
                evaluator = evaluator
                    .with_custom_function(operation.name(mode), move |arguments| operation.apply(mode, arguments));
            }
        }
        evaluator
    });
    if calls_functions { &WITH } else { &WITHOUT }
}

impl Operation {
    /// What it is called by in planned expressions.
    pub(crate) fn name(self, mode: Mode) -> NamedNode {
        let (_, name) = OPERATIONS.iter().find(|(operation, _)| *operation == self).expect("each has a name");
        NamedNode::new_unchecked(match mode {
            Mode::Fallback => format!(" {name}"),
            Mode::Any => format!(" {name}, any"),
        })
    }

    /// A call of the function with this name as texts have it, and whether it stands behind the evaluator's own
    /// operator.
    pub(crate) fn written(name: &str, operands: &[&str]) -> Option<(String, bool)> {
        let (operation, mode) = OPERATIONS.iter().find_map(|(operation, _)| {
            let mode = [Mode::Fallback, Mode::Any].into_iter().find(|mode| operation.name(*mode).as_str() == name)?;
            Some((*operation, mode))
        })?;
        let text = match (operation.sign(), operands) {
            (Sign::Between(sign), [left, right]) => format!("{left} {sign} {right}"),
            (Sign::Compared(sign), [left, right]) => format!("({left} {sign} {right})"),
            (Sign::Before(sign), [operand]) => format!("{sign}{operand}"),
            (Sign::Call(function), operands) => format!("{function}({})", operands.join(", ")),
            (Sign::Cast(datatype), operands) => format!("{datatype}({})", operands.join(", ")),
            (Sign::Hidden, [operand]) => (*operand).to_owned(),
            (_, [value, list @ ..]) => format!("({value} IN ({}))", list.join(", ")),
            (_, []) => return None,
        };
        Some((text, mode == Mode::Fallback))
    }

    fn sign(self) -> Sign {
        match self {
            Self::Add => Sign::Between('+'),
            Self::Subtract => Sign::Between('-'),
            Self::Multiply => Sign::Between('*'),
            Self::Divide => Sign::Between('/'),
            Self::Negate => Sign::Before('-'),
            Self::Keep => Sign::Before('+'),
            Self::Absolute => Sign::Call("ABS"),
            Self::Ceiling => Sign::Call("CEIL"),
            Self::Floor => Sign::Call("FLOOR"),
            Self::Round => Sign::Call("ROUND"),
            Self::IsNumeric => Sign::Call("isNUMERIC"),
            Self::Less => Sign::Compared("<"),
            Self::LessOrEqual => Sign::Compared("<="),
            Self::Greater => Sign::Compared(">"),
            Self::GreaterOrEqual => Sign::Compared(">="),
            Self::Equal => Sign::Compared("="),
            Self::In => Sign::In,
            Self::ToInteger => Sign::Cast(xsd::INTEGER),
            Self::ToDecimal => Sign::Cast(xsd::DECIMAL),
            Self::ToDouble => Sign::Cast(xsd::DOUBLE),
            Self::ToFloat => Sign::Cast(xsd::FLOAT),
            Self::ToBoolean => Sign::Cast(xsd::BOOLEAN),
            Self::ToString => Sign::Cast(xsd::STRING),
            Self::Substring => Sign::Call("SUBSTR"),
            Self::WithoutSpace => Sign::Hidden,
        }
    }

    /// Whether its operands and its value are numbers, dates, times or durations.
    pub(crate) fn is_arithmetic(self) -> bool {
        use Operation as O;
        matches!(
            self,
            O::Add
                | O::Subtract
                | O::Multiply
                | O::Divide
                | O::Negate
                | O::Keep
                | O::Absolute
                | O::Ceiling
                | O::Floor
                | O::Round
                | O::ToInteger
                | O::ToDecimal
                | O::ToDouble
                | O::ToFloat
                | O::ToBoolean
        )
    }

    /// Whether it takes texts too.
    pub(crate) fn is_cast(self) -> bool {
        self.is_number_cast() || self == Self::ToBoolean
    }

    /// Whether it makes a number of texts too.
    pub(crate) fn is_number_cast(self) -> bool {
        matches!(self, Self::ToInteger | Self::ToDecimal | Self::ToDouble | Self::ToFloat)
    }

    /// Whether it asks which of two values is the lesser.
    pub(crate) fn is_order(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual)
    }

    /// Its value. `None` is an error of the expression.
    pub(crate) fn apply(self, mode: Mode, arguments: &[Term]) -> Option<Term> {
        use Operation as O;
        let truth = |value: bool| Term::from(Literal::from(value));
        match (self, arguments) {
            (O::In, [value, list @ ..]) => is_in(value, list).map(truth),
            (O::IsNumeric, [value]) => Some(truth(Number::of(value).is_some())),
            (O::ToInteger, [value]) => numeric(value, Number::parse_integer)?.to_integer().map(Number::into_term),
            (O::ToDecimal, [value]) => numeric(value, Number::parse_decimal)?.to_decimal().map(Number::into_term),
            (O::ToDouble, [value]) => {
                Some(Number::Double(numeric(value, Number::parse_double)?.to_double()).into_term())
            }
            (O::ToFloat, [value]) => Some(Number::Float(numeric(value, Number::parse_float)?.to_float()).into_term()),
            (O::ToBoolean, [value]) => boolean(value).map(truth),
            (O::ToString, [value]) => text(value).map(|text| Literal::from(text).into()),
            (O::Substring, [source, first]) => substring(source, first, None),
            (O::Substring, [source, first, count]) => substring(source, first, Some(count)),
            (O::WithoutSpace, [value]) => Some(match value {
                Term::Literal(literal) if literal.datatype() == xsd::STRING => {
                    Literal::from(without_outer_space(literal.value())).into()
                }
                other => other.clone(),
            }),
            (O::Equal, [left, right]) if mode == Mode::Any => equal(left, right).map(truth),
            (_, [value]) => match Number::of(value) {
                Some(number) => self.of_number(&number).map(Number::into_term),
                None if mode == Mode::Any => self.natively(arguments),
                None => None,
            },
            (_, [left, right]) => match (Number::of(left), Number::of(right)) {
                (Some(left), Some(right)) => self.of_numbers(&left, &right),
                _ => match (truth_value(left), truth_value(right)) {
                    (Some(left), Some(right)) if self.is_order() => self.of_order(Some(left.cmp(&right))).map(truth),
                    _ => self.of_others(mode, arguments),
                },
            },
            _ => None,
        }
    }

    fn of_number(self, number: &Number) -> Option<Number> {
        Some(match self {
            Self::Negate => number.negated(),
            Self::Keep => number.clone(),
            Self::Absolute => number.absolute(),
            Self::Ceiling => number.ceiling(),
            Self::Floor => number.floor(),
            Self::Round => number.round(),
            _ => return None,
        })
    }

    fn of_numbers(self, left: &Number, right: &Number) -> Option<Term> {
        let computed = match self {
            Self::Add => left.plus(right),
            Self::Subtract => left.minus(right),
            Self::Multiply => left.times(right),
            Self::Divide => left.divided_by(right),
            _ => {
                return self.of_order(left.compare(right)).map(|holds| Literal::from(holds).into());
            }
        };
        computed.map(Number::into_term)
    }

    /// Whether a comparison holds between values of this order. `None`: it is not a comparison.
    pub(crate) fn of_order(self, order: Option<Ordering>) -> Option<bool> {
        Some(match self {
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
            Self::Equal => order == Some(Ordering::Equal),
            _ => return None,
        })
    }

    /// Of two terms that are not both numbers or truth values.
    fn of_others(self, mode: Mode, arguments: &[Term]) -> Option<Term> {
        let order = match arguments {
            [left, right] if self.is_order() => compare_times(left, right),
            _ => None,
        };
        match order {
            Some(order) => self.of_order(Some(order)).map(|holds| Literal::from(holds).into()),
            None if mode == Mode::Any => self.natively(arguments),
            None => None,
        }
    }

    /// As the evaluator's own operator, of what are no numbers.
    fn natively(self, arguments: &[Term]) -> Option<Term> {
        let names = ["a", "b"].map(Variable::new_unchecked);
        let operand = |place: usize| Box::new(Native::from(names[place].clone()));
        let expression = match self {
            Self::Add => Native::Add(operand(0), operand(1)),
            Self::Subtract => Native::Subtract(operand(0), operand(1)),
            Self::Negate => Native::UnaryMinus(operand(0)),
            Self::Keep => Native::UnaryPlus(operand(0)),
            Self::Less => Native::Less(operand(0), operand(1)),
            Self::LessOrEqual => Native::LessOrEqual(operand(0), operand(1)),
            Self::Greater => Native::Greater(operand(0), operand(1)),
            Self::GreaterOrEqual => Native::GreaterOrEqual(operand(0), operand(1)),
            _ => return None,
        };
        let evaluated = |arguments: [&Term; 2]| {
            evaluator(false).evaluate_expression(&expression, names.iter().zip(arguments.into_iter().cloned()))
        };
        match arguments {
            // The evaluator puts the operands of a sum into an order of its own, and adds no date to a duration.
            [left, right] if self == Self::Add => evaluated([left, right]).or_else(|| evaluated([right, left])),
            [left, right] => evaluated([left, right]),
            [value] => evaluated([value, value]),
            _ => None,
        }
    }
}

/// Whether two terms are equal. `None`: an error.
fn equal(left: &Term, right: &Term) -> Option<bool> {
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Some(left.compare(&right) == Some(Ordering::Equal));
    }
    if left == right {
        return Some(true);
    }
    Key::of(left.as_ref()).equals(&Key::of(right.as_ref()))
}

/// The order of two dates, times or durations, if one is defined.
fn compare_times(left: &Term, right: &Term) -> Option<Ordering> {
    let key = |term: &Term| match term {
        Term::Literal(literal) if is_time_or_duration(literal.datatype()) => Some(Key::of(term.as_ref())),
        _ => None,
    };
    key(left)?.compare_times(&key(right)?)
}

/// The characters of a text from a place on, which is 1 for the first, or so many of them (XPath and XQuery Functions
/// 3.1, 5.4.3). Both numbers are integers of any length.
fn substring(source: &Term, first: &Term, count: Option<&Term>) -> Option<Term> {
    let Term::Literal(source) = source else { return None };
    if source.language().is_none() && source.datatype() != xsd::STRING {
        return None;
    }
    let first = Number::of(first)?;
    let end = match count {
        Some(count) => first.plus(&Number::of(count)?)?.nearest_integer()?,
        None => i64::MAX,
    };
    let begin = first.nearest_integer()?.max(1);
    let characters = |count: i64| usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    let skipped = characters(begin - 1);
    let text: String = source.value().chars().skip(skipped).take(characters(end.saturating_sub(begin))).collect();
    let literal = match (source.language(), source.direction()) {
        (Some(language), Some(direction)) => {
            Literal::new_directional_language_tagged_literal_unchecked(text, language, direction)
        }
        (Some(language), None) => Literal::new_language_tagged_literal_unchecked(text, language),
        _ => Literal::from(text),
    };
    Some(literal.into())
}

/// Whether one of the list is equal to the value. An error only if none is, and one has failed or cannot be compared.
fn is_in(value: &Term, list: &[Term]) -> Option<bool> {
    let has_failed = |item: &Term| matches!(item, Term::NamedNode(node) if node.as_str() == FAILED);
    let mut all_differ = Some(false);
    for item in list {
        let is_equal = if has_failed(item) { None } else { equal(value, item) };
        match is_equal {
            Some(true) => return Some(true),
            Some(false) => {}
            None => all_differ = None,
        }
    }
    all_differ
}

/// What a cast to a numeric type makes of a term, where a text is read by `parse`.
fn numeric(term: &Term, parse: impl Fn(&str) -> Option<Number>) -> Option<Number> {
    let Term::Literal(literal) = term else { return None };
    match literal.datatype() {
        xsd::STRING => parse(without_outer_space(literal.value())),
        xsd::BOOLEAN => boolean(term).map(|value| Number::Integer(value.into())),
        _ => Number::of_literal(literal.as_ref()),
    }
}

/// What a cast to a string makes of a term.
fn text(term: &Term) -> Option<String> {
    match term {
        Term::NamedNode(node) => Some(node.as_str().to_owned()),
        Term::Literal(literal) => Some(match Number::of_literal(literal.as_ref()) {
            Some(number) => number.text(),
            None => literal.value().to_owned(),
        }),
        _ => None,
    }
}

/// The truth value that a term is, if it is one.
fn truth_value(term: &Term) -> Option<bool> {
    match term {
        Term::Literal(literal) if literal.datatype() == xsd::BOOLEAN => boolean(term),
        _ => None,
    }
}

fn boolean(term: &Term) -> Option<bool> {
    let Term::Literal(literal) = term else { return None };
    if let Some(number) = Number::of_literal(literal.as_ref()) {
        return Some(number.is_true());
    }
    let form = match literal.datatype() {
        xsd::STRING => without_outer_space(literal.value()),
        xsd::BOOLEAN => literal.value(),
        _ => return None,
    };
    match form {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// The text without the white space of XML around it, which a cast ignores (XPath and XQuery Functions 3.1, 19.2).
fn without_outer_space(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}
