//! What a query answers, how the suites write down what it should answer, and when the two are the same.

use std::collections::{BTreeMap, HashMap};

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{Dataset, Graph, GraphName, Literal, NamedNodeRef, NamedOrBlankNodeRef, Quad, Term, TermRef};
use oxrdfio::{RdfFormat, RdfParser};
use oxsdatatypes::{Decimal, Double};
use sparesults::{QueryResultsFormat, QueryResultsParser, SliceQueryResultsParserOutput};

use crate::comparison::{Comparison, Solutions, have_order};
use crate::isomorphism::{Fact, isomorphic};

/// The answer to a query.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Of ASK.
    Boolean(bool),
    /// Of SELECT.
    Solutions(Table),
    /// Of CONSTRUCT and DESCRIBE.
    Graph(Vec<Quad>),
}

/// Solutions.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The variables, without a question mark.
    pub variables: Vec<String>,
    /// For each solution the terms of these variables.
    pub rows: Vec<Vec<Option<Term>>>,
}

/// What a file of the suites says that a query answers.
pub struct Expected {
    /// The answer.
    pub answer: Answer,
    /// Whether the file gives its solutions numbers.
    pub ordered: bool,
}

/// Reads an expected answer from the text of the file at `address`.
///
/// # Errors
/// If the file cannot be read as what its ending says.
pub fn expected(address: &str, text: &str) -> Result<Expected, String> {
    let ending = address.rsplit('.').next().unwrap_or_default();
    match QueryResultsFormat::from_extension(ending).filter(|_| ending != "csv") {
        Some(format) => Ok(Expected { answer: read_results(format, text)?, ordered: false }),
        None => graph_or_result_set(address, ending, text),
    }
}

/// Reads results as they travel: XML, JSON or TSV.
///
/// # Errors
/// If the text is not in this form.
pub fn read_results(format: QueryResultsFormat, text: &str) -> Result<Answer, String> {
    let parsed = QueryResultsParser::from_format(format).for_slice(text.as_bytes());
    match parsed.map_err(|error| error.to_string())? {
        SliceQueryResultsParserOutput::Boolean(value) => Ok(Answer::Boolean(value)),
        SliceQueryResultsParserOutput::Solutions(solutions) => {
            let variables = solutions.variables().iter().map(|variable| variable.as_str().to_owned()).collect();
            let rows = solutions.map(|solution| solution.map(|solution| solution.values().to_vec()));
            let rows = rows.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
            Ok(Answer::Solutions(Table { variables, rows }))
        }
    }
}

/// Reads all quads of a document; its blank nodes are those of no other document.
///
/// # Errors
/// If the text is not in this form.
pub fn read_quads(format: RdfFormat, base: &str, text: &str) -> Result<Vec<Quad>, String> {
    let parser = RdfParser::from_format(format).with_base_iri(base).map_err(|error| error.to_string())?;
    parser.rename_blank_nodes().for_slice(text).collect::<Result<_, _>>().map_err(|error| format!("{base}: {error}"))
}

fn graph_or_result_set(address: &str, ending: &str, text: &str) -> Result<Expected, String> {
    let format = RdfFormat::from_extension(ending).ok_or_else(|| format!("{address}: no known form of results"))?;
    let quads = read_quads(format, address, text)?;
    let graph: Graph = quads.iter().map(|quad| oxrdf::Triple::from(quad.clone())).collect();
    match graph.subject_for_predicate_object(rdf::TYPE, result_set("ResultSet").as_ref()) {
        Some(root) => read_result_set(&graph, root).map_err(|reason| format!("{address}: {reason}")),
        None => Ok(Expected { answer: Answer::Graph(quads), ordered: false }),
    }
}

/// A word of the vocabulary in which the oldest suite describes results.
fn result_set(word: &str) -> oxrdf::NamedNode {
    oxrdf::NamedNode::new_unchecked(format!("http://www.w3.org/2001/sw/DataAccess/tests/result-set#{word}"))
}

fn read_result_set(graph: &Graph, root: NamedOrBlankNodeRef) -> Result<Expected, String> {
    if let Some(value) = value_of(graph, root, "boolean") {
        let answer = Answer::Boolean(matches!(value, TermRef::Literal(literal) if literal.value() == "true"));
        return Ok(Expected { answer, ordered: false });
    }
    let variable = result_set("resultVariable");
    let names = graph.objects_for_subject_predicate(root, variable.as_ref());
    let variables: Vec<String> = names.filter_map(lexical).collect();
    let mut rows: BTreeMap<(u64, usize), Vec<Option<Term>>> = BTreeMap::new();
    let mut ordered = false;
    let solution = result_set("solution");
    for (number, node) in graph.objects_for_subject_predicate(root, solution.as_ref()).enumerate() {
        let node = as_subject(node)?;
        let index = value_of(graph, node, "index").and_then(lexical).and_then(|index| index.parse().ok());
        ordered |= index.is_some();
        rows.insert((index.unwrap_or(u64::MAX), number), read_row(graph, node, &variables)?);
    }
    let table = Table { variables, rows: rows.into_values().collect() };
    Ok(Expected { answer: Answer::Solutions(table), ordered })
}

fn read_row(graph: &Graph, node: NamedOrBlankNodeRef, variables: &[String]) -> Result<Vec<Option<Term>>, String> {
    let mut row = vec![None; variables.len()];
    let binding = result_set("binding");
    for binding in graph.objects_for_subject_predicate(node, binding.as_ref()) {
        let binding = as_subject(binding)?;
        let name = value_of(graph, binding, "variable").and_then(lexical).ok_or("a binding has no variable")?;
        let place = variables.iter().position(|variable| *variable == name);
        let place = place.ok_or_else(|| format!("a binding has the unknown variable {name}"))?;
        row[place] = value_of(graph, binding, "value").map(TermRef::into_owned);
    }
    Ok(row)
}

fn value_of<'a>(graph: &'a Graph, subject: NamedOrBlankNodeRef<'a>, word: &str) -> Option<TermRef<'a>> {
    let predicate = result_set(word);
    graph.object_for_subject_predicate(subject, NamedNodeRef::new_unchecked(predicate.as_str()))
}

fn lexical(term: TermRef) -> Option<String> {
    match term {
        TermRef::Literal(literal) => Some(literal.value().to_owned()),
        _ => None,
    }
}

fn as_subject(term: TermRef) -> Result<NamedOrBlankNodeRef, String> {
    match term {
        TermRef::NamedNode(node) => Ok(node.into()),
        TermRef::BlankNode(node) => Ok(node.into()),
        _ => Err(format!("{term} stands where a node is expected")),
    }
}

/// Compares an answer with the expected one.
///
/// # Errors
/// How they differ.
pub fn compare(found: &Answer, expected: &Answer, comparison: &Comparison) -> Result<(), String> {
    let same = match (found, expected) {
        (Answer::Boolean(found), Answer::Boolean(expected)) => found == expected,
        (Answer::Graph(found), Answer::Graph(expected)) => isomorphic(&distinct(found), &distinct(expected))?,
        (Answer::Solutions(found), Answer::Solutions(expected)) => same_solutions(found, expected, comparison)?,
        _ => false,
    };
    if same { Ok(()) } else { Err(format!("expected {}, found {}", shown(expected), shown(found))) }
}

/// Compares the states of two stores.
///
/// # Errors
/// How they differ.
pub fn compare_quads(found: &[Quad], expected: &[Quad]) -> Result<(), String> {
    compare(&Answer::Graph(found.to_vec()), &Answer::Graph(expected.to_vec()), &Comparison::default())
}

/// A graph is a set: what a file says twice it says once.
fn distinct(quads: &[Quad]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = quads.iter().map(Fact::of_quad).collect();
    facts.sort_unstable();
    facts.dedup();
    facts
}

fn same_solutions(found: &Table, expected: &Table, comparison: &Comparison) -> Result<bool, String> {
    let sorted = |table: &Table| {
        let mut names = table.variables.clone();
        names.sort_unstable();
        names
    };
    if sorted(found) != sorted(expected) {
        return Ok(false);
    }
    let (found, expected) = (by_value(found, &comparison.computed), by_value(expected, &comparison.computed));
    let solutions = match &comparison.solutions {
        Solutions::OrderedBy(keys) if !has_order(&expected, keys) => &Solutions::Bag,
        other => other,
    };
    let (found, expected) = (rows(&found, solutions)?, rows(&expected, solutions)?);
    if *solutions != Solutions::Reduced {
        return isomorphic(&found, &expected);
    }
    let (found, expected) = (counted(&found), counted(&expected));
    Ok(found.len() == expected.len()
        && found.iter().all(|(fact, count)| expected.get(fact).is_some_and(|most| count <= most)))
}

fn has_order(table: &Table, keys: &[String]) -> bool {
    let is_key = |name: &String| keys.contains(name);
    let mut columns = (0..table.variables.len()).filter(|&column| is_key(&table.variables[column]));
    columns.all(|column| have_order(table.rows.iter().map(|row| row[column].as_ref())))
}

fn counted(facts: &[Fact]) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for fact in facts {
        *counts.entry(format!("{fact:?}")).or_default() += 1;
    }
    counts
}

/// The same solutions, with one way to write each number that was computed.
fn by_value(table: &Table, computed: &[String]) -> Table {
    let plain = |term: &Term| match term {
        Term::Literal(literal) => {
            let (text, datatype) = (literal.value(), literal.datatype());
            let number = match datatype {
                xsd::INTEGER | xsd::DECIMAL => text.parse::<Decimal>().ok().map(|number| number.to_string()),
                xsd::DOUBLE | xsd::FLOAT => text.parse::<Double>().ok().map(|number| number.to_string()),
                _ => None,
            };
            number.map_or_else(|| term.clone(), |number| Literal::new_typed_literal(number, datatype).into())
        }
        _ => term.clone(),
    };
    let value = |(name, term): (&String, &Option<Term>)| match term {
        Some(term) if computed.contains(name) => Some(plain(term)),
        other => other.clone(),
    };
    let rows = table.rows.iter().map(|row| table.variables.iter().zip(row).map(value).collect());
    Table { variables: table.variables.clone(), rows: rows.collect() }
}

/// The rows as facts: bound variables by name, and the row's place if that counts. Rows that may come in any order have
/// one place.
fn rows(table: &Table, solutions: &Solutions) -> Result<Vec<Fact>, String> {
    let mut columns: Vec<usize> = (0..table.variables.len()).collect();
    columns.sort_unstable_by_key(|&column| &table.variables[column]);
    let keys = match solutions {
        Solutions::OrderedBy(keys) => {
            let column = |key: &String| table.variables.iter().position(|name| name == key);
            keys.iter().map(column).collect::<Option<Vec<_>>>().ok_or("an answer without what orders it")?
        }
        _ => Vec::new(),
    };
    let (mut facts, mut place) = (Vec::with_capacity(table.rows.len()), 0);
    for (number, row) in table.rows.iter().enumerate() {
        let mut fact = Fact::default();
        match solutions {
            Solutions::Numbered => fact.push_text(&number.to_string()),
            Solutions::OrderedBy(_) => {
                let goes_on = |before: &Vec<Option<Term>>| keys.iter().all(|&key| before[key] == row[key]);
                if !number.checked_sub(1).is_some_and(|before| goes_on(&table.rows[before])) {
                    place += 1;
                }
                fact.push_text(&place.to_string());
            }
            Solutions::Bag | Solutions::Reduced => {}
        }
        for &column in &columns {
            if let Some(term) = &row[column] {
                fact.push_text(&table.variables[column]);
                fact.push_term(term);
            }
        }
        facts.push(fact);
    }
    Ok(facts)
}

/// An answer for a message: whole if it is short.
fn shown(answer: &Answer) -> String {
    let lines: Vec<String> = match answer {
        Answer::Boolean(value) => return value.to_string(),
        Answer::Graph(quads) => Dataset::from_iter(quads).iter().map(|quad| quad.to_string()).collect(),
        Answer::Solutions(table) => table
            .rows
            .iter()
            .map(|row| {
                let bound = table.variables.iter().zip(row).filter_map(|(name, term)| Some((name, term.as_ref()?)));
                let bound: Vec<String> = bound.map(|(name, term)| format!("?{name}={term}")).collect();
                format!("({})", bound.join(" "))
            })
            .collect(),
    };
    let more = if lines.len() > LINES_MAX { " …" } else { "" };
    format!("{}: {{ {}{more} }}", lines.len(), lines[..lines.len().min(LINES_MAX)].join(" "))
}

/// So many solutions or quads are shown in a message.
const LINES_MAX: usize = 12;

/// Reads a table in CSV, in which all terms are text and blank nodes begin with `_:`. Its columns may come in any
/// order.
///
/// # Errors
/// If a quoted field does not end, or a record has not a field for each column.
pub fn csv_facts(text: &str) -> Result<Vec<Fact>, String> {
    let mut records = csv_records(text)?.into_iter();
    let header = records.next().ok_or("CSV without a header")?;
    let mut places: Vec<usize> = (0..header.len()).collect();
    places.sort_unstable_by_key(|&place| &header[place]);
    let mut facts = Vec::new();
    for record in std::iter::once(header.clone()).chain(records) {
        if record.len() != header.len() {
            return Err(format!("{} columns of CSV, but a record of {}", header.len(), record.len()));
        }
        let mut fact = Fact::default();
        for &place in &places {
            match record[place].strip_prefix("_:") {
                Some(label) => fact.push_label(label),
                None => fact.push_text(&record[place]),
            }
        }
        facts.push(fact);
    }
    Ok(facts)
}

fn csv_records(text: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut characters) = (false, text.chars().peekable());
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            _ if quoted => field.push(character),
            ',' => record.push(std::mem::take(&mut field)),
            '\r' => {}
            '\n' => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            _ => field.push(character),
        }
    }
    if quoted {
        return Err("a quoted field of the CSV does not end".to_owned());
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    Ok(records)
}

/// The quads, all in one graph.
pub fn in_graph(quads: Vec<Quad>, graph: &GraphName) -> Vec<Quad> {
    quads.into_iter().map(|quad| Quad { graph_name: graph.clone(), ..quad }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&str]) -> Answer {
        let rows = rows.iter().map(|value| vec![Some(oxrdf::Literal::from(*value).into())]).collect();
        Answer::Solutions(Table { variables: vec!["x".to_owned()], rows })
    }

    #[test]
    fn order_counts_only_in_a_sequence_and_number_not_where_results_are_reduced() {
        let (found, expected) = (table(&["b", "a"]), table(&["a", "b"]));
        let of = |solutions| Comparison { solutions, computed: Vec::new() };
        let (numbered, reduced) = (of(Solutions::Numbered), of(Solutions::Reduced));
        assert!(compare(&found, &expected, &Comparison::default()).is_ok());
        assert!(compare(&found, &expected, &numbered).is_err());
        let twice = table(&["a", "a", "b"]);
        assert!(compare(&found, &twice, &Comparison::default()).is_err());
        assert!(compare(&found, &twice, &reduced).is_ok());
        assert!(compare(&twice, &found, &reduced).is_err());
    }

    #[test]
    fn an_unbound_variable_differs_from_an_empty_one_and_from_a_missing_column() {
        let answer = |variables: &[&str], row: Vec<Option<Term>>| {
            let variables = variables.iter().map(|name| (*name).to_owned()).collect();
            Answer::Solutions(Table { variables, rows: vec![row] })
        };
        let empty = Some(oxrdf::Literal::from("").into());
        assert!(compare(&answer(&["x"], vec![None]), &answer(&["x"], vec![empty]), &Comparison::default()).is_err());
        assert!(compare(&answer(&["x"], vec![None]), &answer(&[], vec![]), &Comparison::default()).is_err());
    }

    #[test]
    fn computed_numbers_are_compared_by_value_and_type_and_other_literals_as_they_are_written() {
        let answer = |text: &str, datatype: NamedNodeRef| {
            let row = vec![Some(Literal::new_typed_literal(text, datatype).into())];
            Answer::Solutions(Table { variables: vec!["x".to_owned()], rows: vec![row] })
        };
        let computed = Comparison { computed: vec!["x".to_owned()], ..Comparison::default() };
        let same = |found: Answer, expected: Answer| compare(&found, &expected, &computed).is_ok();
        assert!(same(answer("2", xsd::DECIMAL), answer("2.0", xsd::DECIMAL)));
        assert!(same(answer("2", xsd::DOUBLE), answer("2.0E0", xsd::DOUBLE)));
        assert!(!same(answer("2", xsd::DOUBLE), answer("2", xsd::DECIMAL)));
        assert!(!same(answer("2", xsd::STRING), answer("2.0", xsd::STRING)));
        let of_data = compare(&answer("2", xsd::DECIMAL), &answer("2.0", xsd::DECIMAL), &Comparison::default());
        assert!(of_data.is_err());
    }

    #[test]
    fn solutions_that_the_order_does_not_tell_apart_come_in_any_order() {
        let answer = |rows: [[&str; 2]; 3]| {
            let term = |value: &str| Some(oxrdf::Literal::from(value).into());
            let rows = rows.map(|row| row.map(term).to_vec()).to_vec();
            Answer::Solutions(Table { variables: vec!["k".to_owned(), "x".to_owned()], rows })
        };
        let ordered = Comparison { solutions: Solutions::OrderedBy(vec!["k".to_owned()]), computed: Vec::new() };
        let expected = answer([["1", "a"], ["1", "b"], ["2", "c"]]);
        assert!(compare(&answer([["1", "b"], ["1", "a"], ["2", "c"]]), &expected, &ordered).is_ok());
        assert!(compare(&answer([["2", "c"], ["1", "a"], ["1", "b"]]), &expected, &ordered).is_err());
        assert!(compare(&answer([["1", "a"], ["2", "c"], ["1", "b"]]), &expected, &ordered).is_err());
    }

    #[test]
    fn fields_of_csv_may_hold_commas_quotes_and_line_ends() {
        let records = csv_records("a,b\r\n\"1,\"\"2\",\"x\ny\"\r\n").expect("every quote ends");
        assert_eq!(records, [["a", "b"], ["1,\"2", "x\ny"]]);
        assert!(csv_records("\"a").is_err());
    }
}
