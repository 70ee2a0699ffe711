//! `rdf query`: answers a SPARQL query.

use std::io::Write;
use std::time::Instant;

use fulgurite_rdf::oxrdf::{Term, vocab::xsd};
use fulgurite_rdf::sparesults::QueryResultsFormat;
use fulgurite_rdf::sparql::{Limits, Query, QueryForm, QueryResults, Solutions};
use fulgurite_rdf::{Quads, Snapshot, StatementKinds};

use super::store::{reading, services, sparql};
use crate::arguments::OutputFormat;
use crate::arguments::rdf::{AnswerFormat, GraphFormat, Query as Arguments};
use crate::failure::Failure;
use crate::output::{Cell, Printer, counted, standard_output};
use crate::progress::time;

/// Answers.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = sparql(&arguments.text)?;
    let service = services(&arguments.services)?;
    reading(&arguments.store.path, |_, snapshot| {
        let namespaces = snapshot.namespaces()?;
        let base = arguments.base.as_ref().map(|base| base.as_str());
        let query = Query::parse_with_prefixes(&text, base, &namespaces)?;
        check_format(query.form(), arguments.format)?;
        let mut limits = Limits::new();
        if let Some(timeout) = arguments.timeout {
            limits = limits.timeout(timeout);
        }
        if let Some(rows) = arguments.rows_max {
            limits = limits.rows_max(rows);
        }
        if let Some(mebibytes) = arguments.memory_max {
            limits = limits.memory_bytes_max(u64::from(mebibytes) << 20);
        }
        let mut query = query.with_limits(limits).union_default_graph(arguments.union);
        if let Some(handler) = service {
            query = query.with_service(handler);
        }
        let statements = if arguments.explicit { StatementKinds::Explicit } else { StatementKinds::All };
        let snapshot = snapshot.of_kinds(statements);
        match arguments.explain {
            true => explain(&query, &snapshot),
            false => answer(&query, &snapshot, arguments.format, &namespaces),
        }
    })
}

fn explain(query: &Query, snapshot: &Snapshot) -> Result<(), Failure> {
    let mut out = standard_output();
    write!(out, "{}", query.explain_evaluated(snapshot)?).and_then(|()| out.flush()).map_err(Failure::Output)
}

fn answer(
    query: &Query,
    snapshot: &Snapshot,
    format: AnswerFormat,
    namespaces: &[(String, String)],
) -> Result<(), Failure> {
    let begun = Instant::now();
    let rows = match (query.evaluate(snapshot)?, results_format(format)) {
        (QueryResults::Boolean(answer), Some(format)) => {
            QueryResults::write_boolean(answer, format, standard_output())?;
            return Ok(());
        }
        (QueryResults::Boolean(answer), None) => {
            let mut out = standard_output();
            return writeln!(out, "{answer}").and_then(|()| out.flush()).map_err(Failure::Output);
        }
        (QueryResults::Solutions(solutions), Some(format)) => solutions.write(format, standard_output())?,
        (QueryResults::Solutions(solutions), None) => print_table(solutions, namespaces)?,
        (QueryResults::Triples(triples), _) => {
            triples.write(graph_format(format).into(), namespaces, standard_output())?
        }
    };
    if format == AnswerFormat::Table {
        let _ = writeln!(std::io::stderr(), "{} in {}", counted(rows, "row", "rows"), time(begun.elapsed()));
    }
    Ok(())
}

/// Refuses a form that cannot hold the answer before anything is asked.
fn check_format(form: QueryForm, format: AnswerFormat) -> Result<(), Failure> {
    let triples = matches!(form, QueryForm::Construct | QueryForm::Describe);
    let fits = match format {
        AnswerFormat::Table => true,
        _ => triples != results_format(format).is_some(),
    };
    match (fits, triples) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Message(
            "CONSTRUCT and DESCRIBE return triples; use --format table, nt, ttl, rdf or jsonld".into(),
        )),
        (false, false) => {
            Err(Failure::Message("SELECT and ASK return no triples; use --format table, json, xml, csv or tsv".into()))
        }
    }
}

/// The form of solutions; none for a table, and for what only triples can be written in.
fn results_format(format: AnswerFormat) -> Option<QueryResultsFormat> {
    match format {
        AnswerFormat::Json => Some(QueryResultsFormat::Json),
        AnswerFormat::Xml => Some(QueryResultsFormat::Xml),
        AnswerFormat::Csv => Some(QueryResultsFormat::Csv),
        AnswerFormat::Tsv => Some(QueryResultsFormat::Tsv),
        _ => None,
    }
}

/// The form of triples: Turtle where nothing else is asked for.
fn graph_format(format: AnswerFormat) -> GraphFormat {
    match format {
        AnswerFormat::Nt => GraphFormat::Nt,
        AnswerFormat::Rdf => GraphFormat::Rdf,
        AnswerFormat::Jsonld => GraphFormat::Jsonld,
        _ => GraphFormat::Ttl,
    }
}

fn print_table(solutions: Solutions, namespaces: &[(String, String)]) -> Result<u64, Failure> {
    let variables = solutions.variables().to_vec();
    let names: Vec<&str> = variables.iter().map(|variable| variable.as_str()).collect();
    let mut printer = Printer::to_standard_output(OutputFormat::Table, &names);
    let mut rows = 0;
    for solution in solutions {
        let solution = solution?;
        let shown: Vec<Option<String>> =
            solution.values().iter().map(|term| term.as_ref().map(|term| shown(term, namespaces))).collect();
        let cells: Vec<Cell> = shown.iter().map(|text| text.as_deref().map_or(Cell::Nothing, Cell::Text)).collect();
        printer.row(&cells)?;
        rows += 1;
    }
    printer.finish()?;
    Ok(rows)
}

/// A term for people: as in Turtle, with the namespaces of the store.
fn shown(term: &Term, namespaces: &[(String, String)]) -> String {
    match term {
        Term::NamedNode(node) => short(node.as_str(), namespaces),
        Term::Literal(literal) => match literal.datatype() {
            xsd::INTEGER | xsd::DECIMAL | xsd::DOUBLE | xsd::BOOLEAN => literal.value().to_owned(),
            xsd::STRING => literal.to_string(),
            _ if literal.language().is_some() => literal.to_string(),
            datatype => {
                let plain = fulgurite_rdf::oxrdf::Literal::new_simple_literal(literal.value());
                format!("{plain}^^{}", short(datatype.as_str(), namespaces))
            }
        },
        Term::BlankNode(_) | Term::Triple(_) => term.to_string(),
    }
}

fn short(iri: &str, namespaces: &[(String, String)]) -> String {
    let known = [("xsd", "http://www.w3.org/2001/XMLSchema#")];
    let namespaces = namespaces.iter().map(|(prefix, namespace)| (prefix.as_str(), namespace.as_str())).chain(known);
    let plain = |local: &str| {
        let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        !local.is_empty() && !local.starts_with('-') && local.bytes().all(inside)
    };
    let mut shortened = namespaces.filter_map(|(prefix, namespace)| Some((prefix, iri.strip_prefix(namespace)?)));
    match shortened.find(|(_, local)| plain(local)) {
        Some((prefix, local)) => format!("{prefix}:{local}"),
        None => format!("<{iri}>"),
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{Literal, NamedNode};

    use super::*;

    #[test]
    fn terms_are_shown_as_in_turtle_with_the_namespaces_that_fit() {
        let namespaces = [("ex".to_owned(), "http://example.org/".to_owned())];
        let iri = |iri: &str| Term::from(NamedNode::new(iri).unwrap());
        let typed = |text: &str, datatype| Term::from(Literal::new_typed_literal(text, datatype));
        for (term, expected) in [
            (iri("http://example.org/a-1"), "ex:a-1"),
            (iri("http://example.org/a/b"), "<http://example.org/a/b>"),
            (iri("http://example.org/"), "<http://example.org/>"),
            (typed("7", xsd::INTEGER), "7"),
            (typed("a\"b", xsd::STRING), "\"a\\\"b\""),
            (typed("2026-11-23", xsd::DATE), "\"2026-11-23\"^^xsd:date"),
            (Literal::new_language_tagged_literal("Baum", "de").unwrap().into(), "\"Baum\"@de"),
        ] {
            assert_eq!(shown(&term, &namespaces), expected);
        }
    }

    #[test]
    fn a_form_that_cannot_hold_the_answer_is_refused() {
        assert!(check_format(QueryForm::Select, AnswerFormat::Csv).is_ok());
        assert!(check_format(QueryForm::Ask, AnswerFormat::Ttl).is_err());
        assert!(check_format(QueryForm::Construct, AnswerFormat::Csv).is_err());
        assert!(check_format(QueryForm::Describe, AnswerFormat::Table).is_ok());
    }
}
