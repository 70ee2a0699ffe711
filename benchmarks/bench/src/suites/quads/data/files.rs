//! The files of a run: the statements, some of them to warm up with, questions and queries; and what an engine must
//! answer to a question for all of them.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::data::random::Random;
use crate::error::{Error, Result};
use crate::suites::quads::answer::{Sum, text_hash};
use crate::suites::quads::data::generate::{VOCABULARY, write_statements};
use crate::suites::quads::data::queries;

/// Where the files of a run lie.
#[derive(Clone, Debug)]
pub struct Files {
    /// The directory of all.
    pub directory: PathBuf,
}

impl Files {
    /// All statements.
    pub fn data(&self) -> PathBuf {
        self.directory.join("data.nt")
    }

    /// The first of them.
    pub fn warm(&self) -> PathBuf {
        self.directory.join("warm.nt")
    }

    /// Statements whose subjects are asked for.
    pub fn subjects(&self) -> PathBuf {
        self.directory.join("subjects.nt")
    }

    /// Statements whose predicates and objects are asked for.
    pub fn objects(&self) -> PathBuf {
        self.directory.join("objects.nt")
    }

    /// The queries.
    pub fn queries(&self) -> PathBuf {
        self.directory.join("queries.txt")
    }

    /// Writes them all. Returns what a store with all statements must answer if it is asked for all.
    ///
    /// # Errors
    /// What the disk answers.
    pub fn write(&self, statements: u64, seed: u64) -> Result<Sum> {
        let data = self.data();
        generate_file(&data, statements, DATA_SEED)?;
        write_lines(&self.queries(), [queries::lines().trim_end().to_owned()].iter())?;
        let mut sum = Sum::default();
        let (mut subjects, mut objects) = (Sample::new(seed, 1), Sample::new(seed, 2));
        let io = |error| Error::io("read", &data, error);
        let mut reader = BufReader::with_capacity(1 << 20, File::open(&data).map_err(io)?);
        let mut warm = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            if reader.read_line(&mut line).map_err(io)? == 0 {
                break;
            }
            let line = line.trim_end();
            sum.add(text_hash(line.as_bytes()));
            subjects.offer(line);
            if is_for_objects(line) {
                objects.offer(line);
            }
            if warm.len() < WARM_STATEMENTS {
                warm.push(line.to_owned());
            }
        }
        write_lines(&self.warm(), warm.iter())?;
        write_lines(&self.subjects(), subjects.lines.iter())?;
        write_lines(&self.objects(), objects.lines.iter())?;
        Ok(sum)
    }
}

/// Writes statements to a new file.
///
/// # Errors
/// What the disk answers.
pub fn generate_file(path: &Path, statements: u64, seed: u64) -> Result<()> {
    let io = |error| Error::io("write", path, error);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(io)?);
    write_statements(&mut out, statements, seed).map_err(io)
}

/// The data are the same in all runs, whatever is asked.
pub const DATA_SEED: u64 = 0x5eed_0001_ab5e;

/// Statements to warm up with before a load.
const WARM_STATEMENTS: usize = 50_000;

/// Statements that questions are taken from.
const QUESTIONS: usize = 4000;

/// Whether its predicate and object are a question with some, but not many answers.
fn is_for_objects(line: &str) -> bool {
    const PREDICATES: [&str; 6] = ["advisor", "author", "memberOf", "takesCourse", "teacherOf", "worksFor"];
    let mut words = line.split(['<', '>']);
    let predicate = words.nth(3).and_then(|iri| iri.strip_prefix(VOCABULARY));
    predicate.is_some_and(|name| PREDICATES.contains(&name))
}

fn write_lines<'l>(path: &Path, mut lines: impl Iterator<Item = &'l String>) -> Result<()> {
    let io = |error| Error::io("write", path, error);
    let mut out = BufWriter::new(File::create(path).map_err(io)?);
    lines.try_for_each(|line| writeln!(out, "{line}")).map_err(io)?;
    out.flush().map_err(io)
}

/// Some of many lines, each as likely as any other, in no order.
struct Sample {
    lines: Vec<String>,
    seen: usize,
    random: Random,
}

impl Sample {
    fn new(seed: u64, stream: u64) -> Self {
        Self { lines: Vec::new(), seen: 0, random: Random::new(seed, stream) }
    }

    fn offer(&mut self, line: &str) {
        self.seen += 1;
        let place = self.random.below(self.seen);
        if self.lines.len() < QUESTIONS {
            // Where the new one goes is drawn too, so that questions are in no order.
            self.lines.push(line.to_owned());
            let last = self.lines.len() - 1;
            self.lines.swap(place, last);
        } else if place < QUESTIONS {
            line.clone_into(&mut self.lines[place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_have_questions_about_statements_that_are_there() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files { directory: directory.path().to_owned() };
        let sum = files.write(20_000, 5).unwrap();
        let data = std::fs::read_to_string(files.data()).unwrap();
        let lines: std::collections::HashSet<&str> = data.lines().collect();
        assert_eq!(sum.rows, 20_000);
        for (path, least) in [(files.subjects(), QUESTIONS), (files.objects(), 1000), (files.warm(), 20_000)] {
            let text = std::fs::read_to_string(path).unwrap();
            assert!(text.lines().count() >= least && text.lines().all(|line| lines.contains(line)));
        }
        let again = files.write(20_000, 5).unwrap();
        assert_eq!(sum, again);
        assert_ne!(sum, files.write(19_999, 5).unwrap());
    }

    #[test]
    fn questions_by_object_are_about_relations() {
        assert!(is_for_objects(&format!("<http://a> <{VOCABULARY}memberOf> <http://b> .")));
        assert!(!is_for_objects(&format!("<http://a> <{VOCABULARY}age> \"5\" .")));
        assert!(!is_for_objects("<http://a> <http://b> <http://c> ."));
    }
}
