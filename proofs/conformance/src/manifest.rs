//! Reading the manifests: which tests a suite lists, and what each wants to be done.
//!
//! A manifest is loaded into the store that is put to the test, and asked for its tests by SPARQL; the number of tests
//! that this must give is committed in [`crate::suites`].

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use oxrdf::{GraphName, Term};
use oxrdfio::{JsonLdProfileSet, RdfFormat};

use crate::answer::{Answer, Table};
use crate::subject::{Input, Subject};
use crate::suites::{Documents, Suite};

/// A test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name, which is unique.
    pub iri: String,
    /// The row of the report in which it counts.
    pub group: String,
    /// What is to be done.
    pub task: Task,
}

/// What a test wants to be done. All texts are addresses.
#[derive(Clone, Debug)]
pub enum Task {
    /// Parse a query, and accept or refuse it.
    QuerySyntax { file: String, good: bool },
    /// Parse an update, and accept or refuse it.
    UpdateSyntax { file: String, good: bool },
    /// Answer a query.
    Query { query: String, data: State, result: String, reduced: bool },
    /// Answer a query as CSV.
    QueryAsCsv { query: String, data: State, result: String },
    /// Update quads.
    Update { request: String, before: State, after: State },
    /// Read a document, and accept or refuse it.
    Syntax { file: String, format: RdfFormat, base: String, good: bool },
    /// Read a document, and have the same quads as another one has.
    Read { file: String, format: RdfFormat, base: String, result: String },
    /// Nothing: the test is not about what the store does, for this reason.
    Nothing(&'static str),
}

/// The content of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Documents in the default graph.
    pub default: Vec<String>,
    /// The names of named graphs, and the documents in them.
    pub named: Vec<(String, String)>,
}

/// Reads all tests that a suite lists.
///
/// # Errors
/// If a manifest cannot be read, or lists another number of tests than it should.
pub fn read<S: Subject>(suite: &Suite, documents: &Arc<Documents>) -> Result<Vec<Test>, String> {
    let mut waiting: VecDeque<String> = suite.manifests.iter().map(|path| format!("{}{path}", suite.base)).collect();
    let mut seen: HashSet<String> = waiting.iter().cloned().collect();
    let mut tests = BTreeMap::new();
    while let Some(address) = waiting.pop_front() {
        let subject = load::<S>(&address, documents)?;
        for row in ask(&subject, INCLUDED, &address)? {
            if seen.insert(row.get("manifest")) {
                waiting.push_back(row.get("manifest"));
            }
        }
        for (iri, listed) in listed(&subject, &address)? {
            let task = task(&listed);
            let group = group(suite, &task);
            tests.insert(iri.clone(), Test { iri, group, task });
        }
    }
    if tests.len() != suite.tests {
        return Err(format!("{}: {} tests are listed, but {} were read", suite.name, suite.tests, tests.len()));
    }
    Ok(tests.into_values().collect())
}

fn load<S: Subject>(address: &str, documents: &Arc<Documents>) -> Result<S, String> {
    let mut subject = S::empty(documents)?;
    let (format, text) = match address.ends_with(".jsonld") {
        true => (JSON_LD, with_context_inside(documents.text(address)?, documents)?),
        false => (RdfFormat::Turtle, documents.text(address)?.to_owned()),
    };
    let input = Input { format, base: address, bytes: text.as_bytes(), graph: GraphName::DefaultGraph };
    subject.load(&input).map_err(|reason| format!("{address}: {reason}"))?;
    Ok(subject)
}

/// The manifests of JSON-LD name the document that says what their words mean, which a store need not be able to fetch.
fn with_context_inside(text: &str, documents: &Documents) -> Result<String, String> {
    let context = documents.text("https://w3c.github.io/json-ld-api/tests/context.jsonld")?;
    let failed = |error: serde_json::Error| format!("a manifest of JSON-LD: {error}");
    let context: serde_json::Value = serde_json::from_str(context).map_err(failed)?;
    let mut manifest: serde_json::Value = serde_json::from_str(text).map_err(failed)?;
    if let Some(contexts) = manifest.get_mut("@context").and_then(|contexts| contexts.as_array_mut()) {
        for part in contexts.iter_mut().filter(|part| part.as_str() == Some("context.jsonld")) {
            *part = context["@context"].clone();
        }
    }
    Ok(manifest.to_string())
}

const JSON_LD: RdfFormat = RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() };

/// What a manifest says about a test.
#[derive(Debug, Default)]
struct Listed {
    iri: String,
    types: HashSet<String>,
    action: String,
    result: String,
    approval: String,
    query: String,
    request: String,
    reduced: bool,
    before: State,
    after: State,
    options: BTreeMap<String, String>,
}

fn listed<S: Subject>(subject: &S, address: &str) -> Result<BTreeMap<String, Listed>, String> {
    let mut tests: BTreeMap<String, Listed> = BTreeMap::new();
    for row in ask(subject, TESTS, address)? {
        let test = tests.entry(row.get("test")).or_default();
        let types = row.get("type");
        test.types.insert(types.rsplit(['#', '/']).next().unwrap_or_default().trim_end_matches("11").to_owned());
        test.iri = row.get("test");
        test.action = row.get("action");
        test.result = row.get("result");
        test.approval = row.get("approval");
        test.query = row.get("query");
        test.request = row.get("request");
        test.reduced |= row.get("cardinality").ends_with("#LaxCardinality");
    }
    for row in ask(subject, GRAPHS, address)? {
        let Some(test) = tests.get_mut(&row.get("test")) else { continue };
        let state = if row.get("side") == "before" { &mut test.before } else { &mut test.after };
        match row.get("name") {
            name if name.is_empty() => state.default.push(row.get("file")),
            name => state.named.push((name, row.get("file"))),
        }
    }
    for row in ask(subject, OPTIONS, address)? {
        let name = row.get("option").rsplit('#').next().unwrap_or_default().to_owned();
        if let Some(test) = tests.get_mut(&row.get("test")) {
            test.options.insert(name, row.get("value"));
        }
    }
    Ok(tests)
}

/// What a test wants, by its types.
fn task(test: &Listed) -> Task {
    if let Some(reason) = not_about_the_store(test) {
        return Task::Nothing(reason);
    }
    let is = |kind: &str| test.types.contains(kind);
    let file = test.action.clone();
    let (query, request, result) = (test.query.clone(), test.request.clone(), test.result.clone());
    if is("QueryEvaluationTest") {
        return Task::Query { query, data: test.before.clone(), result, reduced: test.reduced };
    }
    if is("CSVResultFormatTest") {
        return Task::QueryAsCsv { query, data: test.before.clone(), result };
    }
    if is("UpdateEvaluationTest") {
        return Task::Update { request, before: test.before.clone(), after: test.after.clone() };
    }
    if is("PositiveUpdateSyntaxTest") || is("NegativeUpdateSyntaxTest") {
        return Task::UpdateSyntax { file, good: is("PositiveUpdateSyntaxTest") };
    }
    if is("ToRDFTest") {
        return json_ld(test);
    }
    if is("PositiveSyntaxTest") || is("NegativeSyntaxTest") {
        return Task::QuerySyntax { file, good: is("PositiveSyntaxTest") };
    }
    let kind = test.types.iter().find(|kind| kind.starts_with("Test")).cloned().unwrap_or_default();
    let Some((format, rest)) = FORMATS.iter().find_map(|(name, format)| Some((*format, kind.strip_prefix(name)?)))
    else {
        return Task::Nothing(OF_NO_KNOWN_KIND);
    };
    let base = file.clone();
    match rest {
        "Eval" => Task::Read { file, format, base, result },
        "PositiveSyntax" => Task::Syntax { file, format, base, good: true },
        // What may not be evaluated may not be accepted either: there is no reading without evaluation here.
        "NegativeSyntax" | "NegativeEval" => Task::Syntax { file, format, base, good: false },
        _ => Task::Nothing(OF_NO_KNOWN_KIND),
    }
}

/// Why a test is not run that ought to be: its kind was lost, or is new.
pub const OF_NO_KNOWN_KIND: &str = "of no kind that is known";

/// How the kinds of tests of the formats begin.
const FORMATS: &[(&str, RdfFormat)] = &[
    ("TestNTriples", RdfFormat::NTriples),
    ("TestNQuads", RdfFormat::NQuads),
    ("TestTurtle", RdfFormat::Turtle),
    ("TestTrig", RdfFormat::TriG),
    ("TestXML", RdfFormat::RdfXml),
];

fn json_ld(test: &Listed) -> Task {
    let file = test.action.clone();
    let base = test.options.get("base").unwrap_or(&file).clone();
    if test.types.contains("PositiveEvaluationTest") {
        Task::Read { file, format: JSON_LD, base, result: test.result.clone() }
    } else {
        Task::Syntax { file, format: JSON_LD, base, good: test.types.contains("PositiveSyntaxTest") }
    }
}

/// Why a test is not about what an embedded store does; such tests are counted and shown, each class with its reason.
fn not_about_the_store(test: &Listed) -> Option<&'static str> {
    let is = |kind: &str| test.types.contains(kind);
    let option = |name: &str| test.options.contains_key(name);
    let one_point_zero = |name: &str| test.options.get(name).is_some_and(|version| version == "json-ld-1.0");
    if test.approval.ends_with("#Withdrawn") || test.approval.ends_with("#Rejected") {
        Some("withdrawn by the W3C")
    } else if test.iri.contains("/entailment/") {
        Some("entailment regimes: the store answers what was stated")
    } else if test.iri.contains("/service/") {
        Some("federation: needs other SPARQL services on the Web")
    } else if is("ServiceDescriptionTest") {
        Some("service description: of a server")
    } else if is("ProtocolTest") {
        Some("SPARQL protocol: of a server")
    } else if is("ExpandTest") || is("CompactTest") || is("FlattenTest") {
        Some("JSON-LD to JSON-LD: of a JSON-LD processor")
    } else if is("HtmlTest") {
        Some("JSON-LD inside HTML: of a JSON-LD processor")
    } else if is("FromRDFTest") {
        Some("RDF to JSON-LD: wants one of many documents that say the same")
    } else if one_point_zero("specVersion") || one_point_zero("processingMode") {
        Some("JSON-LD 1.0 where 1.1 differs")
    } else if is("ToRDFTest") && (option("produceGeneralizedRdf") || option("rdfDirection") || option("expandContext"))
    {
        Some("options of a JSON-LD processor that a load has not")
    } else {
        None
    }
}

/// The row of the report.
fn group(suite: &Suite, task: &Task) -> String {
    let kind = match task {
        Task::QuerySyntax { .. } => "query syntax",
        Task::UpdateSyntax { .. } => "update syntax",
        Task::Query { result, .. } if result.ends_with(".tsv") || result.ends_with(".srj") => "TSV and JSON results",
        Task::Query { .. } => "query",
        Task::QueryAsCsv { .. } => "CSV results",
        Task::Update { .. } => "update",
        Task::Syntax { .. } => "syntax",
        Task::Read { .. } => "reading",
        Task::Nothing(_) => "",
    };
    format!("{} {kind}", suite.name)
}

/// One row of an answer about a manifest.
struct Row {
    variables: Arc<[String]>,
    terms: Vec<Option<Term>>,
}

impl Row {
    /// The text of a variable: an address or what a literal says. Empty if it is not bound.
    fn get(&self, variable: &str) -> String {
        let place = self.variables.iter().position(|name| name == variable);
        match place.and_then(|place| self.terms[place].as_ref()) {
            Some(Term::NamedNode(node)) => node.as_str().to_owned(),
            Some(Term::Literal(literal)) => literal.value().to_owned(),
            Some(Term::BlankNode(node)) => format!("_:{}", node.as_str()),
            _ => String::new(),
        }
    }
}

fn ask<S: Subject>(subject: &S, query: &str, address: &str) -> Result<Vec<Row>, String> {
    let failed = |reason| format!("{address}: the manifest cannot be queried: {reason}");
    match subject.query(&format!("{PREFIXES}{query}"), address).map_err(failed)? {
        Answer::Solutions(Table { variables, rows }) => {
            let variables: Arc<[String]> = variables.into();
            Ok(rows.into_iter().map(|terms| Row { variables: Arc::clone(&variables), terms }).collect())
        }
        _ => Err(failed("SELECT gave no solutions".to_owned())),
    }
}

const PREFIXES: &str = "\
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#>
PREFIX qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#>
PREFIX ut: <http://www.w3.org/2009/sparql/tests/test-update#>
PREFIX dawgt: <http://www.w3.org/2001/sw/DataAccess/tests/test-dawg#>
PREFIX rdft: <http://www.w3.org/ns/rdftest#>
PREFIX jld: <https://w3c.github.io/json-ld-api/tests/vocab#>
";

const INCLUDED: &str = "SELECT ?manifest WHERE { ?root mf:include/rdf:rest*/rdf:first ?manifest }";

const TESTS: &str = "\
SELECT ?test ?type ?action ?result ?approval ?query ?request ?cardinality WHERE {
  ?manifest mf:entries/rdf:rest*/rdf:first ?test .
  ?test a ?type .
  OPTIONAL { ?test mf:action ?action }
  OPTIONAL { ?test mf:result ?result }
  OPTIONAL { ?test dawgt:approval|rdft:approval ?approval }
  OPTIONAL { ?test mf:resultCardinality ?cardinality }
  OPTIONAL { ?action qt:query ?query }
  OPTIONAL { ?action ut:request ?request }
}";

const GRAPHS: &str = "\
SELECT ?test ?side ?name ?file WHERE {
  { ?test mf:action ?state BIND (\"before\" AS ?side) } UNION { ?test mf:result ?state BIND (\"after\" AS ?side) }
  {
    { ?state qt:data|ut:data ?file }
    UNION
    { ?state ut:graphData ?graph . ?graph ut:graph ?file ; rdfs:label ?name }
    UNION
    { ?state qt:graphData ?file BIND (STR(?file) AS ?name) }
  }
}";

const OPTIONS: &str = "SELECT ?test ?option ?value WHERE { ?test jld:option ?all . ?all ?option ?value }";
