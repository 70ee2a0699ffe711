//! What an engine answers, in a form that can be compared with another's: rows, and a hash of them.
//!
//! A statement's hash is that of its line of N-Triples; the hash of an answer is the sum of these, whatever their
//! order. A query's row is hashed as its values with tabulators behind each; the hash of its answer goes over the
//! sorted hashes of its rows. The Java program beside has the same hashes.

use fulgurite_rdf::oxrdf::{Term, TermRef};

use crate::data::random::mix;
use crate::measure::clock::Sample;

/// Rows, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub rows: u64,
    /// The sum.
    pub hash: u64,
}

impl Sum {
    /// One row more.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        self.rows += 1;
        self.hash = self.hash.wrapping_add(hash);
    }
}

/// The hash of a text (FNV-1a, mixed).
pub fn text_hash(text: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    mix(text.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The hash of a statement, by every byte of it. `line` is memory to write it to.
pub fn statement_hash(line: &mut String, statement: [TermRef<'_>; 3]) -> u64 {
    use std::fmt::Write as _;
    let [subject, predicate, object] = statement;
    line.clear();
    write!(line, "{subject} {predicate} {object} .").expect("a string takes everything");
    text_hash(line.as_bytes())
}

/// A number for a statement that shows that each term was there, for next to nothing.
#[inline]
pub fn statement_look([subject, predicate, object]: [TermRef<'_>; 3]) -> u64 {
    let (subject, predicate, object) = (text_of(subject), text_of(predicate), text_of(object));
    let last = object.as_bytes().last().copied().unwrap_or(0);
    subject.len() as u64 + 3 * predicate.len() as u64 + 5 * object.len() as u64 + 7 * u64::from(last)
}

/// An IRI, a label, or the form of a literal.
#[inline]
pub fn text_of(term: TermRef<'_>) -> &str {
    match term {
        TermRef::NamedNode(node) => node.as_str(),
        TermRef::BlankNode(node) => node.as_str(),
        TermRef::Literal(literal) => literal.value(),
        // There is none in the data.
        TermRef::Triple(_) => "",
    }
}

/// The hash of a query's row.
pub fn row_hash<'t>(line: &mut String, values: impl Iterator<Item = Option<&'t Term>>) -> u64 {
    use std::fmt::Write as _;
    line.clear();
    for value in values {
        match value {
            Some(value) => write!(line, "{value}\t").expect("a string takes everything"),
            None => line.push('\t'),
        }
    }
    text_hash(line.as_bytes())
}

/// A query's answer from the hashes of its rows.
pub fn answer_of_rows(mut hashes: Vec<u64>) -> Sum {
    hashes.sort_unstable();
    Sum { rows: hashes.len() as u64, hash: hashes.iter().fold(0, |all, hash| mix(all ^ hash)) }
}

/// One line of what a process of its own found.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// What something cost.
    Sample(String, Sample),
    /// A figure.
    Amount(String, f64),
    /// What was answered.
    Answer(String, Sum),
    /// What is wrong with an answer.
    Wrong(String),
}

impl Line {
    /// Reads what [`Line::text`] wrote, or the Java program.
    pub fn parse(line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        if kind == "wrong" {
            return Some(Self::Wrong(rest.to_owned()));
        }
        let (name, rest) = rest.split_once(' ')?;
        let name = name.to_owned();
        match kind {
            "sample" => {
                let numbers = rest.split(' ').map(str::parse).collect::<Result<Vec<f64>, _>>().ok()?;
                Some(Self::Sample(name, Sample::from_numbers(&numbers)?))
            }
            "amount" => Some(Self::Amount(name, rest.parse().ok()?)),
            "answer" => {
                let (rows, hash) = rest.split_once(' ')?;
                Some(Self::Answer(name, Sum { rows: rows.parse().ok()?, hash: hash.parse().ok()? }))
            }
            _ => None,
        }
    }

    /// The line.
    pub fn text(&self) -> String {
        match self {
            Self::Sample(name, sample) => format!("sample {name} {}", sample.words()),
            Self::Amount(name, value) => format!("amount {name} {value}"),
            Self::Answer(name, sum) => format!("answer {name} {} {}", sum.rows, sum.hash),
            Self::Wrong(what) => format!("wrong {what}"),
        }
    }
}

/// What is wrong if two answers to one question differ.
pub fn difference(name: &str, (first, expected): (&str, Sum), (engine, sum): (&str, Sum)) -> Option<String> {
    if sum == expected {
        return None;
    }
    let what = match sum.rows == expected.rows {
        true => "other values in as many rows".to_owned(),
        false => format!("{} rows instead of {}", sum.rows, expected.rows),
    };
    Some(format!("WRONG {name}: {engine} has {what}, beside {first}"))
}

#[cfg(test)]
mod tests {
    use fulgurite_rdf::oxrdf::{Literal, NamedNode};

    use super::*;

    #[test]
    fn every_line_is_read_as_it_was_written() {
        let sample = Sample { operations: 3, cpu_ns: 1.5, wall_ns: 2.0, p50_ns: 1.0, p99_ns: 4.0 };
        for line in [
            Line::Sample("scan_terms".to_owned(), sample),
            Line::Amount("open".to_owned(), 2.5),
            Line::Answer("verify".to_owned(), Sum { rows: 7, hash: u64::MAX }),
            Line::Wrong("it: not the same".to_owned()),
        ] {
            assert_eq!(Line::parse(&line.text()), Some(line));
        }
        for text in ["", "sample x 1 2", "answer x 1", "nonsense x 1", "amount x y"] {
            assert_eq!(Line::parse(text), None, "{text}");
        }
        assert!(
            matches!(Line::parse("sample x 1 2 3 NaN NaN"), Some(Line::Sample(_, sample)) if sample.p50_ns.is_nan())
        );
    }

    #[test]
    fn a_hash_sees_every_row_and_a_look_every_term() {
        let one = NamedNode::new_unchecked("http://a/1");
        let two = NamedNode::new_unchecked("http://a/22");
        let text = Literal::new_simple_literal("text");
        let (one, two, text) = (TermRef::from(one.as_ref()), TermRef::from(two.as_ref()), TermRef::from(text.as_ref()));
        let mut line = String::new();
        assert_ne!(statement_hash(&mut line, [one, two, text]), statement_hash(&mut line, [two, one, text]));
        assert_eq!(line, "<http://a/22> <http://a/1> \"text\" .");
        assert_ne!(statement_look([one, two, text]), statement_look([two, one, text]));
        assert_eq!(answer_of_rows(vec![3, 1, 2]), answer_of_rows(vec![1, 2, 3]));
        assert_ne!(answer_of_rows(vec![1, 1, 2]).hash, answer_of_rows(vec![1, 2, 2]).hash);
    }
}
