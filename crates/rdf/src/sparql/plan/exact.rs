//! Expressions in the form in which the evaluator computes what SPARQL says of them.
//!
//! | written | evaluated | because the evaluator |
//! |---|---|---|
//! | `STR(?v)` | `STR(IF(SAMETERM(?v, F), ?v, ?v))` | keeps the value of a number, not how it was written |
//! | `!?v`, `?v && …` | `!IF(SAMETERM(?v, T), ?v, ?v)` | takes ill-typed numbers for errors, which are false |
//! | `?v = date` | `IF(?v is a date, ?v <= date && ?v >= date, …)` | takes dates of which one has no zone for unequal, not for an error |
//! | `BNODE(s)` | `BNODE(MD5(CONCAT(row, s)))` | gives one node for one text in all solutions |
//!
//! `F` and `T` are [`Form`]s: comparing a term with one has the dataset return that form of the term the next time, which is at once.
//! `row` is a variable of its own for the solutions of a group, with a text that no two of them share.

use std::cell::Cell;

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, NamedNodeRef, Variable};
use spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};

use super::witness;
use crate::sparql::shape::{map_children, map_operands};
use crate::sparql::terms::Form;

/// The pattern with its expressions in that form.
pub(super) fn with_exact_expressions(pattern: GraphPattern) -> GraphPattern {
    Exact::default().pattern(pattern)
}

#[derive(Default)]
struct Exact {
    rows: Cell<usize>,
}

/// The variable that tells the solutions of a group apart, where there is one.
type Row<'r> = Option<&'r Variable>;

impl Exact {
    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        let row = names_nodes(&pattern).then(|| {
            let number = self.rows.get();
            self.rows.set(number + 1);
            witness::hidden_variable(&format!("row{number}"))
        });
        self.group(pattern, row.as_ref())
    }

    /// Operators over the rows of one pattern, down to that one.
    fn group(&self, pattern: GraphPattern, row: Row<'_>) -> GraphPattern {
        let mapped = |inner: Box<GraphPattern>| Box::new(self.group(*inner, row));
        match pattern {
            GraphPattern::Extend { inner, variable, expression } => {
                GraphPattern::Extend { inner: mapped(inner), variable, expression: self.expression(expression, row) }
            }
            GraphPattern::Filter { expr, inner } => {
                GraphPattern::Filter { expr: self.expression(expr, row), inner: mapped(inner) }
            }
            GraphPattern::OrderBy { inner, expression } => {
                let exact = |order| match order {
                    OrderExpression::Asc(key) => OrderExpression::Asc(self.expression(key, row)),
                    OrderExpression::Desc(key) => OrderExpression::Desc(self.expression(key, row)),
                };
                let expression = expression.into_iter().map(exact).collect();
                GraphPattern::OrderBy { inner: mapped(inner), expression }
            }
            whole => {
                let inner =
                    map_children(whole, &mut |inner| self.pattern(inner), &mut |expr| self.expression(expr, None));
                match row {
                    None => inner,
                    Some(row) => GraphPattern::Extend {
                        inner: Box::new(inner),
                        variable: row.clone(),
                        expression: call(Function::StrUuid, Vec::new()),
                    },
                }
            }
        }
    }

    fn expression(&self, expression: Expression, row: Row<'_>) -> Expression {
        use Expression as E;
        let exact = map_operands(expression, &mut |pattern| self.pattern(pattern), &mut |operand| {
            self.expression(operand, row)
        });
        match exact {
            E::FunctionCall(Function::Str, arguments) => string(arguments),
            E::FunctionCall(Function::BNode, arguments) => node(arguments, row),
            E::Not(inner) => E::Not(truth(inner)),
            E::And(left, right) => E::And(truth(left), truth(right)),
            E::Or(left, right) => E::Or(truth(left), truth(right)),
            E::If(condition, then, otherwise) => E::If(truth(condition), then, otherwise),
            E::Equal(left, right) => match (time_type(&left), time_type(&right)) {
                (None, Some(datatype)) => equal_times(*left, *right, datatype),
                (Some(datatype), None) => equal_times(*right, *left, datatype),
                _ => E::Equal(left, right),
            },
            other => other,
        }
    }
}

/// Whether an operator over the rows of the pattern's group makes nodes of texts.
fn names_nodes(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Extend { inner, expression, .. } => makes_nodes(expression) || names_nodes(inner),
        GraphPattern::Filter { expr, inner } => makes_nodes(expr) || names_nodes(inner),
        GraphPattern::OrderBy { inner, expression } => {
            let key = |(OrderExpression::Asc(key) | OrderExpression::Desc(key)): &OrderExpression| makes_nodes(key);
            expression.iter().any(key) || names_nodes(inner)
        }
        _ => false,
    }
}

fn makes_nodes(expression: &Expression) -> bool {
    use Expression as E;
    match expression {
        E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) | E::Exists(_) => false,
        E::Or(left, right)
        | E::And(left, right)
        | E::Equal(left, right)
        | E::SameTerm(left, right)
        | E::Greater(left, right)
        | E::GreaterOrEqual(left, right)
        | E::Less(left, right)
        | E::LessOrEqual(left, right)
        | E::Add(left, right)
        | E::Subtract(left, right)
        | E::Multiply(left, right)
        | E::Divide(left, right) => makes_nodes(left) || makes_nodes(right),
        E::UnaryPlus(inner) | E::UnaryMinus(inner) | E::Not(inner) => makes_nodes(inner),
        E::In(value, list) => makes_nodes(value) || list.iter().any(makes_nodes),
        E::If(condition, then, otherwise) => makes_nodes(condition) || makes_nodes(then) || makes_nodes(otherwise),
        E::FunctionCall(Function::BNode, arguments) if !arguments.is_empty() => true,
        E::Coalesce(list) | E::FunctionCall(_, list) => list.iter().any(makes_nodes),
    }
}

fn call(function: Function, arguments: Vec<Expression>) -> Expression {
    Expression::FunctionCall(function, arguments)
}

fn string(mut arguments: Vec<Expression>) -> Expression {
    match arguments.as_mut_slice() {
        // Of a constant the text is known here.
        [Expression::Literal(literal)] => Literal::from(literal.value()).into(),
        [argument @ Expression::Variable(_)] => {
            *argument = in_form(std::mem::replace(argument, Literal::from(false).into()), Form::Text);
            call(Function::Str, arguments)
        }
        _ => call(Function::Str, arguments),
    }
}

fn truth(operand: Box<Expression>) -> Box<Expression> {
    match *operand {
        variable @ Expression::Variable(_) => Box::new(in_form(variable, Form::Truth)),
        _ => operand,
    }
}

fn in_form(variable: Expression, form: Form) -> Expression {
    let asked = Expression::SameTerm(Box::new(variable.clone()), Box::new(NamedNode::from(form).into()));
    Expression::If(Box::new(asked), Box::new(variable.clone()), Box::new(variable))
}

/// The datatype of a constant with a date or a time, which may have a time zone or none.
fn time_type(expression: &Expression) -> Option<NamedNode> {
    const TYPES: [NamedNodeRef<'_>; 8] = [
        xsd::DATE,
        xsd::DATE_TIME,
        xsd::TIME,
        xsd::G_YEAR,
        xsd::G_YEAR_MONTH,
        xsd::G_MONTH,
        xsd::G_MONTH_DAY,
        xsd::G_DAY,
    ];
    match expression {
        Expression::Literal(literal) if TYPES.contains(&literal.datatype()) => Some(literal.datatype().into_owned()),
        _ => None,
    }
}

/// Times that cannot be put in an order are neither equal nor unequal.
fn equal_times(value: Expression, time: Expression, datatype: NamedNode) -> Expression {
    use Expression as E;
    let (value, time) = (Box::new(value), Box::new(time));
    let in_order = E::And(
        Box::new(E::LessOrEqual(value.clone(), time.clone())),
        Box::new(E::GreaterOrEqual(value.clone(), time.clone())),
    );
    E::If(Box::new(has_type(&value, datatype)), Box::new(in_order), Box::new(E::Equal(value, time)))
}

/// Whether it is a literal of the datatype: false for what has none.
fn has_type(value: &Expression, datatype: NamedNode) -> Expression {
    let found = call(Function::Datatype, vec![value.clone()]);
    let same = Expression::SameTerm(Box::new(found), Box::new(datatype.into()));
    Expression::Coalesce(vec![same, Literal::from(false).into()])
}

fn node(mut arguments: Vec<Expression>, row: Row<'_>) -> Expression {
    let Some(label) = arguments.pop() else { return call(Function::BNode, arguments) };
    // In the condition of an optional part, where two rows have come together, each call is a node of its own.
    let row = row.map_or_else(|| call(Function::StrUuid, Vec::new()), |row| row.clone().into());
    let unique = call(Function::Md5, vec![call(Function::Concat, vec![row, label.clone()])]);
    let is_text = has_type(&label, xsd::STRING.into_owned());
    let node = |label| call(Function::BNode, vec![label]);
    // Of what is no text the evaluator makes the error.
    Expression::If(Box::new(is_text), Box::new(node(unique)), Box::new(node(label)))
}
