//! Programs in Java that measure an engine for a suite. `cargo xtask bench` builds them, and names their directories in
//! variables of the environment.

use std::path::PathBuf;
use std::process::Command;

use crate::error::{Error, Result};

/// A program in Java.
#[derive(Clone, Copy, Debug)]
pub struct JavaProgram {
    /// The suite whose command builds it.
    pub suite: &'static str,
    /// The variable that names its directory.
    pub variable: &'static str,
    /// Its class.
    pub class: &'static str,
    /// Options of the virtual machine.
    pub options: &'static [&'static str],
}

impl JavaProgram {
    /// Why it cannot run here.
    pub fn missing(&self) -> Option<String> {
        match self.directory() {
            Some(_) => None,
            None => Some(format!(
                "its program in Java was not built; install a JDK (17 or later) and Maven, and start this by \
                 `cargo xtask bench {}`, which builds it",
                self.suite
            )),
        }
    }

    fn directory(&self) -> Option<PathBuf> {
        let directory = PathBuf::from(std::env::var_os(self.variable)?);
        (directory.join("classes").is_dir() && directory.join("jars").is_dir()).then_some(directory)
    }

    /// A command that runs it, with more options of the virtual machine.
    ///
    /// # Errors
    /// [`Error::Usage`] if it was not built.
    pub fn command(&self, options: &[String], arguments: &[String]) -> Result<Command> {
        let missing = || Error::Usage(format!("the variable {} does not name the built program", self.variable));
        let directory = self.directory().ok_or_else(missing)?;
        let classes = format!("{}:{}/*", directory.join("classes").display(), directory.join("jars").display());
        let mut command = Command::new("java");
        command.args(self.options).args(options).args(["-cp", &classes, self.class]).args(arguments);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_not_built_says_which_command_builds_it() {
        let program =
            JavaProgram { suite: "tides", variable: "FULGURITE_NO_SUCH_PROGRAM", class: "Main", options: &[] };
        let reason = program.missing().expect("nobody sets this variable");
        assert!(reason.contains("cargo xtask bench tides"), "{reason}");
        let error = program.command(&[], &[]).expect_err("there is no program").to_string();
        assert!(error.contains("FULGURITE_NO_SUCH_PROGRAM"), "{error}");
    }
}
