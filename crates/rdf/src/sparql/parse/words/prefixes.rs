//! Prefixes: those that a text uses and does not declare, and the namespaces of those that everybody knows.

use std::collections::HashSet;

use super::nearest::nearest;
use crate::sparql::parse::tokens::{Kind, Token};

/// A prefix that is not declared where it is used.
pub(crate) struct Undeclared {
    /// The number of the token.
    pub token: usize,
    pub message: String,
}

/// The first name whose prefix is neither `known` nor declared before it.
pub(crate) fn undeclared(text: &str, tokens: &[Token], known: &[(String, String)]) -> Option<Undeclared> {
    let mut declared: HashSet<&str> = known.iter().map(|(prefix, _)| prefix.as_str()).collect();
    for (number, token) in tokens.iter().enumerate() {
        if token.kind != Kind::PrefixedName {
            continue;
        }
        let (prefix, local) = token.text(text).split_once(':').unwrap_or_default();
        if number > 0 && tokens[number - 1].is_word(text, "PREFIX") {
            declared.insert(prefix);
        } else if !declared.contains(prefix) {
            let is_scheme = local.is_empty() && text[token.range.end..].starts_with("//");
            let message = if is_scheme { scheme(prefix) } else { remedy(prefix, &declared) };
            return Some(Undeclared { token: number, message });
        }
    }
    None
}

fn scheme(prefix: &str) -> String {
    format!("an IRI is written in `<` and `>`: `<{prefix}://…>`")
}

fn remedy(prefix: &str, declared: &HashSet<&str>) -> String {
    let mut declared: Vec<&str> = declared.iter().copied().collect();
    declared.sort_unstable();
    let known = WELL_KNOWN.iter().find(|(known, _)| *known == prefix);
    let iri = known.map_or("…", |(_, iri)| iri);
    let mut message =
        format!("the prefix `{prefix}:` is not declared; add `PREFIX {prefix}: <{iri}>` at the beginning");
    if known.is_none()
        && let Some(near) = nearest(prefix, declared.into_iter())
    {
        message.push_str(&format!(", or write `{near}:` if you mean that"));
    }
    message
}

/// Prefixes that are the same wherever they are used.
const WELL_KNOWN: [(&str, &str); 34] = [
    ("bibo", "http://purl.org/ontology/bibo/"),
    ("dbo", "http://dbpedia.org/ontology/"),
    ("dbp", "http://dbpedia.org/property/"),
    ("dbr", "http://dbpedia.org/resource/"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("dcat", "http://www.w3.org/ns/dcat#"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("dct", "http://purl.org/dc/terms/"),
    ("doap", "http://usefulinc.com/ns/doap#"),
    ("fn", "http://www.w3.org/2005/xpath-functions#"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("geo", "http://www.opengis.net/ont/geosparql#"),
    ("geof", "http://www.opengis.net/def/function/geosparql/"),
    ("geosparql", "http://www.opengis.net/ont/geosparql#"),
    ("gn", "http://www.geonames.org/ontology#"),
    ("ldp", "http://www.w3.org/ns/ldp#"),
    ("math", "http://www.w3.org/2005/xpath-functions/math#"),
    ("org", "http://www.w3.org/ns/org#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("qb", "http://purl.org/linked-data/cube#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("schema", "https://schema.org/"),
    ("sh", "http://www.w3.org/ns/shacl#"),
    ("sioc", "http://rdfs.org/sioc/ns#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("sosa", "http://www.w3.org/ns/sosa/"),
    ("time", "http://www.w3.org/2006/time#"),
    ("vann", "http://purl.org/vocab/vann/"),
    ("vcard", "http://www.w3.org/2006/vcard/ns#"),
    ("void", "http://rdfs.org/ns/void#"),
    ("wd", "http://www.wikidata.org/entity/"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
];
