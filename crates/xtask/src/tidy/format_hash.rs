//! Rule: the code of the file format and its document change together, and never unnoticed.
//!
//! [`RECORD`] holds one hash over both. A change to either has to be acknowledged, which is the moment to ask whether files
//! that exist can still be read.

use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use super::Finding;
use super::tree::Tree;
use crate::command::Failure;

const CODE: &str = "crates/engine/src/format/";
const DOCUMENT: &str = "docs/file-format.md";
const RECORD: &str = "docs/file-format.hash";

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
    for file in tree.files().iter().filter(|file| file.path.starts_with(CODE) || file.path == DOCUMENT) {
        count += 1;
        for part in [&file.path, &file.text] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
    }
    (count > 0).then(|| format!("{:032x}", hasher.digest128()))
}

#[cfg(test)]
mod tests {
    use super::super::planted::{all, places};
    use super::super::tree::Tree;
    use super::{DOCUMENT, RECORD, check, hash};

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
    fn files_elsewhere_do_not_matter() {
        let record = recorded(&[(LEAF, "a")]);
        assert!(places(check, &[(LEAF, "a"), ("crates/engine/src/io/os.rs", "c"), (RECORD, &record)]).is_empty());
        assert!(places(check, &[("crates/engine/src/io/os.rs", "c")]).is_empty());
    }
}
