//! [`Explanation`]: how a query is evaluated, with what was estimated and what came of it.

use std::collections::HashMap;
use std::fmt;

use json_event_parser::{JsonEvent, SliceJsonParser};
use spareval::{QueryDatasetSpecification, QueryExplanation, QueryResults};

use super::plan_node::PlanNode;
use super::written::Written;
use crate::error::{Error, Result};
use crate::quads::joined::JoinStep;
use crate::sparql::evaluation::dataset::failure;
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Limits, Stopped};
use crate::sparql::expressions::functions;
use crate::sparql::operators::rows::{Evaluation, RowSource};
use crate::sparql::parse::text;
use crate::sparql::plan;
use crate::sparql::query::{LEVELS_ON_CALLERS_STACK, Prepared, Query, stack_bytes};
use crate::sparql::service;
use crate::{MeteringAllocator, Quads};

/// How a query is evaluated: its operators as a tree, the first at the root.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The root operator of the plan.
    pub root: PlanNode,
    /// The number of quads read, if the query was evaluated.
    pub quads_read: Option<u64>,
    /// The peak memory of the evaluation in bytes, if the query was evaluated and the program uses a
    /// [`MeteringAllocator`].
    pub memory_bytes_peak: Option<u64>,
}

impl Query {
    /// Returns the plan of the query over `quads`, with estimates.
    ///
    /// # Errors
    /// As [`Query::evaluate`].
    pub fn explain<Q: Quads>(&self, quads: &Q) -> Result<Explanation> {
        self.explain_on_a_fitting_stack(quads, false)
    }

    /// Evaluates the query completely, and returns its plan with estimated and actual rows.
    ///
    /// # Errors
    /// As [`Query::evaluate`].
    pub fn explain_evaluated<Q: Quads>(&self, quads: &Q) -> Result<Explanation> {
        self.explain_on_a_fitting_stack(quads, true)
    }

    fn explain_on_a_fitting_stack<Q: Quads>(&self, quads: &Q, evaluate: bool) -> Result<Explanation> {
        let depth = self.levels();
        if depth <= LEVELS_ON_CALLERS_STACK {
            return self.explain_here(quads, evaluate);
        }
        text::on_stack(stack_bytes(depth), || self.explain_here(quads, evaluate))
    }

    fn explain_here<Q: Quads>(&self, quads: &Q, evaluate: bool) -> Result<Explanation> {
        let reports_memory = evaluate && MeteringAllocator::is_installed();
        let watch = EvaluationMonitor::start(&Limits { reports_memory, ..self.limits.clone() });
        let on_ids = interrupt::without_panic("the planner", || self.operators(quads, &watch, true))?;
        if let Some(evaluation) = on_ids {
            return explain_operators(evaluation, &watch, evaluate, reports_memory);
        }
        let Prepared { plan, dataset, functions } =
            interrupt::without_panic("the planner", || self.prepare(quads, &watch, plan::explain_query))?;
        let written = Written::new(functions.written());
        let evaluator = functions.register(functions::evaluator(plan.calls_functions).clone());
        let evaluator = match evaluate {
            true => service::asking(evaluator, &self.service, plan.services).compute_statistics(),
            false => service::asking_nobody(evaluator),
        };
        let run = || {
            let mut prepared = self.bind(evaluator.prepare(&plan.query));
            *prepared.dataset_mut() = QueryDatasetSpecification::new();
            let (results, explanation) = prepared.explain(dataset);
            let results = results.map_err(|error| failure(&watch, error))?;
            if evaluate {
                exhaust(results, &watch)?;
            }
            Ok(explanation)
        };
        let explanation = interrupt::run(&watch, run).unwrap_or_else(|stopped| Err(stopped.into_failure(&watch)))?;
        let root = with_written_names(read(&explanation, plan.estimates)?, written);
        Ok(Explanation {
            root,
            quads_read: evaluate.then(|| watch.quads_read()),
            memory_bytes_peak: reports_memory.then(|| watch.memory().peak()),
        })
    }
}

/// Explains an evaluation on ids.
fn explain_operators<Q: Quads>(
    mut evaluation: Evaluation<Q>,
    watch: &EvaluationMonitor,
    evaluate: bool,
    reports_memory: bool,
) -> Result<Explanation> {
    let mut evaluate_all = || -> Result<(), Stopped> {
        if !evaluate {
            return Ok(());
        }
        let (mut rows, mut values) = (0, Vec::new());
        loop {
            values.clear();
            let step = evaluation.fill(watch, &mut usize::MAX.clone(), ROWS_AT_ONCE, &mut rows, &mut values)?;
            watch.step().and_then(|()| watch.check_rows(rows as u64))?;
            if step == JoinStep::End {
                return Ok(());
            }
        }
    };
    let outcome = interrupt::run(watch, &mut evaluate_all).and_then(std::convert::identity);
    outcome.map_err(|stopped: Stopped| stopped.into_failure(watch))?;
    let root = evaluation.plan();
    Ok(Explanation {
        root: if evaluate { nameless_nodes(root) } else { nameless_nodes(root).without_rows() },
        quads_read: evaluate.then(|| watch.quads_read()),
        memory_bytes_peak: reports_memory.then(|| watch.memory().peak()),
    })
}

/// The tree without the names that the parser makes up.
fn nameless_nodes(node: PlanNode) -> PlanNode {
    let children = node.children.into_iter().map(nameless_nodes).collect();
    PlanNode { name: nameless(&node.name), children, ..node }
}

/// Rows that are evaluated together for an explanation.
const ROWS_AT_ONCE: usize = 1024;

fn exhaust(results: QueryResults<'static>, watch: &EvaluationMonitor) -> Result<()> {
    let mut rows = 0;
    let mut each = |row: Result<(), spareval::QueryEvaluationError>| {
        row.map_err(|error| failure(watch, error))?;
        rows += 1;
        watch.step().and_then(|()| watch.check_rows(rows)).map_err(|stopped| stopped.into_failure(watch))
    };
    match results {
        QueryResults::Solutions(mut solutions) => solutions.try_for_each(|row| each(row.map(drop)))?,
        QueryResults::Graph(mut triples) => triples.try_for_each(|row| each(row.map(drop)))?,
        QueryResults::Boolean(_) => {}
    }
    watch.take_failure().map_or(Ok(()), Err)
}

/// The tree of the evaluator's explanation, which it gives as JSON alone.
fn read(explanation: &QueryExplanation, estimates: Vec<(String, f64)>) -> Result<PlanNode> {
    let mut json = Vec::new();
    let unreadable = |source: Box<dyn std::error::Error + Send + Sync>| Error::Evaluation { source };
    explanation.write_in_json(&mut json).map_err(|error| unreadable(error.into()))?;
    let mut expected: HashMap<String, Vec<f64>> = HashMap::new();
    for (name, rows) in estimates.into_iter().rev() {
        expected.entry(nameless(&name)).or_default().push(rows);
    }
    let mut parser = SliceJsonParser::new(&json);
    // The root has an object of its own. Its node has no name and one child.
    let mut open: Vec<PlanNode> = Vec::new();
    let mut key = String::new();
    loop {
        match parser.parse_next().map_err(|error| unreadable(error.into()))? {
            JsonEvent::StartObject => open.push(PlanNode::default()),
            JsonEvent::ObjectKey(name) => key = name.into_owned(),
            JsonEvent::String(text) if key == "name" => {
                if let Some(node) = open.last_mut() {
                    node.estimated_rows = expected.get_mut(&nameless(&text)).and_then(Vec::pop);
                    node.name = text.into_owned();
                }
            }
            JsonEvent::Number(number) if key == "number of results" => {
                if let Some(node) = open.last_mut() {
                    node.rows = number.parse().ok();
                }
            }
            JsonEvent::EndObject => {
                let Some(node) = open.pop() else { break };
                match open.last_mut() {
                    Some(parent) => parent.children.push(node),
                    None => return node.children.into_iter().next().ok_or_else(|| unreadable("no plan".into())),
                }
            }
            JsonEvent::Eof => break,
            _ => {}
        }
    }
    Err(unreadable("the plan is cut off".into()))
}

/// The tree with the expressions that the text has, and without operators that only bind variables which no text has.
fn with_written_names(root: PlanNode, mut written: Written) -> PlanNode {
    fn without_definitions(mut node: PlanNode, written: &mut Written) -> PlanNode {
        // What a definition is made of is defined below it.
        node.children = node.children.into_iter().map(|child| without_definitions(child, written)).collect();
        match (written.define(&node.name), &mut *node.children) {
            (true, [child]) => std::mem::take(child),
            _ => node,
        }
    }
    fn renamed(node: PlanNode, written: &Written) -> PlanNode {
        let children = node.children.into_iter().map(|child| renamed(child, written)).collect();
        PlanNode { name: nameless(&written.name(&node.name)), children, ..node }
    }
    let root = without_definitions(root, &mut written);
    renamed(root, &written)
}

/// The name with `[]` for blank nodes, and for the long hexadecimal names that the evaluator makes up for them.
fn nameless(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(['?', '_']) {
        let (before, here) = rest.split_at(at);
        out.push_str(before);
        let body = |prefix: usize| {
            here[prefix..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(here.len(), |end| prefix + end)
        };
        let after = if here.starts_with("_:") {
            Some(body(2))
        } else if here.starts_with('?') && body(1) > 20 && here[1..body(1)].bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            Some(body(1))
        } else {
            None
        };
        match after {
            Some(end) => {
                out.push_str("[]");
                rest = &here[end..];
            }
            None => {
                out.push_str(&here[..1]);
                rest = &here[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.write(out, 0)?;
        if let Some(quads) = self.quads_read {
            writeln!(out, "quads read: {quads}")?;
        }
        if let Some(bytes) = self.memory_bytes_peak {
            writeln!(out, "memory: peak {bytes} bytes")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_names_are_left_out_and_others_kept() {
        let name = "QuadPattern(?person <http://e/a_b?c> ?0123456789abcdef0123456789abcdef)";
        assert_eq!(nameless(name), "QuadPattern(?person <http://e/a_b?c> [])");
        assert_eq!(nameless("QuadPattern(_:b12 ?p ?o)"), "QuadPattern([] ?p ?o)");
        assert_eq!(nameless("Filter(?abc = \"x\")"), "Filter(?abc = \"x\")");
    }
}
