//! `cargo xtask java`: the Java binding, with the native libraries of its jars.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::command::{Command, Failure};
use crate::launch::{cargo, wait};
use crate::step::{Outcome, outcome};
use crate::tools;
use crate::workspace::{self, CHECKED, PROFILE_OF_TESTS, results, target};

/// `cargo xtask java`
pub const JAVA: Command = Command {
    name: "java",
    summary: "build and test the Java binding, and install it into the local Maven repository",
    help: "\
Usage: cargo xtask java [--release] [--platforms NAMES] [--jdk VERSION] [MAVEN ARGUMENTS]

Builds the native library of crates/java and copies it below target/java/natives. Builds the command-line program, whose
server the tests use. Then runs `mvn install` in bindings/java, which compiles the modules, runs their tests, and
installs jars with classes, sources and Javadoc into the local Maven repository. Needs a JDK (17 or later), Maven, and
Maven Central or a mirror of it. As root, it installs a missing JDK or Maven by apt-get.

Options:
  --release          build the native libraries with all optimisations, as for a release
  --platforms NAMES  also make a jar with the native library alone for each of these platforms, separated by commas:
                     linux-x86_64, linux-aarch64, linux-x86_64-musl [default: the platform of this machine]
  --jdk VERSION      then run all tests of the modules fulgurite and fulgurite-rdf4j on the JDK of this version in
                     /usr/lib/jvm

A jar with a native library has the platform as its classifier. The main jar has the library of this machine, which the
tests use. Libraries of other platforms need a C compiler that links for them, and a target of rustup. As root, the
command installs a missing compiler by apt-get. A platform whose compiler or target cannot be had is left out, and the
command says why.

If /usr/lib/jvm has JDK 25, the tests of the module fulgurite but MisuseTest and some short ones of fulgurite-rdf4j run
on it too, unless you give Maven arguments or --jdk.

All other arguments go to Maven.
Examples:
  cargo xtask java -Dtest=DatabaseTest -Dsurefire.failIfNoSpecifiedTests=false
  cargo xtask java --jdk 25 -DskipTests    run the tests on JDK 25 only",
    run: java,
};

const POM: &str = "bindings/java/pom.xml";

/// A goal of Maven that fetches all plugins.
const RESOLVE_PLUGINS: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:resolve-plugins";

fn java(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    let asked = Asked::parse(arguments)?;
    let jdk = asked.jdk.map(installed_jdk).transpose()?;
    tools::ensure_maven(&root).map_err(Failure::Failed)?;
    let profile = if asked.is_release { "release" } else { "fast-build" };
    build(&root, profile, &asked.platforms, &asked.maven)?;
    match jdk {
        Some(jdk) => MODULES.iter().try_for_each(|module| jdk.test(&root, profile, module, &[])),
        None if asked.maven.is_empty() => test_on_newer(&root, profile),
        None => Ok(()),
    }
}

/// What the arguments ask for.
struct Asked<'a> {
    is_release: bool,
    platforms: Vec<&'static Platform>,
    /// The version of a JDK on which all tests run.
    jdk: Option<u32>,
    maven: Vec<&'a str>,
}

impl<'a> Asked<'a> {
    fn parse(arguments: &'a [String]) -> Result<Self, Failure> {
        let platforms = Platform::of_this_machine();
        let mut asked = Self { is_release: false, platforms, jdk: None, maven: Vec::new() };
        let mut rest = arguments.iter().map(String::as_str);
        while let Some(argument) = rest.next() {
            let (name, mut value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (argument, None),
            };
            if ["--platforms", "--jdk"].contains(&name) {
                value = value.or_else(|| rest.next());
            }
            match (name, value) {
                ("--platforms", names) => asked.platforms = Platform::named(names.unwrap_or_default())?,
                ("--jdk", version) => asked.jdk = Some(Self::jdk_version(version.unwrap_or_default())?),
                ("--release", None) => asked.is_release = true,
                _ => asked.maven.push(argument),
            }
        }
        Ok(asked)
    }

    fn jdk_version(version: &str) -> Result<u32, Failure> {
        version.parse().map_err(|_| Failure::Usage(format!("--jdk: `{version}` is not a version such as {NEWER_JDK}")))
    }
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
    let platforms = Platform::of_this_machine();
    outcome(build(root, PROFILE_OF_TESTS, &platforms, &[]).and_then(|()| test_on_newer(root, PROFILE_OF_TESTS)))
}

/// Builds the binding with all optimisations and installs it into the local Maven repository, without tests.
///
/// # Errors
/// The reason why it cannot be built.
pub fn install(root: &Path) -> Result<(), String> {
    tools::ensure_maven(root)?;
    let arguments = ["--quiet", "-DskipTests", "-Dmaven.javadoc.skip=true"];
    build(root, "release", &Platform::of_this_machine(), &arguments).map_err(|failure| failure.to_string())
}

fn build(root: &Path, profile: &str, platforms: &[&Platform], maven: &[&str]) -> Result<(), Failure> {
    // Where the tests have run, most of what the binding needs is built.
    let packages: &[&str] = match profile {
        PROFILE_OF_TESTS => CHECKED,
        _ => &["--package", "fulgurite-java", "--package", "fulgurite-cli"],
    };
    cargo(root, &[&["build", "--profile", profile, "--lib", "--bin", "fulgurite"], packages].concat())?;
    let library = results(root, profile).join(library_of_this_machine());
    copy_library(&library, &natives(root), &name_of_this_machine()).map_err(Failure::Failed)?;
    let left_out = fill_jars(root, profile, platforms)?;
    let natives = format!("-Dfulgurite.natives={}", natives(root).display());
    let jars = format!("-Dfulgurite.jars={}", jars(root).display());
    let program = program_property(root, profile);
    let arguments = ["--batch-mode", "--no-transfer-progress", "--file", POM, &natives, &jars, &program];
    let mut command = workspace::child(root, "mvn", &[&arguments[..], maven, &["install"]].concat());
    // Cargo adds its own directories, where Java would find another build of the library.
    command.env_remove("LD_LIBRARY_PATH");
    wait(command)?;
    // Maven prints much: the reasons are repeated where they can be seen.
    left_out.iter().for_each(|reason| eprintln!("{reason}"));
    Ok(())
}

/// The property with the path of the command-line program, for tests.
fn program_property(root: &Path, profile: &str) -> String {
    let program = results(root, profile).join(format!("fulgurite{}", std::env::consts::EXE_SUFFIX));
    format!("-Dfulgurite.program={}", program.display())
}

/// The modules whose tests can run on another JDK.
const MODULES: [&str; 2] = ["fulgurite", "fulgurite-rdf4j"];

/// Short tests of the RDF4J store: RDF4J's contract of a Sail, stacks of Sails, literals and a killed virtual machine.
const SHORT_TESTS: &str = "-Dtest=FulguriteRDFNotifyingStoreTest,StackTest,LiteralsTest,KillTest";

/// Runs tests on a newer JDK as well: it restricts native access, and has virtual threads. Leaves out those that take
/// long.
fn test_on_newer(root: &Path, profile: &str) -> Result<(), Failure> {
    let Some(jdk) = Jdk::find(Path::new(JDKS), NEWER_JDK) else {
        eprintln!("skipped: the Java tests on JDK {NEWER_JDK}, which {JDKS} does not have");
        return Ok(());
    };
    let [engine, store] = MODULES;
    jdk.test(root, profile, engine, &["-Dtest=!MisuseTest"])?;
    jdk.test(root, profile, store, &[SHORT_TESTS, "-DargLine=-Dfulgurite.kills=1"])
}

/// The JDK of this version.
///
/// # Errors
/// [`Failure::Failed`] if the system has none.
fn installed_jdk(version: u32) -> Result<Jdk, Failure> {
    let missing = || Failure::Failed(format!("--jdk: {JDKS} has no JDK {version}; install it there"));
    Jdk::find(Path::new(JDKS), version).ok_or_else(missing)
}

/// A JDK on which tests run besides that of Maven.
#[derive(Debug, PartialEq, Eq)]
struct Jdk {
    version: u32,
    home: PathBuf,
}

impl Jdk {
    /// The JDK of a version in a directory of JDKs.
    fn find(jdks: &Path, version: u32) -> Option<Self> {
        let mut homes: Vec<PathBuf> = std::fs::read_dir(jdks).ok()?.flatten().map(|entry| entry.path()).collect();
        homes.sort();
        let home = homes.into_iter().find(|home| {
            let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
            release.lines().any(|line| {
                let found = line.strip_prefix("JAVA_VERSION=\"");
                let found = found.and_then(|found| found.split(['.', '"', '+', '-']).next());
                found.and_then(|found| found.parse().ok()) == Some(version)
            })
        })?;
        Some(Self { version, home })
    }

    /// Runs tests of a module, which is built and installed.
    fn test(&self, root: &Path, profile: &str, module: &str, options: &[&str]) -> Result<(), Failure> {
        eprintln!("running tests of the module {module} on {}", self.home.display());
        let machine = format!("-Djvm={}", self.home.join("bin").join("java").display());
        let reports = format!("-Dsurefire.reportNameSuffix=jdk{}", self.version);
        let natives = format!("-Dfulgurite.natives={}", natives(root).display());
        let program = program_property(root, profile);
        let arguments = ["--batch-mode", "--no-transfer-progress", "--file", POM, "--projects", module];
        let properties = [&machine, &reports, &natives, &program, "surefire:test"];
        let mut command = workspace::child(root, "mvn", &[&arguments[..], options, &properties].concat());
        command.env_remove("LD_LIBRARY_PATH");
        wait(command)
    }
}

/// Where systems install JDKs.
const JDKS: &str = "/usr/lib/jvm";

/// The version of the JDK on which tests always run besides that of Maven.
const NEWER_JDK: u32 = 25;

/// A platform that can have a jar with its native library alone. `Platform.java`, the module's `pom.xml` and the
/// BOM have the same names.
struct Platform {
    /// The classifier of the jar, and the folder of the library in it.
    name: &'static str,
    /// The target of Rust.
    target: &'static str,
    /// The C compiler that compiles and links for it.
    compiler: &'static str,
    /// What makes archives for it.
    archiver: &'static str,
    /// The packages of Debian that have both, with the C library.
    packages: &'static [&'static str],
    /// The processor of the machines on which the compiler makes programs for this platform; `None` for all.
    only_on: Option<&'static str>,
}

const PLATFORMS: &[Platform] = &[
    Platform {
        name: "linux-x86_64",
        target: "x86_64-unknown-linux-gnu",
        compiler: "x86_64-linux-gnu-gcc",
        archiver: "x86_64-linux-gnu-ar",
        packages: &["gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"],
        only_on: None,
    },
    Platform {
        name: "linux-aarch64",
        target: "aarch64-unknown-linux-gnu",
        compiler: "aarch64-linux-gnu-gcc",
        archiver: "aarch64-linux-gnu-ar",
        packages: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
        only_on: None,
    },
    Platform {
        name: "linux-x86_64-musl",
        target: "x86_64-unknown-linux-musl",
        compiler: "musl-gcc",
        archiver: "ar",
        packages: &["musl-tools"],
        only_on: Some("x86_64"),
    },
];

/// The name of the library on every platform of [`PLATFORMS`].
const LIBRARY: &str = "libfulgurite_java.so";

impl Platform {
    /// The platforms of a list, separated by commas.
    fn named(names: &str) -> Result<Vec<&'static Self>, Failure> {
        let find = |name: &str| {
            let known = PLATFORMS.iter().find(|platform| platform.name == name.trim());
            known.ok_or_else(|| {
                let all: Vec<&str> = PLATFORMS.iter().map(|platform| platform.name).collect();
                Failure::Usage(format!("--platforms: there is no platform `{name}`; use {}", all.join(", ")))
            })
        };
        names.split(',').map(find).collect()
    }

    /// The platform on which this program runs, if it can have a jar of its own.
    fn of_this_machine() -> Vec<&'static Self> {
        PLATFORMS.iter().filter(|platform| platform.is_this_machine()).collect()
    }

    fn is_this_machine(&self) -> bool {
        self.name == name_of_this_machine()
    }

    /// Makes sure that libraries for another platform can be compiled and linked here.
    ///
    /// # Errors
    /// The reason why they cannot, and what to install.
    fn ensure(&self, root: &Path) -> Result<(), String> {
        if let Some(processor) = self.only_on.filter(|processor| *processor != std::env::consts::ARCH) {
            return Err(format!("{} makes libraries for it on machines with {processor} alone", self.compiler));
        }
        // The compiler answers with a path if it has a C library beside it.
        let is_complete = || {
            let asked = tools::quiet(workspace::child(root, self.compiler, &["-print-file-name=crti.o"]))?;
            let found = asked.trim().starts_with('/');
            found.then_some(()).ok_or_else(|| format!("{} has no C library", self.compiler))
        };
        if is_complete().is_err() {
            let help = format!("install {} (on Debian, `apt-get install {}`)", self.compiler, self.packages.join(" "));
            let install = |package: &&str| tools::install_package(root, package);
            self.packages.iter().try_for_each(install).map_err(|reason| format!("{reason}; {help}"))?;
            is_complete().map_err(|reason| format!("{reason}; {help}"))?;
        }
        tools::ensure_target(root, self.target)
    }

    /// Builds the library for another platform, and returns its file.
    fn build(&self, root: &Path, profile: &str) -> Result<PathBuf, Failure> {
        let arguments = ["build", "--locked", "--profile", profile, "--target", self.target];
        let library = ["--package", "fulgurite-java", "--lib"];
        let mut command = workspace::child(root, "cargo", &[&arguments[..], &library].concat());
        let target = self.target.replace('-', "_");
        command.env(format!("CARGO_TARGET_{}_LINKER", target.to_uppercase()), self.compiler);
        // Zstandard is C.
        command.env(format!("CC_{target}"), self.compiler).env(format!("AR_{target}"), self.archiver);
        if self.target.ends_with("-musl") {
            command.env("CARGO_ENCODED_RUSTFLAGS", self.musl_flags(root).map_err(Failure::Failed)?);
        }
        wait(command)?;
        Ok(target_of(root, self.target, profile).join(LIBRARY))
    }

    /// Flags by which the library uses the musl of the machine that loads it: a library with a musl of its own cannot
    /// be loaded. Rust would also take its unwinder from libgcc_s then, which many machines with musl lack, and
    /// `musl-gcc` does not find. So a linker script of that name links Rust's own unwinder.
    fn musl_flags(&self, root: &Path) -> Result<String, String> {
        let ask = ["--print", "target-libdir", "--target", self.target];
        let libraries = tools::quiet(workspace::child(root, "rustc", &ask))?;
        let unwinder = Path::new(libraries.trim()).join("self-contained").join("libunwind.a");
        if !unwinder.is_file() {
            return Err(format!("{}: the target {} has no unwinder there", unwinder.display(), self.target));
        }
        let place = target(root).join("java").join("unwinder");
        let script = place.join("libgcc_s.so");
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        std::fs::write(&script, format!("INPUT ( \"{}\" )\n", unwinder.display()))
            .map_err(|error| format!("{}: {error}", script.display()))?;
        let place = format!("native={}", place.display());
        Ok(["-C", "target-feature=-crt-static", "-L", &place].join("\x1f"))
    }
}

/// Fills the directories from which Maven makes jars with one native library each, and removes those of earlier
/// builds. Returns which platforms are left out, and why.
fn fill_jars(root: &Path, profile: &str, platforms: &[&Platform]) -> Result<Vec<String>, Failure> {
    let jars = jars(root);
    if let Err(error) = std::fs::remove_dir_all(&jars)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(Failure::Failed(format!("{}: {error}", jars.display())));
    }
    let mut left_out = Vec::new();
    for platform in platforms {
        let library = if platform.is_this_machine() {
            results(root, profile).join(LIBRARY)
        } else if let Err(reason) = platform.ensure(root) {
            let reason = format!("left out: the jar for {}: {reason}", platform.name);
            eprintln!("{reason}");
            left_out.push(reason);
            continue;
        } else {
            platform.build(root, profile)?
        };
        let jar = jars.join(platform.name);
        copy_library(&library, &jar, platform.name)
            .and_then(|()| copy_licences(root, &jar.join("META-INF")))
            .map_err(Failure::Failed)?;
    }
    Ok(left_out)
}

/// Copies a library to where `NativeLibrary.java` looks for it, below the directory with a jar's content.
fn copy_library(library: &Path, content: &Path, platform: &str) -> Result<(), String> {
    let place = content.join("org").join("fulgurite").join("native").join(platform);
    let name = library.file_name().ok_or_else(|| format!("{}: not a file", library.display()))?;
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    std::fs::copy(library, place.join(name)).map_err(|error| format!("{}: {error}", library.display()))?;
    Ok(())
}

fn copy_licences(root: &Path, place: &Path) -> Result<(), String> {
    std::fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        std::fs::copy(root.join(name), place.join(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// What `Platform.java` calls the platform of this machine.
fn name_of_this_machine() -> String {
    let c_library = if cfg!(target_env = "musl") { "-musl" } else { "" };
    format!("{}-{}{c_library}", std::env::consts::OS, std::env::consts::ARCH)
}

fn library_of_this_machine() -> String {
    format!("{}fulgurite_java{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// Where cargo puts what it builds for another target.
fn target_of(root: &Path, name: &str, profile: &str) -> PathBuf {
    target(root).join(name).join(if profile == PROFILE_OF_TESTS { "debug" } else { profile })
}

/// The directories with the content of the jars that have one native library each.
fn jars(root: &Path) -> PathBuf {
    target(root).join("java").join("jars")
}

/// What the main jar has besides its classes.
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
        assert_eq!(Jdk::find(&jdks, 25), Some(Jdk { version: 25, home: jdks.join("b") }));
        assert_eq!(Jdk::find(&jdks, 250), Some(Jdk { version: 250, home: jdks.join("d") }));
        assert_eq!(Jdk::find(&jdks, 21), None);
        assert_eq!(Jdk::find(&jdks.join("missing"), 25), None);
        std::fs::remove_dir_all(&jdks).unwrap();
    }

    fn asked(line: &str) -> Result<(bool, Vec<&'static str>, Vec<String>), String> {
        let arguments: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
        let asked = Asked::parse(&arguments).map_err(|failure| failure.to_string())?;
        let names = asked.platforms.iter().map(|platform| platform.name).collect();
        Ok((asked.is_release, names, asked.maven.iter().map(|argument| (*argument).to_owned()).collect()))
    }

    #[test]
    fn options_are_taken_and_the_rest_goes_to_maven() {
        let (is_release, platforms, maven) =
            asked("--release -DskipTests --platforms linux-x86_64,linux-aarch64 verify").unwrap();
        assert!(is_release);
        assert_eq!(platforms, ["linux-x86_64", "linux-aarch64"]);
        assert_eq!(maven, ["-DskipTests", "verify"]);
        assert_eq!(asked("--platforms=linux-x86_64-musl").unwrap().1, ["linux-x86_64-musl"]);
        let own: Vec<&str> = Platform::of_this_machine().iter().map(|platform| platform.name).collect();
        assert_eq!(asked("").unwrap(), (false, own, vec![]));
    }

    #[test]
    fn the_version_of_a_jdk_is_a_number() {
        let jdk_of = |line: &str| {
            let arguments: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
            Asked::parse(&arguments).map(|asked| asked.jdk).map_err(|failure| failure.to_string())
        };
        assert_eq!(jdk_of("--jdk 25 -DskipTests"), Ok(Some(25)));
        assert_eq!(jdk_of("--jdk=21"), Ok(Some(21)));
        assert_eq!(jdk_of("-Djdk=25"), Ok(None));
        for line in ["--jdk", "--jdk new"] {
            assert!(jdk_of(line).unwrap_err().contains("not a version"), "{line}");
        }
    }

    #[test]
    fn an_unknown_platform_is_named_beside_the_known_ones() {
        for line in ["--platforms linux-sparc", "--platforms linux-x86_64,linux-sparc", "--platforms"] {
            let reason = asked(line).unwrap_err();
            assert!(reason.contains("no platform `") && reason.contains("linux-x86_64-musl"), "{reason}");
        }
    }

    #[test]
    fn every_platform_has_a_jar_an_entry_of_the_bom_and_a_loader_that_names_it() {
        let root = workspace::root().expect("cargo runs this test");
        let read = |path: &str| std::fs::read_to_string(root.join("bindings/java").join(path)).unwrap();
        let loader = read("fulgurite/src/main/java/org/fulgurite/internal/Platform.java");
        let (module, bom) = (read("fulgurite/pom.xml"), read("bom/pom.xml"));
        for platform in PLATFORMS {
            let classifier = format!("<classifier>{}</classifier>", platform.name);
            assert!(module.contains(&classifier) && bom.contains(&classifier), "{}", platform.name);
            assert!(loader.contains(&format!("\"{}\"", platform.name)), "{}", platform.name);
        }
    }

    #[test]
    fn a_compiler_for_another_processor_is_left_out_with_its_reason() {
        let only = Platform { only_on: Some("sparc64"), ..PLATFORMS[2] };
        let reason = only.ensure(Path::new(".")).unwrap_err();
        assert!(reason.contains("musl-gcc") && reason.contains("sparc64"), "{reason}");
    }
}
