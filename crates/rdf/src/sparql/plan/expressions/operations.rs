//! Operators on numbers, dates and times in the form in which the evaluator computes what SPARQL says of them.
//!
//! | written | evaluated | because the evaluator |
//! |---|---|---|
//! | `a + b < c` | `COALESCE(a + b < c, less(add(a, b), c))` | has no numbers beyond 64 bits, and no decimals beyond 18 digits |
//! | `?a = ?b` | `IF(?a is a time, equal(?a, ?b), COALESCE(?a = ?b, …))` | calls times unequal if one has no zone |
//! | `?a + ?b` | `COALESCE(?a + ?b, add(?a, ?b))` | adds a date and a duration in one order only |
//! | `SUM(?v)` | `sum(?v)` | has no numbers beyond 64 bits |
//! | `MIN(?v)` | `least(?v)` | compares by no total order |
//! | `?a < ?b` | as numbers | compares no truth values, and no long dates and durations |
//! | `?a IN (?b, 1)` | `in(?a, COALESCE(?b, failed), 1)` | fails if any argument of a function fails |
//! | `?a <= ?b` | `IF(?a is NaN, less or equal(?a, ?b), COALESCE(?a <= ?b, …))` | takes NaN for equal to itself |
//! | `SUBSTR(?a, ?b)` | `substring(?a, ?b)` | adds in 64 bits |
//! | `SAMPLE(?v)` | `SAMPLE` of a name of the term | keeps the value of a number, not how it was written |
//! | `GROUP_CONCAT(?v)` | `GROUP_CONCAT` of the text of the term | concatenates only texts |
//! | `xsd:string(?v)` | `to string(?v)` | writes doubles without exponents |
//! | `xsd:date(?v)` | `xsd:date(without space(?v))` | reads no text with white space around the date |
//!
//! An expression whose operators all are of these is evaluated by the evaluator's own first: where these have a value
//! it is the right one, since they fail rather than round. Its operands are then written twice. Where one is large, has
//! such operators within other functions, or is not the same each time, each operator is a call of ours instead
//! ([`Mode::Any`]), so that an expression grows no faster than its text.

use std::cell::Cell;

use oxrdf::vocab::xsd;
use oxrdf::{NamedNode, Term};
use spareval::ExpressionTerm;
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function, GraphPattern};

use super::forms::in_form;
use super::kinds::{Kind, kind, makes_exact_numbers, operation_of};
use crate::sparql::evaluation::evaluation_term::Form;
use crate::sparql::expressions::accumulator::Aggregate;
use crate::sparql::expressions::functions::{FAILED, Mode, Operation};
use crate::sparql::expressions::ill_typed::Typed;
use crate::sparql::expressions::numeric::Number;
use crate::sparql::expressions::order::is_time_or_duration;
use crate::sparql::parse::shape::{Operand, map_children, map_operands, visit_operands};

/// The pattern with its operators in that form, and whether it calls functions of ours.
pub(crate) fn with_operations(pattern: GraphPattern) -> (GraphPattern, bool) {
    let operations = Operations::default();
    let pattern = operations.pattern(pattern);
    (pattern, operations.called.get())
}

#[derive(Default)]
struct Operations {
    called: Cell<bool>,
}

/// An operand that is written twice has so many parts.
const REPEATED_MAX: usize = 8;

impl Operations {
    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        let mapped = map_children(pattern, &mut |inner| self.pattern(inner), &mut |inner| self.expression(inner));
        match mapped {
            GraphPattern::Group { inner, variables, aggregates } => {
                let aggregates = aggregates.into_iter().map(|(variable, of)| (variable, self.aggregate(of))).collect();
                GraphPattern::Group { inner, variables, aggregates }
            }
            other => other,
        }
    }

    fn aggregate(&self, aggregate: AggregateExpression) -> AggregateExpression {
        let AggregateExpression::FunctionCall { name, expr, distinct } = aggregate else { return aggregate };
        let ours = Aggregate::of(&name);
        if let (AggregateFunction::GroupConcat { .. }, Expression::Variable(_)) = (&name, &expr) {
            let expr = in_form(expr, Form::Concatenated);
            return AggregateExpression::FunctionCall { name, expr, distinct };
        }
        if ours.is_none() && name != AggregateFunction::Sample {
            return AggregateExpression::FunctionCall { name, expr, distinct };
        }
        let expr = match expr {
            variable @ Expression::Variable(_) => in_form(variable, Form::Named),
            other => other,
        };
        let name = match ours {
            Some(ours) => {
                self.called.set(true);
                AggregateFunction::Custom(ours.name())
            }
            None => name,
        };
        AggregateExpression::FunctionCall { name, expr, distinct }
    }

    fn expression(&self, expression: Expression) -> Expression {
        let Some(operation) = operation_of(&expression) else { return self.without_operation(expression) };
        if let (Operation::IsNumeric, Expression::FunctionCall(_, arguments)) = (operation, &expression)
            && let [variable @ Expression::Variable(_)] = &**arguments
        {
            // The negations keep the evaluator from taking the term itself, in place of what the dataset makes of it.
            let is_number = in_form(variable.clone(), Form::IsNumber);
            return Expression::Not(Expression::Not(is_number.into()).into());
        }
        if !may_need(operation, &expression) {
            return self.with_operands(expression);
        }
        if matches!(operation, Operation::Equal | Operation::In) && may_compare_times(&expression) {
            return self.unless_in_form(Form::IsTime, operation, expression);
        }
        if may_order_nan(&expression) {
            return self.unless_in_form(Form::IsNan, operation, expression);
        }
        if !matches!(operation, Operation::IsNumeric | Operation::ToString) && can_be_written_twice(&expression) {
            return self.twice(expression);
        }
        self.calls(expression)
    }

    fn with_operands(&self, expression: Expression) -> Expression {
        if matches!(&expression, Expression::FunctionCall(Function::Custom(name), _) if Typed::is_name(name.as_str())) {
            self.called.set(true);
        }
        map_operands(expression, &mut |pattern| self.pattern(pattern), &mut |operand| self.expression(operand))
    }

    fn without_operation(&self, expression: Expression) -> Expression {
        match expression {
            Expression::FunctionCall(Function::Custom(name), mut arguments) if is_time_or_duration(name.as_ref()) => {
                if let [argument] = arguments.as_mut_slice()
                    && matches!(kind(argument), Kind::Other | Kind::Unknown)
                {
                    let operand = std::mem::replace(argument, name.clone().into());
                    let operands = vec![operand];
                    *argument = self.call(Operation::WithoutSpace, Mode::Any, operands, |inner| self.expression(inner));
                    return Expression::FunctionCall(Function::Custom(name), arguments);
                }
                self.with_operands(Expression::FunctionCall(Function::Custom(name), arguments))
            }
            // Of short numbers, the evaluator's own is right.
            Expression::FunctionCall(Function::SubStr, arguments) if !arguments.iter().skip(1).all(is_short) => {
                self.call(Operation::Substring, Mode::Any, arguments, |inner| self.expression(inner))
            }
            other => self.with_operands(other),
        }
    }

    /// The evaluator's own operators, and where they fail ours.
    fn twice(&self, expression: Expression) -> Expression {
        let ours = match may_add_times(&expression) {
            true => self.calls(expression.clone()),
            false => self.numbers(expression.clone()),
        };
        Expression::Coalesce(vec![expression, ours])
    }

    /// Calls of ours that take numbers alone, or what an order compares.
    fn numbers(&self, expression: Expression) -> Expression {
        match operation_of(&expression) {
            Some(operation) if !matches!(operation, Operation::IsNumeric | Operation::ToString) => {
                // The items of a list are compared with a number, whatever they are.
                let has_number = matches!(&expression, Expression::In(value, _) if kind(value) == Kind::Number);
                let takes_others = operation.is_cast() || has_number;
                let form = if operation.is_order() { Form::MustBeOrdered } else { Form::MustBeNumber };
                self.call(operation, Mode::Fallback, operands_of(expression), |operand| match operand {
                    variable @ Expression::Variable(_) if !takes_others => if_in_form(variable, form),
                    other => self.numbers(other),
                })
            }
            _ => expression,
        }
    }

    /// Calls of ours in place of the evaluator's own operators.
    fn calls(&self, expression: Expression) -> Expression {
        match operation_of(&expression) {
            Some(operation) => {
                self.call(operation, Mode::Any, operands_of(expression), |operand| match operation_of(&operand) {
                    Some(inner) if inner.is_arithmetic() => self.calls(operand),
                    _ => self.expression(operand),
                })
            }
            None => self.expression(expression),
        }
    }

    fn call(
        &self,
        operation: Operation,
        mode: Mode,
        operands: Vec<Expression>,
        on_operand: impl FnMut(Expression) -> Expression,
    ) -> Expression {
        self.called.set(true);
        let arguments = operands.into_iter().map(on_operand).enumerate().map(|(place, argument)| match operation {
            Operation::In if place > 0 => or_failed(argument),
            _ => argument,
        });
        let arguments = arguments.collect();
        Expression::FunctionCall(Function::Custom(operation.name(mode)), arguments)
    }

    /// A comparison that the evaluator's own operator does not make rightly of values in this form.
    fn unless_in_form(&self, form: Form, operation: Operation, expression: Expression) -> Expression {
        let sides = match &expression {
            Expression::Equal(left, right)
            | Expression::LessOrEqual(left, right)
            | Expression::GreaterOrEqual(left, right) => [&**left, &**right],
            _ => return self.calls(expression),
        };
        let variable = sides.into_iter().find(|side| matches!(side, Expression::Variable(_))).cloned();
        match variable {
            Some(variable) if can_be_written_twice(&expression) => {
                let operands = operands_of(expression.clone());
                let ours = self.call(operation, Mode::Any, operands, |operand| match operation_of(&operand) {
                    Some(inner) if inner.is_arithmetic() => self.calls(operand),
                    _ => operand,
                });
                let others = self.twice(expression);
                Expression::If(in_form(variable, form).into(), ours.into(), others.into())
            }
            _ => self.calls(expression),
        }
    }
}

/// The variable, and an error at once if it is not what the form wants: then nothing more of the call is evaluated.
fn if_in_form(variable: Expression, form: Form) -> Expression {
    let condition = in_form(variable.clone(), form);
    Expression::If(condition.into(), variable.clone().into(), variable.into())
}

/// Whether the value is a date, a time or a duration that the evaluator's own types hold, or an error.
fn is_held_time(expression: &Expression) -> bool {
    match expression {
        Expression::FunctionCall(Function::Custom(name), _) => is_time_or_duration(name.as_ref()),
        Expression::Literal(literal) if is_time_or_duration(literal.datatype()) => {
            let value = ExpressionTerm::from(Term::from(literal.clone()));
            !matches!(value, ExpressionTerm::OtherTypedLiteral { .. })
        }
        _ => false,
    }
}

/// An item of the list of `IN` that is not an error of the call if it fails.
fn or_failed(item: Expression) -> Expression {
    match item {
        constant @ (Expression::NamedNode(_) | Expression::Literal(_)) => constant,
        item => Expression::Coalesce(vec![item, NamedNode::new_unchecked(FAILED).into()]),
    }
}

/// Whether the expression is an integer of 32 bits.
fn is_short(expression: &Expression) -> bool {
    match expression {
        Expression::Literal(literal) => literal.datatype() == xsd::INTEGER && literal.value().parse::<i32>().is_ok(),
        _ => false,
    }
}

/// The operands of an operation, in their order.
fn operands_of(expression: Expression) -> Vec<Expression> {
    let mut operands = Vec::new();
    visit_operands(&expression, &mut |operand| match operand {
        Operand::Expression(operand) => operands.push(operand.clone()),
        Operand::Pattern(_) => {}
    });
    operands
}

/// Whether an operation may have to do with what the evaluator does not compute.
fn may_need(operation: Operation, expression: &Expression) -> bool {
    if operation.is_arithmetic() || operation == Operation::IsNumeric {
        return true;
    }
    let (mut sides, mut are_held) = (Vec::new(), operation.is_order());
    visit_operands(expression, &mut |operand| match operand {
        Operand::Expression(operand) => {
            sides.push(kind(operand));
            are_held = are_held && is_held_time(operand);
        }
        Operand::Pattern(_) => {}
    });
    if are_held {
        return false;
    }
    match (operation, &*sides) {
        // Alternatives that the evaluator compares rightly need no look at the others.
        (Operation::In, [Kind::Other | Kind::Truth, ..]) => false,
        (Operation::In, [_, list @ ..]) => list.iter().any(|item| !matches!(item, Kind::Other | Kind::Truth)),
        (Operation::ToString, sides) => matches!(sides, [Kind::Number | Kind::Unknown]),
        (Operation::Equal, sides) => !sides.iter().any(|side| matches!(side, Kind::Other | Kind::Truth)),
        (_, [Kind::Other, _] | [_, Kind::Other]) => false,
        // An order compares values of one kind.
        (_, [left, right]) => left == right || *left == Kind::Unknown || *right == Kind::Unknown,
        _ => true,
    }
}

/// Whether the expression's operators may add a date or a time and a duration: the evaluator does that in one order
/// of the two alone, and chooses the order by itself.
fn may_add_times(expression: &Expression) -> bool {
    let may_be_added = |side: &Expression| !matches!(kind(side), Kind::Number | Kind::Truth);
    if let Expression::Add(left, right) = expression
        && may_be_added(left)
        && may_be_added(right)
    {
        return true;
    }
    let mut may_add = false;
    visit_operands(expression, &mut |operand| match operand {
        Operand::Expression(operand) => {
            may_add = may_add || (operation_of(operand).is_some() && may_add_times(operand))
        }
        Operand::Pattern(_) => {}
    });
    may_add
}

fn may_compare_times(expression: &Expression) -> bool {
    let may_be_time = |side: &Expression| matches!(kind(side), Kind::Time | Kind::Unknown);
    match expression {
        Expression::Equal(left, right) => may_be_time(left) && may_be_time(right),
        Expression::In(value, list) => may_be_time(value) && list.iter().any(may_be_time),
        _ => false,
    }
}

/// Whether NaN may meet itself in an order: the evaluator's `<=` and `>=` take it for equal to itself.
fn may_order_nan(expression: &Expression) -> bool {
    let may_be_nan = |side: &Expression| match side {
        Expression::Literal(literal) => Number::of_literal(literal.as_ref()).is_some_and(|number| number.is_nan()),
        other => matches!(kind(other), Kind::Number | Kind::Unknown) && !makes_exact_numbers(other),
    };
    match expression {
        Expression::LessOrEqual(left, right) | Expression::GreaterOrEqual(left, right) => {
            may_be_nan(left) && may_be_nan(right)
        }
        _ => false,
    }
}

/// Whether the operands of the expression's operations are small, the same each time, and without operations of their
/// own.
fn can_be_written_twice(expression: &Expression) -> bool {
    // The evaluator rounds doubles there, and reads `inf` as a number.
    let mut can_be = !operation_of(expression).is_some_and(Operation::is_number_cast);
    visit_operands(expression, &mut |operand| match operand {
        Operand::Pattern(_) => can_be = false,
        Operand::Expression(operand) => {
            can_be = can_be
                && match operation_of(operand) {
                    Some(inner) if inner.is_arithmetic() => can_be_written_twice(operand),
                    _ => may_be_repeated(operand, &mut { REPEATED_MAX }),
                };
        }
    });
    can_be
}

/// Whether the expression has no more parts than `left`, no operations, and the same value each time.
fn may_be_repeated(expression: &Expression, left: &mut usize) -> bool {
    let changes = |function: &Function| {
        matches!(function, Function::BNode | Function::Rand | Function::StrUuid | Function::Uuid | Function::Custom(_))
    };
    let is_changing = matches!(expression, Expression::FunctionCall(function, _) if changes(function));
    if *left == 0 || is_changing || operation_of(expression).is_some() {
        return false;
    }
    *left -= 1;
    let mut may_be = true;
    visit_operands(expression, &mut |operand| match operand {
        Operand::Expression(operand) => may_be = may_be && may_be_repeated(operand, left),
        Operand::Pattern(_) => may_be = false,
    });
    may_be
}

#[cfg(test)]
mod tests {
    use oxrdf::Literal;

    use super::*;
    use crate::sparql::parse::text::{Prologue, parse_query};

    /// Whether the filter, in that form, asks a variable whether it is NaN.
    fn asks_for_nan(filter: &str) -> bool {
        let text = format!("SELECT * {{ ?s ?p ?a, ?b FILTER({filter}) }}");
        let spargebra::Query::Select { pattern, .. } = parse_query(&text, &Prologue::default()).expect("a query")
        else {
            panic!("no SELECT");
        };
        let name = NamedNode::from(Form::IsNan);
        with_operations(pattern).0.to_string().contains(name.as_str())
    }

    #[test]
    fn orders_ask_for_nan_only_if_both_sides_may_be_it() {
        for side in ["?a", "ABS(?a)", "?a / 2", "\"NaN\"^^<http://www.w3.org/2001/XMLSchema#double>"] {
            assert!(asks_for_nan(&format!("{side} <= ?b")) && asks_for_nan(&format!("?b >= {side}")), "{side}");
            assert!(!asks_for_nan(&format!("{side} < ?b")), "{side}");
        }
        for name in ["STRLEN", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"] {
            assert!(
                !asks_for_nan(&format!("{name}(?a) <= ?b")) && !asks_for_nan(&format!("?b >= {name}(?a)")),
                "{name}"
            );
        }
        for (datatype, is_exact) in [(xsd::BYTE, true), (xsd::DECIMAL, true), (xsd::DOUBLE, false), (xsd::FLOAT, false)]
        {
            let cast = Expression::FunctionCall(Function::Custom(datatype.into_owned()), vec![Literal::from(7).into()]);
            let order = Expression::LessOrEqual(cast.clone().into(), cast.into());
            assert_eq!(may_order_nan(&order), !is_exact, "{datatype}");
        }
    }
}
