//! Expressions in the form in which the evaluator computes what SPARQL says of them.
//!
//! | written | evaluated | because the evaluator |
//! |---|---|---|
//! | `STR(?v)` | `STR(IF(SAMETERM(?v, F), ?v, ?v))` | keeps the value of a number, not how it was written |
//! | `!?v`, `?v && …` | `!IF(SAMETERM(?v, T), ?v, ?v)` | takes ill-typed numbers for errors, which are false |
//! | `IF(?a + ?b, …)` | `IF(xsd:boolean(?a + ?b), …)` | does not know whether long numbers count as true |
//! | `BNODE(s)` | `BNODE(MD5(CONCAT(row, STRDT(s, xsd:string))))` | gives one node for one text in all solutions |
//!
//! `F` and `T` are [`Form`]s: comparing a term with one has the dataset return that form of the term the next time, which is at once.
//! `row` is a variable of its own for the solutions of a group, with a text that no two of them share.

use std::cell::Cell;

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Variable};
use spargebra::algebra::{Expression, Function, GraphPattern, OrderExpression};

use super::witness;
use crate::sparql::numeric::Number;
use crate::sparql::shape::{Operand, map_children, map_operands, visit_operands};
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
                GraphPattern::Filter { expr: number_as_truth(self.expression(expr, row)), inner: mapped(inner) }
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
            E::Not(inner) => E::Not(truth(*inner)),
            E::And(left, right) => E::And(truth(*left), truth(*right)),
            E::Or(left, right) => E::Or(truth(*left), truth(*right)),
            E::If(condition, then, otherwise) => E::If(truth(*condition), then, otherwise),
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
    let mut makes = matches!(expression, Expression::FunctionCall(Function::BNode, label) if !label.is_empty());
    visit_operands(expression, &mut |operand| match operand {
        Operand::Expression(operand) => makes = makes || makes_nodes(operand),
        Operand::Pattern(_) => {}
    });
    makes
}

fn call(function: Function, arguments: Vec<Expression>) -> Expression {
    Expression::FunctionCall(function, arguments)
}

fn string(mut arguments: Vec<Expression>) -> Expression {
    match arguments.as_mut_slice() {
        // Of a constant the text is known here.
        [Expression::Literal(literal)] => Literal::from(literal.value()).into(),
        [argument] => {
            *argument = as_text(std::mem::replace(argument, Literal::from(false).into()));
            call(Function::Str, arguments)
        }
        _ => call(Function::Str, arguments),
    }
}

/// The expression, with variables and constants that may be its value as their texts.
fn as_text(expression: Expression) -> Expression {
    use Expression as E;
    match expression {
        variable @ E::Variable(_) => in_form(variable, Form::Text),
        E::Literal(literal) => Literal::from(literal.value()).into(),
        E::Coalesce(list) => E::Coalesce(list.into_iter().map(as_text).collect()),
        E::If(condition, then, otherwise) => E::If(condition, as_text(*then).into(), as_text(*otherwise).into()),
        other => other,
    }
}

fn truth(operand: Expression) -> Box<Expression> {
    Box::new(match operand {
        variable @ Expression::Variable(_) => in_form(variable, Form::Truth),
        other => number_as_truth(other),
    })
}

/// A number as whether it counts as true: the evaluator does not know that of long ones.
fn number_as_truth(expression: Expression) -> Expression {
    use Expression as E;
    let is_computed = match &expression {
        E::Literal(literal) => match Number::of_literal(literal.as_ref()) {
            Some(number) => return Literal::from(number.is_true()).into(),
            None => false,
        },
        E::Add(..) | E::Subtract(..) | E::Multiply(..) | E::Divide(..) | E::UnaryMinus(_) | E::UnaryPlus(_) => true,
        E::FunctionCall(function, _) => {
            matches!(function, Function::Abs | Function::Ceil | Function::Floor | Function::Round)
        }
        _ => false,
    };
    if is_computed { call(Function::Custom(xsd::BOOLEAN.into_owned()), vec![expression]) } else { expression }
}

/// The variable, asked for in a form.
pub(super) fn in_form(variable: Expression, form: Form) -> Expression {
    let asked = Expression::SameTerm(Box::new(variable.clone()), Box::new(NamedNode::from(form).into()));
    Expression::If(Box::new(asked), Box::new(variable.clone()), Box::new(variable))
}

fn node(mut arguments: Vec<Expression>, row: Row<'_>) -> Expression {
    let Some(label) = arguments.pop() else { return call(Function::BNode, arguments) };
    // In the condition of an optional part, where two rows have come together, each call is a node of its own.
    let row = row.map_or_else(|| call(Function::StrUuid, Vec::new()), |row| row.clone().into());
    // `CONCAT` takes texts with a language too: of these, and of what is no text, this makes an error.
    let text = call(Function::StrDt, vec![label, xsd::STRING.into_owned().into()]);
    let unique = call(Function::Md5, vec![call(Function::Concat, vec![row, text])]);
    call(Function::BNode, vec![unique])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::text::{Prologue, parse_query};

    /// Constants, variables and operators of the filter of a query.
    fn filter_nodes(filter: &str) -> usize {
        fn nodes(expression: &Expression) -> usize {
            let mut total = 1;
            visit_operands(expression, &mut |operand| match operand {
                Operand::Expression(operand) => total += nodes(operand),
                Operand::Pattern(pattern) => panic!("{pattern}"),
            });
            total
        }
        let text = format!("SELECT * {{ ?s ?p ?a FILTER({filter}) }}");
        let spargebra::Query::Select { pattern, .. } = parse_query(&text, &Prologue::default()).expect("a query")
        else {
            panic!("no SELECT");
        };
        let (pattern, _) = super::super::operations::with_operations(with_exact_expressions(pattern));
        let GraphPattern::Project { inner, .. } = pattern else { panic!("no projection") };
        let GraphPattern::Filter { expr, .. } = *inner else { panic!("no filter") };
        nodes(&expr)
    }

    /// The expression, in itself so many times: `{}` is where.
    fn nested(within: &str, innermost: &str, times: usize) -> String {
        (0..times).fold(innermost.to_owned(), |inner, _| within.replace("{}", &inner))
    }

    #[test]
    fn an_expression_grows_as_its_text_does() {
        let date = "\"2020-01-01\"^^<http://www.w3.org/2001/XMLSchema#date>";
        for (within, innermost) in [
            (format!("({{}} = {date})"), "?a"),
            (format!("({{}} != {date})"), "?a"),
            (format!("(COALESCE({{}}, {date}) = {date})"), "?a"),
            ("BNODE(CONCAT(\"a\", {}))".to_owned(), "?a"),
            (format!("BNODE(STR({{}} = {date}))"), "?a"),
        ] {
            let nodes = [5, 10, 40].map(|times| filter_nodes(&nested(&within, innermost, times)));
            assert_eq!(nodes[2] - nodes[1], 6 * (nodes[1] - nodes[0]), "{within}: {nodes:?}");
        }
    }
}
