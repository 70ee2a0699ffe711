//! Rules that the sources do not keep everywhere yet: what each place still breaks is counted in [`LIST`], and may only
//! fall.

use std::collections::BTreeMap;
use std::path::Path;

use super::finding::{Count, Finding};
use super::prose::{plain_words, width};
use super::structure::{cycles, folders};
use super::tree::Tree;
use crate::command::Failure;

/// What is still allowed: one `RULE PATH COUNT` a line.
const LIST: &str = "xtask/ratchet.txt";

/// A rule that counts.
type Counting = fn(&Tree) -> Vec<Count>;

const RULES: &[Counting] = &[cycles::count, folders::count, plain_words::count, width::count];

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    check_counts(tree, &counts(tree), findings);
}

fn check_counts(tree: &Tree, counts: &[Count], findings: &mut Vec<Finding>) {
    let mut list = read(tree, findings);
    for count in counts {
        let key = (count.rule.to_owned(), count.path.clone());
        let allowed = list.remove(&key).unwrap_or_default();
        if count.count > allowed.count {
            let offence = format!("{} ({}, allowed {})", count.offence, count.count, allowed.count);
            findings.push(Finding::new(&count.path, count.line, offence, count.mend));
        } else if count.count < allowed.count {
            findings.push(loose(&key, allowed, count.count));
        }
    }
    findings.extend(list.iter().map(|(key, allowed)| loose(key, *allowed, 0)));
}

fn loose(key: &(String, String), allowed: Allowed, now: usize) -> Finding {
    let offence = format!("`{}` of {} has fallen from {} to {now}", key.0, key.1, allowed.count);
    Finding::new(LIST, allowed.line, offence, "run `cargo xtask tidy --tighten`")
}

/// Rewrites the list so that it allows what the sources need and no more; it never adds or raises an entry.
///
/// # Errors
/// Fails if the list cannot be written.
pub fn tighten(root: &Path, tree: &Tree) -> Result<(), Failure> {
    let text = tightened(tree, &counts(tree));
    std::fs::write(root.join(LIST), text).map_err(|error| Failure::Failed(format!("{LIST}: {error}")))
}

fn tightened(tree: &Tree, counts: &[Count]) -> String {
    let comments = tree.file(LIST).map_or("", |file| &file.text).lines().take_while(|line| line.starts_with('#'));
    let mut text: String = comments.map(|line| format!("{line}\n")).collect();
    let list = read(tree, &mut Vec::new());
    for count in counts {
        let allowed = list.get(&(count.rule.to_owned(), count.path.clone()));
        if let Some(allowed) = allowed {
            text.push_str(&format!("{} {} {}\n", count.rule, count.path, count.count.min(allowed.count)));
        }
    }
    text
}

/// The counts of all rules, in the order of the list.
fn counts(tree: &Tree) -> Vec<Count> {
    let mut counts: Vec<Count> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    counts.sort_by(|a, b| (a.rule, &a.path).cmp(&(b.rule, &b.path)));
    counts
}

/// An entry of the list.
#[derive(Clone, Copy, Default)]
struct Allowed {
    line: usize,
    count: usize,
}

fn read(tree: &Tree, findings: &mut Vec<Finding>) -> BTreeMap<(String, String), Allowed> {
    let mut list = BTreeMap::new();
    let lines = tree.file(LIST).map_or("", |file| &file.text).lines().zip(1..);
    for (text, line) in lines.filter(|(text, _)| !text.is_empty() && !text.starts_with('#')) {
        let words: Vec<&str> = text.split(' ').collect();
        match (&words[..], words.last().and_then(|count| count.parse().ok())) {
            ([rule, path, _], Some(count)) => {
                list.insert(((*rule).to_owned(), (*path).to_owned()), Allowed { line, count });
            }
            _ => findings.push(Finding::new(LIST, line, "not an entry", "write RULE PATH COUNT")),
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, count: usize) -> Count {
        Count { rule: "words", path: path.into(), line: 3, count, offence: "odd words".into(), mend: "mend them" }
    }

    fn found(list: &str, counts: &[Count]) -> Vec<String> {
        let mut findings = Vec::new();
        check_counts(&Tree::planted(&[(LIST, list)]), counts, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_count_may_stay_but_not_rise() {
        assert!(found("# why\nwords a.rs 2\n", &[count("a.rs", 2)]).is_empty());
        assert_eq!(found("words a.rs 2\n", &[count("a.rs", 3)]), ["a.rs:3: odd words (3, allowed 2); mend them"]);
        assert_eq!(found("", &[count("a.rs", 1)]), ["a.rs:3: odd words (1, allowed 0); mend them"]);
        assert_eq!(found("other a.rs 1\n", &[count("a.rs", 1)]).len(), 2);
    }

    #[test]
    fn an_entry_that_allows_too_much_is_found_and_tightened() {
        let list = "# why\nwords a.rs 2\nwords gone.rs 1\n";
        assert_eq!(found(list, &[count("a.rs", 1)]).len(), 2);
        let tree = Tree::planted(&[(LIST, list)]);
        assert_eq!(tightened(&tree, &[count("a.rs", 1)]), "# why\nwords a.rs 1\n");
        assert_eq!(tightened(&tree, &[count("a.rs", 5), count("new.rs", 1)]), "# why\nwords a.rs 2\n");
    }

    #[test]
    fn an_entry_that_cannot_be_read_is_found() {
        assert_eq!(found("words a.rs\n", &[]), [format!("{LIST}:1: not an entry; write RULE PATH COUNT")]);
    }
}
