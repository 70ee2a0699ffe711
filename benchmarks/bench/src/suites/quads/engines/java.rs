//! Stores of RDF4J: its LmdbStore and NativeStore, and Fulgurite's. A program in Java measures them
//! (`benchmarks/bench/java`), which `cargo xtask bench rdf4j` builds if a JDK and Maven are installed.

use std::process::Command;

use crate::error::Result;
use crate::measure::java::JavaProgram;
use crate::suites::quads::engines::engine::ENGINE_NAMES;

/// The name of LmdbStore in reports.
pub const LMDBSTORE: &str = ENGINE_NAMES[2];

/// The name of Fulgurite's store in reports.
pub const FULGURITE: &str = ENGINE_NAMES[4];

/// The name of Fulgurite's store in reports, where it evaluates queries itself.
pub const FULGURITE_QUERIES: &str = ENGINE_NAMES[5];

/// The name of NativeStore in reports.
pub const NATIVESTORE: &str = ENGINE_NAMES[6];

/// The version of RDF4J that `benchmarks/bench/java/pom.xml` names.
const VERSION: &str = "5.2.0";

/// Room for the heap: more than the largest load asks for.
const HEAP: &str = "-Xmx4g";

const PROGRAM: JavaProgram =
    JavaProgram { suite: "rdf4j", variable: "FULGURITE_RDF4J", class: "fulgurite.bench.Quads", options: &[HEAP] };

/// Why they cannot be measured here.
pub fn missing() -> Option<String> {
    PROGRAM.missing()
}

/// The version and settings of LmdbStore, which are those of NativeStore too.
pub fn describe_stock() -> (String, String) {
    let settings =
        "indexes spoc sopc psoc posc ospc opsc, isolation NONE for loads, not synced, otherwise default settings";
    (VERSION.to_owned(), format!("{settings}; java {HEAP}"))
}

/// The version and settings of Fulgurite's store.
pub fn describe_fulgurite() -> (String, String) {
    let settings = "the same indexes, isolation NONE for loads, commits survive the process, evaluation by RDF4J";
    (env!("CARGO_PKG_VERSION").to_owned(), format!("{settings} {VERSION}; java {HEAP}"))
}

/// The version and settings of Fulgurite's store that evaluates queries itself.
pub fn describe_fulgurite_queries() -> (String, String) {
    let (version, settings) = describe_fulgurite();
    (version, settings.replace(&format!("evaluation by RDF4J {VERSION}"), "its own evaluation"))
}

/// The command that does the task with these arguments, for the engine of this name.
///
/// # Errors
/// [`Error::Usage`] if the program was not built.
pub fn command(engine: &str, arguments: &[String]) -> Result<Command> {
    PROGRAM.command(&[format!("-Dfulgurite.bench.store={engine}")], arguments)
}
