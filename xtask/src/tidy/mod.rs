//! `cargo xtask tidy`: the rules of the house that no compiler knows.
//!
//! Each rule is a file with one `check` over the [`Tree`], a table at its head that says what is allowed, and tests that
//! plant violations. A [`Finding`] names the file, the line, and the mend.

mod cycles;
mod dependencies;
mod documents;
mod errors;
mod folders;
mod format_hash;
mod imports;
mod length;
mod named_paths;
mod paths;
mod plain_words;
mod ratchet;
mod rust;
mod tree;
mod unsafety;
mod width;
mod words;

use std::fmt;
use std::path::Path;

use crate::command::{Command, Failure};
use crate::workspace;
use tree::Tree;

/// `cargo xtask tidy`
pub const TIDY: Command = Command {
    name: "tidy",
    summary: "the house rules: layers, lengths, unsafe, links, words",
    help: "\
Usage: cargo xtask tidy [--accept-format | --circles | --tighten]

Checks every file that git knows or would add, and prints each finding as FILE:LINE: what is wrong; the mend.

Options:
  --accept-format   record that the file format's code and document belong together as they are now
  --circles         print every import that is part of a circle of files
  --tighten         shrink the lists of what is still allowed to what the sources need",
    run: tidy,
};

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    path: String,
    line: usize,
    offence: String,
    mend: String,
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
type Rule = fn(&Tree, &mut Vec<Finding>);

const RULES: &[Rule] = &[
    rust::check,
    imports::check,
    dependencies::check,
    length::check,
    unsafety::check,
    words::check,
    paths::check,
    documents::check,
    errors::check,
    named_paths::check,
    format_hash::check,
    ratchet::check,
];

fn tidy(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check_workspace(&root),
        ["--accept-format"] => format_hash::accept(&root, &Tree::read(&root)?),
        ["--circles"] => {
            let imports = cycles::imports_in_circles(&Tree::read(&root)?);
            imports.iter().for_each(|import| println!("{import}"));
            Ok(())
        }
        ["--tighten"] => {
            let tree = Tree::read(&root)?;
            length::tighten(&root, &tree).and(ratchet::tighten(&root, &tree))
        }
        _ => Err(Failure::Usage("takes one option at most".into())),
    }
}

/// Checks every rule over the workspace and prints what it finds.
///
/// # Errors
/// Fails if there is a finding, or if a file cannot be read.
pub fn check_workspace(root: &Path) -> Result<(), Failure> {
    let tree = Tree::read(root)?;
    let findings = findings(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files, no finding", tree.files().len());
            Ok(())
        }
        count => Err(Failure::Failed(format!("{count} findings in {} files", tree.files().len()))),
    }
}

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        rule(tree, &mut findings);
    }
    findings.sort();
    findings
}

/// What a rule's tests share: a tree of planted files, and the lines that a rule finds in it.
#[cfg(test)]
mod planted {
    use super::{Finding, Rule, Tree};

    /// The findings of `rule` on `files`, as `path:line`, in order.
    pub fn places(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
        let mut found: Vec<Finding> = all(rule, files);
        found.sort();
        found.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }

    /// The findings of `rule` on `files`.
    pub fn all(rule: Rule, files: &[(&str, &str)]) -> Vec<Finding> {
        let tree = Tree::planted(files);
        let mut found = Vec::new();
        rule(&tree, &mut found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_file_the_line_and_the_mend() {
        let finding = Finding::new("src/a.rs", 7, "`b` is above `a`", "take it as an argument");
        assert_eq!(finding.to_string(), "src/a.rs:7: `b` is above `a`; take it as an argument");
    }

    #[test]
    fn the_tree_holds_this_very_file() {
        let root = workspace::root().expect("cargo runs this test");
        let tree = Tree::read(&root).expect("git lists the files");
        let file = tree.file("xtask/src/tidy/mod.rs").expect("git tracks it");
        assert!(file.text.contains("the_tree_holds_this_very_file") && file.tokens.is_some());
        assert!(tree.contains("xtask") && !tree.contains("xtas"));
        assert!(tree.contains("data/wordnet/synsets.tsv.gz"), "binary files are there too");
    }
}
