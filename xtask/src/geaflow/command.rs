//! `cargo xtask geaflow-tests`: builds the jars, and runs Maven in a checkout of GeaFlow.
//!
//! No file of GeaFlow changes. Its virtual machines for tests get our jars at the end of the class path. Their boot
//! class path gets a directory that names our builder as a service. Services of that path are found first, and GeaFlow
//! uses the first builder of a name. Its class is on the ordinary class path, like GeaFlow's interfaces.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::command::{Command, Failure};
use crate::geaflow::reports::{Counts, judge, read_reports};
use crate::launch::wait;
use crate::workspace::{self, target};
use crate::{java, tools};

/// `cargo xtask geaflow-tests`
pub const GEAFLOW_TESTS: Command = Command {
    name: "geaflow-tests",
    summary: "GeaFlow's own tests of its RocksDB states pass on our store",
    help: "\
Usage: cargo xtask geaflow-tests --source DIR [--tests N] [--no-build] [MAVEN ARGUMENTS]

Builds the jars as `cargo xtask java --release` does, without tests. Then runs Maven in a checkout of Apache GeaFlow: it
compiles the modules of the states, and runs the tests of RocksDB's store and of the states that use it. No file of the
checkout changes, but Maven writes into its target directories. The tests use our store by its alias ROCKSDB
(-Dfulgurite.geaflow.rocksdb=true). Prints how many tests of each class passed.

The command fails if a test fails or is skipped, if fewer tests have run, or if no test has loaded our library. Needs
JDK 17, Maven, and Maven Central or a mirror of it. With --no-build it takes about five minutes. The tests write below
/tmp.

Options:
  --source DIR  the checkout: git clone --depth 1 --branch v0.7.0 https://github.com/apache/geaflow DIR
  --tests N     how many tests must pass at least [default: 92, as many as v0.7.0 has]
  --no-build    use the jars that `cargo xtask java` has built last

All other arguments go to Maven.
Example: cargo xtask geaflow-tests --source ../geaflow --no-build --offline",
    run,
};

/// The modules with the tests, as folders of the checkout. Their last names are those of the artifacts.
const MODULES: &[&str] =
    &["geaflow/geaflow-plugins/geaflow-store/geaflow-store-rocksdb", "geaflow/geaflow-state/geaflow-state-impl"];

/// The classes whose tests open a store of the name ROCKSDB.
const CLASSES: &str = "RocksdbStoreBuilderTest,RocksdbKeyStateTest,RocksdbDynamicGraphStateTest,RocksDBGraphStateTest,\
                       RocksDBLabelPartitionGraphStateTest,RocksDBDtPartitionGraphStateTest,GraphReadOnlyStateTest,\
                       StaticGraphStateTest,StateFactoryTest";

/// How many tests these classes of v0.7.0 have.
const TESTS: usize = 92;

const SERVICE: &str = "META-INF/services/org.apache.geaflow.store.IStoreBuilder";
const BUILDER: &str = "org.fulgurite.geaflow.RocksdbAliasStoreBuilder\n";

fn run(arguments: &[String]) -> Result<(), Failure> {
    let asked = Asked::parse(arguments)?;
    let root = workspace::root()?;
    let source = find_source(Path::new(asked.source))?;
    tools::ensure_maven(&root).map_err(Failure::Failed)?;
    if asked.builds {
        java::install(&root).map_err(Failure::Failed)?;
    }
    let jars = [jar(&root, "fulgurite-geaflow")?, jar(&root, "fulgurite")?];
    let place = Place::prepare(&root).map_err(Failure::Failed)?;
    for module in MODULES {
        remove(&reports(&source, module)).map_err(Failure::Failed)?;
    }
    let mut command = workspace::child(&root, "mvn", &[]);
    command.args(maven_arguments(&source, &jars, &place)).args(&asked.maven).arg("test");
    command.env_remove("LD_LIBRARY_PATH");
    wait(command)?;
    let mut counts = Counts::new();
    for module in MODULES {
        let read = read_reports(&reports(&source, module), &mut counts);
        read.map_err(|error| Failure::Failed(format!("{module}: the reports of its tests cannot be read: {error}")))?;
    }
    if !place.library.is_dir() {
        return Err(Failure::Failed("no test has loaded the library of Fulgurite: another store was used".into()));
    }
    let (text, judgement) = judge(&counts, asked.tests);
    print!("{text}");
    judgement.map_err(Failure::Failed)
}

/// What the arguments ask for.
#[derive(Debug, PartialEq)]
struct Asked<'a> {
    source: &'a str,
    tests: usize,
    builds: bool,
    maven: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    fn parse(arguments: &'a [String]) -> Result<Self, Failure> {
        let mut asked = Self { source: "", tests: TESTS, builds: true, maven: Vec::new() };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            match argument {
                "--source" => asked.source = rest.next().unwrap_or_default(),
                "--tests" => {
                    let number = rest.next().and_then(|number| number.parse().ok());
                    asked.tests = number.ok_or_else(|| Failure::Usage("--tests needs a number".into()))?;
                }
                "--no-build" => asked.builds = false,
                other => asked.maven.push(other),
            }
        }
        match asked.source {
            "" => Err(Failure::Usage("--source needs the directory of a checkout of GeaFlow".into())),
            _ => Ok(asked),
        }
    }
}

/// The whole path of the checkout.
fn find_source(given: &Path) -> Result<PathBuf, Failure> {
    let missing = |what: String| {
        let help = "give the directory of `git clone --depth 1 --branch v0.7.0 https://github.com/apache/geaflow`";
        Failure::Failed(format!("{}: {what}; {help}", given.display()))
    };
    let source = given.canonicalize().map_err(|error| missing(error.to_string()))?;
    match MODULES.iter().find(|module| !source.join(module).join("pom.xml").is_file()) {
        Some(module) => Err(missing(format!("it has no module {module}"))),
        None => Ok(source),
    }
}

/// The jar of one of our modules.
fn jar(root: &Path, module: &str) -> Result<PathBuf, Failure> {
    let name = format!("{module}-{}.jar", env!("CARGO_PKG_VERSION"));
    let path = root.join("bindings/java").join(module).join("target").join(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(Failure::Failed(format!("{} does not exist; run `cargo xtask java`, or leave out --no-build", path.display())))
}

/// Directories for the virtual machines of the tests.
struct Place {
    /// The directory that is added to the boot class path.
    services: PathBuf,
    /// Where our native library is unpacked. The directory does not exist before.
    library: PathBuf,
}

impl Place {
    fn prepare(root: &Path) -> Result<Self, String> {
        let place = target(root).join("java").join("geaflow-tests");
        remove(&place)?;
        let (services, library) = (place.join("services"), place.join("library"));
        let service = services.join(SERVICE);
        let directory = service.parent().unwrap_or(&services);
        std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        std::fs::write(&service, BUILDER).map_err(|error| format!("{}: {error}", service.display()))?;
        Ok(Self { services, library })
    }
}

/// Removes a directory, if it exists.
fn remove(directory: &Path) -> Result<(), String> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(format!("{}: {error}", directory.display())),
        _ => Ok(()),
    }
}

/// Where Maven writes the reports of a module's tests.
fn reports(source: &Path, module: &str) -> PathBuf {
    source.join(module).join("target").join("surefire-reports")
}

fn maven_arguments(source: &Path, jars: &[PathBuf; 2], place: &Place) -> Vec<String> {
    let modules = MODULES.iter().filter_map(|module| module.rsplit('/').next());
    let modules: Vec<String> = modules.map(|artifact| format!(":{artifact}")).collect();
    let [store, engine] = jars;
    let mut arguments: Vec<String> = [
        "--batch-mode",
        "--no-transfer-progress",
        "--also-make",
        // Modules that are only compiled have none of the tests.
        "-Dsurefire.failIfNoSpecifiedTests=false",
        // All classes run, each in a virtual machine of its own, and the reports are judged.
        "-Dmaven.test.failure.ignore=true",
        "-DreuseForks=false",
        // Runs nothing but the tests.
        "-Dcheckstyle.skip=true",
        "-Drat.skip=true",
        "-Djacoco.skip=true",
    ]
    .map(String::from)
    .to_vec();
    arguments.extend([
        format!("--file={}", source.join("pom.xml").display()),
        format!("--projects={}", modules.join(",")),
        format!("-Dtest={CLASSES}"),
        format!("-Dmaven.test.additionalClasspath={},{}", store.display(), engine.display()),
        // GeaFlow's POM passes it to the virtual machines of the tests.
        format!(
            "-DcoverageAgent=\"-Xbootclasspath/a:{}\" -Dfulgurite.geaflow.rocksdb=true \"-Dfulgurite.directory={}\"",
            place.services.display(),
            place.library.display()
        ),
    ]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_and_the_rest_goes_to_maven() {
        let arguments = ["--offline", "--source", "d", "--tests", "9", "--no-build"].map(String::from);
        let asked = Asked::parse(&arguments).unwrap();
        assert_eq!(asked, Asked { source: "d", tests: 9, builds: false, maven: vec!["--offline"] });
        for wrong in [&["--no-build"][..], &["--source"], &["--source", "d", "--tests", "x"]] {
            let wrong: Vec<String> = wrong.iter().map(|&argument| argument.to_owned()).collect();
            assert!(matches!(Asked::parse(&wrong), Err(Failure::Usage(_))), "{wrong:?}");
        }
    }

    #[test]
    fn a_directory_without_geaflow_is_refused_with_what_to_do() {
        for wrong in [std::env::temp_dir(), "missing".into()] {
            let reason = find_source(&wrong).unwrap_err().to_string();
            assert!(reason.contains("git clone"), "{reason}");
        }
    }
}
