//! Rule: the code of the file format and its document change together, and never unnoticed.
//!
//! [`RECORD`] holds one hash over both. A change to either has to be acknowledged, which is the moment to ask whether
//! files that exist can still be read. Tests decide nothing that is stored, and are left out.

use std::path::Path;

use proc_macro2::{Delimiter, TokenTree};
use xxhash_rust::xxh3::Xxh3;

use crate::command::Failure;
use crate::tidy::finding::Finding;
use crate::tidy::tree::{File, Tree, is_sign, is_word, line_of, within};

const CODE: &str = "crates/engine/src/format/";
const DOCUMENT: &str = "docs/reference/file-format.md";
const RECORD: &str = "docs/reference/file-format.hash";

const MEND: &str = "raise the format version and describe the change, or make sure that no stored byte has changed its \
                    meaning; see that the golden file test passes; then run `cargo xtask tidy --accept-format`";

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let recorded = tree.file(RECORD).map(|file| file.text.trim());
    let Some(current) = hash(tree) else {
        if recorded.is_some() {
            findings.push(Finding::new(RECORD, 1, "there is no file format to record", "delete the record"));
        }
        return;
    };
    if recorded != Some(current.as_str()) {
        let offence = format!("{CODE} or {DOCUMENT} is not what was recorded (now {current})");
        findings.push(Finding::new(RECORD, 1, offence, MEND));
    }
}

/// Records the format as it is now.
///
/// # Errors
/// Fails if there is no format yet, or the record cannot be written.
pub fn accept(root: &Path, tree: &Tree) -> Result<(), Failure> {
    let current = hash(tree).ok_or_else(|| Failure::Failed(format!("neither {CODE} nor {DOCUMENT} exists")))?;
    std::fs::write(root.join(RECORD), format!("{current}\n"))
        .map_err(|error| Failure::Failed(format!("{RECORD}: {error}")))?;
    println!(
        "recorded {current}\nBy this you say one of two things; put the one that holds into the commit:\n\
         - stored bytes changed their meaning: the format version was raised, and {DOCUMENT} tells its history;\n\
         - only wording or code changed: files that exist read as before.\n\
         The golden file test must pass: cargo test --package fulgurite golden"
    );
    Ok(())
}

/// XXH3 of 128 bits over paths and contents in the order of paths; `None` if there is nothing to hash.
fn hash(tree: &Tree) -> Option<String> {
    let mut hasher = Xxh3::new();
    let mut count = 0;
    for file in tree.files().iter().filter(|file| decides(&file.path)) {
        count += 1;
        for part in [&file.path, &without_tests(file)] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    (count > 0).then(|| format!("{:032x}", hasher.digest128()))
}

/// Whether a file may decide what is stored, or says so: tests have files or a directory of their own.
fn decides(path: &str) -> bool {
    let is_test = |path: &str| path.split('/').any(|part| part == "tests" || part == "tests.rs");
    path == DOCUMENT || path.strip_prefix(CODE).is_some_and(|path| !is_test(path))
}

/// A file's text without the lines of its modules of tests, which stand at its outermost level.
fn without_tests(file: &File) -> String {
    let tests: Vec<_> = file.tokens.as_deref().map(lines_of_tests).unwrap_or_default();
    let lines = (1..).zip(file.text.split_inclusive('\n'));
    lines.filter(|(number, _)| !tests.iter().any(|lines| lines.contains(number))).map(|(_, line)| line).collect()
}

/// First and last line of each module below `#[cfg(test)]`.
fn lines_of_tests(tokens: &[TokenTree]) -> Vec<std::ops::RangeInclusive<usize>> {
    let module = |at: usize| {
        let attribute = within(tokens.get(at + 1), Delimiter::Bracket)?;
        let condition = within(attribute.get(1), Delimiter::Parenthesis)?;
        let is_for_tests = is_sign(tokens.get(at), '#')
            && (attribute.len() == 2 && is_word(attribute.first(), "cfg"))
            && (condition.len() == 1 && is_word(condition.first(), "test"));
        match tokens.get(at + 4) {
            Some(body) if is_for_tests && is_word(tokens.get(at + 2), "mod") => {
                Some(line_of(&tokens[at])..=body.span().end().line)
            }
            _ => None,
        }
    };
    (0..tokens.len()).filter_map(module).collect()
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENT, RECORD, check, hash};
    use crate::tidy::planted::{all, places};
    use crate::tidy::tree::Tree;

    const LEAF: &str = "crates/engine/src/format/leaf.rs";

    fn recorded(files: &[(&str, &str)]) -> String {
        hash(&Tree::planted(files)).expect("there is something to hash")
    }

    #[test]
    fn a_change_of_the_code_or_of_the_document_has_to_be_acknowledged() {
        let record = recorded(&[(LEAF, "a"), (DOCUMENT, "b")]);
        assert!(places(check, &[(LEAF, "a"), (DOCUMENT, "b"), (RECORD, &record)]).is_empty());
        for (code, document) in [("A", "b"), ("a", "B")] {
            let found = all(check, &[(LEAF, code), (DOCUMENT, document), (RECORD, &record)]);
            assert_eq!(found.len(), 1);
            assert!(found[0].to_string().contains("--accept-format"));
        }
    }

    #[test]
    fn a_file_that_moves_comes_or_goes_is_a_change() {
        let record = recorded(&[(LEAF, "a"), (DOCUMENT, "b")]);
        let moved = "crates/engine/src/format/branch.rs";
        assert_eq!(places(check, &[(moved, "a"), (DOCUMENT, "b"), (RECORD, &record)]).len(), 1);
        assert_eq!(places(check, &[(LEAF, "a"), (RECORD, &record)]).len(), 1);
        assert_eq!(places(check, &[(LEAF, "a"), (DOCUMENT, "b")]), [format!("{RECORD}:1")]);
    }

    #[test]
    fn tests_do_not_matter_and_what_stands_around_them_does() {
        let with = |test: &str, rest: &str| {
            format!("//! A leaf.\nfn a() {{}}\n\n#[cfg(test)]\nmod tests {{\n    fn t() {{ {test} }}\n}}\n{rest}\n")
        };
        let record = recorded(&[(LEAF, &with("1", "fn b() {}"))]);
        let found = |text: &str| places(check, &[(LEAF, text), (RECORD, &record)]).len();
        assert_eq!((found(&with("1", "fn b() {}")), found(&with("[2, 3];\n}\nfn u() {", "fn b() {}"))), (0, 0));
        assert_eq!((found(&with("1", "fn c() {}")), found(&with("1", "fn b() {}").replace("fn a", "fn d"))), (1, 1));
        // Another condition is not that of tests, and neither is one on something else than a module.
        for other in ["#[cfg(not(test))]\nmod tests { fn t() { 1 } }", "#[cfg(test)]\nfn t() { 1 }"] {
            let record = recorded(&[(LEAF, other)]);
            assert_eq!(places(check, &[(LEAF, &other.replace('1', "2")), (RECORD, &record)]).len(), 1, "{other}");
        }
    }

    #[test]
    fn files_of_tests_do_not_matter() {
        let record = recorded(&[(LEAF, "a")]);
        for path in ["crates/engine/src/format/tests/leaves.rs", "crates/engine/src/format/search/tests.rs"] {
            assert!(places(check, &[(LEAF, "a"), (path, "b"), (RECORD, &record)]).is_empty(), "{path}");
        }
        let named_like_tests = "crates/engine/src/format/contests.rs";
        assert_eq!(places(check, &[(LEAF, "a"), (named_like_tests, "b"), (RECORD, &record)]).len(), 1);
    }

    #[test]
    fn files_elsewhere_do_not_matter() {
        let record = recorded(&[(LEAF, "a")]);
        assert!(places(check, &[(LEAF, "a"), ("crates/engine/src/io/os.rs", "c"), (RECORD, &record)]).is_empty());
        assert!(places(check, &[("crates/engine/src/io/os.rs", "c")]).is_empty());
    }
}
