//! Command-line arguments of the proofs: names with numbers, and flags.

/// The arguments that are not yet taken.
#[derive(Debug)]
pub struct Arguments {
    rest: Vec<String>,
    help: &'static str,
}

impl Arguments {
    /// The arguments of this process. Prints the help and exits if they ask for it.
    pub fn from_env(help: &'static str) -> Self {
        let rest: Vec<String> = std::env::args().skip(1).collect();
        if rest.iter().any(|argument| argument == "--help" || argument == "-h") {
            print!("{help}");
            std::process::exit(0);
        }
        Self { rest, help }
    }

    /// The number after `name`, or a default.
    pub fn number(&mut self, name: &str, default: u64) -> u64 {
        let Some(text) = self.text(name) else { return default };
        text.parse().unwrap_or_else(|_| self.fail(&format!("{name} takes a number, not {text}")))
    }

    /// The text after `name`.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let at = self.rest.iter().position(|argument| argument == name)?;
        self.rest.remove(at);
        if at == self.rest.len() {
            self.fail(&format!("{name} takes a value"));
        }
        Some(self.rest.remove(at))
    }

    /// Whether `name` is there.
    pub fn flag(&mut self, name: &str) -> bool {
        let at = self.rest.iter().position(|argument| argument == name);
        at.map(|at| self.rest.remove(at)).is_some()
    }

    /// Exits if arguments are left over.
    pub fn finish(self) {
        if let Some(argument) = self.rest.first() {
            self.fail(&format!("unknown argument {argument}"));
        }
    }

    fn fail(&self, message: &str) -> ! {
        eprintln!("{message}\n\n{}", self.help);
        std::process::exit(2);
    }
}
