//! What an endpoint has answered, as rows of the evaluation.
//!
//! Invariants: (1) a blank node of an answer is a node of its own, whatever its label. (2) No term of an answer nests
//! so deep that what goes down it, as dropping it does, has not stack enough.

use std::collections::HashMap;
use std::sync::Arc;

use oxrdf::{BlankNode, NamedOrBlankNode, Term, Triple, Variable};
use sparesults::{QueryResultsParser, QuerySolution, ReaderQueryResultsParserOutput};
use spareval::QuerySolutionIter;

use super::clause::Clause;
use super::nesting;
use super::response::{ServiceError, ServiceResponse};
use crate::sparql::evaluation::limits::EvaluationMonitor;

/// The rows of an answer. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    variables: Arc<[Variable]>,
    rows: Arc<Vec<Vec<Option<Term>>>>,
}

impl Answer {
    /// Reads an answer to its end.
    ///
    /// # Errors
    /// If it is not in the form that it is said to be, not of solutions, or too large; if the evaluation has ended
    /// meanwhile.
    pub(crate) fn read(
        response: ServiceResponse,
        clause: &Clause,
        watch: &EvaluationMonitor,
    ) -> Result<Self, ServiceError> {
        let ServiceResponse { format, body, rows_max } = response;
        nesting::check(format, &body).map_err(|flaw| ServiceError::new(flaw.to_string()))?;
        let broken = |error: &dyn std::fmt::Display| {
            ServiceError::new(format!("the answer is not {}: {error}; ask the endpoint by itself", format.name()))
        };
        let parser = QueryResultsParser::from_format(format).for_reader(&*body).map_err(|error| broken(&error))?;
        let ReaderQueryResultsParserOutput::Solutions(solutions) = parser else {
            return Err(ServiceError::new("the answer is a truth value, and rows were asked for; check the URL"));
        };
        let (mut rows, mut nodes) = (Vec::new(), HashMap::new());
        for solution in solutions {
            if watch.step().is_err() {
                return Err(ServiceError::new("the evaluation has ended"));
            }
            let solution = solution.map_err(|error| broken(&error))?;
            if rows.len() as u64 >= rows_max {
                let message =
                    format!("the answer has more than {rows_max} rows; narrow the pattern, or raise the limit");
                return Err(ServiceError::new(message));
            }
            let mut row = vec![None; clause.variables.len()];
            for (variable, value) in &solution {
                // What was not asked for is passed over.
                if let Some(column) = clause.variables.iter().position(|asked| asked == variable) {
                    row[column] = Some(renamed(value.clone(), &mut nodes));
                }
            }
            rows.push(row);
        }
        Ok(Self { variables: clause.variables.as_slice().into(), rows: Arc::new(rows) })
    }

    pub(crate) fn into_solutions(self) -> QuerySolutionIter<'static> {
        let Self { variables, rows } = self;
        let (columns, count) = (Arc::clone(&variables), rows.len());
        let solution = move |row: usize| Ok(QuerySolution::from((Arc::clone(&columns), rows[row].clone())));
        QuerySolutionIter::new(variables, (0..count).map(solution))
    }
}

/// The term with new names for its blank nodes.
fn renamed(term: Term, nodes: &mut HashMap<BlankNode, BlankNode>) -> Term {
    match term {
        Term::BlankNode(node) => nodes.entry(node).or_default().clone().into(),
        Term::Triple(triple) => {
            let Triple { subject, predicate, object } = *triple;
            let subject = match subject {
                NamedOrBlankNode::BlankNode(node) => nodes.entry(node).or_default().clone().into(),
                named => named,
            };
            Triple::new(subject, predicate, renamed(object, nodes)).into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use sparesults::QueryResultsFormat;

    use super::nesting::DEPTH_MAX;
    use super::*;
    use crate::sparql::Limits;

    fn read(format: QueryResultsFormat, body: &str, rows_max: u64) -> Result<Answer, String> {
        let variables = ["a", "b"].map(Variable::new_unchecked).to_vec();
        let clause = Clause { query: String::new(), variables, is_silent: false };
        let response = ServiceResponse::new(format, body.as_bytes().to_vec()).rows_max(rows_max);
        Answer::read(response, &clause, &EvaluationMonitor::start(&Limits::new())).map_err(|error| error.to_string())
    }

    #[test]
    fn columns_come_in_the_order_of_the_clause_and_what_was_not_asked_for_is_passed_over() {
        let answer = read(QueryResultsFormat::Tsv, "?c\t?b\t?a\n1\t2\t3\n\t\t<x:a>\n", 10).unwrap();
        let shown: Vec<Vec<Option<String>>> =
            answer.rows.iter().map(|row| row.iter().map(|term| term.as_ref().map(Term::to_string)).collect()).collect();
        let integer = |number| Some(format!("\"{number}\"^^<http://www.w3.org/2001/XMLSchema#integer>"));
        assert_eq!(shown, [vec![integer(3), integer(2)], vec![Some("<x:a>".to_owned()), None]]);
    }

    #[test]
    fn blank_nodes_of_an_answer_are_alike_within_it_and_different_from_all_others() {
        let text = "?a\t?b\n_:x\t_:x\n_:y\t_:x\n";
        let [first, second] = [1, 2].map(|_| read(QueryResultsFormat::Tsv, text, 10).unwrap().rows);
        assert_eq!(first[0][0], first[0][1]);
        assert_eq!(first[0][0], first[1][1]);
        assert_ne!(first[0][0], first[1][0]);
        assert_ne!(first[0][0], second[0][0]);
        assert_ne!(first[0][0], Some(BlankNode::new_unchecked("x").into()));
    }

    #[test]
    fn answers_that_are_too_long_or_broken_or_of_another_kind_are_refused() {
        let rows = "?a\n1\n2\n3\n";
        assert!(read(QueryResultsFormat::Tsv, rows, 3).is_ok());
        assert!(read(QueryResultsFormat::Tsv, rows, 2).unwrap_err().contains("more than 2 rows"));
        for (format, body, expected) in [
            (QueryResultsFormat::Json, "{\"head\":{},\"boolean\":true}", "truth value"),
            (QueryResultsFormat::Json, "<html>", "not SPARQL Results in JSON"),
            (
                QueryResultsFormat::Json,
                "{\"head\":{\"vars\":[\"a\"]},\"results\":{\"bindings\":[",
                "not SPARQL Results in JSON",
            ),
            (QueryResultsFormat::Json, "", "not SPARQL Results in JSON"),
            (QueryResultsFormat::Xml, "<sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head>", "breaks off"),
            (QueryResultsFormat::Tsv, "?a\noops oops\n", "not SPARQL Results in TSV"),
        ] {
            let error = read(format, body, 10).unwrap_err();
            assert!(error.contains(expected), "{body}: {error}");
        }
    }

    /// An endpoint that sends no length and fails half-way was taken to have sent all of its rows.
    #[test]
    fn answers_that_break_off_are_refused_wherever_that_is() {
        let xml = "<?xml version=\"1.0\"?><sparql xmlns=\"http://www.w3.org/2005/sparql-results#\">\
                   <head><variable name=\"a\"/></head><results><!-- rows -->\
                   <result><binding name=\"a\"><uri>x:1</uri></binding></result>\
                   <result><binding name=\"a\"><literal>two</literal></binding></result></results></sparql>";
        let json = "{\"head\":{\"vars\":[\"a\"]},\"results\":{\"bindings\":[\
                    {\"a\":{\"type\":\"uri\",\"value\":\"x:1\"}},{\"a\":{\"type\":\"literal\",\"value\":\"two\"}}]}}";
        for (format, whole) in [(QueryResultsFormat::Xml, xml), (QueryResultsFormat::Json, json)] {
            assert_eq!(read(format, whole, 10).unwrap().rows.len(), 2);
            for length in 0..whole.len() {
                assert!(read(format, &whole[..length], 10).is_err(), "{}", &whole[..length]);
            }
        }
        let lines = "?a\n12\n345\n";
        for length in (0..lines.len()).filter(|&length| !lines[..length].ends_with('\n')) {
            assert!(read(QueryResultsFormat::Tsv, &lines[..length], 10).is_err(), "{}", &lines[..length]);
        }
    }

    #[test]
    fn terms_that_nest_too_deep_are_refused_before_they_are_parsed() {
        let nested = |levels: usize| {
            let open = "{\"type\":\"triple\",\"value\":{\"subject\":{\"type\":\"uri\",\"value\":\"x:s\"},\
                        \"predicate\":{\"type\":\"uri\",\"value\":\"x:p\"},\"object\":";
            let inner = "{\"type\":\"bnode\",\"value\":\"b\"}";
            let term = format!("{}{inner}{}", open.repeat(levels), "}}".repeat(levels));
            format!("{{\"head\":{{\"vars\":[\"a\"]}},\"results\":{{\"bindings\":[{{\"a\":{term}}}]}}}}")
        };
        assert_eq!(read(QueryResultsFormat::Json, &nested(DEPTH_MAX), 10).unwrap().rows.len(), 1);
        for levels in [DEPTH_MAX + 9, 200_000] {
            let error = read(QueryResultsFormat::Json, &nested(levels), 10).unwrap_err();
            assert!(error.contains("nested deeper"), "{error}");
        }
    }
}
