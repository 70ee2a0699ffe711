//! The shape of a parsed text: chains of `||`, `&&` and `UNION` become balanced trees, and what is still too deep is
//! refused.
//!
//! Invariant: no algebra that leaves this file has more than [`DEPTH_MAX`] levels, and [`query_depth`] says how many;
//! nor more than [`AGGREGATES_NESTED_MAX`] of aggregates. All three operators are associative, with errors too: an `||`
//! is true if any operand is, else an error if any is one, else false.

use spargebra::algebra::{
    AggregateExpression, Expression, Function, GraphPattern, OrderExpression, PropertyPathExpression,
};
use spargebra::term::NamedNodePattern;
use spargebra::{GraphUpdateOperation, Query, Update};

use crate::error::{Error, Result};

/// Levels of operators that the algebra of a text may have.
pub(crate) const DEPTH_MAX: usize = 1_000;

pub(crate) fn balance_query(query: Query) -> Result<Query> {
    let query = map_pattern_of_query(query, &mut balance_pattern);
    check(pattern_of(&query))?;
    Ok(query)
}

/// The query with its pattern replaced.
pub(crate) fn map_pattern_of_query(query: Query, map: &mut dyn FnMut(GraphPattern) -> GraphPattern) -> Query {
    match query {
        Query::Select { dataset, pattern, base_iri } => Query::Select { dataset, pattern: map(pattern), base_iri },
        Query::Construct { template, dataset, pattern, base_iri } => {
            Query::Construct { template, dataset, pattern: map(pattern), base_iri }
        }
        Query::Describe { dataset, pattern, base_iri } => Query::Describe { dataset, pattern: map(pattern), base_iri },
        Query::Ask { dataset, pattern, base_iri } => Query::Ask { dataset, pattern: map(pattern), base_iri },
    }
}

pub(crate) fn balance_update(mut update: Update) -> Result<Update> {
    for operation in &mut update.operations {
        if let GraphUpdateOperation::DeleteInsert { pattern, .. } = operation {
            let unbalanced = std::mem::replace(&mut **pattern, GraphPattern::Bgp { patterns: Vec::new() });
            **pattern = balance_pattern(unbalanced);
            check(pattern)?;
        }
    }
    Ok(update)
}

fn check(pattern: &GraphPattern) -> Result<()> {
    if pattern_depth(pattern) > DEPTH_MAX {
        return Err(Error::QueryTooDeep { limit: DEPTH_MAX });
    }
    check_aggregates(pattern)
}

/// That no more aggregates are within each other than the optimizer can look at.
pub(crate) fn check_aggregates(pattern: &GraphPattern) -> Result<()> {
    if aggregate_depth(pattern) > AGGREGATES_NESTED_MAX {
        return Err(Error::AggregatesTooDeep { limit: AGGREGATES_NESTED_MAX });
    }
    Ok(())
}

/// Aggregates within aggregates that a text may have: the optimizer looks at what is within one twice, and so at the
/// innermost 2ⁿ times.
const AGGREGATES_NESTED_MAX: usize = 8;

/// Levels of operators.
pub(crate) fn query_depth(query: &Query) -> usize {
    pattern_depth(pattern_of(query))
}

fn pattern_of(query: &Query) -> &GraphPattern {
    let (Query::Select { pattern, .. }
    | Query::Construct { pattern, .. }
    | Query::Describe { pattern, .. }
    | Query::Ask { pattern, .. }) = query;
    pattern
}

/// Levels of operators; each triple of a basic graph pattern is one, since it becomes a join.
pub(crate) fn pattern_depth(pattern: &GraphPattern) -> usize {
    1 + match pattern {
        GraphPattern::Bgp { patterns } => patterns.len(),
        // What `plan` adds is counted here: a row beside a path, a loop over graphs, a group within `MINUS`, texts of
        // rows, a variable for each argument of an aggregate that is computed, and a projection of counted rows.
        GraphPattern::Path { path, .. } => 3 + path_depth(path),
        GraphPattern::Graph { name: NamedNodePattern::Variable(_), inner } => 2 + pattern_depth(inner),
        GraphPattern::Minus { .. } | GraphPattern::LeftJoin { expression: Some(_), .. } => {
            1 + deepest_part(pattern, pattern_depth, expression_depth)
        }
        GraphPattern::Group { aggregates, .. } => {
            aggregates.iter().filter(|(_, aggregate)| adds_a_level(aggregate)).count()
                + deepest_part(pattern, pattern_depth, expression_depth)
        }
        // What is sorted gets its keys as variables, one by one.
        GraphPattern::OrderBy { expression, .. } => {
            2 * expression.len() + deepest_part(pattern, pattern_depth, expression_depth)
        }
        pattern => deepest_part(pattern, pattern_depth, expression_depth),
    }
}

/// Whether the argument of the aggregate is not a variable, or it counts distinct rows: `plan` keeps their named
/// variables alone.
fn adds_a_level(aggregate: &AggregateExpression) -> bool {
    match aggregate {
        AggregateExpression::FunctionCall { expr, .. } => !matches!(expr, Expression::Variable(_)),
        AggregateExpression::CountSolutions { distinct } => *distinct,
    }
}

/// Levels of `GROUP BY` and other aggregates.
fn aggregate_depth(pattern: &GraphPattern) -> usize {
    let is_group = matches!(pattern, GraphPattern::Group { .. });
    usize::from(is_group) + deepest_part(pattern, aggregate_depth, aggregate_depth_of_expression)
}

fn aggregate_depth_of_expression(expression: &Expression) -> usize {
    let mut deepest = 0;
    visit_operands(expression, &mut |operand| {
        deepest = deepest.max(match operand {
            Operand::Pattern(pattern) => aggregate_depth(pattern),
            Operand::Expression(expression) => aggregate_depth_of_expression(expression),
        });
    });
    deepest
}

/// The deepest of the patterns and expressions that a pattern is made of, as these measure them.
fn deepest_part(
    pattern: &GraphPattern,
    of_pattern: fn(&GraphPattern) -> usize,
    of_expression: fn(&Expression) -> usize,
) -> usize {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => 0,
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => of_pattern(left).max(of_pattern(right)),
        GraphPattern::LeftJoin { left, right, expression } => {
            of_pattern(left).max(of_pattern(right)).max(expression.as_ref().map_or(0, of_expression))
        }
        GraphPattern::Filter { expr, inner } => of_expression(expr).max(of_pattern(inner)),
        GraphPattern::Extend { inner, expression, .. } => of_expression(expression).max(of_pattern(inner)),
        GraphPattern::OrderBy { inner, expression } => expression
            .iter()
            .map(|(OrderExpression::Asc(expression) | OrderExpression::Desc(expression))| of_expression(expression))
            .fold(of_pattern(inner), usize::max),
        GraphPattern::Group { inner, aggregates, .. } => aggregates
            .iter()
            .filter_map(|(_, aggregate)| match aggregate {
                AggregateExpression::CountSolutions { .. } => None,
                AggregateExpression::FunctionCall { expr, .. } => Some(of_expression(expr)),
            })
            .fold(of_pattern(inner), usize::max),
        GraphPattern::Graph { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Service { inner, .. } => of_pattern(inner),
    }
}

fn expression_depth(expression: &Expression) -> usize {
    let mut deepest = 0;
    visit_operands(expression, &mut |operand| {
        deepest = deepest.max(match operand {
            Operand::Pattern(pattern) => pattern_depth(pattern),
            Operand::Expression(expression) => expression_depth(expression),
        });
    });
    let levels = match expression {
        Expression::FunctionCall(Function::BNode, label) if !label.is_empty() => NAMED_NODE_LEVELS,
        _ => 1,
    };
    levels + deepest
}

/// What [`plan`](crate::sparql::plan) makes of a node that an expression names.
const NAMED_NODE_LEVELS: usize = 4;

fn path_depth(path: &PropertyPathExpression) -> usize {
    1 + match path {
        PropertyPathExpression::NamedNode(_) | PropertyPathExpression::NegatedPropertySet(_) => 0,
        PropertyPathExpression::Reverse(inner)
        | PropertyPathExpression::ZeroOrMore(inner)
        | PropertyPathExpression::OneOrMore(inner)
        | PropertyPathExpression::ZeroOrOne(inner) => path_depth(inner),
        PropertyPathExpression::Sequence(left, right) | PropertyPathExpression::Alternative(left, right) => {
            path_depth(left).max(path_depth(right))
        }
    }
}

fn balance_pattern(pattern: GraphPattern) -> GraphPattern {
    match pattern {
        union @ GraphPattern::Union { .. } => {
            let branches = chain(union, |pattern| match pattern {
                GraphPattern::Union { left, right } => Split::Operands(*left, *right),
                other => Split::Whole(other),
            });
            let branches = branches.into_iter().map(balance_pattern).collect();
            balanced(branches, |left, right| GraphPattern::Union { left: Box::new(left), right: Box::new(right) })
        }
        other => map_children(other, &mut balance_pattern, &mut balance_expression),
    }
}

fn balance_expression(expression: Expression) -> Expression {
    match expression {
        or @ Expression::Or(..) => {
            let operands = chain(or, |expression| match expression {
                Expression::Or(left, right) => Split::Operands(*left, *right),
                other => Split::Whole(other),
            });
            let operands = operands.into_iter().map(balance_expression).collect();
            balanced(operands, |left, right| Expression::Or(Box::new(left), Box::new(right)))
        }
        and @ Expression::And(..) => {
            let operands = chain(and, |expression| match expression {
                Expression::And(left, right) => Split::Operands(*left, *right),
                other => Split::Whole(other),
            });
            let operands = operands.into_iter().map(balance_expression).collect();
            balanced(operands, |left, right| Expression::And(Box::new(left), Box::new(right)))
        }
        other => map_operands(other, &mut balance_pattern, &mut balance_expression),
    }
}

/// What a link of a chain is.
enum Split<T> {
    Operands(T, T),
    Whole(T),
}

/// The operands of a chain of one associative operator, in their order.
fn chain<T>(whole: T, split: impl Fn(T) -> Split<T>) -> Vec<T> {
    let mut operands = Vec::new();
    let mut pending = vec![whole];
    while let Some(next) = pending.pop() {
        match split(next) {
            Split::Operands(left, right) => pending.extend([right, left]),
            Split::Whole(operand) => operands.push(operand),
        }
    }
    operands
}

/// A tree of least depth over the operands, which keep their order. Requires: there is one.
fn balanced<T>(mut operands: Vec<T>, join: impl Fn(T, T) -> T) -> T {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => join(left, right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop().expect("a chain has operands")
}

/// The pattern with its parts replaced, patterns by `on_pattern` and expressions by `on_expression`.
pub(crate) fn map_children(
    pattern: GraphPattern,
    on_pattern: &mut dyn FnMut(GraphPattern) -> GraphPattern,
    on_expression: &mut dyn FnMut(Expression) -> Expression,
) -> GraphPattern {
    let mut child = |inner: Box<GraphPattern>| Box::new(on_pattern(*inner));
    match pattern {
        leaf @ (GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. }) => leaf,
        GraphPattern::Join { left, right } => GraphPattern::Join { left: child(left), right: child(right) },
        GraphPattern::Lateral { left, right } => GraphPattern::Lateral { left: child(left), right: child(right) },
        GraphPattern::Union { left, right } => GraphPattern::Union { left: child(left), right: child(right) },
        GraphPattern::Minus { left, right } => GraphPattern::Minus { left: child(left), right: child(right) },
        GraphPattern::LeftJoin { left, right, expression } => {
            GraphPattern::LeftJoin { left: child(left), right: child(right), expression: expression.map(on_expression) }
        }
        GraphPattern::Filter { expr, inner } => GraphPattern::Filter { expr: on_expression(expr), inner: child(inner) },
        GraphPattern::Extend { inner, variable, expression } => {
            GraphPattern::Extend { inner: child(inner), variable, expression: on_expression(expression) }
        }
        GraphPattern::OrderBy { inner, expression } => {
            let mut ordered = |order| match order {
                OrderExpression::Asc(expression) => OrderExpression::Asc(on_expression(expression)),
                OrderExpression::Desc(expression) => OrderExpression::Desc(on_expression(expression)),
            };
            GraphPattern::OrderBy {
                inner: child(inner),
                expression: expression.into_iter().map(&mut ordered).collect(),
            }
        }
        GraphPattern::Group { inner, variables, aggregates } => {
            let mut aggregated = |(variable, aggregate)| match aggregate {
                AggregateExpression::FunctionCall { name, expr, distinct } => {
                    (variable, AggregateExpression::FunctionCall { name, expr: on_expression(expr), distinct })
                }
                count @ AggregateExpression::CountSolutions { .. } => (variable, count),
            };
            let aggregates = aggregates.into_iter().map(&mut aggregated).collect();
            GraphPattern::Group { inner: child(inner), variables, aggregates }
        }
        GraphPattern::Graph { name, inner } => GraphPattern::Graph { name, inner: child(inner) },
        GraphPattern::Project { inner, variables } => GraphPattern::Project { inner: child(inner), variables },
        GraphPattern::Distinct { inner } => GraphPattern::Distinct { inner: child(inner) },
        GraphPattern::Reduced { inner } => GraphPattern::Reduced { inner: child(inner) },
        GraphPattern::Slice { inner, start, length } => GraphPattern::Slice { inner: child(inner), start, length },
        GraphPattern::Service { name, inner, silent } => GraphPattern::Service { name, inner: child(inner), silent },
    }
}

/// What an expression is made of.
pub(crate) enum Operand<'e> {
    Pattern(&'e GraphPattern),
    Expression(&'e Expression),
}

/// Goes over the operands of the expression, and not over theirs.
pub(crate) fn visit_operands<'e>(expression: &'e Expression, visit: &mut dyn FnMut(Operand<'e>)) {
    use Expression as E;
    let mut each =
        |operands: &[&'e Expression]| operands.iter().for_each(|operand| visit(Operand::Expression(operand)));
    match expression {
        E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_) => {}
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
        | E::Divide(left, right) => each(&[left, right]),
        E::UnaryPlus(inner) | E::UnaryMinus(inner) | E::Not(inner) => each(&[inner]),
        E::If(condition, then, otherwise) => each(&[condition, then, otherwise]),
        E::In(value, list) => {
            each(&[value]);
            list.iter().for_each(|item| each(&[item]));
        }
        E::Coalesce(list) | E::FunctionCall(_, list) => list.iter().for_each(|item| each(&[item])),
        E::Exists(pattern) => visit(Operand::Pattern(pattern)),
    }
}

/// The expression with its operands replaced.
pub(crate) fn map_operands(
    expression: Expression,
    on_pattern: &mut dyn FnMut(GraphPattern) -> GraphPattern,
    on_expression: &mut dyn FnMut(Expression) -> Expression,
) -> Expression {
    use Expression as E;
    let mut operand = |inner: Box<E>| Box::new(on_expression(*inner));
    match expression {
        leaf @ (E::NamedNode(_) | E::Literal(_) | E::Variable(_) | E::Bound(_)) => leaf,
        E::Or(left, right) => E::Or(operand(left), operand(right)),
        E::And(left, right) => E::And(operand(left), operand(right)),
        E::Equal(left, right) => E::Equal(operand(left), operand(right)),
        E::SameTerm(left, right) => E::SameTerm(operand(left), operand(right)),
        E::Greater(left, right) => E::Greater(operand(left), operand(right)),
        E::GreaterOrEqual(left, right) => E::GreaterOrEqual(operand(left), operand(right)),
        E::Less(left, right) => E::Less(operand(left), operand(right)),
        E::LessOrEqual(left, right) => E::LessOrEqual(operand(left), operand(right)),
        E::Add(left, right) => E::Add(operand(left), operand(right)),
        E::Subtract(left, right) => E::Subtract(operand(left), operand(right)),
        E::Multiply(left, right) => E::Multiply(operand(left), operand(right)),
        E::Divide(left, right) => E::Divide(operand(left), operand(right)),
        E::UnaryPlus(inner) => E::UnaryPlus(operand(inner)),
        E::UnaryMinus(inner) => E::UnaryMinus(operand(inner)),
        E::Not(inner) => E::Not(operand(inner)),
        E::If(condition, then, otherwise) => E::If(operand(condition), operand(then), operand(otherwise)),
        E::In(value, list) => E::In(operand(value), list.into_iter().map(on_expression).collect()),
        E::Coalesce(list) => E::Coalesce(list.into_iter().map(on_expression).collect()),
        E::FunctionCall(function, list) => E::FunctionCall(function, list.into_iter().map(on_expression).collect()),
        E::Exists(pattern) => E::Exists(Box::new(on_pattern(*pattern))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::parse::text::{Prologue, parse_query};

    fn depth(text: &str) -> usize {
        query_depth(&parse_query(text, &Prologue::default()).expect("a query"))
    }

    #[test]
    fn a_chain_of_a_thousand_alternatives_is_ten_levels_deep() {
        let or: Vec<String> = (0..1_000).map(|number| format!("?o = {number}")).collect();
        let text = format!("SELECT * {{ ?s ?p ?o FILTER({}) }}", or.join(" || "));
        assert!(depth(&text) < 20, "{}", depth(&text));
        let union: Vec<String> = (0..1_000).map(|number| format!("{{ ?s ?p {number} }}")).collect();
        let text = format!("SELECT * {{ {} }}", union.join(" UNION "));
        assert!(depth(&text) < 20, "{}", depth(&text));
    }

    #[test]
    fn balancing_keeps_the_order_of_operands() {
        let operands: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        assert_eq!(balanced(operands, |left, right| format!("{left}{right}")), "0123456");
    }

    #[test]
    fn aggregates_within_aggregates_are_bounded_wherever_they_are() {
        let nested = |levels: usize| {
            let inner = (0..levels).fold("?s ?p ?o".to_owned(), |inner, level| {
                format!("{{ SELECT (COUNT(*) AS ?c{level}) {{ {inner} }} GROUP BY ?s }}")
            });
            [format!("SELECT * {{ {inner} }}"), format!("SELECT * {{ ?s ?p ?o FILTER EXISTS {{ {inner} }} }}")]
        };
        for text in nested(AGGREGATES_NESTED_MAX) {
            parse_query(&text, &Prologue::default()).expect("not too deep");
        }
        for text in nested(AGGREGATES_NESTED_MAX + 1).into_iter().chain(nested(100)) {
            let error = parse_query(&text, &Prologue::default()).expect_err("too deep");
            assert!(matches!(error, Error::AggregatesTooDeep { limit: AGGREGATES_NESTED_MAX }), "{error}");
        }
        let beside = "{ SELECT (COUNT(*) AS ?c) { ?s ?p ?o } GROUP BY ?s } ".repeat(50);
        parse_query(&format!("SELECT * {{ {beside} }}"), &Prologue::default()).expect("they are beside each other");
    }

    #[test]
    fn what_is_still_too_deep_after_balancing_is_refused() {
        let text = format!("SELECT * {{ ?s ?p ?o FILTER(0 < 1{}) }}", "+1".repeat(5_000));
        let error = parse_query(&text, &Prologue::default()).expect_err("too deep");
        assert!(matches!(error, Error::QueryTooDeep { limit: DEPTH_MAX }), "{error}");
    }
}
