//! The plain statements of N-Triples and N-Quads, which are nearly all there are, read without a parser: IRIs of the
//! usual make, and texts without escapes. What is not plain, or might be wrong, is left to the parser: a line is taken
//! here only if the parser would take it, and take it for the same.

use memchr::memchr3;
use oxrdf::{GraphName, LiteralRef, NamedNodeRef};

use crate::error::Result;
use crate::load::pipeline::batch::{Batch, Slot};
use crate::model::id::TermId;
use crate::model::plain_iri;

/// Takes plain lines into a batch.
pub struct PlainLines<'l> {
    /// The graph of statements that name none.
    default_graph: &'l GraphName,
    /// Whether a fourth term may follow.
    has_graphs: bool,
    /// The subject of the line before.
    last_subject: Option<Seen<'l>>,
    predicates: Predicates<'l>,
}

/// An IRI that came before: as it was written, in its brackets, and its place in the batch.
#[derive(Clone, Copy)]
struct Seen<'l> {
    written: &'l str,
    slot: Slot,
}

/// The predicates of the lines before. Subjects of one kind have the same ones in the same order: so the one that came
/// after the last one is looked for first, and most often it is the one.
#[derive(Default)]
struct Predicates<'l> {
    seen: Vec<SeenPredicate<'l>>,
    /// Which of them was the last.
    last: usize,
}

struct SeenPredicate<'l> {
    seen: Seen<'l>,
    /// Which of them came after it the last time.
    next: usize,
}

impl<'l> Predicates<'l> {
    /// The one that is likely to come.
    fn expected(&self) -> Option<Seen<'l>> {
        let last = self.seen.get(self.last)?;
        Some(self.seen[last.next].seen)
    }

    fn came_as_expected(&mut self) {
        self.last = self.seen[self.last].next;
    }

    fn came(&mut self, predicate: Seen<'l>) {
        let place = self.seen.iter().position(|known| known.seen.slot == predicate.slot);
        if place.is_none() && self.seen.len() == PREDICATES_MAX {
            return;
        }
        let place = place.unwrap_or(self.seen.len());
        if place == self.seen.len() {
            self.seen.push(SeenPredicate { seen: predicate, next: 0 });
        }
        self.seen[self.last].next = place;
        self.last = place;
    }
}

impl<'l> PlainLines<'l> {
    pub fn new(default_graph: &'l GraphName, has_graphs: bool) -> Self {
        Self { default_graph, has_graphs, last_subject: None, predicates: Predicates::default() }
    }

    /// Forgets what it knows of the batch: it was handed on.
    pub fn begin_batch(&mut self) {
        self.last_subject = None;
        self.predicates = Predicates::default();
    }

    /// Takes a line, without its line feed, if it is a plain statement. Returns whether it is.
    ///
    /// # Errors
    /// None but those of [`Batch`].
    pub fn take(&mut self, line: &'l str, batch: &mut Batch) -> Result<bool> {
        let Some((subject, rest)) = take_iri_after(self.last_subject, line) else { return Ok(false) };
        let predicate = take_space(rest).and_then(|rest| take_iri_after(self.predicates.expected(), rest));
        let Some((predicate, rest)) = predicate else { return Ok(false) };
        let Some((object, rest)) = take_space(rest).and_then(Object::take) else { return Ok(false) };
        let rest = rest.trim_start_matches([' ', '\t']);
        let (graph, rest) = match rest.strip_prefix('<') {
            None => (None, rest),
            Some(_) if !self.has_graphs => return Ok(false),
            Some(_) => match take_iri(rest) {
                Some((graph, rest)) => (Some(graph), rest.trim_start_matches([' ', '\t'])),
                None => return Ok(false),
            },
        };
        if !matches!(rest, "." | ".\r") {
            return Ok(false);
        }
        if graph.is_none() && !matches!(self.default_graph, GraphName::DefaultGraph | GraphName::NamedNode(_)) {
            return Ok(false);
        }
        let default_graph = self.default_graph;
        let graph = graph.map(without_brackets).or(match default_graph {
            GraphName::NamedNode(node) => Some(node.as_str()),
            _ => None,
        });
        let subject = subject.seen(batch);
        self.last_subject = Some(subject);
        let predicate = match predicate {
            Iri::Seen(seen) => {
                self.predicates.came_as_expected();
                seen
            }
            written => {
                let predicate = written.seen(batch);
                self.predicates.came(predicate);
                predicate
            }
        };
        let quad = [
            subject.slot,
            predicate.slot,
            object.slot(batch)?,
            graph.map_or(Slot::of_id(TermId::DEFAULT_GRAPH), |graph| batch.iri(graph)),
        ];
        batch.quads.push(quad);
        Ok(true)
    }
}

/// An IRI of a line.
enum Iri<'l> {
    Seen(Seen<'l>),
    /// In its brackets.
    Written(&'l str),
}

impl<'l> Iri<'l> {
    /// As later lines may meet it.
    fn seen(self, batch: &mut Batch) -> Seen<'l> {
        match self {
            Self::Seen(seen) => seen,
            Self::Written(written) => Seen { written, slot: batch.iri(without_brackets(written)) },
        }
    }
}

/// An object of a plain statement.
enum Object<'l> {
    Iri(&'l str),
    Literal(LiteralRef<'l>),
}

impl<'l> Object<'l> {
    fn take(text: &'l str) -> Option<(Self, &'l str)> {
        let Some(rest) = text.strip_prefix('"') else {
            return take_iri(text).map(|(iri, rest)| (Self::Iri(without_brackets(iri)), rest));
        };
        let end = memchr3(b'"', b'\\', b'\r', rest.as_bytes())?;
        let (value, rest) = (&rest[..end], rest[end..].strip_prefix('"')?);
        if let Some(rest) = rest.strip_prefix("^^") {
            let (datatype, rest) = take_iri(rest)?;
            let datatype = without_brackets(datatype);
            // The parser refuses these two without a language.
            if datatype.starts_with(RDF) {
                return None;
            }
            let literal = LiteralRef::new_typed_literal(value, NamedNodeRef::new_unchecked(datatype));
            return Some((Self::Literal(literal), rest));
        }
        if let Some(rest) = rest.strip_prefix('@') {
            let end = rest.bytes().position(|byte| !byte.is_ascii_lowercase())?;
            let (language, rest) = rest.split_at(end);
            let is_plain = matches!(end, 2 | 3) && rest.starts_with([' ', '\t', '.']);
            let literal = LiteralRef::new_language_tagged_literal_unchecked(value, language);
            return is_plain.then_some((Self::Literal(literal), rest));
        }
        Some((Self::Literal(LiteralRef::new_simple_literal(value)), rest))
    }

    fn slot(&self, batch: &mut Batch) -> Result<Slot> {
        match self {
            Self::Iri(iri) => Ok(batch.iri(iri)),
            Self::Literal(literal) => batch.literal(*literal),
        }
    }
}

fn take_space(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']);
    (rest.len() < text.len()).then_some(rest)
}

/// An IRI, which is likely to be the one that came before, and what follows.
fn take_iri_after<'l>(likely: Option<Seen<'l>>, text: &'l str) -> Option<(Iri<'l>, &'l str)> {
    if let Some(seen) = likely
        && let Some(rest) = text.strip_prefix(seen.written)
    {
        return Some((Iri::Seen(seen), rest));
    }
    take_iri(text).map(|(iri, rest)| (Iri::Written(iri), rest))
}

/// A plain IRI, in its angle brackets, and what follows.
fn take_iri(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('<')?.as_bytes();
    let length = plain_iri::length(inner);
    (length > 0 && inner.get(length) == Some(&b'>')).then(|| text.split_at(length + 2))
}

fn without_brackets(written: &str) -> &str {
    &written[1..written.len() - 1]
}

/// Further predicates are parsed each time. The cached ones are searched one by one.
const PREDICATES_MAX: usize = 64;
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

#[cfg(test)]
mod tests {
    use oxrdfio::{RdfFormat, RdfParser};
    use proptest::prelude::*;

    use super::*;
    use crate::tables::TermHasher;

    /// What a batch has of a line that was taken here, or by the parser: quads with the bytes of their terms.
    fn contents(batch: &Batch) -> Vec<[Vec<u8>; 4]> {
        let terms: Vec<TermId> =
            (0..batch.terms.len()).map(|index| TermId::new(crate::model::id::Tag::LITERAL, index as u64)).collect();
        let bytes = |slot: Slot| match slot.resolve(&terms) {
            Some(id) if terms.contains(&id) => batch.terms.bytes(id.payload() as usize).to_vec(),
            id => id.map_or(Vec::new(), |id| id.to_bits().to_be_bytes().to_vec()),
        };
        batch.quads.iter().map(|quad| quad.map(bytes)).collect()
    }

    fn taken(line: &str) -> Option<Vec<[Vec<u8>; 4]>> {
        let mut batch = Batch::new(TermHasher::narrow(128));
        let graph = GraphName::DefaultGraph;
        let is_taken = PlainLines::new(&graph, true).take(line, &mut batch).expect("nothing is nested");
        is_taken.then(|| contents(&batch))
    }

    fn parsed(line: &str) -> Option<Vec<[Vec<u8>; 4]>> {
        let mut batch = Batch::new(TermHasher::narrow(128));
        for quad in RdfParser::from_format(RdfFormat::NQuads).for_slice(line) {
            batch.push(0, &quad.ok()?, &GraphName::DefaultGraph).ok()?;
        }
        Some(contents(&batch))
    }

    #[test]
    fn plain_statements_are_taken_and_others_left() {
        for line in [
            "<http://a/s> <http://a/p> <http://a/o> .",
            "<http://a/s>\t<http://a.b-c/p#x>   \"text ü\"  <https://g/?a=b> .\r",
            "<http://a> <http://a?q> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer>.",
            "<http://a/s> <http://a/p> \"\"@en .",
        ] {
            assert_eq!(taken(line), parsed(line), "{line}");
            assert!(taken(line).is_some(), "{line}");
        }
        for line in [
            "",
            "# comment",
            "_:a <http://a/p> <http://a/o> .",
            "<http://a/s> <http://a/p> \"a\\n\" .",
            "<http://a/s> <http://a/p> \"a\"@EN .",
            "<http://a/s> <http://a/p> \"a\"@en--ltr .",
            "<http://a/s> <http://a/p> \"a\"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .",
            "<http://a/%> <http://a/p> <http://a/o> .",
            "<http://a:x/> <http://a/p> <http://a/o> .",
            "<http://a/#x#y> <http://a/p> <http://a/o> .",
            "<relative> <http://a/p> <http://a/o> .",
            "<http://a/s> <http://a/p> <http://a/o> . # comment",
            "<http://a/s> <http://a/p> <http://a/o> <http://a/g> <http://a/h> .",
            "<http://a/s> <http://a/p> <http://a/o>",
        ] {
            assert_eq!(taken(line), None, "{line}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn a_line_that_is_taken_is_what_the_parser_takes_it_for(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "<http://a/s>", "<http://a/p>", "<http://", "a.b", "/c", ">", "<", "#", "?", "%41", "[", ":", "80", "\"", "\\", "text", "ä", "@", "en",
                "de-at", "^^", "<http://www.w3.org/2001/XMLSchema#integer>", "<http://www.w3.org/2001/XMLSchema#string>", "12", " ", "\t", ".", " .",
                "\r", "_:b", "<<(", ")>>",
            ]), 0..8),
            begun in prop::sample::select(vec!["", "<http://a/s> <http://a/p> ", "<http://a/s> <http://a/p> \"a\"", "<http://a/s> <http://a/p> <http://a/o> "]),
            ended in prop::sample::select(vec!["", " ."]),
        ) {
            let line = format!("{begun}{}{ended}", pieces.concat());
            if let Some(taken) = taken(&line) {
                prop_assert_eq!(Some(taken), parsed(&line), "{}", line);
            }
        }

        #[test]
        fn lines_are_what_the_parser_takes_them_for_whatever_came_before(
            statements in prop::collection::vec((0..4_u32, prop_oneof![0..5_u32, 0..200_u32], 0..8_u32, 0..20_u32), 1..300),
        ) {
            let graph = GraphName::DefaultGraph;
            let line = |(subject, predicate, form, batch): (u32, u32, u32, u32)| {
                // Some subjects and predicates begin others.
                let (subject, predicate) = (format!("<http://a/s{}>", 10_u32.pow(subject)), format!("<http://a/p{predicate}>"));
                let line = match form {
                    0 => format!("{subject} {predicate} {predicate} <http://a/p1> ."),
                    // What is not taken must not change what is remembered.
                    1 => format!("_:b {predicate} {predicate} ."),
                    2 => format!("{subject} {predicate} <http://a/%41> ."),
                    3 => format!("{subject}{predicate} {predicate} ."),
                    _ => format!("{subject} {predicate} {predicate} ."),
                };
                (line, !(1..4).contains(&form), batch == 0)
            };
            let lines: Vec<(String, bool, bool)> = statements.into_iter().map(line).collect();
            let (mut plain, mut batch) = (PlainLines::new(&graph, true), Batch::new(TermHasher::narrow(128)));
            let (mut taken, mut expected) = (Vec::new(), Vec::new());
            for (line, is_plain, is_last_of_batch) in &lines {
                prop_assert_eq!(plain.take(line, &mut batch).expect("nothing is nested"), *is_plain, "{}", line);
                if *is_plain {
                    expected.extend(parsed(line).expect("it is sound"));
                }
                if *is_last_of_batch {
                    taken.extend(contents(&std::mem::replace(&mut batch, Batch::new(TermHasher::narrow(128)))));
                    plain.begin_batch();
                }
            }
            taken.extend(contents(&batch));
            prop_assert_eq!(taken, expected);
        }
    }
}
