//! Running one test on one subject.

use std::sync::Arc;

use oxrdf::{GraphName, NamedNode, Quad};
use oxrdfio::RdfFormat;
use sparesults::QueryResultsFormat;
use spargebra::{Query, SparqlParser};

use crate::answer::{self, Answer, Expected};
use crate::comparison::Comparison;
use crate::isomorphism::isomorphic;
use crate::manifest::{State, Task, Test};
use crate::subject::{Input, Subject};
use crate::suites::Documents;

/// Runs a test.
///
/// # Errors
/// Why it failed.
pub fn run<S: Subject>(test: &Test, documents: &Arc<Documents>) -> Result<(), String> {
    match &test.task {
        Task::QuerySyntax { file, good } => verdict(S::parse_query(documents.text(file)?, file), *good),
        Task::UpdateSyntax { file, good } => verdict(S::parse_update(documents.text(file)?, file), *good),
        Task::Query { query, data, result, reduced } => answer_query::<S>(documents, query, data, result, *reduced),
        Task::QueryAsCsv { query, data, result } => {
            let subject = loaded_for_query::<S>(documents, query, data)?;
            let found = subject.query_as_text(documents.text(query)?, query, "csv")?;
            let expected = documents.text(result)?;
            match isomorphic(&answer::csv_facts(&found)?, &answer::csv_facts(expected)?)? {
                true => Ok(()),
                false => Err(format!("expected {expected}found {found}")),
            }
        }
        Task::Update { request, before, after } => {
            let mut subject = loaded::<S>(documents, before)?;
            subject.update(documents.text(request)?, request)?;
            answer::compare_quads(&subject.quads()?, &expected_quads(documents, after)?)
        }
        Task::Syntax { file, format, base, good } => {
            // A file that is not there is no refusal.
            documents.bytes(file)?;
            let mut subject = S::empty(documents)?;
            verdict(load(&mut subject, documents, file, *format, base, GraphName::DefaultGraph), *good)
        }
        Task::Read { file, format, base, result } => {
            let mut subject = S::empty(documents)?;
            load(&mut subject, documents, file, *format, base, GraphName::DefaultGraph)?;
            let expected = answer::read_quads(format_of(result)?, result, documents.text(result)?)?;
            answer::compare_quads(&subject.quads()?, &expected)
        }
        Task::Nothing(reason) => Err((*reason).to_owned()),
    }
}

fn verdict(outcome: Result<(), String>, good: bool) -> Result<(), String> {
    match (outcome, good) {
        (Err(reason), true) => Err(format!("refused: {reason}")),
        (Ok(()), false) => Err("accepted what breaks the rules".to_owned()),
        _ => Ok(()),
    }
}

fn answer_query<S: Subject>(
    documents: &Arc<Documents>,
    query: &str,
    data: &State,
    result: &str,
    reduced: bool,
) -> Result<(), String> {
    let subject = loaded_for_query::<S>(documents, query, data)?;
    let text = documents.text(query)?;
    let Expected { answer: expected, ordered } = answer::expected(result, documents.text(result)?)?;
    let mut comparison = Comparison::of(&parsed(documents, query)?, reduced, ordered);
    // The short forms of numbers in TSV have their values.
    if let (Answer::Solutions(table), true) = (&expected, result.ends_with(".tsv")) {
        comparison.computed.clone_from(&table.variables);
    }
    let found = subject.query(text, query)?;
    answer::compare(&found, &expected, &comparison)?;
    // What travels in this form has to arrive as it was.
    let ending = result.rsplit('.').next().unwrap_or_default();
    if let (Some(format), false) = (QueryResultsFormat::from_extension(ending), matches!(found, Answer::Graph(_))) {
        let written = subject.query_as_text(text, query, ending)?;
        let read = answer::read_results(format, &written).map_err(|reason| format!("wrote {written}: {reason}"))?;
        answer::compare(&read, &expected, &comparison).map_err(|reason| format!("written as {ending}: {reason}"))?;
    }
    Ok(())
}

/// A store with what the test says, and what the query itself names after FROM and FROM NAMED.
fn loaded_for_query<S: Subject>(documents: &Arc<Documents>, query: &str, data: &State) -> Result<S, String> {
    let mut subject = loaded::<S>(documents, data)?;
    let parsed = parsed(documents, query)?;
    let (Query::Select { dataset, .. }
    | Query::Ask { dataset, .. }
    | Query::Construct { dataset, .. }
    | Query::Describe { dataset, .. }) = &parsed;
    let Some(dataset) = dataset else { return Ok(subject) };
    let mut names: Vec<&NamedNode> = dataset.default.iter().chain(dataset.named.iter().flatten()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| data.named.iter().all(|(known, _)| known != name.as_str())) {
        load(&mut subject, documents, name.as_str(), format_of(name.as_str())?, name.as_str(), name.clone().into())?;
    }
    Ok(subject)
}

fn parsed(documents: &Documents, query: &str) -> Result<Query, String> {
    let parser = SparqlParser::new().with_base_iri(query).map_err(|error| error.to_string())?;
    parser.parse_query(documents.text(query)?).map_err(|error| error.to_string())
}

fn loaded<S: Subject>(documents: &Arc<Documents>, state: &State) -> Result<S, String> {
    let mut subject = S::empty(documents)?;
    for (graph, file) in documents_of(state)? {
        load(&mut subject, documents, file, format_of(file)?, file, graph)?;
    }
    Ok(subject)
}

fn expected_quads(documents: &Documents, state: &State) -> Result<Vec<Quad>, String> {
    let mut quads = Vec::new();
    for (graph, file) in documents_of(state)? {
        let read = answer::read_quads(format_of(file)?, file, documents.text(file)?)?;
        quads.extend(answer::in_graph(read, &graph));
    }
    Ok(quads)
}

/// The documents of a state, each with the graph that it belongs into.
fn documents_of(state: &State) -> Result<Vec<(GraphName, &str)>, String> {
    let default = state.default.iter().map(|file| Ok((GraphName::DefaultGraph, file.as_str())));
    let named = state.named.iter().map(|(name, file)| {
        let name = NamedNode::new(name).map_err(|error| format!("{name}: {error}"))?;
        Ok((name.into(), file.as_str()))
    });
    default.chain(named).collect()
}

fn load<S: Subject>(
    subject: &mut S,
    documents: &Documents,
    file: &str,
    format: RdfFormat,
    base: &str,
    graph: GraphName,
) -> Result<(), String> {
    subject.load(&Input { format, base, bytes: documents.bytes(file)?, graph })
}

fn format_of(file: &str) -> Result<RdfFormat, String> {
    let ending = file.rsplit('.').next().unwrap_or_default();
    RdfFormat::from_extension(ending).ok_or_else(|| format!("{file}: its ending names no form of RDF"))
}
