//! Counted rule: prose uses the field's words, and names the actor: words of other languages' syntax are counted.
//!
//! Prose is the text of Markdown files outside code, and comments and strings of sources.

use crate::tidy::finding::Count;
use crate::tidy::tree::Tree;

/// Words, or runs of words, that a plain sentence does without. `CONTRIBUTING.md` has pairs of before and after.
const STILTED: &[&str] = &[
    "anew",
    "by and by",
    "comes to",
    "for who",
    "from who",
    "give back",
    "gives back",
    "given back",
    "go by",
    "goes by",
    "is told",
    "are told",
    "let go",
    "lets go",
    "lie in",
    "lies in",
    "lies behind",
    "lies there",
    "of which",
    "stand in",
    "stands in",
    "stands there",
    "take in",
    "takes in",
    "taken in",
    "tell",
    "tells",
    "to who",
    "who asks",
    "who begins",
    "who does",
    "who goes",
    "who has",
    "who holds",
    "who is",
    "who keeps",
    "who knows",
    "who looks",
    "who makes",
    "who needs",
    "who opens",
    "who puts",
    "who reads",
    "who takes",
    "who uses",
    "who wants",
    "who waits",
    "who writes",
    "whoever",
];

pub fn count(tree: &Tree) -> Vec<Count> {
    let files = tree.files().iter().filter(|file| !is_exempt(&file.path));
    files
        .filter_map(|file| {
            let prose: Box<dyn Fn(&str) -> String> = match file.path.rsplit_once('.')?.1 {
                "md" => Box::new(without_code_spans),
                "rs" => Box::new(comments_and_strings),
                _ => return None,
            };
            let mut is_code = false;
            let is_markdown = file.path.ends_with(".md");
            let mut found = Vec::new();
            for (line, number) in file.text.lines().zip(1..) {
                is_code ^= is_markdown && line.trim_start().starts_with("```");
                if !is_code {
                    let words = words(&prose(line));
                    found.extend(STILTED.iter().filter(|run| has(&words, run)).map(|run| (number, *run)));
                }
            }
            let (line, run) = *found.first()?;
            Some(Count {
                rule: "words",
                path: file.path.clone(),
                line,
                count: found.len(),
                offence: format!("stilted words, such as `{run}`"),
                mend: "write it plainly: CONTRIBUTING.md has pairs of before and after",
            })
        })
        .collect()
}

/// This file, and the rules with their examples.
fn is_exempt(path: &str) -> bool {
    path.ends_with("prose/plain_words.rs") || path == "CONTRIBUTING.md" || path.starts_with("data/")
}

fn without_code_spans(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" · ")
}

/// What is behind `//`, and what is between quotes.
fn comments_and_strings(line: &str) -> String {
    let mut prose = String::new();
    let mut rest = line;
    loop {
        let comment = rest.find("//");
        let quote = rest.find('"');
        match (comment, quote) {
            (Some(comment), quote) if quote.is_none_or(|quote| comment < quote) => {
                return prose + " · " + &without_code_spans(&rest[comment + 2..]);
            }
            (_, Some(quote)) => {
                let inner = &rest[quote + 1..];
                let end = inner.find('"').unwrap_or(inner.len());
                prose.push_str(" · ");
                prose.push_str(&inner[..end]);
                rest = inner.get(end + 1..).unwrap_or("");
            }
            _ => return prose,
        }
    }
}

/// Small letters; anything between words that is no space is a word of its own, so that no run goes across it.
fn words(prose: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in prose.split_whitespace() {
        let mut word = String::new();
        for letter in part.chars() {
            if letter.is_alphanumeric() || letter == '\'' || letter == '_' || letter == '-' {
                word.extend(letter.to_lowercase());
            } else {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.push(String::new());
            }
        }
        words.extend((!word.is_empty()).then_some(word));
    }
    words
}

fn has(words: &[String], run: &str) -> bool {
    let run: Vec<&str> = run.split(' ').collect();
    words.windows(run.len()).any(|window| window.iter().zip(&run).all(|(word, wanted)| word == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(path: &str, text: &str) -> Option<(usize, usize)> {
        count(&Tree::planted(&[(path, text)])).first().map(|count| (count.line, count.count))
    }

    #[test]
    fn stilted_words_are_counted_in_documents_outside_code() {
        let text = "# Plain\n`tell`\n```\ntell\n```\nA table, of which this tells much, anew.\nNo one foretells.\n";
        assert_eq!(counted("docs/a.md", text), Some((6, 3)));
        assert_eq!(counted("docs/a.md", "of, which\n"), None);
    }

    #[test]
    fn stilted_words_are_counted_in_comments_and_strings_alone() {
        let text = "//! Whoever asks.\nfn tell() { anew(\"by and by\", 1) } // it is told\nlet anew = tell(\"x\");\n";
        assert_eq!(counted("src/a.rs", text), Some((1, 3)));
        assert_eq!(counted("src/a.rs", "fn tell() {}\n/// `tell` it.\n"), None);
    }
}
