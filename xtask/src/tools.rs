//! What the tasks need beyond the pinned toolchain, and how they install it: other toolchains, targets, a Python
//! package.
//!
//! Everything here may be unavailable (no network, no rustup): the caller gets the reason and must say it aloud.
//! Nothing that is installed already is updated, and rustup itself never is.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace;

/// The nightly compiler for Miri, pinned so that the same sources give the same verdict.
pub const NIGHTLY: &str = "nightly-2026-10-30";

/// The package that carries the W3C's suites of RDF and SPARQL in its source distribution. The checksum of that is in
/// `proofs/conformance/src/archive.rs`.
const SUITES: &str = "rdflib==7.6.0";

/// The one package that the decoder of docs/reference/decoder needs.
const XXHASH: &str = "xxhash==4.1.0";

/// Another implementation of XPath's functions.
const ELEMENTPATH: &str = "elementpath==5.1.4";
/// The packages that read what the store reads and writes, beside it.
const READERS: [&str; 2] = ["lxml==6.1.3", "rdflib==7.6.0"];

/// The mdBook that builds the documentation.
const MDBOOK: &str = "0.5.4";

/// Makes sure that rustup has `toolchain` with `components`.
///
/// # Errors
/// The reason why it cannot be had.
pub fn ensure_toolchain(root: &Path, toolchain: &str, components: &[&str]) -> Result<(), String> {
    let mut arguments = vec!["toolchain", "install", toolchain, "--profile", "minimal", "--no-self-update"];
    let _lock = lock(root, "rustup");
    if toolchain_is_complete(root, toolchain, components)? {
        return Ok(());
    }
    for component in components {
        arguments.extend(["--component", component]);
    }
    eprintln!("installing the toolchain {toolchain}");
    quiet(workspace::child(root, "rustup", &arguments)).map(drop)
}

/// Makes sure that the nightly toolchain has Miri, and a standard library built for it.
///
/// # Errors
/// The reason why it cannot be had.
pub fn ensure_miri(root: &Path) -> Result<(), String> {
    ensure_toolchain(root, NIGHTLY, &["miri", "rust-src"])?;
    quiet(workspace::child_of_toolchain(root, NIGHTLY, &["cargo", "miri", "setup"])).map(drop)
}

/// Makes sure that a toolchain (the running one if none is named) can compile for `target`.
///
/// # Errors
/// The reason why it cannot.
pub fn ensure_target(root: &Path, target: &str) -> Result<(), String> {
    let _lock = lock(root, "rustup");
    let installed = quiet(workspace::child(root, "rustup", &["target", "list", "--installed"]))?;
    if installed.lines().any(|line| line == target) {
        return Ok(());
    }
    eprintln!("installing the target {target}");
    quiet(workspace::child(root, "rustup", &["target", "add", target])).map(drop)
}

/// Makes sure that there is a Python with the packages that the decoder needs, in an environment of its own below
/// target/, and returns its interpreter.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
pub fn ensure_python(root: &Path) -> Result<PathBuf, String> {
    python_with(root, "python", XXHASH, "import xxhash; print('xxhash==' + xxhash.VERSION)")
}

/// Makes sure that there is a Python with the package that patterns are compared with, as [`ensure_python`] does.
///
/// # Errors
/// As [`ensure_python`].
pub fn ensure_elementpath(root: &Path) -> Result<PathBuf, String> {
    python_with(root, "python-patterns", ELEMENTPATH, "import elementpath as e; print('elementpath==' + e.__version__)")
}

/// A Python with one package, in an environment of its own: a directory below target/. `version` makes it print the
/// package as it is installed.
fn python_with(root: &Path, directory: &str, package: &str, version: &str) -> Result<PathBuf, String> {
    let environment = root.join("target").join(directory);
    let interpreter = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let program = interpreter.to_string_lossy().into_owned();
    let _lock = lock(root, directory);
    // Asking the package for its version also shows whether the interpreter still works.
    let asked = quiet(workspace::child(root, &program, &["-c", version]));
    if asked.is_ok_and(|answer| answer.trim() == package) {
        return Ok(interpreter);
    }
    eprintln!("installing {package} below target/{directory}");
    let python = if cfg!(windows) { "python" } else { "python3" };
    let path = environment.to_string_lossy();
    quiet(workspace::child(root, python, &["-m", "venv", "--clear", &path]))
        .map_err(|reason| format!("{reason}; install Python 3.9 or later with venv (on Debian, python3-venv)"))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package];
    quiet(workspace::child(root, &program, &install))
        .map_err(|reason| format!("{reason}; pip needs PyPI or a mirror of it to install {package}"))?;
    Ok(interpreter)
}

/// Keeps other steps from installing something, which is a directory below `target` or what rustup has, until it is
/// dropped. Where there can be no lock, nothing can be installed either.
fn lock(root: &Path, name: &str) -> Option<std::fs::File> {
    let target = root.join("target");
    if !target.is_dir() {
        std::fs::create_dir(&target).ok()?;
    }
    let file = std::fs::File::create(target.join(format!("{name}.lock"))).ok()?;
    file.lock().ok().map(|()| file)
}

/// Makes sure that the environment of [`ensure_python`] has the other readers of RDF and XML too, and returns its
/// interpreter.
///
/// # Errors
/// The reason why they cannot be had, and what to install.
pub fn ensure_readers(root: &Path) -> Result<PathBuf, String> {
    let python = ensure_python(root)?;
    let program = python.to_string_lossy().into_owned();
    let version = "import lxml, rdflib; print('lxml==' + lxml.__version__, 'rdflib==' + rdflib.__version__)";
    let asked = quiet(workspace::child(root, &program, &["-c", version]));
    let wanted = READERS.join(" ");
    if asked.is_ok_and(|answer| answer.trim() == wanted) {
        return Ok(python);
    }
    eprintln!("installing {wanted} below target/python");
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
    quiet(workspace::child(root, &program, &[&install[..], &READERS].concat()))
        .map_err(|reason| format!("{reason}; pip needs PyPI or a mirror of it to install {wanted}"))?;
    Ok(python)
}

/// Makes sure that the archive with the W3C's suites is below target/, and returns where.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
pub fn ensure_suites(root: &Path) -> Result<PathBuf, String> {
    let directory = root.join("target").join("w3c");
    let archive = directory.join(format!("{}.tar.gz", SUITES.replace("==", "-")));
    if archive.is_file() {
        return Ok(archive);
    }
    let python = ensure_python(root)?;
    eprintln!("fetching the source of {SUITES} into target/w3c");
    // Not the ready-made package: it has no tests. pip asks the source for its name, so it needs its build tools too.
    let place = directory.to_string_lossy();
    let only_source = ["--no-deps", "--no-binary", "rdflib", "--dest", &place, SUITES];
    let mut download = vec!["-m", "pip", "download", "--quiet", "--disable-pip-version-check"];
    download.extend(only_source);
    quiet(workspace::child(root, &python.to_string_lossy(), &download))
        .map_err(|reason| format!("{reason}; pip needs PyPI or a mirror of it to fetch the source of {SUITES}"))?;
    match archive.is_file() {
        true => Ok(archive),
        false => Err(format!("pip has not left {}", archive.display())),
    }
}

/// Makes sure that the Java program that measures stores of RDF4J is built below target/rdf4j, with the libraries
/// that its benchmarks/bench/java/pom.xml pins, and returns where.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
pub fn ensure_rdf4j(root: &Path) -> Result<PathBuf, String> {
    build_java_program(root, "benchmarks/bench/java", "rdf4j")
}

/// Builds the program that measures Chronicle Queue for `cargo xtask bench storagebench`, and returns its directory.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
pub fn ensure_queue(root: &Path) -> Result<PathBuf, String> {
    build_java_program(root, "benchmarks/bench/queue", "queue")
}

/// Builds the program of `cargo xtask bench java`, and returns its directory.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
pub fn ensure_jmh(root: &Path) -> Result<PathBuf, String> {
    build_java_program(root, "bindings/java/benchmarks", "jmh")
}

/// Builds a program in Java into a directory of `target`, which has its `classes` and its `jars` then.
fn build_java_program(root: &Path, sources: &str, name: &str) -> Result<PathBuf, String> {
    const HELP: &str = "install a JDK (17 or later) and Maven, which needs Maven Central or a mirror of it";
    let directory = root.join("target").join(name);
    let pom = root.join(sources).join("pom.xml");
    let (pom, place) = (pom.to_string_lossy(), format!("-Dout.directory={}", directory.display()));
    quiet(workspace::child(root, "java", &["-version"])).map_err(|reason| format!("{reason}; {HELP}"))?;
    eprintln!("building {sources} into target/{name}");
    let build = ["--batch-mode", "--quiet", "--file", &pom, &place, "prepare-package"];
    quiet(workspace::child(root, "mvn", &build)).map_err(|reason| format!("{reason}; {HELP}"))?;
    Ok(directory)
}

/// Makes sure that there are a JDK and Maven, by the system's packages where there is the right to install them.
///
/// # Errors
/// The reason why they cannot be had, and what to install.
pub fn ensure_maven(root: &Path) -> Result<(), String> {
    for (program, package) in [("javac", "default-jdk-headless"), ("mvn", "maven")] {
        let runs = || quiet(workspace::child(root, program, &["-version"]));
        let help = format!("install a JDK (17 or later) and Maven (on Debian, `apt-get install {package}`)");
        if runs().is_err() {
            install_package(root, package).map_err(|reason| format!("{reason}; {help}"))?;
            runs().map_err(|reason| format!("{reason}; {help}"))?;
        }
    }
    Ok(())
}

/// Makes sure that there is valgrind, by the system's package where there is the right to install it.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
pub fn ensure_valgrind(root: &Path) -> Result<(), String> {
    let runs = || quiet(workspace::child(root, "valgrind", &["--version"]));
    if runs().is_ok() {
        return Ok(());
    }
    let help = "install valgrind (on Debian, `apt-get install valgrind`)";
    install_package(root, "valgrind").map_err(|reason| format!("{reason}; {help}"))?;
    runs().map(drop).map_err(|reason| format!("{reason}; {help}"))
}

/// Makes sure that there is an mdBook, and returns its program. One that is missing is built below target/.
///
/// # Errors
/// The reason why it cannot be had, and what to install.
pub fn ensure_mdbook(root: &Path) -> Result<PathBuf, String> {
    if quiet(workspace::child(root, "mdbook", &["--version"])).is_ok() {
        return Ok(PathBuf::from("mdbook"));
    }
    let tools = root.join("target").join("tools");
    let program = tools.join("bin").join(if cfg!(windows) { "mdbook.exe" } else { "mdbook" });
    if quiet(workspace::child(root, &program.to_string_lossy(), &["--version"])).is_ok() {
        return Ok(program);
    }
    eprintln!("building mdbook {MDBOOK}, which takes some minutes");
    let place = tools.to_string_lossy().into_owned();
    let install = ["install", "mdbook", "--version", MDBOOK, "--locked", "--no-default-features", "--root", &place];
    let help = format!("install mdBook: `cargo install mdbook --version {MDBOOK}`");
    quiet(workspace::child(root, "cargo", &install)).map_err(|reason| format!("{reason}; {help}"))?;
    Ok(program)
}

/// Installs a package of Debian's.
///
/// # Errors
/// The reason why it cannot be installed.
pub fn install_package(root: &Path, package: &str) -> Result<(), String> {
    let is_root = quiet(workspace::child(root, "id", &["-u"])).is_ok_and(|user| user.trim() == "0");
    if !is_root {
        return Err(format!("there is no {package}, and no right to install it"));
    }
    eprintln!("installing the package {package}");
    // Another step may install something too.
    let wait = ["-o", "DPkg::Lock::Timeout=600"];
    let install = [&wait[..], &["install", "--yes", "--no-install-recommends", package]].concat();
    let mut install = workspace::child(root, "apt-get", &install);
    install.env("DEBIAN_FRONTEND", "noninteractive");
    quiet(install).map(drop)
}

fn toolchain_is_complete(root: &Path, toolchain: &str, components: &[&str]) -> Result<bool, String> {
    let toolchains = quiet(workspace::child(root, "rustup", &["toolchain", "list"]))?;
    let prefix = format!("{toolchain}-");
    if !toolchains.lines().any(|line| line == toolchain || line.starts_with(&prefix)) {
        return Ok(false);
    }
    let list = ["component", "list", "--installed", "--toolchain", toolchain];
    let installed = quiet(workspace::child(root, "rustup", &list))?;
    Ok(components.iter().all(|component| installed.lines().any(|line| line.starts_with(component))))
}

/// Runs a command for what it prints.
///
/// # Errors
/// The command and the last line of its complaint.
pub fn quiet(mut command: Command) -> Result<String, String> {
    let shown = workspace::shown(&command);
    let output = command.output().map_err(|error| format!("`{shown}` cannot start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let telling = complaint.lines().find(|line| line.starts_with("error")).or_else(|| complaint.lines().last());
    Err(format!("`{shown}` failed: {}", telling.unwrap_or("it did not say why").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_missing_gives_a_reason_that_names_it() {
        let reason = quiet(workspace::child(Path::new("."), "no-such-tool", &["run"])).expect_err("it does not exist");
        assert!(reason.starts_with("`no-such-tool run` cannot start"), "{reason}");
    }

    #[test]
    fn without_python_the_reason_says_what_to_install() {
        let nowhere = std::env::temp_dir().join("fulgurite-no-such-directory");
        let reason = ensure_python(&nowhere).expect_err("nothing can run there");
        assert!(reason.contains("venv") && reason.contains("install Python 3.9"), "{reason}");
    }

    #[test]
    fn suites_that_are_there_are_not_fetched_again() {
        let root = std::env::temp_dir().join(format!("fulgurite-suites-{}", std::process::id()));
        let directory = root.join("target").join("w3c");
        std::fs::create_dir_all(&directory).expect("the directory of temporary files takes another");
        // Without Python nothing can be fetched there.
        assert!(ensure_suites(&root.join("nowhere")).is_err());
        std::fs::write(directory.join("rdflib-7.6.0.tar.gz"), b"").expect("it is ours");
        assert_eq!(ensure_suites(&root).expect("it is there"), directory.join("rdflib-7.6.0.tar.gz"));
        std::fs::remove_dir_all(&root).expect("it is ours");
    }

    #[test]
    fn a_tool_that_fails_gives_its_own_complaint() {
        let reason = quiet(workspace::child(Path::new("."), "rustc", &["--no-such-option"])).expect_err("it must fail");
        assert!(reason.contains("no-such-option"), "{reason}");
        assert!(reason.starts_with("`rustc --no-such-option` failed"), "{reason}");
    }
}
