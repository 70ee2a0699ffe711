//! Made-up universities as N-Triples: departments with professors, students, courses, publications and research
//! groups, about ten statements for each, in the manner of the Lehigh University Benchmark.
//!
//! Invariants: (1) A seed and a number of statements give the same bytes on every machine. (2) No statement comes
//! twice. (3) All is ASCII in the canonical form of N-Triples, without blank nodes, so that a line is what any store
//! writes of the statement.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use crate::data::random::{Random, mix};

/// Namespace of classes and predicates.
pub const VOCABULARY: &str = "http://example.org/university#";

/// Writes so many statements.
///
/// # Errors
/// What `out` answers.
pub fn write_statements(out: &mut impl Write, statements: u64, seed: u64) -> io::Result<()> {
    let mut writer = Writer { text: String::new(), left: statements };
    // More universities than are begun: that many are known as places of degrees.
    let universities = (statements / STATEMENTS_OF_UNIVERSITY + 2) as usize;
    let mut number = 0;
    while writer.left > 0 {
        let mut random = Random::new(seed, mix(number as u64));
        let university = University { number, universities };
        university.begin(&mut writer);
        for department in 0..12 + random.below(7) {
            university.department(department, &mut random, &mut writer);
            out.write_all(writer.text.as_bytes())?;
            writer.text.clear();
        }
        number += 1;
    }
    out.flush()
}

/// About what one has.
const STATEMENTS_OF_UNIVERSITY: u64 = 62_000;

/// The text of statements, until there are enough.
struct Writer {
    text: String,
    left: u64,
}

impl Writer {
    fn line(&mut self, subject: fmt::Arguments<'_>, predicate: &str, object: fmt::Arguments<'_>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let written = match predicate {
            "type" => writeln!(self.text, "<{subject}> <{TYPE}> {object} ."),
            _ => writeln!(self.text, "<{subject}> <{VOCABULARY}{predicate}> {object} ."),
        };
        written.expect("a string takes everything");
    }
}

const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// One university and how many there are.
#[derive(Clone, Copy)]
struct University {
    number: usize,
    universities: usize,
}

/// One department, and how many of each kind it has.
struct Department {
    university: University,
    /// Its IRI, without an end.
    iri: String,
    host: String,
    professors: usize,
    courses: usize,
    students: usize,
    publications: usize,
}

impl University {
    fn begin(self, writer: &mut Writer) {
        let number = self.number;
        writer.line(format_args!("{}", Self::iri(number)), "type", format_args!("<{VOCABULARY}University>"));
        writer.line(format_args!("{}", Self::iri(number)), "name", format_args!("\"University {number}\""));
    }

    fn iri(number: usize) -> String {
        format!("http://www.university{number}.example.org/")
    }

    fn department(self, number: usize, random: &mut Random, writer: &mut Writer) {
        let host = format!("department{number}.university{}.example.org", self.number);
        let department = Department {
            university: self,
            iri: format!("http://www.{host}/"),
            host,
            professors: 15 + random.below(11),
            courses: 30 + random.below(16),
            students: 200 + random.below(201),
            publications: 60 + random.below(81),
        };
        department.begin(number, writer);
        (0..department.professors).for_each(|professor| department.professor(professor, random, writer));
        (0..department.courses).for_each(|course| department.course(course, random, writer));
        (0..department.students).for_each(|student| department.student(student, random, writer));
        (0..department.publications).for_each(|publication| department.publication(publication, random, writer));
    }
}

impl Department {
    fn begin(&self, number: usize, writer: &mut Writer) {
        const GROUPS: usize = 4;
        let iri = &self.iri;
        let university = University::iri(self.university.number);
        writer.line(format_args!("{iri}"), "type", format_args!("<{VOCABULARY}Department>"));
        writer.line(format_args!("{iri}"), "name", format_args!("\"Department {number}\""));
        writer.line(format_args!("{iri}"), "subOrganizationOf", format_args!("<{university}>"));
        for group in 0..GROUPS {
            writer.line(format_args!("{iri}group{group}"), "type", format_args!("<{VOCABULARY}ResearchGroup>"));
            writer.line(format_args!("{iri}group{group}"), "subOrganizationOf", format_args!("<{iri}>"));
        }
    }

    fn professor(&self, number: usize, random: &mut Random, writer: &mut Writer) {
        let iri = &self.iri;
        let class = ["FullProfessor", "AssociateProfessor", "AssistantProfessor"][number % 3];
        let subject = format!("{iri}professor{number}");
        let mut add = |predicate, object: fmt::Arguments<'_>| writer.line(format_args!("{subject}"), predicate, object);
        add("type", format_args!("<{VOCABULARY}{class}>"));
        add("name", format_args!("\"{}\"", name(random)));
        add("email", format_args!("\"professor{number}@{}\"", self.host));
        add("telephone", format_args!("\"+1 {:03} {:07}\"", random.below(1000), random.below(10_000_000)));
        add("born", format_args!("{}", date(random, 1940, 50)));
        add("worksFor", format_args!("<{iri}>"));
        add("undergraduateDegreeFrom", format_args!("<{}>", self.some_university(random)));
        add("doctoralDegreeFrom", format_args!("<{}>", self.some_university(random)));
        add("researchInterest", format_args!("\"{} {}\"@en", word(random), word(random)));
        // Every course has a teacher.
        for course in (number..self.courses).step_by(self.professors) {
            add("teacherOf", format_args!("<{iri}course{course}>"));
        }
    }

    fn course(&self, number: usize, random: &mut Random, writer: &mut Writer) {
        let iri = &self.iri;
        let subject = format!("{iri}course{number}");
        let mut add = |predicate, object: fmt::Arguments<'_>| writer.line(format_args!("{subject}"), predicate, object);
        add("type", format_args!("<{VOCABULARY}Course>"));
        add("name", format_args!("\"{} of {}\"", word(random), word(random)));
        add("credits", format_args!("\"{}\"^^<{XSD}integer>", 2 + random.below(9)));
        add("offeredBy", format_args!("<{iri}>"));
        add("begins", format_args!("{}", date(random, 2020, 5)));
    }

    fn student(&self, number: usize, random: &mut Random, writer: &mut Writer) {
        let iri = &self.iri;
        let is_graduate = number.is_multiple_of(4);
        let class = if is_graduate { "GraduateStudent" } else { "UndergraduateStudent" };
        let subject = format!("{iri}student{number}");
        let mut add = |predicate, object: fmt::Arguments<'_>| writer.line(format_args!("{subject}"), predicate, object);
        add("type", format_args!("<{VOCABULARY}{class}>"));
        add("name", format_args!("\"{}\"", name(random)));
        add("email", format_args!("\"student{number}@{}\"", self.host));
        add("age", format_args!("\"{}\"^^<{XSD}integer>", 18 + random.below(20)));
        add("born", format_args!("{}", date(random, 1985, 20)));
        add("memberOf", format_args!("<{iri}>"));
        add("advisor", format_args!("<{iri}professor{}>", random.below(self.professors)));
        if is_graduate {
            add("undergraduateDegreeFrom", format_args!("<{}>", self.some_university(random)));
        }
        // Steps of less than a third of all, so that three courses are three.
        let (first, step) = (random.below(self.courses), 1 + random.below(self.courses / 3));
        for course in 0..if is_graduate { 2 } else { 3 } {
            add("takesCourse", format_args!("<{iri}course{}>", (first + course * step) % self.courses));
        }
    }

    fn publication(&self, number: usize, random: &mut Random, writer: &mut Writer) {
        let iri = &self.iri;
        let subject = format!("{iri}publication{number}");
        let mut add = |predicate, object: fmt::Arguments<'_>| writer.line(format_args!("{subject}"), predicate, object);
        add("type", format_args!("<{VOCABULARY}Publication>"));
        add("title", format_args!("\"{} and {}, part {number}\"", word(random), word(random)));
        add("published", format_args!("{}", date(random, 2000, 25)));
        add("pages", format_args!("\"{}\"^^<{XSD}integer>", 4 + random.below(40)));
        add("author", format_args!("<{iri}professor{}>", random.below(self.professors)));
        add("author", format_args!("<{iri}student{}>", random.below(self.students)));
        // Only of what came before: citations have no circles.
        let first = random.below(number.max(1));
        let second = random.below(number.max(1));
        for cited in [Some(first), Some(second).filter(|&second| second != first)].into_iter().flatten() {
            if cited < number {
                add("cites", format_args!("<{iri}publication{cited}>"));
            }
        }
    }

    fn some_university(&self, random: &mut Random) -> String {
        University::iri(random.below(self.university.universities))
    }
}

fn name(random: &mut Random) -> String {
    const FIRST: [&str; 20] = [
        "Ada", "Alan", "Barbara", "Bela", "Chen", "Dana", "Edsger", "Fatima", "Grace", "Haruki", "Ines", "Jakub",
        "Kofi", "Leila", "Maria", "Niklaus", "Olga", "Priya", "Radia", "Tomas",
    ];
    const LAST: [&str; 25] = [
        "Adams",
        "Bauer",
        "Costa",
        "Dubois",
        "Eriksen",
        "Fischer",
        "Garcia",
        "Haddad",
        "Ito",
        "Jansen",
        "Kowalski",
        "Lindqvist",
        "Moreau",
        "Novak",
        "Okafor",
        "Petrov",
        "Quinn",
        "Rossi",
        "Santos",
        "Tanaka",
        "Ueda",
        "Varga",
        "Weber",
        "Young",
        "Zhang",
    ];
    let (first, middle, last) = (random.below(FIRST.len()), random.below(26), random.below(LAST.len()));
    format!("{} {}. {}", FIRST[first], char::from(b'A' + middle as u8), LAST[last])
}

fn word(random: &mut Random) -> &'static str {
    const WORDS: [&str; 30] = [
        "Algebra",
        "Astronomy",
        "Botany",
        "Chemistry",
        "Compilers",
        "Crystals",
        "Databases",
        "Ecology",
        "Economics",
        "Energy",
        "Ethics",
        "Genetics",
        "Geometry",
        "Glaciers",
        "Graphs",
        "History",
        "Languages",
        "Lattices",
        "Logic",
        "Materials",
        "Mechanics",
        "Networks",
        "Optics",
        "Probability",
        "Proteins",
        "Quanta",
        "Rivers",
        "Storage",
        "Topology",
        "Volcanoes",
    ];
    WORDS[random.below(WORDS.len())]
}

/// A date in one of so many years, on a day that every month has.
fn date(random: &mut Random, first_year: usize, years: usize) -> String {
    let (year, month, day) = (first_year + random.below(years), 1 + random.below(12), 1 + random.below(28));
    format!("\"{year:04}-{month:02}-{day:02}\"^^<{XSD}date>")
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::suites::quads::answer::text_hash;
    use crate::suites::quads::data::files::DATA_SEED;

    fn generated(statements: u64, seed: u64) -> String {
        let mut text = Vec::new();
        write_statements(&mut text, statements, seed).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_seed_gives_the_same_bytes_on_every_machine() {
        assert_eq!(generated(5000, 7), generated(5000, 7));
        assert_ne!(generated(5000, 7), generated(5000, 8));
        assert_eq!(text_hash(generated(10_000, DATA_SEED).as_bytes()), GOLDEN);
    }

    /// What an x86-64 machine made.
    const GOLDEN: u64 = 0xe4c3_5374_ce90_642f;

    #[test]
    fn there_are_as_many_statements_as_asked_for_and_none_twice() {
        let text = generated(100_000, 1);
        let lines: HashSet<&str> = text.lines().collect();
        assert_eq!((text.lines().count(), lines.len()), (100_000, 100_000));
        assert!(text.is_ascii() && text.lines().all(|line| line.starts_with("<http") && line.ends_with(" .")));
    }

    #[test]
    fn a_subject_has_about_ten_statements() {
        let text = generated(200_000, 1);
        let mut subjects: HashMap<&str, usize> = HashMap::new();
        for line in text.lines() {
            *subjects.entry(line.split(' ').next().unwrap()).or_default() += 1;
        }
        let mean = 200_000.0 / subjects.len() as f64;
        assert!((8.0..11.0).contains(&mean), "{mean}");
    }

    #[test]
    fn every_line_is_one_statement_in_its_canonical_form() {
        use fulgurite_rdf::RdfFormat;
        use fulgurite_rdf::oxrdfio::RdfParser;
        let text = generated(20_000, 3);
        let parsed = RdfParser::from_format(RdfFormat::NTriples).for_slice(text.as_bytes());
        for (line, quad) in text.lines().zip(parsed) {
            assert_eq!(line, format!("{} .", quad.unwrap()));
        }
    }
}
