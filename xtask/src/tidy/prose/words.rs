//! Rule: no names that say nothing, and no signs of unfinished work.

use proc_macro2::{Delimiter, TokenTree};

use crate::tidy::finding::Finding;
use crate::tidy::tree::{self, Tree};

/// Words that name nothing: no file, module, type or function has one among its words.
const EMPTY_WORDS: &[&str] = &["util", "utils", "helper", "helpers", "manager", "unified"];

/// As [`EMPTY_WORDS`], but only as a whole name: `common_prefix` is the field's word.
const EMPTY_NAMES: &[&str] = &["common", "misc", "stuff"];

/// What opens the declaration of a name.
const DECLARATIONS: &[&str] = &["mod", "struct", "enum", "union", "trait", "type", "fn"];

/// Macros that stand where work is missing.
const UNFINISHED_MACROS: &[&str] = &["todo", "unimplemented"];

/// Words that people leave where work is missing. Spelled in two parts, so that this file does not find itself.
const UNFINISHED_WORDS: &[&str] =
    &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("for", " now")];

/// Endings of the files that are read for those words.
const SOURCES: &[&str] = &[".rs", ".py", ".java", ".go", ".c", ".h", ".sh", ".toml", ".md", "/run"];

/// A folder whose files have the names that another project gave them.
const NAMES_OF_OTHERS: &str = "bindings/java/geaflow-signatures/";

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files() {
        let path = file.path.strip_prefix(NAMES_OF_OTHERS).map_or(file.path.as_str(), |_| NAMES_OF_OTHERS);
        for part in path.split('/').map(|part| part.split('.').next().unwrap_or(part)) {
            check_name(part, &file.path, 1, findings);
        }
        if SOURCES.iter().any(|ending| file.path.ends_with(ending)) {
            check_words(&file.path, &file.text, findings);
        }
    }
    for (file, tokens) in tree.rust_files() {
        tree::each_level(tokens, &mut |level| {
            for (index, token) in level.iter().enumerate() {
                let TokenTree::Ident(word) = token else { continue };
                let word = word.to_string();
                let line = tree::line_of(token);
                if DECLARATIONS.contains(&word.as_str())
                    && let Some(TokenTree::Ident(name)) = level.get(index + 1)
                {
                    check_name(&name.to_string(), &file.path, line, findings);
                }
                if UNFINISHED_MACROS.contains(&word.as_str()) && tree::is_sign(level.get(index + 1), '!') {
                    findings.push(Finding::new(&file.path, line, format!("`{word}!` is unfinished work"), "finish it"));
                }
            }
        });
        tree::each_level(tokens, &mut |level| {
            for pair in level.windows(2).filter(|pair| tree::is_sign(pair.first(), '#')) {
                let attribute = tree::within(pair.get(1), Delimiter::Bracket).unwrap_or_default();
                if keeps_a_test_from_running(&attribute) {
                    let mend = "make it pass, or move it to a proof that says when it runs";
                    findings.push(Finding::new(&file.path, tree::line_of(&pair[0]), "a test that never runs", mend));
                }
            }
        });
    }
}

/// Whether an attribute is `ignore`, or sets it by `cfg_attr` for anything but Miri, under which some tests take hours.
fn keeps_a_test_from_running(attribute: &[TokenTree]) -> bool {
    if !tree::is_word(attribute.first(), "cfg_attr") {
        return tree::is_word(attribute.first(), "ignore");
    }
    let inner = tree::within(attribute.get(1), Delimiter::Parenthesis).unwrap_or_default();
    let for_miri = tree::is_word(inner.first(), "miri") && tree::is_sign(inner.get(1), ',');
    !for_miri && inner.iter().any(|token| tree::is_word(Some(token), "ignore"))
}

fn check_name(name: &str, path: &str, line: usize, findings: &mut Vec<Finding>) {
    let words = words_of(name);
    let empty = words.iter().find(|word| EMPTY_WORDS.contains(&word.as_str()));
    if let Some(word) = empty.cloned().or_else(|| EMPTY_NAMES.contains(&name).then(|| name.to_string())) {
        let mend = "name the subject; if no noun fits, the design is not finished";
        findings.push(Finding::new(path, line, format!("`{word}` in the name `{name}` says nothing"), mend));
    }
}

/// The words of a name in any of Rust's cases, in small letters.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut fresh = true;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            fresh = true;
            continue;
        }
        if fresh || letter.is_uppercase() {
            words.push(String::new());
        }
        fresh = false;
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

fn check_words(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (index, line) in text.lines().enumerate() {
        for word in UNFINISHED_WORDS {
            let found = line.match_indices(word).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + word.len()..].chars().next();
                !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
                    && !after.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
            });
            if found {
                findings.push(Finding::new(path, index + 1, format!("`{word}` is unfinished work"), "finish it"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::places;

    #[test]
    fn names_that_say_nothing_are_found_in_files_and_declarations() {
        let file =
            "mod lock_manager {}\nstruct UnifiedCache;\nfn copy_helper() {}\nfn common_prefix() {}\nmod common {}\n";
        let found = places(
            check,
            &[
                ("a.rs", file),
                ("src/utils.rs", ""),
                ("tests/common/mod.rs", ""),
                ("bindings/java/geaflow-signatures/src/org/common/A.java", ""),
            ],
        );
        assert_eq!(found, ["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:5", "src/utils.rs:1", "tests/common/mod.rs:1"]);
    }

    #[test]
    fn a_name_is_judged_by_its_words_not_by_its_letters() {
        assert!(places(check, &[("utility.rs", "fn reunified() {}\nstruct Managers;\nfn futile() {}\n")]).is_empty());
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_in_comments() {
        let comments = [concat!("// FIX", "ME: later"), concat!("/// Good enough for", " now."), concat!("//XX", "X")];
        let file = format!("fn a() {{ todo!() }}\nfn b() {{ x(unimplemented!()) }}\n{}\n", comments.join("\n"));
        assert_eq!(places(check, &[("a.rs", &file)]), ["a.rs:1", "a.rs:2", "a.rs:3", "a.rs:4", "a.rs:5"]);
        assert!(places(check, &[("a.rs", "fn todo() {}\nconst XXXX: u8 = 0;\n")]).is_empty());
    }

    #[test]
    fn a_test_that_never_runs_is_found() {
        let file =
            "#[test]\n#[ignore]\nfn a() {}\n#[ignore = \"slow\"]\nfn b() {}\n#[cfg_attr(unix, ignore)]\nfn c() {}\n";
        assert_eq!(places(check, &[("a.rs", file)]), ["a.rs:2", "a.rs:4", "a.rs:6"]);
        let fine = "#[cfg_attr(miri, ignore = \"hours\")]\nfn a() { let ignore = 1; b(ignore); }\n";
        assert!(places(check, &[("a.rs", fine)]).is_empty());
    }
}
