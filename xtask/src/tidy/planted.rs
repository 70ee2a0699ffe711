//! What the tests of rules share: a tree of planted files, and the lines that a rule finds in it.

use super::finding::{Finding, Rule};
use super::tree::Tree;

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
