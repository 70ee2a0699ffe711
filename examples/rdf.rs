//! RDF: load Turtle, ask with SPARQL, change with SPARQL.

use fulgurite_rdf::sparql::{Query, QueryResults, Update};
use fulgurite_rdf::{LoadInput, LoadOptions, RdfFormat, Result, Store, StoreOptions};

const PEOPLE: &str = "
@prefix : <http://example.org/> .
:ann :name 'Ann' ; :knows :bob , :cid .
:bob :name 'Bob' ; :age 25 .
:cid :name 'Cid' ; :age 41 .
";

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::create(directory.path().join("people.ful"), StoreOptions::new())?;

    // A load is all or nothing. `LoadInput::file` reads files, packed ones included.
    let input = LoadInput::reader("people", PEOPLE.as_bytes(), RdfFormat::Turtle);
    let report = store.load(vec![input], &LoadOptions::new())?;
    println!("loaded {} statements", report.inserted);

    Update::parse("PREFIX : <http://example.org/> INSERT DATA { :cid :age 42 }", None)?.execute(&store)?;

    let query = Query::parse(
        "PREFIX : <http://example.org/>
         SELECT ?name (MAX(?age) AS ?oldest) { :ann :knows ?friend . ?friend :name ?name ; :age ?age }
         GROUP BY ?name ORDER BY ?name",
        None,
    )?;
    if let QueryResults::Solutions(solutions) = query.evaluate(&store.snapshot()?)? {
        for solution in solutions {
            let solution = solution?;
            let value = |name| solution.get(name).map(ToString::to_string).unwrap_or_default();
            println!("{} {}", value("name"), value("oldest"));
        }
    }
    store.close()
}
