//! Rule: a link in a document leads somewhere: to a file of the repository, and to a heading that it has. So does a
//! link in the documentation of Rust sources whose target is a relative path.
//!
//! Understood are `[text](target)` and `[name]: target`; code blocks and code spans are passed over, as are addresses
//! of the network, which no test should depend on.

use crate::tidy::finding::Finding;
use crate::tidy::tree::Tree;

pub fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    for file in tree.files() {
        let links = match file.path.rsplit_once('.') {
            Some((_, "md")) => links(&file.text),
            Some((_, "rs")) => links_of_source(&file.text),
            _ => continue,
        };
        for (line, target) in links {
            if let Some(reason) = broken(tree, &file.path, &target) {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("the link to `{target}` {reason}"),
                    "mend the link",
                ));
            }
        }
    }
}

/// Why a link from `path` to `target` leads nowhere.
fn broken(tree: &Tree, path: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (place, heading) = match target.split_once('#') {
        Some((place, heading)) => (place, Some(heading)),
        None => (target, None),
    };
    let resolved = if place.is_empty() { Some(path.to_string()) } else { resolve(path, place) };
    let Some(resolved) = resolved.filter(|resolved| resolved.is_empty() || tree.contains(resolved)) else {
        return Some("names no file of the repository".into());
    };
    let heading = heading?;
    let text = tree.file(&resolved).map_or("", |file| &file.text);
    (!anchors(text).iter().any(|anchor| anchor == heading)).then(|| format!("names no heading of {resolved}"))
}

/// The path that `place` names, seen from the file `path`; `None` above the root.
fn resolve(path: &str, place: &str) -> Option<String> {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in place.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The lines outside code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            inside = !inside;
            return None;
        }
        (!inside).then_some((index + 1, line))
    })
}

/// The targets of the links in `text`, with their lines.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // Every second part stands between backticks.
        let spoken: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for after in spoken.split("](").skip(1) {
            if let Some((target, _)) = after.split_once(')') {
                found.push((number, target.split(' ').next().unwrap_or(target).into()));
            }
        }
        if let Some((name, target)) = spoken.split_once("]: ").filter(|(name, _)| name.starts_with('['))
            && !name[1..].contains('[')
        {
            found.push((number, target.split(' ').next().unwrap_or(target).into()));
        }
    }
    found
}

/// The targets that are relative paths, with their lines, of the links in the documentation of a Rust source. Other
/// targets are names of items, which rustdoc checks.
fn links_of_source(text: &str) -> Vec<(usize, String)> {
    let documentation = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).unwrap_or_default().to_owned()
    };
    let text: Vec<String> = text.lines().map(documentation).collect();
    let mut links = links(&text.join("\n"));
    links.retain(|(_, target)| target.starts_with("./") || target.starts_with("../"));
    links
}

/// The anchors of the headings in `text`, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in prose(text).filter(|(_, line)| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let plain: String =
            title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_')).collect();
        let anchor = plain.replace(' ', "-");
        let twins = anchors.iter().filter(|other| **other == anchor).count();
        anchors.push(if twins == 0 { anchor } else { format!("{anchor}-{twins}") });
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::places;

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        let text =
            "[a](docs/a.md) [gone](docs/gone.md)\n[above](../x.md)\n[site](https://example.org)\n[crates](crates/)\n";
        let files = [("README.md", text), ("docs/a.md", "[up](../README.md) [gone](b.md)\n"), ("crates/x.rs", "")];
        assert_eq!(places(check, &files), ["README.md:1", "README.md:2", "docs/a.md:1"]);
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found() {
        let text = "# The `log`, in short\n[a](#the-log-in-short) [b](#the-log)\n[c](b.md#one) [d](b.md#two)\n";
        assert_eq!(places(check, &[("a.md", text), ("b.md", "## One\n")]), ["a.md:2", "a.md:3"]);
    }

    #[test]
    fn a_link_from_the_documentation_of_a_source_is_read_and_other_text_of_it_is_not() {
        let text = "//! [a](../a.md) [b](../b.md#two)\nfn f() {} // [c](../c.md)\n    /// [`D`](crate::D) [d](./d.md)\n\
                    let x = \"[e](../e.md)\";\n/// ```\n/// [f](../f.md)\n/// ```\n";
        let files = [("src/x.rs", text), ("a.md", ""), ("b.md", "# One\n")];
        assert_eq!(places(check, &files), ["src/x.rs:1", "src/x.rs:3"]);
    }

    #[test]
    fn links_by_reference_are_read_and_code_is_not() {
        let text = "[a][x]\n\n[x]: gone.md\n```\n[y](gone.md)\n```\n`[z](gone.md)` `a[i](b)`\n";
        assert_eq!(places(check, &[("a.md", text)]), ["a.md:3"]);
    }
}
