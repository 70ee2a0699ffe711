//! The command line of the whole program: the first argument names a suite, a command on results, or a task.

use crate::error::{Error, Result};

/// Runs a suite or a command with the arguments that follow its name. Returns whether everything that was judged is
/// good.
pub type Execute = fn(Vec<String>) -> Result<bool>;

/// Does a part of a suite, as the arguments say.
pub type Work = fn(&[String]) -> Result<()>;

/// Everything that the program can be asked for.
pub struct Program {
    /// Every suite by its name.
    pub suites: &'static [(&'static str, Execute)],
    /// Commands on the results of suites, by their names.
    pub commands: &'static [(&'static str, Execute)],
    /// What processes of this program do for others of it, by the word that asks for it.
    pub tasks: &'static [(&'static str, Work)],
    /// What the program prints without arguments, and for `--help`.
    pub help: &'static str,
}

impl Program {
    /// Does what the arguments that follow the program's name ask for. Returns whether everything that was judged is
    /// good.
    ///
    /// # Errors
    /// [`Error::Usage`] if the arguments are not understood; what the suite met otherwise.
    pub fn start(&self, arguments: impl IntoIterator<Item = String>) -> Result<bool> {
        let mut arguments = arguments.into_iter();
        let name = arguments.next().unwrap_or_else(|| "--help".to_owned());
        let rest: Vec<String> = arguments.collect();
        if matches!(name.as_str(), "-h" | "--help" | "help") {
            print!("{}", self.help);
            return Ok(true);
        }
        if let Some((_, execute)) = self.suites.iter().chain(self.commands).find(|(known, _)| *known == name) {
            return execute(rest);
        }
        match self.tasks.iter().find(|(known, _)| *known == name) {
            Some((_, work)) => work(&rest).map(|()| true),
            None => Err(Error::Usage(format!("unknown suite or command `{name}`"))),
        }
    }
}
