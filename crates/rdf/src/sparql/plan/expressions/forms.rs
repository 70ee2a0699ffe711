//! Expressions that need a term as it is written, where the evaluator keeps only its value.
//!
//! Comparing a variable with a [`Form`] asks for that form: the dataset returns it the next time that the variable is
//! read, which is at once. The value of `IF` and `COALESCE` is that of one of their operands, so these are asked.

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode};
use spargebra::algebra::{Expression, Function};

use super::kinds::may_compute_double;
use crate::sparql::evaluation::evaluation_term::Form;
use crate::sparql::expressions::aggregates;
use crate::sparql::expressions::ill_typed::{self, Typed};

/// The variable, asked for in a form.
pub(crate) fn in_form(variable: Expression, form: Form) -> Expression {
    let asked = Expression::SameTerm(Box::new(variable.clone()), Box::new(NamedNode::from(form).into()));
    Expression::If(Box::new(asked), Box::new(variable.clone()), Box::new(variable))
}

/// `STR` of an argument.
pub(crate) fn string(mut arguments: Vec<Expression>) -> Expression {
    match arguments.as_mut_slice() {
        // Of a constant the text is known here.
        [Expression::Literal(literal)] => Literal::from(literal.value()).into(),
        [argument] => {
            let argument = std::mem::replace(argument, Literal::from(false).into());
            call(Function::Str, in_alternatives(argument, &as_text))
        }
        _ => Expression::FunctionCall(Function::Str, arguments),
    }
}

/// `DATATYPE` of an argument.
pub(crate) fn datatype(mut arguments: Vec<Expression>) -> Expression {
    match arguments.as_mut_slice() {
        [Expression::Literal(literal)] => ill_typed::unmarked(literal.clone()).datatype().into_owned().into(),
        [argument] => {
            let argument = std::mem::replace(argument, Literal::from(false).into());
            call(Function::Datatype, in_alternatives(argument, &as_typed))
        }
        _ => Expression::FunctionCall(Function::Datatype, arguments),
    }
}

/// The expression, with the variables and constants that may be its value as names of their terms. The dataset finds
/// the terms by these names when it takes the value.
pub(crate) fn as_term(expression: Expression) -> Expression {
    let may_be_term = has_alternatives(&expression) || is_typed_call(&expression);
    if !may_be_term || is_term(&expression) {
        return expression;
    }
    in_alternatives(expression, &|value| match value {
        Expression::Variable(variable) => {
            let asked =
                Expression::SameTerm(Box::new(variable.clone().into()), Box::new(NamedNode::from(Form::Named).into()));
            // A form is always there. The negation has the evaluator take the value, where the optimizer leaves no
            // other expression: it would take the term itself, and leave the form to the next expression.
            let never = Expression::Not(Box::new(variable.clone().into()));
            Expression::If(asked.into(), Box::new(variable.into()), never.into())
        }
        Expression::Literal(literal) => match aggregates::name_of(&literal) {
            Some(name) => name.into(),
            None => literal.into(),
        },
        other => returning(Typed::Term, other),
    })
}

/// Whether the expression is a call of `STRDT`, as planned expressions have it.
fn is_typed_call(expression: &Expression) -> bool {
    matches!(expression, Expression::FunctionCall(Function::Custom(name), _) if Typed::is_name(name.as_str()))
}

/// The expression with another value of `STRDT`, if it is a call of that.
fn returning(value: Typed, expression: Expression) -> Expression {
    match expression {
        Expression::FunctionCall(Function::Custom(name), arguments) if Typed::is_name(name.as_str()) => {
            Expression::FunctionCall(Function::Custom(value.name()), arguments)
        }
        other => other,
    }
}

/// Whether the value is that of another expression.
pub(crate) fn has_alternatives(expression: &Expression) -> bool {
    matches!(expression, Expression::If(..) | Expression::Coalesce(_))
}

/// Whether the evaluator takes the value as a term of the dataset, and never as a value.
pub(crate) fn is_term(expression: &Expression) -> bool {
    match expression {
        Expression::NamedNode(_) | Expression::Literal(_) | Expression::Variable(_) => true,
        Expression::Coalesce(list) => list.iter().all(is_term),
        Expression::If(_, then, otherwise) => is_term(then) && is_term(otherwise),
        _ => false,
    }
}

/// The expression with each one replaced that its value may be the value of.
fn in_alternatives(expression: Expression, map: &dyn Fn(Expression) -> Expression) -> Expression {
    use Expression as E;
    match expression {
        E::Coalesce(list) => E::Coalesce(list.into_iter().map(|part| in_alternatives(part, map)).collect()),
        E::If(condition, then, otherwise) => {
            E::If(condition, in_alternatives(*then, map).into(), in_alternatives(*otherwise, map).into())
        }
        other => map(other),
    }
}

fn as_text(value: Expression) -> Expression {
    match value {
        variable @ Expression::Variable(_) => in_form(variable, Form::Text),
        Expression::Literal(literal) => Literal::from(literal.value()).into(),
        // The evaluator writes doubles without exponents.
        number if may_compute_double(&number) => call(Function::Custom(xsd::STRING.into_owned()), number),
        other => returning(Typed::Text, other),
    }
}

fn as_typed(value: Expression) -> Expression {
    match value {
        variable @ Expression::Variable(_) => in_form(variable, Form::Datatype),
        // No literal of a type that the evaluator knows has this form, so it keeps the type.
        Expression::Literal(literal) if literal.language().is_none() && literal.datatype() != xsd::STRING => {
            Literal::new_typed_literal("", ill_typed::unmarked(literal).datatype()).into()
        }
        other => returning(Typed::Datatype, other),
    }
}

fn call(function: Function, argument: Expression) -> Expression {
    Expression::FunctionCall(function, vec![argument])
}
