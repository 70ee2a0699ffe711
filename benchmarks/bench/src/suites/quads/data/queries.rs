//! The SPARQL that is measured: the same text for every engine.
//!
//! Every answer is the same whatever the engine: what is limited is ordered by something that no two rows share, and
//! no arithmetic is done whose digits an engine may choose.

use crate::suites::quads::data::generate::VOCABULARY;

/// A query's name and its text, without prefixes.
pub const QUERIES: [(&str, &str); 20] = [
    (
        "star_1",
        "SELECT ?s ?name ?email ?age { ?s a ub:GraduateStudent ; ub:name ?name ; ub:email ?email ; ub:age ?age ; \
         ub:memberOf <http://www.department0.university0.example.org/> }",
    ),
    (
        "star_2",
        "SELECT ?p ?name ?phone { ?p a ub:FullProfessor ; ub:name ?name ; ub:telephone ?phone ; \
         ub:doctoralDegreeFrom <http://www.university1.example.org/> }",
    ),
    ("star_3", "SELECT ?s ?name ?born { ?s ub:age 25 ; ub:name ?name ; ub:born ?born ; a ub:UndergraduateStudent }"),
    (
        "star_4",
        "SELECT ?x ?title ?date ?pages { ?x a ub:Publication ; ub:title ?title ; ub:published ?date ; ub:pages ?pages ; \
         ub:author <http://www.department0.university0.example.org/professor0> }",
    ),
    (
        "chain_1",
        "SELECT ?s ?p ?d { ?s ub:advisor ?p . ?p ub:worksFor ?d . \
         ?d ub:subOrganizationOf <http://www.university0.example.org/> }",
    ),
    (
        "chain_2",
        "SELECT ?c ?p ?d ?name { <http://www.department0.university0.example.org/student0> ub:takesCourse ?c . \
         ?p ub:teacherOf ?c . ?p ub:worksFor ?d . ?d ub:name ?name }",
    ),
    (
        "chain_3",
        "SELECT ?a ?b ?c { ?a ub:cites ?b . ?b ub:cites ?c . \
         ?c ub:author <http://www.department0.university0.example.org/professor0> }",
    ),
    ("chain_4", "SELECT ?s { ?s ub:memberOf ?d . ?d ub:subOrganizationOf ?u . ?u ub:name \"University 0\" }"),
    (
        "snowflake_1",
        "SELECT ?s ?name ?p ?professor ?c ?credits { ?s ub:memberOf <http://www.department1.university0.example.org/> ; \
         ub:name ?name ; ub:advisor ?p ; ub:takesCourse ?c . ?p ub:name ?professor ; ub:teacherOf ?c . \
         ?c ub:credits ?credits }",
    ),
    (
        "snowflake_2",
        "SELECT ?s ?p ?c { ?s a ub:UndergraduateStudent ; ub:advisor ?p ; ub:takesCourse ?c . ?p ub:teacherOf ?c . \
         ?c a ub:Course }",
    ),
    (
        "snowflake_3",
        "SELECT ?x ?title ?p ?name ?university { ?x ub:author ?p ; ub:title ?title ; a ub:Publication . \
         ?p ub:worksFor <http://www.department0.university0.example.org/> ; ub:name ?name ; ub:doctoralDegreeFrom ?u . \
         ?u ub:name ?university }",
    ),
    (
        "snowflake_4",
        "SELECT ?s ?d ?u { ?s a ub:GraduateStudent ; ub:memberOf ?d ; ub:undergraduateDegreeFrom ?u . \
         ?d ub:subOrganizationOf ?u . ?u a ub:University }",
    ),
    ("path_1", "SELECT ?o { ?o ub:subOrganizationOf+ <http://www.university0.example.org/> }"),
    ("path_2", "SELECT ?x { <http://www.department0.university0.example.org/publication50> ub:cites+ ?x }"),
    ("path_3", "SELECT ?s { ?s ub:advisor/ub:worksFor <http://www.department0.university0.example.org/> }"),
    ("aggregate_1", "SELECT ?d (COUNT(?s) AS ?n) { ?s ub:memberOf ?d } GROUP BY ?d"),
    (
        "aggregate_2",
        "SELECT ?class (COUNT(*) AS ?n) (MIN(?age) AS ?least) (MAX(?age) AS ?most) { ?s a ?class ; ub:age ?age } \
         GROUP BY ?class",
    ),
    (
        "aggregate_3",
        "SELECT ?p (COUNT(DISTINCT ?s) AS ?n) { ?s ub:advisor ?p . ?p ub:worksFor ?d . \
         ?d ub:subOrganizationOf <http://www.university0.example.org/> } GROUP BY ?p HAVING (COUNT(DISTINCT ?s) > 10)",
    ),
    (
        "order_1",
        "SELECT ?s ?age ?name { ?s ub:memberOf <http://www.department0.university0.example.org/> ; ub:age ?age ; \
         ub:name ?name } ORDER BY DESC(?age) ?s LIMIT 10",
    ),
    ("order_2", "SELECT ?x ?date { ?x a ub:Publication ; ub:published ?date } ORDER BY DESC(?date) ?x LIMIT 20"),
];

/// The lines of a file of queries: name, tabulator, text.
pub fn lines() -> String {
    let line = |(name, text): (&str, &str)| format!("{name}\tPREFIX ub: <{VOCABULARY}> {text}\n");
    QUERIES.map(line).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_query_can_be_read() {
        for line in lines().lines() {
            let (name, text) = line.split_once('\t').unwrap();
            assert!(fulgurite_rdf::sparql::Query::parse(text, None).is_ok(), "{name}");
        }
        assert_eq!(lines().lines().count(), QUERIES.len());
    }
}
