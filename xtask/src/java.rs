//! `cargo xtask java`: the Java binding.

use std::path::{Path, PathBuf};

use crate::command::{Command, Failure};
use crate::launch::{cargo, wait};
use crate::step::Outcome;
use crate::tools;
use crate::workspace::{self, CHECKED, PROFILE_OF_TESTS, results, target};

/// `cargo xtask java`
pub const JAVA: Command = Command {
    name: "java",
    summary: "build and test the Java binding, and install it into the local Maven repository",
    help: "\
Usage: cargo xtask java [--release] [MAVEN ARGUMENTS]

Builds the native library of crates/java and copies it below target/java/natives. Builds the command-line program, whose
server the tests use. Then runs `mvn install` in bindings/java, which compiles the modules, runs their tests, and
installs jars with classes, sources and Javadoc into the local Maven repository. Needs a JDK (17 or later), Maven, and
Maven Central or a mirror of it. As root, it installs a missing JDK or Maven by apt-get.

Options:
  --release   build the native library with all optimisations, as for a release

If /usr/lib/jvm has JDK 25, the tests of the module fulgurite but MisuseTest run on it too, unless you give Maven
arguments.

All other arguments go to Maven.
Example: cargo xtask java -Dtest=DatabaseTest -Dsurefire.failIfNoSpecifiedTests=false",
    run: java,
};

const POM: &str = "bindings/java/pom.xml";

/// A goal of Maven that fetches all plugins.
const RESOLVE_PLUGINS: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:resolve-plugins";

fn java(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    tools::ensure_maven(&root).map_err(Failure::Failed)?;
    let is_release = arguments.iter().any(|argument| argument == "--release");
    let maven: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--release").collect();
    build(&root, if is_release { "release" } else { "fast-build" }, &maven)?;
    if maven.is_empty() { test_on_newer(&root) } else { Ok(()) }
}

/// The step of `cargo xtask test`. It is skipped if there is no JDK or Maven and no right to install them, or if Maven
/// cannot fetch its plugins.
pub fn check(root: &Path) -> Outcome {
    let ready = tools::ensure_maven(root).and_then(|()| {
        let plugins = ["--batch-mode", "--quiet", "--file", POM, RESOLVE_PLUGINS];
        tools::quiet(workspace::child(root, "mvn", &plugins)).map(drop)
    });
    if let Err(reason) = ready {
        return Outcome::Skipped(format!("{reason}; it needs a JDK, Maven, and Maven Central or a mirror of it"));
    }
    match build(root, PROFILE_OF_TESTS, &[]).and_then(|()| test_on_newer(root)) {
        Ok(()) => Outcome::Passed,
        Err(failure) => Outcome::Failed(failure.to_string()),
    }
}

/// Builds the binding with all optimisations and installs it into the local Maven repository, without tests.
///
/// # Errors
/// The reason why it cannot be built.
pub fn install(root: &Path) -> Result<(), String> {
    tools::ensure_maven(root)?;
    let arguments = ["--quiet", "-DskipTests", "-Dmaven.javadoc.skip=true"];
    build(root, "release", &arguments).map_err(|failure| failure.to_string())
}

fn build(root: &Path, profile: &str, maven: &[&str]) -> Result<(), Failure> {
    // Where the tests have run, most of what the binding needs is built.
    let packages: &[&str] = match profile {
        PROFILE_OF_TESTS => CHECKED,
        _ => &["--package", "fulgurite-java", "--package", "fulgurite-cli"],
    };
    cargo(root, &[&["build", "--profile", profile, "--lib", "--bin", "fulgurite"], packages].concat())?;
    let natives = copy_library(root, profile).map_err(Failure::Failed)?;
    let natives = format!("-Dfulgurite.natives={}", natives.display());
    let program = results(root, profile).join(format!("fulgurite{}", std::env::consts::EXE_SUFFIX));
    let program = format!("-Dfulgurite.program={}", program.display());
    let arguments = ["--batch-mode", "--no-transfer-progress", "--file", POM, &natives, &program];
    let mut command = workspace::child(root, "mvn", &[&arguments[..], maven, &["install"]].concat());
    // Cargo adds its own directories, where Java would find another build of the library.
    command.env_remove("LD_LIBRARY_PATH");
    wait(command)
}

/// Runs the tests of the module `fulgurite`, which are built, on a newer JDK as well: it restricts native access, and
/// has virtual threads. Leaves out `MisuseTest`, which takes long.
fn test_on_newer(root: &Path) -> Result<(), Failure> {
    let Some(home) = find_jdk(Path::new(JDKS), NEWER_JDK) else {
        eprintln!("skipped: the Java tests on JDK {NEWER_JDK}, which {JDKS} does not have");
        return Ok(());
    };
    eprintln!("running the tests of the module fulgurite on {}", home.display());
    let machine = format!("-Djvm={}", home.join("bin").join("java").display());
    let reports = format!("-Dsurefire.reportNameSuffix=jdk{NEWER_JDK}");
    let natives = format!("-Dfulgurite.natives={}", natives(root).display());
    let arguments = ["--batch-mode", "--no-transfer-progress", "--file", POM, "--projects", "fulgurite"];
    let tests = [&machine, &reports, &natives, "-Dtest=!MisuseTest", "surefire:test"];
    let mut command = workspace::child(root, "mvn", &[&arguments[..], &tests].concat());
    command.env_remove("LD_LIBRARY_PATH");
    wait(command)
}

/// The directory of a JDK of this version.
fn find_jdk(jdks: &Path, version: u32) -> Option<PathBuf> {
    let mut homes: Vec<PathBuf> = std::fs::read_dir(jdks).ok()?.flatten().map(|entry| entry.path()).collect();
    homes.sort();
    homes.into_iter().find(|home| {
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        release.lines().any(|line| {
            let found = line.strip_prefix("JAVA_VERSION=\"").and_then(|found| found.split(['.', '"', '+', '-']).next());
            found.and_then(|found| found.parse().ok()) == Some(version)
        })
    })
}

/// Where systems install JDKs.
const JDKS: &str = "/usr/lib/jvm";

/// The JDK on which tests run besides that of Maven.
const NEWER_JDK: u32 = 25;

/// Copies the library to where the jar has it, and returns the directory for the jar's content.
///
/// # Errors
/// If the file cannot be copied.
fn copy_library(root: &Path, profile: &str) -> Result<PathBuf, String> {
    let name = format!("{}fulgurite_java{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let natives = natives(root);
    let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    let place = natives.join("org").join("fulgurite").join("native").join(platform);
    let source = results(root, profile).join(&name);
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    std::fs::copy(&source, place.join(&name)).map_err(|error| format!("{}: {error}", source.display()))?;
    Ok(natives)
}

fn natives(root: &Path) -> PathBuf {
    target(root).join("java").join("natives")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jdk_is_found_by_its_version() {
        let jdks = std::env::temp_dir().join(format!("xtask-jdks-{}", std::process::id()));
        std::fs::create_dir(&jdks).unwrap();
        for (name, version) in [("a", "17.0.2"), ("b", "25.0.1"), ("c", "25"), ("d", "250")] {
            let home = jdks.join(name);
            std::fs::create_dir(&home).unwrap();
            std::fs::write(home.join("release"), format!("IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"{version}\"\n")).unwrap();
        }
        std::fs::create_dir(jdks.join("empty")).unwrap();
        assert_eq!(find_jdk(&jdks, 25), Some(jdks.join("b")));
        assert_eq!(find_jdk(&jdks, 250), Some(jdks.join("d")));
        assert_eq!(find_jdk(&jdks, 21), None);
        assert_eq!(find_jdk(&jdks.join("missing"), 25), None);
        std::fs::remove_dir_all(&jdks).unwrap();
    }
}
