//! Converts Debian's package index to RDF: reads the paragraphs that `apt-cache dumpavail` prints, and writes
//! N-Triples. `data/README.md` describes the vocabulary.
//!
//! Invariants: (1) One paragraph is in memory at a time, of at most [`PARAGRAPH_BYTES_MAX`]. (2) The output is valid
//! N-Triples for every input: names that are not valid in an IRI are left out.

use std::io::{self, BufRead, Read};

/// The triples of an index, as N-Triples.
pub struct PackageTriples<R> {
    index: R,
    /// Triples of the current paragraph, and how many of their bytes were read.
    triples: Vec<u8>,
    taken: usize,
}

impl<R: BufRead> PackageTriples<R> {
    /// Converts the index that `index` reads.
    pub fn new(index: R) -> Self {
        Self { index, triples: Vec::new(), taken: 0 }
    }

    /// Converts the next paragraph that has triples. Leaves none at the end of the index.
    fn advance(&mut self) -> io::Result<()> {
        self.triples.clear();
        self.taken = 0;
        while self.triples.is_empty() {
            let Some(paragraph) = self.paragraph()? else { break };
            push_package(&paragraph, &mut self.triples);
        }
        Ok(())
    }

    /// The next paragraph, each field on one line.
    fn paragraph(&mut self) -> io::Result<Option<String>> {
        let (mut paragraph, mut line) = (String::new(), String::new());
        loop {
            line.clear();
            let read = self.index.by_ref().take(PARAGRAPH_BYTES_MAX).read_line(&mut line)?;
            if paragraph.len() + line.len() >= PARAGRAPH_BYTES_MAX as usize {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a paragraph is too long for a package index"));
            }
            match (read, line.trim_end()) {
                (0, _) => return Ok((!paragraph.is_empty()).then_some(paragraph)),
                (_, "") if paragraph.is_empty() => {}
                (_, "") => return Ok(Some(paragraph)),
                (_, folded) if folded.starts_with([' ', '\t']) => {
                    // A continuation of the field.
                    paragraph.truncate(paragraph.trim_end().len());
                    paragraph.push_str(folded);
                    paragraph.push('\n');
                }
                (_, field) => {
                    paragraph.push_str(field);
                    paragraph.push('\n');
                }
            }
        }
    }
}

impl<R: BufRead> Read for PackageTriples<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.triples.len() {
            self.advance()?;
        }
        let read = (&self.triples[self.taken..]).read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}

fn push_package(paragraph: &str, out: &mut Vec<u8>) {
    let field = |name: &str| {
        paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim).unwrap_or_default()
    };
    let package = field("Package");
    if !is_name(package) {
        return;
    }
    let subject = format!("<{VOCABULARY}package/{package}>");
    let mut push = |property: &str, object: &str| {
        out.extend_from_slice(format!("{subject} <{VOCABULARY}{property}> {object} .\n").as_bytes());
    };
    push("name", &literal(package));
    push("version", &literal(field("Version")));
    if let Ok(kib) = field("Installed-Size").parse::<u64>() {
        push("installedKib", &format!("\"{kib}\"^^<http://www.w3.org/2001/XMLSchema#integer>"));
    }
    let resource = |kind: &str, name: &str| format!("<{VOCABULARY}{kind}/{name}>");
    let section = field("Section").rsplit('/').next().unwrap_or_default();
    if is_name(section) {
        push("section", &resource("section", section));
    }
    let source = field("Source").split(' ').next().unwrap_or_default();
    push("source", &resource("source", if is_name(source) { source } else { package }));
    for tag in field("Tag").split(',').map(str::trim).filter(|tag| !tag.is_empty()) {
        push("tag", &literal(tag));
    }
    for provided in names(field("Provides")).flatten() {
        push("provides", &resource("package", provided));
    }
    for (needs, one_of_these, relations) in [
        ("dependsOn", "dependsOnOneOf", field("Pre-Depends")),
        ("dependsOn", "dependsOnOneOf", field("Depends")),
        ("recommends", "recommendsOneOf", field("Recommends")),
    ] {
        for choices in names(relations) {
            let property = if choices.len() == 1 { needs } else { one_of_these };
            choices.iter().for_each(|name| push(property, &resource("package", name)));
        }
    }
}

/// The names in a list of relations, `a (>= 1), b | c`: for each relation its choices.
fn names(relations: &str) -> impl Iterator<Item = Vec<&str>> {
    relations.split(',').map(|relation| {
        let choices = relation.split('|').map(|choice| choice.trim().split([' ', '(', ':', '[']).next().unwrap_or(""));
        choices.filter(|name| is_name(name)).collect()
    })
}

/// Whether this is a valid package name by Debian's policy. Its characters are all valid in an IRI.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
}

fn literal(text: &str) -> String {
    fulgurite_rdf::oxrdf::Literal::from(text).to_string()
}

/// The prefix of all IRIs.
pub const VOCABULARY: &str = "http://fulgurite.example/debian/";

/// Far more than any paragraph of Debian's index has.
const PARAGRAPH_BYTES_MAX: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn triples(index: &str) -> String {
        let mut text = String::new();
        PackageTriples::new(index.as_bytes()).read_to_string(&mut text).unwrap();
        text.replace("http://fulgurite.example/debian/", "")
    }

    #[test]
    fn relations_with_choices_are_told_from_those_without() {
        let index = "\nPackage: a\nVersion: 1:2-3\nInstalled-Size: 70\nDepends: libc6 (>= 2.3), b | c:any,\n d [amd64]\nSection: libs\n\n\n\
                     Package: e+\nSource: f (1.0)\nVersion: 1\nTag: use::x, role::y\nSection: main/doc\n";
        assert_eq!(
            triples(index),
            "<package/a> <name> \"a\" .\n\
             <package/a> <version> \"1:2-3\" .\n\
             <package/a> <installedKib> \"70\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n\
             <package/a> <section> <section/libs> .\n\
             <package/a> <source> <source/a> .\n\
             <package/a> <dependsOn> <package/libc6> .\n\
             <package/a> <dependsOnOneOf> <package/b> .\n\
             <package/a> <dependsOnOneOf> <package/c> .\n\
             <package/a> <dependsOn> <package/d> .\n\
             <package/e+> <name> \"e+\" .\n\
             <package/e+> <version> \"1\" .\n\
             <package/e+> <section> <section/doc> .\n\
             <package/e+> <source> <source/f> .\n\
             <package/e+> <tag> \"use::x\" .\n\
             <package/e+> <tag> \"role::y\" .\n"
        );
    }

    #[test]
    fn names_that_no_iri_may_have_are_left_out() {
        let told = triples("Package: a<b>\nVersion: 1\n\nPackage: good\nVersion: \"quoted\\\nDepends: x y, <z>\n");
        assert!(
            told.starts_with("<package/good> <name> \"good\" .\n") && told.contains("\"\\\"quoted\\\\\""),
            "{told}"
        );
        assert!(told.contains("<dependsOn> <package/x>") && !told.contains("<z>"), "{told}");
    }
}
