//! Runs every rule over the sources.

use std::path::Path;

use super::finding::{Finding, Rule};
use super::tree::Tree;
use super::{prose, ratchet, structure};
use crate::command::{Command, Failure};
use crate::workspace;

/// `cargo xtask tidy`
pub const TIDY: Command = Command {
    name: "tidy",
    summary: "check the house rules: layers, lengths, unsafe, links, words",
    help: "\
Usage: cargo xtask tidy [--accept-format | --circles | --tighten]

Checks every file that git knows or would add, and prints each finding as FILE:LINE: what is wrong; how to fix it.

Options:
  --accept-format   record that the file format's code and document belong together as they are now
  --circles         print every import that is part of an import cycle between files
  --tighten         shrink the lists of what is still allowed to what the sources need",
    run: tidy,
};

const RULES: &[Rule] = &[
    structure::rust::check,
    structure::layers::check,
    structure::dependencies::check,
    structure::length::check,
    structure::unsafety::check,
    prose::words::check,
    prose::machine_paths::check,
    prose::links::check,
    prose::errors::check,
    prose::named_paths::check,
    structure::format_hash::check,
    ratchet::check,
];

fn tidy(arguments: &[String]) -> Result<(), Failure> {
    let root = workspace::root()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => check_workspace(&root),
        ["--accept-format"] => structure::format_hash::accept(&root, &Tree::read(&root)?),
        ["--circles"] => {
            let imports = structure::cycles::imports_in_circles(&Tree::read(&root)?);
            imports.iter().for_each(|import| println!("{import}"));
            Ok(())
        }
        ["--tighten"] => {
            let tree = Tree::read(&root)?;
            structure::length::tighten(&root, &tree).and(ratchet::tighten(&root, &tree))
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
        let file = tree.file("xtask/src/tidy/command.rs").expect("git tracks it");
        assert!(file.text.contains("the_tree_holds_this_very_file") && file.tokens.is_some());
        assert!(tree.contains("xtask") && !tree.contains("xtas"));
        assert!(tree.contains("data/wordnet/synsets.tsv.gz"), "binary files are there too");
    }
}
