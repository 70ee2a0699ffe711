//! Rule: no path of one person's machine in the repository.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

/// First directories of such paths. Spelled without the slashes, so that this file does not find itself.
const MACHINE_DIRECTORIES: &[&str] = &["work", "root", "home", "farm", "Users"];

/// Files whose content is not ours.
const FOREIGN: &[&str] = &["Cargo.lock"];

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files().iter().filter(|file| !FOREIGN.contains(&file.path.as_str())) {
        for (index, line) in file.text.lines().enumerate() {
            for directory in MACHINE_DIRECTORIES {
                if names(line, &format!("/{directory}/")) {
                    let offence = format!("a path of one machine, below `{directory}`");
                    let mend = "take it relative to the repository, from an argument, or from the environment";
                    findings.push(Finding::new(&file.path, index + 1, offence, mend));
                }
            }
        }
    }
}

/// Whether `line` has an absolute path that begins with `opening`.
fn names(line: &str, opening: &str) -> bool {
    line.match_indices(opening).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + opening.len()..].chars().next();
        // Within a longer path or an address the letters before it belong to it.
        !before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '/' | '-' | '}' | '>'))
            && after.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-'))
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::places;

    #[test]
    fn an_absolute_path_of_a_machine_is_found_in_any_file() {
        let text = format!("fine\ncd {0}ro{1}t{0}x\n", '/', 'o');
        let quoted = format!("\"{0}ho{1}e{0}me/data\"\n", '/', 'm');
        let files = [("a.md", text.as_str()), (".ci/run", text.as_str()), ("b.rs", quoted.as_str())];
        assert_eq!(places(check, &files), [".ci/run:2", "a.md:2", "b.rs:1"]);
    }

    #[test]
    fn relative_paths_and_addresses_are_left_alone() {
        let text = "src/work/x crates/root/a https://example.org/home/page ../farm/b /work/ \n";
        assert!(places(check, &[("a.md", text)]).is_empty());
    }
}
