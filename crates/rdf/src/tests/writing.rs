//! What is written is what is read again, in every form and with every term; or it is an error that names the term.

use std::collections::BTreeSet;
use std::sync::Arc;

use oxrdf::{BaseDirection, BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple, Variable};
use oxrdfio::{JsonLdProfileSet, RdfFormat};
use proptest::prelude::*;
use sparesults::{QueryResultsFormat, QueryResultsParser, QuerySolution, ReaderQueryResultsParserOutput};

use crate::error::{Error, Result};
use crate::parse_document;
use crate::writing::*;

const JSON_LD: RdfFormat = RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() };
const FORMATS: [RdfFormat; 6] =
    [RdfFormat::NTriples, RdfFormat::NQuads, RdfFormat::Turtle, RdfFormat::TriG, RdfFormat::RdfXml, JSON_LD];

fn node(iri: &str) -> NamedNode {
    NamedNode::new(iri).expect("an IRI")
}

fn quad(predicate: &str, object: impl Into<Term>) -> Quad {
    Quad::new(node("http://a/s"), node(predicate), object, GraphName::DefaultGraph)
}

fn prefixes() -> Vec<(String, String)> {
    let pairs =
        [("ex", "http://a/"), ("", "http://d/"), ("urn", "http://u/"), ("xmlish", "http://x/"), ("p0", "http://p/")];
    pairs.map(|(prefix, namespace)| (prefix.to_owned(), namespace.to_owned())).into()
}

fn written(format: RdfFormat, quads: &[Quad]) -> Result<Vec<u8>> {
    let prefixes = if format == JSON_LD { Vec::new() } else { prefixes() };
    let mut writer = GraphWriter::new(format, &prefixes, Vec::new());
    for quad in quads {
        writer.write(quad.as_ref())?;
    }
    writer.finish()
}

fn read(format: RdfFormat, bytes: &[u8]) -> Vec<String> {
    let quads = parse_document("text", std::io::Cursor::new(bytes.to_vec()), format, None).expect("no base");
    let mut quads: Vec<String> = quads
        .map(|quad| quad.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes))).to_string())
        .collect();
    quads.sort_unstable();
    quads
}

/// Labels that every form keeps, and the sorted statements.
fn expected(quads: &[Quad]) -> Vec<String> {
    let mut quads: Vec<String> = quads.iter().map(Quad::to_string).collect();
    quads.sort_unstable();
    quads
}

#[test]
fn what_rdf_xml_cannot_say_is_an_error_that_names_it() {
    for (predicate, object, named) in [
        ("http://e/x/1", Term::from(node("http://a/o")), "<http://e/x/1>"),
        ("http://e/x/", node("http://a/o").into(), "<http://e/x/>"),
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#li", node("http://a/o").into(), "#li>"),
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#Description", node("http://a/o").into(), "#Description>"),
        ("http://a/p", Literal::new_simple_literal("a\0b").into(), "\"a\\u0000b\""),
        ("http://a/p", Literal::new_simple_literal("\u{ffff}").into(), "\"\\uFFFF\""),
        ("http://a/p", Literal::new_simple_literal("\u{1f}").into(), "\"\\u001F\""),
    ] {
        let error = written(RdfFormat::RdfXml, &[quad(predicate, object.clone())]).expect_err(predicate);
        let Error::Unwritable { term, format: "RDF/XML", .. } = &error else { panic!("{error}") };
        assert!(term.contains(named) || term.to_lowercase().contains(&named.to_lowercase()), "{term}, {named}");
        let inner = Triple::new(node("http://a/s"), node(predicate), object);
        assert!(written(RdfFormat::RdfXml, &[quad("http://a/p", inner)]).is_err(), "{predicate} in a triple term");
    }
    let inner = Triple::new(node("http://a/s"), node("http://a/p"), node("http://a/o"));
    assert!(matches!(written(JSON_LD, &[quad("http://a/p", inner)]), Err(Error::Unwritable { .. })));
}

#[test]
fn names_of_properties_are_divided_where_xml_permits_it() {
    for predicate in [
        "http://e/x/1a",
        "urn:p",
        "http://e/p-1.2",
        "http://e/\u{e9}t\u{e9}",
        "http://e/-p",
        "http://www.w3.org/2000/xmlns/pre",
        "http://www.w3.org/XML/1998/namespacelang",
        "http://a/p",
        "http://d/p",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#_1",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    ] {
        let quads = [quad(predicate, node("http://a/o?a=1&b='2'"))];
        let bytes = written(RdfFormat::RdfXml, &quads).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read(RdfFormat::RdfXml, &bytes), expected(&quads), "{}", String::from_utf8_lossy(&bytes));
    }
}

/// Readers of the fourth edition of XML 1.0, such as expat, refuse names that only the fifth has.
#[test]
fn names_of_properties_are_names_of_every_edition_of_xml_if_possible() {
    for (predicate, namespace) in [
        ("http://e/\u{10000}x", "http://e/\u{10000}"),
        ("http://e/\u{2c00}x", "http://e/\u{2c00}"),
        ("http://e/a\u{2c00}1x", "http://e/a\u{2c00}1"),
        ("http://e/имя", "http://e/"),
        // No name of the fourth edition is at its end.
        ("http://e/x\u{2c00}", "http://e/"),
    ] {
        let quads = [quad(predicate, node("http://a/o"))];
        let bytes = written(RdfFormat::RdfXml, &quads).expect("it is written");
        let text = String::from_utf8(bytes.clone()).expect("text");
        assert!(text.contains(&format!("=\"{namespace}\"")), "{text}");
        assert_eq!(read(RdfFormat::RdfXml, &bytes), expected(&quads), "{text}");
    }
}

#[test]
fn labels_that_xml_cannot_have_are_others_and_stay_apart() {
    let labels = ["a", "1", "b.", "b.1", "b..1", "a.b", "0a", "b.31.", "-", "b.x"];
    let labels = labels.into_iter().filter(|label| BlankNode::new(*label).is_ok());
    let quads: Vec<Quad> = labels.map(|label| quad("http://a/p", BlankNode::new_unchecked(label))).collect();
    let bytes = written(RdfFormat::RdfXml, &quads).expect("it is written");
    let read: BTreeSet<String> = read(RdfFormat::RdfXml, &bytes).into_iter().collect();
    assert_eq!(read.len(), quads.len(), "{}", String::from_utf8_lossy(&bytes));
}

#[test]
fn terms_that_are_none_are_errors_in_every_form() {
    let (bad, good) = (NamedNode::new_unchecked("http://a/ b"), node("http://a/o"));
    let tagged = |tag: &str| Literal::new_language_tagged_literal_unchecked("a", tag);
    let typed = |datatype: &str| Literal::new_typed_literal("a", NamedNode::new_unchecked(datatype));
    let default = GraphName::DefaultGraph;
    let mut quads = vec![
        Quad::new(bad.clone(), good.clone(), good.clone(), default.clone()),
        Quad::new(good.clone(), bad.clone(), good.clone(), default.clone()),
        Quad::new(good.clone(), good.clone(), Triple::new(good.clone(), good.clone(), bad.clone()), default),
    ];
    let objects: [Term; 8] = [
        bad.into(),
        NamedNode::new_unchecked("").into(),
        NamedNode::new_unchecked("relative").into(),
        NamedNode::new_unchecked("http://a/%zz").into(),
        tagged("x y").into(),
        tagged("").into(),
        typed("no IRI").into(),
        typed("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString").into(),
    ];
    quads.extend(objects.into_iter().map(|object| quad("http://a/p", object)));
    let sound = quad("http://a/p", good);
    for format in FORMATS {
        for quad in &quads {
            let error = written(format, &[sound.clone(), quad.clone()]).expect_err("a term that is not valid");
            assert!(matches!(error, Error::MalformedTerm { .. }), "{format}: {quad}: {error}");
            assert!(check(format, quad.as_ref()).is_err(), "{format}: {quad}");
        }
    }
}

#[test]
fn labels_that_no_form_has_are_others_and_stay_apart() {
    let labels = ["", "\u{fc} 1", "a b", "a:b", "-", "a.", "b--", "b--a", "b---2d-", "b--1", "f00", "ab", "\u{fc}1"];
    let quads: Vec<Quad> =
        labels.map(|label| quad("http://a/p", BlankNode::new_unchecked(label))).into_iter().collect();
    for format in FORMATS {
        let bytes = written(format, &quads).expect("it is written");
        let read: BTreeSet<String> = read(format, &bytes).into_iter().collect();
        assert_eq!(read.len(), quads.len(), "{}", String::from_utf8_lossy(&bytes));
    }
    let inner = Triple::new(BlankNode::new_unchecked("a b"), node("http://a/p"), BlankNode::new_unchecked("c d"));
    let nested = Quad::new(BlankNode::new_unchecked("a b"), node("http://a/p"), inner, GraphName::DefaultGraph);
    let bytes = written(RdfFormat::NQuads, &[nested]).expect("it is written");
    let expected = "_:b--a-20-b <http://a/p> <<( _:b--a-20-b <http://a/p> _:b--c-20-d )>> .\n";
    assert_eq!(String::from_utf8(bytes.clone()).expect("text"), expected);
    assert_eq!(read(RdfFormat::NQuads, &bytes).len(), 1);
    let name = BlankNode::new_unchecked("a b");
    let named = Quad::new(node("http://a/s"), node("http://a/p"), node("http://a/o"), name);
    let bytes = written(RdfFormat::TriG, &[named]).expect("it is written");
    assert_eq!(read(RdfFormat::TriG, &bytes).len(), 1);
}

/// Characters of every kind that some form must escape.
fn text(has_controls: bool) -> impl Strategy<Value = String> {
    let controls =
        if has_controls { vec!["\0", "\u{8}", "\u{b}", "\u{1f}", "\u{fffe}", "\u{ffff}"] } else { vec!["y"] };
    let pieces = vec![
        "a",
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        "\"",
        "'",
        "\\",
        "<",
        ">",
        "&",
        "]]>",
        "&amp;",
        ",",
        ";",
        "é",
        "\u{1f600}",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "{",
        "}",
        "@",
        "^^",
        "<!--",
        "<![CDATA[",
        "\u{e000}",
    ];
    prop::collection::vec(prop::sample::select([pieces, controls].concat()), 0..6).prop_map(|pieces| pieces.concat())
}

fn iri() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "http://a/p",
        "http://a/x,y",
        "http://a/'q'",
        "http://a/?a=1&b=2",
        "http://a/a.b",
        "http://d/1",
        "http://a/%41",
        "http://a/(x)",
        "http://a/x;y=z",
        "http://a/-",
        "http://a/\u{e9}",
        "urn:x:y",
        "ex:p",
        "mailto:a@b.c",
        "http://a/p#f",
        "http://a/",
        "http://a/.",
        "http://p/x~y!$*+",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#_2",
    ])
    .prop_map(str::to_owned)
}

fn literal(has_controls: bool) -> impl Strategy<Value = Literal> {
    let text = || text(has_controls);
    let number = prop::sample::select(vec!["1", "01", "+1", "1.", ".5", "1e3", "true", "INF", "x"]);
    let datatypes = ["integer", "decimal", "double", "boolean", "dateTime"];
    prop_oneof![
        text().prop_map(Literal::new_simple_literal),
        (text(), prop::sample::select(vec!["en", "de-at", "zh-hant-tw"]))
            .prop_map(|(text, language)| Literal::new_language_tagged_literal(text, language).expect("a language")),
        (text(), prop::bool::ANY).prop_map(|(text, is_left)| {
            let direction = if is_left { BaseDirection::Ltr } else { BaseDirection::Rtl };
            Literal::new_directional_language_tagged_literal(text, "ar", direction).expect("a language")
        }),
        (number, prop::sample::select(datatypes.to_vec())).prop_map(|(text, datatype)| {
            Literal::new_typed_literal(text, node(&format!("http://www.w3.org/2001/XMLSchema#{datatype}")))
        }),
        (text(), iri()).prop_map(|(text, datatype)| Literal::new_typed_literal(text, node(&datatype))),
        text().prop_map(|text| Literal::new_typed_literal(text, oxrdf::vocab::rdf::XML_LITERAL)),
    ]
}

fn resource() -> impl Strategy<Value = NamedOrBlankNode> {
    prop_oneof![
        iri().prop_map(|iri| node(&iri).into()),
        prop::sample::select(vec!["a", "b1", "c.d", "e-f"]).prop_map(|label| BlankNode::new_unchecked(label).into()),
    ]
}

fn term(has_controls: bool) -> impl Strategy<Value = Term> {
    let plain = move || prop_oneof![literal(has_controls).prop_map(Term::from), resource().prop_map(Term::from)];
    let triple = (resource(), iri(), plain())
        .prop_map(|(subject, predicate, object)| Term::from(Triple::new(subject, node(&predicate), object)));
    prop_oneof![8 => plain(), 1 => triple]
}

fn quads(has_controls: bool) -> impl Strategy<Value = Vec<Quad>> {
    let quad = (resource(), iri(), term(has_controls))
        .prop_map(|(subject, predicate, object)| Quad::new(subject, node(&predicate), object, GraphName::DefaultGraph));
    prop::collection::vec(quad, 0..6)
}

fn solution(terms: &[Option<Term>]) -> QuerySolution {
    let variables: Vec<Variable> =
        (0..terms.len()).map(|number| Variable::new_unchecked(format!("v{number}"))).collect();
    (variables, terms.to_vec()).into()
}

fn solutions_written(format: QueryResultsFormat, solutions: &[QuerySolution]) -> Result<Vec<u8>> {
    let variables: Arc<[Variable]> = solutions[0].variables().into();
    let mut writer = SolutionsWriter::new(format, variables, Vec::new())?;
    for solution in solutions {
        writer.write(solution)?;
    }
    writer.finish()
}

fn solutions_read(format: QueryResultsFormat, bytes: &[u8]) -> Vec<Vec<Option<Term>>> {
    let parser = QueryResultsParser::from_format(format).for_reader(bytes).expect("results");
    let ReaderQueryResultsParserOutput::Solutions(solutions) = parser else { panic!("no solutions") };
    solutions.map(|solution| solution.expect("a solution").values().to_vec()).collect()
}

/// The fields of CSV by RFC 4180.
fn fields(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut field, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => line.push(std::mem::take(&mut field)),
            '\r' if !is_quoted && characters.peek() == Some(&'\n') => {
                characters.next();
                line.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut line));
            }
            other => field.push(other),
        }
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn statements_are_read_as_they_were_written(quads in quads(true)) {
        for format in FORMATS {
            let said = quads.iter().filter(|quad| check(format, quad.as_ref()).is_ok()).cloned().collect::<Vec<_>>();
            let bytes = written(format, &said).expect("it was checked");
            prop_assert_eq!(read(format, &bytes), expected(&said), "{}: {}", format, String::from_utf8_lossy(&bytes));
            let unsaid = quads.iter().find(|quad| check(format, quad.as_ref()).is_err());
            if let Some(quad) = unsaid {
                let is_refused = matches!(written(format, std::slice::from_ref(quad)), Err(Error::Unwritable { .. }));
                prop_assert!(is_limited(format) && is_refused);
            }
        }
    }

    #[test]
    fn solutions_are_read_as_they_were_written(
        rows in prop::collection::vec(prop::array::uniform2(prop::option::of(term(false))), 1..5),
    ) {
        let solutions: Vec<QuerySolution> = rows.iter().map(|row| solution(row)).collect();
        for format in [QueryResultsFormat::Xml, QueryResultsFormat::Json, QueryResultsFormat::Tsv] {
            let bytes = solutions_written(format, &solutions).expect("it is written");
            let expected: Vec<_> = rows.iter().map(|row| row.to_vec()).collect();
            prop_assert_eq!(solutions_read(format, &bytes), expected, "{}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn csv_has_a_field_for_each_variable_whatever_its_term(
        rows in prop::collection::vec(prop::array::uniform2(prop::option::of(term(true))), 1..5),
    ) {
        let solutions: Vec<QuerySolution> = rows.iter().map(|row| solution(row)).collect();
        let bytes = solutions_written(QueryResultsFormat::Csv, &solutions).expect("it is written");
        let lines = fields(std::str::from_utf8(&bytes).expect("text"));
        prop_assert_eq!(lines.len(), rows.len() + 1);
        prop_assert_eq!(&lines[0], &["v0", "v1"]);
        for (line, row) in lines[1..].iter().zip(&rows) {
            prop_assert_eq!(line.len(), 2);
            for (field, term) in line.iter().zip(row) {
                match term {
                    Some(Term::Literal(literal)) => prop_assert_eq!(field, literal.value()),
                    Some(Term::NamedNode(node)) => prop_assert_eq!(field, node.as_str()),
                    Some(Term::BlankNode(node)) => prop_assert_eq!(field, &node.to_string()),
                    Some(Term::Triple(_)) => prop_assert!(!field.is_empty()),
                    None => prop_assert!(field.is_empty()),
                }
            }
        }
    }
}

#[test]
fn results_in_xml_refuse_characters_that_xml_has_not() {
    for text in ["\0", "a\u{b}", "\u{ffff}"] {
        let terms = [Some(Term::from(Literal::new_simple_literal(text))), None];
        let error = solutions_written(QueryResultsFormat::Xml, &[solution(&terms)]).expect_err("it cannot be written");
        assert!(matches!(error, Error::Unwritable { .. }), "{error}");
        for format in [QueryResultsFormat::Json, QueryResultsFormat::Tsv, QueryResultsFormat::Csv] {
            solutions_written(format, &[solution(&terms)]).expect("it is written");
        }
    }
}

#[test]
fn rdf_xml_without_statements_is_a_document() {
    let bytes = written(RdfFormat::RdfXml, &[]).expect("it is written");
    assert!(read(RdfFormat::RdfXml, &bytes).is_empty());
    let named = Quad::new(node("http://a/s"), node("http://a/p"), node("http://a/o"), node("http://a/g"));
    assert!(written(RdfFormat::RdfXml, &[named]).is_err());
}
