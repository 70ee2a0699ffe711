//! What a rule finds.

use std::fmt;

use super::tree::Tree;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub offence: String,
    /// How to mend it.
    pub mend: String,
}

impl Finding {
    /// A violation in line `line` (from 1) of `path`.
    pub fn new(path: &str, line: usize, offence: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { path: path.into(), line, offence: offence.into(), mend: mend.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}; {}", self.path, self.line, self.offence, self.mend)
    }
}

/// A rule: adds what it finds.
pub type Rule = fn(&Tree, &mut Vec<Finding>);

/// How often one file or folder breaks one rule that the sources do not keep everywhere yet.
pub struct Count {
    /// The rule, in one word.
    pub rule: &'static str,
    /// The file or folder.
    pub path: String,
    /// The line of the first violation, from 1.
    pub line: usize,
    /// How many there are; not zero.
    pub count: usize,
    /// What they are, for a person.
    pub offence: String,
    /// How to mend them.
    pub mend: &'static str,
}
