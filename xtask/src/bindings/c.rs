//! The C binding: its programs are compiled with warnings as errors, and run with AddressSanitizer.

use std::fs;
use std::path::Path;

use crate::bindings::guide;
use crate::bindings::library::{empty_directory, failed, install};
use crate::command::Failure;
use crate::launch::{cargo, wait};
use crate::{tools, workspace};

/// The programs that run.
const PROGRAMS: [(&str, &str); 4] = [
    ("people", "bindings/c/examples/people.c"),
    ("test_use", "bindings/c/tests/test_use.c"),
    ("test_misuse", "bindings/c/tests/test_misuse.c"),
    ("test_events", "bindings/c/tests/test_events.c"),
];

/// What the example prints.
const PEOPLE: &str = "\
ada: analytical engine
edsger -> semaphore
grace -> compiler
visits: 2
people: 2
";

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// What a static library of Rust needs.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// Builds, installs and tests the binding.
///
/// # Errors
/// [`Failure::Unavailable`] if there is no compiler or pkg-config; otherwise what has failed.
pub fn check(root: &Path, profile: &str) -> Result<(), Failure> {
    if cfg!(windows) {
        return Err(Failure::Unavailable("its programs use POSIX threads".into()));
    }
    for (program, package) in [("cc", "gcc"), ("c++", "g++"), ("pkg-config", "pkg-config")] {
        ensure(root, program, package)?;
    }
    cargo(root, &["run", "--quiet", "--package", "fulgurite-c-header"])?;
    let prefix = install(root, profile)?;
    let place = empty_directory(root, "c-tests")?;
    let include = format!("-I{}", prefix.join("include").display());
    let library = prefix.join("lib/libfulgurite.a").to_string_lossy().into_owned();
    let guide = place.join("guide.c");
    let code = guide::program(root, "docs/guide/c.md", "c")?;
    fs::write(&guide, &code).map_err(|error| failed(&guide, error))?;
    let guide = guide.to_string_lossy().into_owned();
    for (name, source) in PROGRAMS.into_iter().chain([("guide", guide.as_str())]) {
        let program = place.join(name).to_string_lossy().into_owned();
        let mut arguments = vec!["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fsanitize=address,undefined"];
        arguments.extend(WARNINGS);
        arguments.extend([&include, source, &library, "-o", &program]);
        arguments.extend(SYSTEM);
        wait(workspace::child(root, "cc", &arguments))?;
        let files = empty_directory(root, &format!("c-tests/{name}-files"))?;
        let output = run(root, &program, &files)?;
        if name == "people" && output != PEOPLE {
            return Err(Failure::Failed(format!("bindings/c/examples/people.c printed:\n{output}")));
        }
    }
    check_shared(root, &prefix, &place)?;
    check_guide(root, &code)?;
    check_cpp(root, &include, &place)
}

/// Runs the commands of the guide, with its program, and compares what it prints.
fn check_guide(root: &Path, code: &str) -> Result<(), Failure> {
    empty_directory(root, "c-guide")?;
    let place = empty_directory(root, "c-guide/repository")?;
    let source = empty_directory(root, "c-guide/book")?.join("book.c");
    fs::write(&source, code).map_err(|error| failed(&source, error))?;
    let script = guide::script(root, "docs/guide/c.md", "c")?;
    let mut shell = workspace::child(root, "sh", &["-e", "-c", &script]);
    shell.current_dir(&place);
    guide::compare(root, "docs/guide/c.md", &guide::run(shell)?)
}

fn run(root: &Path, program: &str, files: &Path) -> Result<String, Failure> {
    guide::run(workspace::child(root, program, &[&files.to_string_lossy()]))
}

/// Compiles the example as a user does: by pkg-config, with the shared library.
fn check_shared(root: &Path, prefix: &Path, place: &Path) -> Result<(), Failure> {
    let lib = prefix.join("lib").to_string_lossy().into_owned();
    let mut ask = workspace::child(root, "pkg-config", &["--cflags", "--libs", "fulgurite"]);
    ask.env("PKG_CONFIG_PATH", format!("{lib}/pkgconfig"));
    let flags = tools::quiet(ask).map_err(Failure::Failed)?;
    let program = place.join("shared").to_string_lossy().into_owned();
    let mut arguments = vec!["bindings/c/examples/people.c", "-o", &program];
    arguments.extend(flags.split_whitespace());
    let rpath = format!("-Wl,-rpath,{lib}");
    arguments.push(&rpath);
    wait(workspace::child(root, "cc", &arguments))?;
    let files = empty_directory(root, "c-tests/shared-files")?;
    match run(root, &program, &files)?.as_str() {
        PEOPLE => Ok(()),
        output => Err(Failure::Failed(format!("with the shared library, people printed:\n{output}"))),
    }
}

fn check_cpp(root: &Path, include: &str, place: &Path) -> Result<(), Failure> {
    let object = place.join("header.o").to_string_lossy().into_owned();
    let mut arguments = vec!["-std=c++17", include, "-c", "bindings/c/tests/test_header.cc", "-o", &object];
    arguments.extend(WARNINGS);
    wait(workspace::child(root, "c++", &arguments))
}

/// Makes sure that there is a program, by the system's package where there is the right to install it.
///
/// # Errors
/// [`Failure::Unavailable`] if it cannot be had.
pub fn ensure(root: &Path, program: &str, package: &str) -> Result<(), Failure> {
    let runs = || tools::quiet(workspace::child(root, program, &["--version"]));
    if runs().is_ok() {
        return Ok(());
    }
    tools::install_package(root, package).and_then(|()| runs().map(drop)).map_err(Failure::Unavailable)
}
