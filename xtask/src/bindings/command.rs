//! The command and the steps of CI.

use std::path::Path;

use crate::bindings::{c, go, python};
use crate::command::{Command, Failure};
use crate::step::{Outcome, outcome};
use crate::workspace::{self, PROFILE_OF_TESTS};

/// `cargo xtask bindings`
pub const BINDINGS: Command = Command {
    name: "bindings",
    summary: "build and test the bindings for C, Python and Go",
    help: "\
Usage: cargo xtask bindings [c] [python] [go] [--profile PROFILE]

Builds the bindings and runs their tests; all of them if none is named.

  c        builds the library, installs it below target/bindings/c (header, libraries, pkg-config file), and runs the
           programs of bindings/c with AddressSanitizer; needs compilers for C and C++, and pkg-config
  python   builds the wheel of bindings/python into target/bindings/wheels, installs it into fresh environments, and
           runs its tests, stubtest, mypy and pyright; needs Python 3.11 or later with venv, and PyPI or a mirror of it
  go       runs go vet and go test -race in bindings/go, with the library that `c` installs; needs Go 1.24 or later, or
           PyPI to install it

A binding whose tools are missing is skipped, with the reason. If a binding is named, that is a failure.

Options:
  --profile PROFILE   the profile of cargo: dev, fast-build, release [default: dev]; use release for a library or wheel
                      to be used

Example: cargo xtask bindings c --profile release",
    run: bindings,
};

/// A binding, and how it is built and tested with a profile.
type Binding = (&'static str, fn(&Path, &str) -> Result<(), Failure>);

const ALL: [Binding; 3] =
    [("c", c::check), ("python", |root, profile| python::check(root, profile, profile)), ("go", go::check)];

fn bindings(arguments: &[String]) -> Result<(), Failure> {
    let (named, profile) = parse(arguments)?;
    let root = workspace::root()?;
    for (name, check) in ALL {
        if !named.is_empty() && !named.contains(&name) {
            continue;
        }
        match check(&root, &profile) {
            Err(Failure::Unavailable(reason)) if named.is_empty() => eprintln!("skipped {name}: {reason}"),
            result => result?,
        }
    }
    Ok(())
}

/// The bindings that are named, and the profile.
fn parse(arguments: &[String]) -> Result<(Vec<&str>, String), Failure> {
    let (mut named, mut profile) = (Vec::new(), DEFAULT_PROFILE.to_owned());
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--profile" => {
                let given = arguments.next().ok_or_else(|| Failure::Usage("--profile needs a profile".into()))?;
                profile = given.to_owned();
            }
            name if ALL.iter().any(|(known, _)| *known == name) => named.push(name),
            other => return Err(Failure::Usage(format!("`{other}` is neither c, python, go nor --profile"))),
        }
    }
    Ok((named, profile))
}

/// For tests: it is built in a fraction of the time that the others take.
const DEFAULT_PROFILE: &str = "dev";

/// The step of CI for C.
pub fn check_c(root: &Path) -> Outcome {
    outcome(c::check(root, PROFILE_OF_TESTS))
}

/// The step of CI for Python.
pub fn check_python(root: &Path) -> Outcome {
    outcome(python::check(root, DEFAULT_PROFILE, PROFILE_OF_TESTS))
}

/// The step of CI for Go.
pub fn check_go(root: &Path) -> Outcome {
    outcome(go::check(root, PROFILE_OF_TESTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_a_profile_are_parsed_and_others_refused() {
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        let arguments = words("go c --profile dev");
        assert_eq!(parse(&arguments).unwrap(), (vec!["go", "c"], "dev".to_owned()));
        assert!(matches!(parse(&words("rust")), Err(Failure::Usage(_))));
        assert!(matches!(parse(&words("--profile")), Err(Failure::Usage(_))));
    }
}
