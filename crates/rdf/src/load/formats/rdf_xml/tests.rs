//! RDF/XML, production by production.

use super::*;

const HEAD: &str = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='http://e/'";

/// The triples of the content of `rdf:RDF`, with labels of blank nodes as `_:0`, `_:1` in their order.
fn of(inner: &str) -> Result<Vec<String>, String> {
    whole(&format!("{HEAD}>{inner}</rdf:RDF>"), Some("http://b/d/doc#x"))
}

fn whole(document: &str, base: Option<&str>) -> Result<Vec<String>, String> {
    let parser = Parser::new(document.as_bytes(), base).expect("a base");
    let mut labels: Vec<String> = Vec::new();
    let mut label = |term: String| match term.strip_prefix("_:") {
        Some(label) => {
            let known = labels.iter().position(|known| known == label);
            let number = known.unwrap_or_else(|| {
                labels.push(label.to_owned());
                labels.len() - 1
            });
            format!("_:{number}")
        }
        None => term.replace("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
    };
    let mut triples = Vec::new();
    for triple in parser {
        let triple = triple.map_err(|failure| match failure {
            Failure::Malformed { place, message, .. } | Failure::TooLarge { place, message } => {
                format!("{}:{}: {message}", place.line, place.column)
            }
            Failure::Read(error) => error.to_string(),
        })?;
        let (subject, object) = (label(triple.subject.to_string()), label(triple.object.to_string()));
        triples.push(format!("{subject} {} {object}", label(triple.predicate.to_string())));
    }
    Ok(triples)
}

fn node(content: &str) -> Result<Vec<String>, String> {
    of(&format!("<rdf:Description rdf:about='http://e/s'>{content}</rdf:Description>"))
}

fn is_error(result: Result<Vec<String>, String>, part: &str) {
    let error = result.expect_err(part);
    assert!(error.contains(part), "{error} (expected: {part})");
    assert!(error.starts_with(|first: char| first.is_ascii_digit()), "{error}");
}

#[test]
fn nodes_are_named_in_three_ways_and_typed_by_their_elements() {
    assert_eq!(of("<e:C rdf:about='x'/>").unwrap(), ["<http://b/d/x> <rdf:type> <http://e/C>"]);
    assert_eq!(of("<e:C rdf:ID='x'/>").unwrap(), ["<http://b/d/doc#x> <rdf:type> <http://e/C>"]);
    assert_eq!(of("<e:C rdf:nodeID='x'/><e:C rdf:nodeID='x'/>").unwrap(), vec!["_:0 <rdf:type> <http://e/C>"; 2]);
    assert_eq!(of("<e:C/><e:C/>").unwrap(), ["_:0 <rdf:type> <http://e/C>", "_:1 <rdf:type> <http://e/C>"]);
    assert_eq!(
        of("<rdf:Description about='' e:p='v' type='t'/>").unwrap(),
        ["<http://b/d/doc> <http://e/p> \"v\"", "<http://b/d/doc> <rdf:type> <http://b/d/t>"]
    );
    for two in ["rdf:ID='a' rdf:about='b'", "rdf:ID='a' rdf:nodeID='b'", "rdf:nodeID='a' rdf:about='b'"] {
        is_error(of(&format!("<e:C {two}/>")), "one of rdf:ID, rdf:nodeID and rdf:about");
    }
    is_error(of("<e:C rdf:ID='1a'/>"), "NCName");
    is_error(of("<e:C rdf:nodeID='a:b'/>"), "NCName");
    is_error(of("<e:C rdf:ID='a'/><e:C rdf:ID='a'/>"), "rdf:ID=\"a\" is in the document before");
    assert!(of("<e:C rdf:ID='a'/><e:C rdf:ID='a' xml:base='http://other/'/>").is_ok());
}

#[test]
fn names_of_rdf_stand_in_their_places_alone() {
    for term in [
        "RDF",
        "ID",
        "about",
        "bagID",
        "parseType",
        "resource",
        "nodeID",
        "datatype",
        "aboutEach",
        "aboutEachPrefix",
        "li",
    ] {
        is_error(of(&format!("<rdf:{term}/>")), term);
        if term != "li" {
            is_error(node(&format!("<rdf:{term}/>")), term);
        }
        if !matches!(term, "ID" | "about" | "nodeID") {
            is_error(of(&format!("<e:C rdf:{term}='x'/>")), term);
        }
    }
    is_error(node("<rdf:Description/>"), "rdf:Description");
    is_error(node("<e:p rdf:about='x'/>"), "rdf:about is not permitted");
    is_error(node("<e:p rdf:bagID='x'/>"), "bagID");
    is_error(of("<p:i xmlns:p='http://www.w3.org/1999/02/22-rdf-syntax-ns#l'/>"), "rdf:li");
    for allowed in ["type", "value", "Seq", "Bag", "Alt", "List", "Statement", "Property", "nil", "first", "_3", "foo"]
    {
        assert!(of(&format!("<rdf:{allowed}/>")).is_ok(), "{allowed}");
        assert!(node(&format!("<rdf:{allowed} rdf:resource='x'/>")).is_ok(), "{allowed}");
    }
    is_error(of("<C/>"), "in no namespace");
    is_error(of("<e:C p='x'/>"), "in no namespace");
    is_error(whole("<e xmlns='rel'/>", None), "is not an absolute IRI");
    is_error(whole(&format!("{HEAD} rdf:about='x'/>"), None), "rdf:about is not permitted in rdf:RDF");
    is_error(whole(&format!("{HEAD} rdf:type='x:y'/>"), None), "is not permitted in rdf:RDF");
    is_error(whole(&format!("{HEAD}\n e:p='v'><e:C/></rdf:RDF>"), None), "<http://e/p> is not permitted in rdf:RDF");
    let without_statements = "xml:lang='en' xml:base='http://o/' xml:space='preserve' xmlns:f='x:f' rdf:version='1.2' \
         xmlns:its='http://www.w3.org/2005/11/its' its:dir='ltr' its:version='2.0' \
         xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='x:a b.xsd'";
    assert_eq!(whole(&format!("{HEAD} {without_statements}><e:C/></rdf:RDF>"), None).unwrap().len(), 1);
    assert_eq!(whole("<e:C xmlns:e='http://e/'/>", None).unwrap().len(), 1);
}

#[test]
fn properties_hold_text_or_a_node_or_name_it() {
    let s = "<http://e/s> <http://e/p>";
    for (property, object) in [
        ("<e:p>v</e:p>", "\"v\""),
        ("<e:p/>", "\"\""),
        ("<e:p> \n </e:p>", "\" \\n \""),
        ("<e:p>a<!-- c -->b<?p x?><![CDATA[<c>]]>&amp;d</e:p>", "\"ab<c>&d\""),
        ("<e:p xml:lang='EN'>v</e:p>", "\"v\"@en"),
        ("<e:p rdf:datatype='http://e/t' xml:lang='en'>v</e:p>", "\"v\"^^<http://e/t>"),
        ("<e:p rdf:datatype='t'></e:p>", "\"\"^^<http://b/d/t>"),
        ("<e:p rdf:resource=''/>", "<http://b/d/doc>"),
        ("<e:p rdf:resource='//h/x'> </e:p>", "<http://h/x>"),
        ("<e:p rdf:nodeID='n'/>", "_:0"),
        ("<e:p>\n<rdf:Description rdf:about='o'/>\n</e:p>", "<http://b/d/o>"),
        ("<e:p rdf:parseType='Collection'> </e:p>", "<rdf:nil>"),
    ] {
        assert_eq!(node(property).unwrap(), [format!("{s} {object}")], "{property}");
    }
    for (property, part) in [
        ("<e:p>v<e:C/></e:p>", "an element within text"),
        ("<e:p><e:C/>v</e:p>", "the text `v`"),
        ("<e:p><e:C/><e:C/></e:p>", "a second node"),
        ("<e:p rdf:resource='x'>v</e:p>", "the text `v`"),
        ("<e:p rdf:resource='x'><e:C/></e:p>", "whose object is in its attributes"),
        ("<e:p rdf:datatype='t'><e:C/></e:p>", "with rdf:datatype"),
        ("<e:p rdf:datatype='t' rdf:resource='x'/>", "rdf:resource is not permitted"),
        ("<e:p rdf:datatype='t' e:q='x'/>", "<http://e/q> is not permitted"),
        ("<e:p rdf:resource='x' rdf:nodeID='y'/>", "one of rdf:resource and rdf:nodeID"),
        ("<e:p rdf:parseType='Literal' rdf:resource='x'/>", "rdf:resource is not permitted"),
        ("<e:p rdf:parseType='Resource' e:q='x'/>", "is not permitted"),
        ("v", "the text `v`"),
        ("<e:p rdf:resource='a b'/>", "is not an IRI"),
        ("<e:p xml:lang='not a language'>v</e:p>", "is not a tag of a language"),
    ] {
        is_error(node(property), part);
    }
    is_error(of("v"), "the text `v`");
}

#[test]
fn attributes_of_an_empty_property_are_statements_of_its_object() {
    assert_eq!(
        node("<e:p e:q='v' rdf:type='t' rdf:resource='o' xml:lang='en'/>").unwrap(),
        [
            "<http://b/d/o> <http://e/q> \"v\"@en",
            "<http://b/d/o> <rdf:type> <http://b/d/t>",
            "<http://e/s> <http://e/p> <http://b/d/o>"
        ]
    );
    assert_eq!(node("<e:p e:q='v'/>").unwrap(), ["_:0 <http://e/q> \"v\"", "<http://e/s> <http://e/p> _:0"]);
}

#[test]
fn members_are_numbered_within_their_node() {
    assert_eq!(
        node("<rdf:li>a</rdf:li><rdf:_7>x</rdf:_7><rdf:li><rdf:Bag><rdf:li>b</rdf:li></rdf:Bag></rdf:li>").unwrap(),
        [
            "<http://e/s> <rdf:_1> \"a\"",
            "<http://e/s> <rdf:_7> \"x\"",
            "_:0 <rdf:type> <rdf:Bag>",
            "_:0 <rdf:_1> \"b\"",
            "<http://e/s> <rdf:_2> _:0",
        ]
    );
}

#[test]
fn statements_with_an_id_are_reified() {
    assert_eq!(
        node("<e:p rdf:ID='r'>v</e:p>").unwrap(),
        [
            "<http://e/s> <http://e/p> \"v\"",
            "<http://b/d/doc#r> <rdf:type> <rdf:Statement>",
            "<http://b/d/doc#r> <rdf:subject> <http://e/s>",
            "<http://b/d/doc#r> <rdf:predicate> <http://e/p>",
            "<http://b/d/doc#r> <rdf:object> \"v\"",
        ]
    );
    for property in
        ["<e:p rdf:ID='r' rdf:parseType='Resource'/>", "<e:p rdf:ID='r' rdf:parseType='Collection'><e:C/></e:p>"]
    {
        assert_eq!(node(property).unwrap().iter().filter(|triple| triple.contains("doc#r")).count(), 4, "{property}");
    }
}

#[test]
fn collections_are_lists_and_resources_are_nodes() {
    assert_eq!(
        node("<e:p rdf:parseType='Collection'><rdf:Description rdf:about='a'/><rdf:Description rdf:about='b'/></e:p>")
            .unwrap(),
        [
            "<http://e/s> <http://e/p> _:0",
            "_:0 <rdf:first> <http://b/d/a>",
            "_:0 <rdf:rest> _:1",
            "_:1 <rdf:first> <http://b/d/b>",
            "_:1 <rdf:rest> <rdf:nil>",
        ]
    );
    assert_eq!(
        node("<e:p rdf:parseType='Resource'><e:q>v</e:q></e:p>").unwrap(),
        ["<http://e/s> <http://e/p> _:0", "_:0 <http://e/q> \"v\""]
    );
    is_error(node("<e:p rdf:parseType='Collection'>v</e:p>"), "the text `v`");
}

#[test]
fn xml_literals_are_canonical_and_every_other_parse_type_is_one() {
    let literal = |parse_type: &str, content: &str| {
        let triples = node(&format!("<e:p rdf:parseType='{parse_type}'>{content}</e:p>")).unwrap();
        let [triple] = &triples[..] else { panic!("{triples:?}") };
        triple.strip_prefix("<http://e/s> <http://e/p> \"").expect("a literal").replace("\\\"", "\"")
    };
    for (content, canonical) in [
        ("", ""),
        ("a &lt;b&gt; &#13;<![CDATA[&]]>", "a &lt;b&gt; &#xD;&amp;"),
        ("<e:q/>", "<e:q xmlns:e=\"http://e/\"></e:q>"),
        ("<b/>", "<b></b>"),
        ("<e:q><e:r/></e:q><e:q/>", "<e:q xmlns:e=\"http://e/\"><e:r></e:r></e:q><e:q xmlns:e=\"http://e/\"></e:q>"),
        ("<b xmlns='http://d/'><c xmlns=''/></b>", "<b xmlns=\"http://d/\"><c xmlns=\"\"></c></b>"),
        (
            "<b z='1' a='&quot;&#10;>' e:x='2' xml:lang='en'/>",
            "<b xmlns:e=\"http://e/\" a=\"&quot;&#xA;>\" z=\"1\" e:x=\"2\" xml:lang=\"en\"></b>",
        ),
        ("<!-- c --><?p  x?><?q?>", "<!-- c --><?p x?><?q?>"),
        ("<rdf:li/>", "<rdf:li xmlns:rdf=\"rdf:\"></rdf:li>"),
    ] {
        for parse_type in ["Literal", "daml:collection", "", "Triple"] {
            assert_eq!(
                literal(parse_type, content),
                format!("{}\"^^<rdf:XMLLiteral>", canonical.replace('\n', "\\n")),
                "{content}"
            );
        }
    }
}

#[test]
fn bases_are_relative_to_those_around_them() {
    let with_base = |base: &str, about: &str| {
        let document = format!("{HEAD} xml:base='{base}'><e:C rdf:about='{about}'/></rdf:RDF>");
        whole(&document, Some("http://b/d/doc#x"))
            .map(|triples| triples[0].split(' ').next().unwrap_or_default().to_owned())
    };
    for (base, about, expected) in [
        ("", "", "<http://b/d/doc>"),
        ("", "x", "<http://b/d/x>"),
        ("sub/", "x", "<http://b/d/sub/x>"),
        ("../", "x", "<http://b/x>"),
        ("http://o/a/../b/", "x", "<http://o/b/x>"),
        ("http://o/a#f", "", "<http://o/a>"),
        ("http://o", "x", "<http://o/x>"),
    ] {
        assert_eq!(with_base(base, about).unwrap(), expected, "{base}, {about}");
    }
    let nested = "<e:C rdf:about='1' xml:base='one/'><e:p xml:base='two/' rdf:resource='2'/></e:C>";
    assert_eq!(of(nested).unwrap()[1], "<http://b/d/one/1> <http://e/p> <http://b/d/one/two/2>");
    for relative in ["rdf:about=''", "rdf:about='x'", "rdf:ID='x'", "xml:base='x'"] {
        is_error(whole(&format!("{HEAD}><e:C {relative}/></rdf:RDF>"), None), "and no other base");
    }
    assert!(whole(&format!("{HEAD} xml:base=''><e:C rdf:about='http://o/'/></rdf:RDF>"), None).is_ok());
}

#[test]
fn languages_are_inherited_until_they_are_taken_away() {
    let document = "<e:C xml:lang='en' e:q='v'><e:p>a</e:p><e:p xml:lang=''>b</e:p><e:p xml:lang='de-AT'>c</e:p></e:C>";
    let triples = of(document).unwrap();
    let objects: Vec<&str> = triples.iter().map(|triple| triple.rsplit(' ').next().unwrap_or_default()).collect();
    assert_eq!(objects, ["<http://e/C>", "\"v\"@en", "\"a\"@en", "\"b\"", "\"c\"@de-at"]);
}

#[test]
fn what_is_not_a_language_is_an_error_of_the_literal_that_takes_it() {
    let of_bad = |content: &str| whole(&format!("{HEAD} xml:lang='en_US'>{content}</rdf:RDF>"), None);
    let s = "<rdf:Description rdf:about='http://e/s'";
    for content in [
        "<e:C/>".to_owned(),
        format!("{s}><e:p rdf:resource='http://e/o'/></rdf:Description>"),
        format!("{s}><e:p rdf:datatype='http://e/t'>v</e:p></rdf:Description>"),
        format!("{s}><e:p rdf:parseType='Literal'>v</e:p></rdf:Description>"),
        format!("{s}>\n <e:p xml:lang='en-US'>v</e:p><e:p xml:lang=''>v</e:p></rdf:Description>"),
    ] {
        assert!(of_bad(&content).is_ok_and(|triples| !triples.is_empty()), "{content}");
    }
    let error = of_bad(&format!("{s}>\n\n<e:p>v</e:p></rdf:Description>")).expect_err("it takes the language");
    assert!(error.starts_with("3:") && error.contains("xml:lang=\"en_US\" is not a tag of a language"), "{error}");
    is_error(of_bad(&format!("{s} e:p='v'/>")), "xml:lang=\"en_US\"");
}

#[test]
fn triple_terms_annotations_and_directions_are_of_version_1_2() {
    let inner = "<rdf:Description rdf:about='http://e/x'><e:q>v</e:q></rdf:Description>";
    let term = "<<( <http://e/x> <http://e/q> \"v\" )>>";
    let triple = |inner: &str| node(&format!("<e:p rdf:version='1.2' rdf:parseType='Triple'>{inner}</e:p>"));
    assert_eq!(triple(inner).unwrap(), [format!("<http://e/s> <http://e/p> {term}")]);
    is_error(triple(""), "holds one triple");
    is_error(triple(&inner.repeat(2)), "holds one triple");
    assert_eq!(
        node("<e:p rdf:annotation='a' rdf:annotationNodeID='n'>v</e:p>").unwrap(),
        [
            "<http://e/s> <http://e/p> \"v\"",
            "<http://b/d/a> <rdf:reifies> <<( <http://e/s> <http://e/p> \"v\" )>>",
            "_:0 <rdf:reifies> <<( <http://e/s> <http://e/p> \"v\" )>>",
        ]
    );
    let directed = "<e:p xmlns:its='http://www.w3.org/2005/11/its' its:version='2.0' its:dir='rtl' xml:lang='ar'";
    assert_eq!(
        node(&format!("{directed} rdf:version='1.2-basic'>v</e:p>")).unwrap(),
        ["<http://e/s> <http://e/p> \"v\"@ar--rtl"]
    );
    assert_eq!(node(&format!("{directed}>v</e:p>")).unwrap(), ["<http://e/s> <http://e/p> \"v\"@ar"]);
    is_error(node("<e:p rdf:version='2'>v</e:p>"), "rdf:version");
}

#[test]
fn errors_say_where_they_are() {
    let error = whole(&format!("{HEAD}>\n  <e:C\n    rdf:about=''/></rdf:RDF>"), None).expect_err("no base");
    assert!(error.starts_with("2:3: "), "{error}");
    is_error(of("\n<e:C>\n  é&u;</e:C>"), "3:4: the entity `u`");
}
