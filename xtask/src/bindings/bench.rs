//! `cargo xtask bench bindings`: what a call costs in each language, beside what its programs use.

use std::path::Path;

use crate::bindings::c::ensure;
use crate::bindings::library::{empty_directory, install};
use crate::bindings::{environment, go, python};
use crate::command::Failure;
use crate::launch::wait;
use crate::{tools, workspace};

/// What the benchmark of Python imports, and what builds the wheel.
const PYTHON: [&str; 3] = ["lmdb==3.0.0", "maturin==1.16.0", "rocksdict==0.3.29"];

/// The profile of what is measured.
const PROFILE: &str = "release";

/// Runs the benchmark of one binding, or of all, with further arguments.
///
/// # Errors
/// [`Failure::Usage`] for another binding; [`Failure::Unavailable`] if tools are missing; otherwise what has failed.
pub fn bench(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    match arguments.split_first() {
        None => [c, go_bench, python_bench].into_iter().try_for_each(|run| run(root, &[])),
        Some((&"c", rest)) => c(root, rest),
        Some((&"go", rest)) => go_bench(root, rest),
        Some((&"python", rest)) => python_bench(root, rest),
        Some((other, _)) => Err(Failure::Usage(format!("`{other}` is neither c, go nor python"))),
    }
}

fn c(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    for (program, package) in [("cc", "gcc"), ("pkg-config", "pkg-config")] {
        ensure(root, program, package)?;
    }
    let flags = || tools::quiet(workspace::child(root, "pkg-config", &["--cflags", "--libs", "lmdb"]));
    let lmdb = flags().or_else(|_| tools::install_package(root, "liblmdb-dev").and_then(|()| flags()));
    let lmdb = lmdb.map_err(Failure::Unavailable)?;
    let prefix = install(root, PROFILE)?;
    let place = empty_directory(root, "c-bench")?;
    let include = format!("-I{}", prefix.join("include").display());
    let library = prefix.join("lib/libfulgurite.a").to_string_lossy().into_owned();
    let program = place.join("crossing").to_string_lossy().into_owned();
    let source = "bindings/c/benchmarks/crossing.c";
    let mut all = vec!["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", &include, source, &library, "-o", &program];
    all.extend(lmdb.split_whitespace());
    all.extend(["-lpthread", "-ldl", "-lm"]);
    wait(workspace::child(root, "cc", &all))?;
    let files = empty_directory(root, "c-bench/files")?;
    let mut command = workspace::child(root, &program, &[&files.to_string_lossy()]);
    command.args(arguments);
    wait(command)
}

fn go_bench(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let program = go::ensure_go(root)?;
    ensure(root, "cc", "gcc")?;
    let prefix = install(root, PROFILE)?;
    let mut command = go::command(root, &program, &prefix, &["run", "."]);
    command.current_dir(root.join("bindings/go/benchmarks")).args(arguments);
    wait(command)
}

fn python_bench(root: &Path, arguments: &[&str]) -> Result<(), Failure> {
    let python = environment::ensure(root, "python-bench", &PYTHON)?;
    let wheel = python::build(root, &python, PROFILE)?.to_string_lossy().into_owned();
    let program = python.to_string_lossy().into_owned();
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"];
    wait(workspace::child(root, &program, &[&pip[..], &["--force-reinstall", &wheel]].concat()))?;
    let script = root.join("bindings/python/benchmarks/crossing.py").to_string_lossy().into_owned();
    wait(workspace::child(root, &program, &[&[script.as_str()], arguments].concat()))
}
