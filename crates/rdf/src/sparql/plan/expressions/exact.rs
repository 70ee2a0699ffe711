//! Expressions in the form in which the evaluator computes what SPARQL says of them.
//!
//! | written | evaluated | because the evaluator |
//! |---|---|---|
//! | `STR(?v)` | `STR(IF(SAMETERM(?v, F), ?v, ?v))` | keeps the value of a number, not how it was written |
//! | `DATATYPE(?v)` | as `STR(?v)`, by another form | takes a literal of a type derived from `xsd:integer` for an integer |
//! | `BIND(COALESCE(?a + 1, ?v) AS ?x)` | `?v` by another form | as above |
//! | `SUM(IF(?c, ?v, 0))` | `SUM(?x)`, and `BIND(IF(?c, ?v, 0) AS ?x)` in the group | as above |
//! | `COUNT(LCASE(?v))` | `COUNT(IF(ISLITERAL(LCASE(?v)), c, c))` | counts no row if one has an error |
//! | `COUNT(DISTINCT LCASE(?v))` | of a variable, as `SUM` above | as above |
//! | `!?v`, `?v && …` | `!IF(SAMETERM(?v, T), ?v, ?v)` | takes ill-typed numbers for errors, which are false |
//! | `IF(?a + ?b, …)` | `IF(xsd:boolean(?a + ?b), …)` | does not know whether long numbers count as true |
//! | `STRDT(s, d)` | by a function of ours | as above |
//! | `?s ?p <<( :a :b 007 )>>` | by a name of the triple term ([`triple_terms`](super::triple_terms)) | takes the object for a value |
//! | `-007` | as the literal `"-007"` | takes it for an operator and a number |
//! | `GROUP_CONCAT(?v + 1)` | of a variable, as `SUM` above | concatenates texts alone ([`operations`](super::operations)) |
//! | `BNODE(s)` | `BNODE(MD5(CONCAT(row, STRDT(s, xsd:string))))` | gives one node for one text in all solutions |
//!
//! `F` and `T` are [`Form`]s: comparing a term with one has the dataset return that form of the term the next time,
//! which is at once ([`forms`](super::forms)). `row` is a text that no two solutions of a group share, from a variable
//! that the group gets. A solution of an optional part comes from two solutions, and its text from theirs.

use std::cell::Cell;

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Variable};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression};

use super::forms::{as_term, datatype, has_alternatives, in_form, is_term, string};
use super::kinds::makes_texts;
use super::triple_terms;
use crate::sparql::evaluation::evaluation_term::Form;
use crate::sparql::expressions::aggregates;
use crate::sparql::expressions::ill_typed::{self, Typed};
use crate::sparql::expressions::numeric::Number;
use crate::sparql::parse::shape::{Operand, map_children, map_operands, visit_operands};

/// The pattern with its expressions in that form.
pub(crate) fn with_exact_expressions(pattern: GraphPattern) -> GraphPattern {
    Exact::default().pattern(pattern)
}

#[derive(Default)]
struct Exact {
    rows: Cell<usize>,
    arguments: Cell<usize>,
}

/// The text that distinguishes the solutions of a group, if there is one.
type Row<'r> = Option<&'r Expression>;

impl Exact {
    fn pattern(&self, pattern: GraphPattern) -> GraphPattern {
        let row = names_nodes(&pattern).then(|| self.row());
        self.group(pattern, row.as_ref())
    }

    fn row(&self) -> Variable {
        let number = self.rows.get();
        self.rows.set(number + 1);
        crate::sparql::plan::hidden::hidden_variable(&format!("row{number}"))
    }

    /// Operators over the rows of one pattern, down to that one.
    fn group(&self, pattern: GraphPattern, row: Option<&Variable>) -> GraphPattern {
        let mapped = |inner: Box<GraphPattern>| Box::new(self.group(*inner, row));
        let text = row.map(|row| Expression::from(row.clone()));
        let text = text.as_ref();
        match pattern {
            GraphPattern::Extend { inner, variable, expression } => {
                let expression = as_term(self.expression(expression, text));
                GraphPattern::Extend { inner: mapped(inner), variable, expression }
            }
            GraphPattern::Filter { expr, inner } => {
                GraphPattern::Filter { expr: number_as_truth(self.expression(expr, text)), inner: mapped(inner) }
            }
            GraphPattern::OrderBy { inner, expression } => {
                let exact = |order| match order {
                    OrderExpression::Asc(key) => OrderExpression::Asc(self.expression(key, text)),
                    OrderExpression::Desc(key) => OrderExpression::Desc(self.expression(key, text)),
                };
                let expression = expression.into_iter().map(exact).collect();
                GraphPattern::OrderBy { inner: mapped(inner), expression }
            }
            whole => {
                let inner = self.whole(whole);
                match row {
                    None => inner,
                    Some(row) => with_row(inner, row),
                }
            }
        }
    }

    /// A pattern that makes rows, and no operator over the rows of another.
    fn whole(&self, pattern: GraphPattern) -> GraphPattern {
        match pattern {
            GraphPattern::LeftJoin { left, right, expression: Some(condition) } if makes_nodes(&condition) => {
                let rows = [self.row(), self.row()];
                let both = call(Function::Concat, rows.iter().map(|row| row.clone().into()).collect());
                let [left, right] = [(*left, &rows[0]), (*right, &rows[1])]
                    .map(|(side, row)| Box::new(with_row(self.pattern(side), row)));
                GraphPattern::LeftJoin { left, right, expression: Some(self.expression(condition, Some(&both))) }
            }
            GraphPattern::Group { inner, variables, aggregates } => {
                let (inner, aggregates) = self.with_arguments(*inner, aggregates);
                let aggregates = aggregates.into_iter().map(|(variable, of)| (variable, self.aggregate(of))).collect();
                GraphPattern::Group { inner: self.pattern(inner).into(), variables, aggregates }
            }
            leaf @ (GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. }) => {
                triple_terms::with_names(leaf)
            }
            other => map_children(other, &mut |inner| self.pattern(inner), &mut |expr| self.expression(expr, None)),
        }
    }

    fn aggregate(&self, aggregate: AggregateExpression) -> AggregateExpression {
        match aggregate {
            AggregateExpression::FunctionCall { name, expr, distinct } => {
                let expr = self.expression(expr, None);
                let expr = match name {
                    AggregateFunction::GroupConcat { .. } => as_concatenated(expr),
                    AggregateFunction::Count if !distinct && !is_term(&expr) => as_counted(expr),
                    _ => expr,
                };
                AggregateExpression::FunctionCall { name, expr, distinct }
            }
            count @ AggregateExpression::CountSolutions { .. } => count,
        }
    }

    /// The rows of a group with arguments of its aggregates as variables: those whose values may be terms of the rows
    /// or are to be taken as such, nodes that belong to a solution, and what `COUNT` counts once.
    fn with_arguments(
        &self,
        mut inner: GraphPattern,
        mut aggregates: Vec<(Variable, AggregateExpression)>,
    ) -> (GraphPattern, Vec<(Variable, AggregateExpression)>) {
        let counts_rows =
            |(_, of): &(_, AggregateExpression)| matches!(of, AggregateExpression::CountSolutions { distinct: true });
        // It counts the rows by all of their variables.
        if aggregates.iter().any(counts_rows) {
            return (inner, aggregates);
        }
        for (_, aggregate) in &mut aggregates {
            let AggregateExpression::FunctionCall { name, expr, distinct } = aggregate else { continue };
            let is_typed = matches!(expr, Expression::FunctionCall(Function::StrDt, _));
            let is_concatenated = matches!(name, AggregateFunction::GroupConcat { .. })
                && !matches!(expr, Expression::Variable(_))
                && !makes_texts(expr);
            let is_counted_once = *distinct && matches!(name, AggregateFunction::Count) && !is_term(expr);
            if !makes_nodes(expr) && !has_alternatives(expr) && !is_typed && !is_concatenated && !is_counted_once {
                continue;
            }
            let number = self.arguments.get();
            self.arguments.set(number + 1);
            let variable = crate::sparql::plan::hidden::hidden_variable(&format!("argument{number}"));
            let expression = std::mem::replace(expr, variable.clone().into());
            inner = GraphPattern::Extend { inner: inner.into(), variable, expression };
        }
        (inner, aggregates)
    }

    fn expression(&self, expression: Expression, row: Row<'_>) -> Expression {
        use Expression as E;
        let exact = map_operands(expression, &mut |pattern| self.pattern(pattern), &mut |operand| {
            self.expression(operand, row)
        });
        match exact {
            E::Literal(literal) => ill_typed::marked(literal).into(),
            E::UnaryMinus(operand) => signed('-', *operand).unwrap_or_else(|operand| E::UnaryMinus(operand.into())),
            E::UnaryPlus(operand) => signed('+', *operand).unwrap_or_else(|operand| E::UnaryPlus(operand.into())),
            E::FunctionCall(Function::StrDt, arguments) => call(Function::Custom(Typed::Value.name()), arguments),
            E::FunctionCall(Function::Str, arguments) => string(arguments),
            E::FunctionCall(Function::Datatype, arguments) => datatype(arguments),
            // A computed side is made a term before it is compared with one.
            E::SameTerm(left, right) if is_term(&right) => E::SameTerm(as_term(*left).into(), right),
            E::SameTerm(left, right) if is_term(&left) => E::SameTerm(left, as_term(*right).into()),
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

/// The rows of the pattern, each with a text of its own.
fn with_row(pattern: GraphPattern, row: &Variable) -> GraphPattern {
    let text = call(Function::StrUuid, Vec::new());
    GraphPattern::Extend { inner: pattern.into(), variable: row.clone(), expression: text }
}

fn truth(operand: Expression) -> Box<Expression> {
    Box::new(match operand {
        variable @ Expression::Variable(_) => in_form(variable, Form::Truth),
        other => number_as_truth(other),
    })
}

/// The literal that a sign and a number are: SPARQL's grammar has them as one token. Or the operand.
fn signed(sign: char, operand: Expression) -> Result<Expression, Expression> {
    match operand {
        Expression::Literal(literal)
            if [xsd::INTEGER, xsd::DECIMAL, xsd::DOUBLE].contains(&literal.datatype())
                && literal.value().starts_with(|first: char| first.is_ascii_digit() || first == '.')
                && Number::of_literal(literal.as_ref()).is_some() =>
        {
            Ok(Literal::new_typed_literal(format!("{sign}{}", literal.value()), literal.datatype()).into())
        }
        other => Err(other),
    }
}

/// What `GROUP_CONCAT` takes where its argument is not made a variable: a text as it is, and what else has a text as
/// that.
fn as_concatenated(argument: Expression) -> Expression {
    if matches!(argument, Expression::Variable(_)) || makes_texts(&argument) {
        return argument;
    }
    let text = call(Function::Concat, vec![argument.clone()]);
    Expression::Coalesce(vec![text, string(vec![argument])])
}

/// What `COUNT` takes where its argument is not made a variable: a constant, or an error if the argument is one.
fn as_counted(argument: Expression) -> Expression {
    let counted = Expression::from(NamedNode::new_unchecked(aggregates::COUNTED));
    let is_literal = call(Function::IsLiteral, vec![argument]);
    Expression::If(is_literal.into(), counted.clone().into(), counted.into())
}

/// A number as whether it counts as true: the evaluator does not know that of long ones.
fn number_as_truth(expression: Expression) -> Expression {
    use Expression as E;
    let is_computed = match &expression {
        E::Literal(literal) => match Number::of_literal(literal.as_ref()) {
            Some(number) => return Literal::from(number.is_true()).into(),
            None if ill_typed::is_marked(literal.as_ref()) => return Literal::from(false).into(),
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

fn node(mut arguments: Vec<Expression>, row: Row<'_>) -> Expression {
    let Some(label) = arguments.pop() else { return call(Function::BNode, arguments) };
    // Where no solution is at hand each call is a node of its own.
    let row = row.map_or_else(|| call(Function::StrUuid, Vec::new()), Expression::clone);
    // `CONCAT` takes texts with a language too: of these, and of what is not a text, this makes an error.
    let text = call(Function::StrDt, vec![label, xsd::STRING.into_owned().into()]);
    let unique = call(Function::Md5, vec![call(Function::Concat, vec![row, text])]);
    call(Function::BNode, vec![unique])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::parse::text::{Prologue, parse_query};

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
