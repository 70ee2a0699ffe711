//! Which queries are evaluated on ids, and their operators above the `WHERE`.
//!
//! A query is one of these if it is a `SELECT` or an `ASK` of this form, over the store's default graph and all its
//! named graphs, without values of the caller:
//!
//! | above the `WHERE` ([`groups`](super::groups)) | |
//! |---|---|
//! | `GROUP BY` variables | with `COUNT`, `SUM`, `AVG`, `MIN`, `MAX`, `SAMPLE` of variables, and `COUNT(*)` |
//! | `HAVING` | as `FILTER` |
//! | `(?x AS ?y)`, aggregates in `SELECT` | by their variables alone |
//! | `ORDER BY` variables | with a `LIMIT`, if all rows bind the first one |
//! | `DISTINCT`, `REDUCED`, `LIMIT`, `OFFSET` | |

use std::sync::Arc;

use oxrdf::Variable;
use spargebra::Query;
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, OrderExpression};

use super::context::Kept;
use super::fragment::Fragment;
use super::groups::{Compiled, Compiler, with_conditions};
use super::row_table::RowTable;
use super::rows::{Evaluation, Output, Repeats};
use super::scope::{Name, Names, PARTS_MAX, Places, Refused};
use super::tree::aggregate::{Aggregate, Function};
use super::tree::group::Group;
use super::tree::operator::Operator;
use super::tree::sort::{Sort, SortBy};
use crate::Quads;
use crate::sparql::evaluation::best_rows::Best;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};
use crate::sparql::evaluation::value::Value;
use crate::sparql::plan::JoinOrder;
use crate::sparql::plan::first_rows::Cut;

/// A query that is to be evaluated.
pub(crate) struct Request<'r, Q> {
    pub(crate) query: &'r Query,
    pub(crate) quads: &'r Q,
    pub(crate) watch: &'r EvaluationMonitor,
    pub(crate) order: JoinOrder,
    /// Whether the query is explained.
    pub(crate) explains: bool,
}

/// The operators of a query. `None`: the library evaluates it. Requires: the default graph of the query is that of the
/// store, and its named graphs are all of the store's.
pub(crate) fn recognise<Q: Quads>(request: &Request<'_, Q>) -> Result<Option<Evaluation<Q>>, Stopped> {
    let (pattern, is_ask) = match request.query {
        Query::Select { pattern, .. } => (pattern, false),
        Query::Ask { pattern, .. } => (pattern, true),
        Query::Construct { .. } | Query::Describe { .. } => return Ok(None),
    };
    match evaluation(request, pattern, is_ask) {
        Ok(evaluation) => Ok(Some(evaluation)),
        Err(Refused::Outside) => Ok(None),
        Err(Refused::Stopped(stopped)) => Err(stopped),
    }
}

/// What is above the `WHERE` and its groups, from the outside to the inside.
struct Outline<'q> {
    start: usize,
    length: Option<usize>,
    repeats: RepeatsOf,
    variables: &'q [Variable],
    keys: &'q [OrderExpression],
    /// Variables, and those whose values they have.
    aliases: Vec<(&'q Variable, &'q Variable)>,
    inner: &'q GraphPattern,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RepeatsOf {
    Kept,
    Distinct,
    Reduced,
}

impl RepeatsOf {
    /// Before the first row of so many values.
    fn begin(self, width: usize) -> Repeats {
        match self {
            Self::Kept => Repeats::Kept,
            Self::Distinct => Repeats::Distinct(RowTable::new(width)),
            Self::Reduced => Repeats::Reduced(None),
        }
    }
}

impl<'q> Outline<'q> {
    fn of(pattern: &'q GraphPattern) -> Result<Self, Refused> {
        let (start, length, pattern) = match pattern {
            GraphPattern::Slice { inner, start, length } => (*start, *length, &**inner),
            other => (0, None, other),
        };
        let (repeats, pattern) = match pattern {
            GraphPattern::Distinct { inner } => (RepeatsOf::Distinct, &**inner),
            GraphPattern::Reduced { inner } => (RepeatsOf::Reduced, &**inner),
            other => (RepeatsOf::Kept, other),
        };
        let (variables, pattern) = match pattern {
            GraphPattern::Project { inner, variables } => (variables.as_slice(), &**inner),
            _ => return Err(Refused::Outside),
        };
        let (keys, mut inner) = match pattern {
            GraphPattern::OrderBy { inner, expression } => (expression.as_slice(), &**inner),
            other => (Default::default(), other),
        };
        let mut aliases = Vec::new();
        while let GraphPattern::Extend { inner: extended, variable, expression } = inner {
            let Expression::Variable(of) = expression else { return Err(Refused::Outside) };
            if aliases.len() == PARTS_MAX {
                return Err(Refused::Outside);
            }
            aliases.push((variable, of));
            inner = &**extended;
        }
        Ok(Self { start, length, repeats, variables, keys, aliases, inner })
    }

    /// The variable whose value a variable has.
    fn resolved(&self, variable: &'q Variable) -> &'q Variable {
        self.aliases.iter().fold(variable, |variable, (alias, of)| if *alias == variable { *of } else { variable })
    }
}

/// Where the values of a query are in its rows.
struct Layout<'q> {
    names: Names<'q>,
    groups: Option<Groups>,
    /// The places of the variables of the result; `None`: no row binds the variable.
    columns: Vec<Option<usize>>,
    /// The places and directions of the keys that the rows are sorted by.
    keys: Vec<(usize, bool)>,
}

/// A `GROUP BY`, by places.
struct Groups {
    keys: Vec<usize>,
    aggregates: Vec<Aggregate>,
    /// The places that groups may bind.
    possible: Places,
}

/// The layout of a query of the fragment.
fn layout<'q>(
    outline: &Outline<'q>,
    having: &[&'q Expression],
    grouped: Option<&GroupOf<'q>>,
    mut fragment: Fragment<'q, '_>,
) -> Result<Layout<'q>, Refused> {
    let (groups, possible) = match grouped {
        Some(grouped) => {
            let rows = fragment.body(grouped.inner)?;
            let groups = groups_of(&mut fragment.names, &rows.possible, grouped)?;
            for condition in having {
                fragment.condition(condition, &groups.possible)?;
            }
            let possible = groups.possible.clone();
            (Some(groups), possible)
        }
        None => (None, fragment.body(outline.inner)?.possible),
    };
    let place = |variable: &Variable| fragment.names.find_in(variable, &possible);
    let columns = outline.variables.iter().map(|variable| place(outline.resolved(variable))).collect();
    let keys = sort_keys(outline, place)?;
    Ok(Layout { names: fragment.names, groups, columns, keys })
}

fn evaluation<Q: Quads>(
    request: &Request<'_, Q>,
    pattern: &GraphPattern,
    is_ask: bool,
) -> Result<Evaluation<Q>, Refused> {
    let outline = Outline::of(pattern)?;
    let cut = Cut::of(pattern).filter(|_| !outline.keys.is_empty());
    if cut.is_none() && !outline.keys.is_empty() {
        return Err(Refused::Outside);
    }
    let (having, grouped) = having_of(outline.inner);
    let fragment = Fragment::new(request.watch, request.order);
    let Layout { names, groups, columns, keys } = layout(&outline, &having, grouped.as_ref(), fragment)?;
    let mut kept = Kept::new(request.watch);
    let mut compiler = Compiler {
        quads: request.quads,
        watch: request.watch,
        kept: &kept,
        order: request.order,
        explains: request.explains,
        names,
        // What is grouped is not what is sorted.
        cut: cut.clone().filter(|_| grouped.is_none()),
    };
    let compiled = match (&grouped, groups) {
        (Some(grouped), Some(groups)) => grouped_rows(&mut compiler, grouped, groups, &having)?,
        _ => compiler.body(outline.inner, Vec::new())?,
    };
    let width = compiler.names.len();
    let mut root = compiled.operator;
    if let Some(cut) = &cut {
        kept.best = Some(Best::new(cut.rows, cut.is_descending, None));
        root = sorted(root, &columns, &keys, outline.keys, request.explains);
    }
    let repeats = outline.repeats.begin(columns.len());
    let names_above = if request.explains { names_above(&outline, is_ask) } else { Vec::new() };
    let variables: Arc<[Variable]> = if is_ask { Arc::from([]) } else { outline.variables.into() };
    Ok(Evaluation {
        quads: request.quads.clone(),
        root,
        kept,
        row: vec![Value::UNBOUND; width],
        output: match is_ask {
            true => Output::new(Vec::new(), Repeats::Kept, outline.start),
            false => Output::new(columns, repeats, outline.start),
        },
        variables,
        rows_left: if is_ask { Some(outline.length.unwrap_or(1).min(1)) } else { outline.length },
        rows: 0,
        names_above,
    })
}

/// A `GROUP BY`, or what aggregates without one are computed of.
struct GroupOf<'q> {
    inner: &'q GraphPattern,
    keys: &'q [Variable],
    aggregates: &'q [(Variable, AggregateExpression)],
}

/// The conditions of `HAVING`, and the groups. `None`: nothing is grouped.
fn having_of(pattern: &GraphPattern) -> (Vec<&Expression>, Option<GroupOf<'_>>) {
    let (mut having, mut pattern) = (Vec::new(), pattern);
    loop {
        match pattern {
            GraphPattern::Filter { expr, inner } => {
                having.push(expr);
                pattern = &**inner;
            }
            GraphPattern::Group { inner, variables, aggregates } => {
                return (having, Some(GroupOf { inner, keys: variables, aggregates }));
            }
            _ => return (Vec::new(), None),
        }
    }
}

/// A condition with aggregates in the place of the variables that have their values.
fn with_aggregates(text: &str, aggregates: &[(Variable, AggregateExpression)]) -> String {
    aggregates.iter().fold(text.to_owned(), |text, (variable, aggregate)| {
        text.replace(&variable.to_string(), &aggregate.to_string())
    })
}

/// The places of groups of rows that may bind `rows`.
fn groups_of<'q>(names: &mut Names<'q>, rows: &Places, grouped: &GroupOf<'q>) -> Result<Groups, Refused> {
    let mut groups = Groups { keys: Vec::new(), aggregates: Vec::new(), possible: Places::default() };
    for key in grouped.keys {
        let place = names.place(Name::Variable(key.as_str()))?;
        groups.keys.push(place);
        groups.possible.add(place);
    }
    for (variable, aggregate) in grouped.aggregates {
        let (function, argument, is_distinct) = Function::of(aggregate)?;
        let argument = match argument {
            Some(argument) => Some(names.find_in(argument, rows).ok_or(Refused::Outside)?),
            None => None,
        };
        let place = names.place(Name::Variable(variable.as_str()))?;
        groups.possible.add(place);
        groups.aggregates.push(Aggregate { function, argument, is_distinct, place });
    }
    Ok(groups)
}

/// The groups that meet `having`.
fn grouped_rows<'q, Q: Quads>(
    compiler: &mut Compiler<'q, '_, Q>,
    grouped: &GroupOf<'q>,
    groups: Groups,
    having: &[&'q Expression],
) -> Result<Compiled, Refused> {
    let rows = compiler.body(grouped.inner, Vec::new())?;
    let Groups { keys, aggregates, possible } = groups;
    let mut conditions = compiler.conditions(having, &possible)?;
    let mut name = String::new();
    if compiler.explains {
        conditions.iter_mut().for_each(|conjunct| {
            conjunct.text = with_aggregates(&conjunct.text, grouped.aggregates);
        });
        let keys = grouped.keys.iter().map(ToString::to_string);
        let aggregates = grouped.aggregates.iter().map(|(_, aggregate)| aggregate.to_string());
        name = format!("Aggregate({})", keys.chain(aggregates).collect::<Vec<_>>().join(", "));
    }
    Ok(rows.map(|input| with_conditions(Box::new(Group::new(input, keys, aggregates, name)), conditions)))
}

/// The places and directions of the keys.
fn sort_keys<'q>(
    outline: &Outline<'q>,
    place: impl Fn(&Variable) -> Option<usize>,
) -> Result<Vec<(usize, bool)>, Refused> {
    let key = |key: &'q OrderExpression| {
        let (expression, is_descending) = match key {
            OrderExpression::Asc(expression) => (expression, false),
            OrderExpression::Desc(expression) => (expression, true),
        };
        let Expression::Variable(variable) = expression else { return Err(Refused::Outside) };
        Ok((place(outline.resolved(variable)).ok_or(Refused::Outside)?, is_descending))
    };
    outline.keys.iter().map(key).collect()
}

fn sorted(
    input: Box<dyn Operator>,
    columns: &[Option<usize>],
    keys: &[(usize, bool)],
    written: &[OrderExpression],
    explains: bool,
) -> Box<dyn Operator> {
    let mut places: Vec<usize> = Vec::new();
    for place in keys.iter().map(|(place, _)| *place).chain(columns.iter().copied().flatten()) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let column = |place: usize| places.iter().position(|other| *other == place).unwrap_or_default();
    let key = |&(place, is_descending): &(usize, bool)| SortBy { column: column(place), is_descending };
    let keys = keys.iter().map(key).collect();
    let name = match explains {
        true => format!("Sort({})", written.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        false => String::new(),
    };
    Box::new(Sort::new(input, keys, places, name))
}

/// The names of what is above the operators, the innermost first.
fn names_above(outline: &Outline<'_>, is_ask: bool) -> Vec<String> {
    let (_, grouped) = having_of(outline.inner);
    let text = |of: &Variable| {
        let aggregates = grouped.as_ref().map_or_else(Default::default, |grouped| grouped.aggregates);
        let aggregate = aggregates.iter().find(|(variable, _)| variable == of);
        aggregate.map_or_else(|| of.to_string(), |(_, aggregate)| aggregate.to_string())
    };
    let mut names: Vec<String> = Vec::new();
    names.extend(outline.aliases.iter().rev().map(|(alias, of)| format!("Extend({} -> {alias})", text(of))));
    if !is_ask {
        let variables = outline.variables.iter().map(ToString::to_string).collect::<Vec<_>>();
        names.push(format!("Project({})", variables.join(", ")));
    }
    match outline.repeats {
        RepeatsOf::Kept => {}
        RepeatsOf::Distinct => names.push("Distinct".to_owned()),
        RepeatsOf::Reduced => names.push("Reduced".to_owned()),
    }
    match (outline.start, outline.length) {
        (0, None) => {}
        (start, None) => names.push(format!("Slice(start = {start})")),
        (start, Some(length)) => names.push(format!("Slice(start = {start}, length = {length})")),
    }
    names
}
