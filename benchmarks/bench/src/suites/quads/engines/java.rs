//! RDF4J's LmdbStore, as a program in Java (`benchmarks/bench/java`), which `cargo xtask bench rdf4j` builds where
//! there are a JDK and Maven.

use std::path::PathBuf;
use std::process::Command;

use crate::error::{Error, Result};
use crate::suites::quads::engines::engine::ENGINE_NAMES;

/// Its name in reports.
pub const NAME: &str = ENGINE_NAMES[2];

/// The variable that names the directory of the built program.
const DIRECTORY: &str = "FULGURITE_RDF4J";

/// The version of RDF4J that `benchmarks/bench/java/pom.xml` names.
const VERSION: &str = "5.2.0";

/// Room for the heap: more than the largest load asks for.
const HEAP: &str = "-Xmx4g";

/// Why it cannot be measured here.
pub fn missing() -> Option<String> {
    match directory() {
        Some(_) => None,
        None => Some(
            "its program in Java was not built; `cargo xtask bench rdf4j` does so where a JDK (11 or later) and Maven are installed"
                .to_owned(),
        ),
    }
}

fn directory() -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os(DIRECTORY)?);
    (directory.join("classes").is_dir() && directory.join("jars").is_dir()).then_some(directory)
}

/// Version and settings.
pub fn describe() -> (String, String) {
    let settings =
        "indexes spoc sopc psoc posc ospc opsc, isolation NONE for loads, not synced, otherwise default settings";
    (VERSION.to_owned(), format!("{settings}; java {HEAP}"))
}

/// The command that does the task with these arguments.
///
/// # Errors
/// [`Error::Usage`] if the program was not built.
pub fn command(arguments: Vec<String>) -> Result<Command> {
    let directory =
        directory().ok_or_else(|| Error::Usage(format!("the variable {DIRECTORY} does not name the built program")))?;
    let classes = format!("{}:{}/*", directory.join("classes").display(), directory.join("jars").display());
    let mut command = Command::new("java");
    command.args([HEAP, "-cp", &classes, "fulgurite.bench.Quads"]).args(arguments);
    Ok(command)
}
