//! The kinds of values that expressions compute, as far as they are known before the evaluation.

use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;
use spargebra::algebra::{Expression, Function};

use crate::sparql::expressions::functions::Operation;
use crate::sparql::expressions::order::{is_integer_type, is_time_or_duration};
use crate::sparql::parse::shape::{Operand, visit_operands};

/// What is known of the value of an expression before it is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// A date, a time or a duration.
    Time,
    /// A truth value.
    Truth,
    /// None of these.
    Other,
    Unknown,
}

/// The kind of an expression's value.
pub(super) fn kind(expression: &Expression) -> Kind {
    use Expression as E;
    match expression {
        E::Literal(literal) => kind_of_type(literal.datatype()),
        E::NamedNode(_) => Kind::Other,
        E::Bound(_) | E::Exists(_) | E::Not(_) | E::And(..) | E::Or(..) | E::SameTerm(..) => Kind::Truth,
        // Of dates and durations too.
        E::Add(..) | E::Subtract(..) => match (operation_of(expression), operand_kinds(expression)) {
            (_, kinds) if kinds.contains(&Kind::Number) => Kind::Number,
            _ => Kind::Unknown,
        },
        E::Multiply(..) | E::Divide(..) => Kind::Number,
        E::Less(..) | E::LessOrEqual(..) | E::Greater(..) | E::GreaterOrEqual(..) | E::Equal(..) | E::In(..) => {
            Kind::Truth
        }
        E::FunctionCall(function, _) => kind_of_call(function),
        _ => Kind::Unknown,
    }
}

/// Whether the value is computed, and may be a double.
pub(crate) fn may_compute_double(expression: &Expression) -> bool {
    matches!(expression, Expression::FunctionCall(Function::Rand, _))
        || operation_of(expression).is_some_and(Operation::is_arithmetic)
}

/// Whether the value is an integer or a decimal, or an error: a number that is never NaN.
pub(super) fn makes_exact_numbers(expression: &Expression) -> bool {
    let Expression::FunctionCall(function, _) = expression else { return false };
    match function {
        Function::StrLen
        | Function::Year
        | Function::Month
        | Function::Day
        | Function::Hours
        | Function::Minutes
        | Function::Seconds => true,
        Function::Custom(name) => name.as_ref() == xsd::DECIMAL || is_integer_type(name.as_ref()),
        _ => false,
    }
}

/// Whether the value is a text, with a language or without, or an error.
pub(crate) fn makes_texts(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(literal) => literal.language().is_some() || literal.datatype() == xsd::STRING,
        Expression::FunctionCall(Function::Custom(name), _) => name.as_ref() == xsd::STRING,
        Expression::FunctionCall(function, _) => {
            !matches!(function, Function::Datatype | Function::Iri | Function::BNode | Function::Uuid)
                && kind_of_call(function) == Kind::Other
        }
        _ => false,
    }
}

fn operand_kinds(expression: &Expression) -> Vec<Kind> {
    let mut kinds = Vec::new();
    visit_operands(expression, &mut |operand| match operand {
        // Only one level down: sums of sums are looked at where they stand.
        Operand::Expression(Expression::Literal(literal)) => kinds.push(kind_of_type(literal.datatype())),
        Operand::Expression(Expression::Multiply(..) | Expression::Divide(..)) => kinds.push(Kind::Number),
        _ => kinds.push(Kind::Unknown),
    });
    kinds
}

fn kind_of_type(datatype: NamedNodeRef<'_>) -> Kind {
    match datatype {
        xsd::DECIMAL | xsd::DOUBLE | xsd::FLOAT => Kind::Number,
        xsd::BOOLEAN => Kind::Truth,
        _ if is_integer_type(datatype) => Kind::Number,
        _ if is_time_or_duration(datatype) => Kind::Time,
        _ => Kind::Other,
    }
}

fn kind_of_call(function: &Function) -> Kind {
    match function {
        Function::Str
        | Function::Lang
        | Function::LangDir
        | Function::Datatype
        | Function::Iri
        | Function::BNode
        | Function::Concat
        | Function::SubStr
        | Function::Replace
        | Function::UCase
        | Function::LCase
        | Function::EncodeForUri
        | Function::StrBefore
        | Function::StrAfter
        | Function::Tz
        | Function::Uuid
        | Function::StrUuid
        | Function::Md5
        | Function::Sha1
        | Function::Sha256
        | Function::Sha384
        | Function::Sha512
        | Function::StrLang
        | Function::StrLangDir => Kind::Other,
        Function::LangMatches
        | Function::Contains
        | Function::StrStarts
        | Function::StrEnds
        | Function::IsIri
        | Function::IsBlank
        | Function::IsLiteral
        | Function::IsNumeric
        | Function::Regex => Kind::Truth,
        Function::Abs
        | Function::Ceil
        | Function::Floor
        | Function::Round
        | Function::Rand
        | Function::StrLen
        | Function::Year
        | Function::Month
        | Function::Day
        | Function::Hours
        | Function::Minutes
        | Function::Seconds => Kind::Number,
        Function::Custom(name) => match name.as_ref() {
            xsd::STRING => Kind::Other,
            datatype if datatype.as_str().starts_with("http://www.w3.org/2001/XMLSchema#") => kind_of_type(datatype),
            _ => Kind::Unknown,
        },
        _ => Kind::Unknown,
    }
}

/// The operation that an expression's outermost operator is.
pub(super) fn operation_of(expression: &Expression) -> Option<Operation> {
    use Expression as E;
    Some(match expression {
        E::Add(..) => Operation::Add,
        E::Subtract(..) => Operation::Subtract,
        E::Multiply(..) => Operation::Multiply,
        E::Divide(..) => Operation::Divide,
        E::UnaryMinus(_) => Operation::Negate,
        E::UnaryPlus(_) => Operation::Keep,
        E::Less(..) => Operation::Less,
        E::LessOrEqual(..) => Operation::LessOrEqual,
        E::Greater(..) => Operation::Greater,
        E::GreaterOrEqual(..) => Operation::GreaterOrEqual,
        E::Equal(..) => Operation::Equal,
        E::In(..) => Operation::In,
        E::FunctionCall(function, arguments) => match (function, arguments.len()) {
            (Function::Abs, 1) => Operation::Absolute,
            (Function::Ceil, 1) => Operation::Ceiling,
            (Function::Floor, 1) => Operation::Floor,
            (Function::Round, 1) => Operation::Round,
            (Function::IsNumeric, 1) => Operation::IsNumeric,
            (Function::Custom(name), 1) => match name.as_ref() {
                xsd::INTEGER => Operation::ToInteger,
                xsd::DECIMAL => Operation::ToDecimal,
                xsd::DOUBLE => Operation::ToDouble,
                xsd::FLOAT => Operation::ToFloat,
                xsd::BOOLEAN => Operation::ToBoolean,
                xsd::STRING => Operation::ToString,
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    })
}
