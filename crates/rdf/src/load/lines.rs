//! The plain statements of N-Triples and N-Quads, which are nearly all there are, read without a parser: IRIs of the usual make, and texts
//! without escapes. What is not plain, or might be wrong, is left to the parser: a line is taken here only if the parser would take it, and
//! take it for the same.

use oxrdf::{GraphName, LiteralRef, NamedNodeRef};

use super::batch::{Batch, Slot};
use crate::error::Result;
use crate::id::TermId;

/// Takes plain lines into a batch.
pub struct PlainLines<'l> {
    /// The graph of statements that name none.
    default_graph: &'l GraphName,
    /// Whether a fourth term may follow.
    has_graphs: bool,
    /// The subject of the line before, with its place in the batch.
    last_subject: Option<(&'l str, Slot)>,
}

impl<'l> PlainLines<'l> {
    pub fn new(default_graph: &'l GraphName, has_graphs: bool) -> Self {
        Self { default_graph, has_graphs, last_subject: None }
    }

    /// Forgets what it knows of the batch: it was handed on.
    pub fn begin_batch(&mut self) {
        self.last_subject = None;
    }

    /// Takes a line, if it is a plain statement. Tells whether it is.
    ///
    /// # Errors
    /// None but those of [`Batch`].
    pub fn take(&mut self, line: &'l str, batch: &mut Batch) -> Result<bool> {
        let Some((subject, rest)) = take_iri(line) else { return Ok(false) };
        let Some((predicate, rest)) = take_space(rest).and_then(take_iri) else { return Ok(false) };
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
        let graph = graph.or(match default_graph {
            GraphName::NamedNode(node) => Some(node.as_str()),
            _ => None,
        });
        let subject_slot = match self.last_subject {
            Some((last, slot)) if last == subject => slot,
            _ => batch.iri(subject),
        };
        self.last_subject = Some((subject, subject_slot));
        let quad = [
            subject_slot,
            batch.iri(predicate),
            object.slot(batch)?,
            graph.map_or(Slot::of_id(TermId::DEFAULT_GRAPH), |graph| batch.iri(graph)),
        ];
        batch.quads.push(quad);
        Ok(true)
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
            return take_iri(text).map(|(iri, rest)| (Self::Iri(iri), rest));
        };
        let end = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | b'\r' | b'\n'))?;
        let (value, rest) = (&rest[..end], rest[end..].strip_prefix('"')?);
        if let Some(rest) = rest.strip_prefix("^^") {
            let (datatype, rest) = take_iri(rest)?;
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

/// An IRI in angle brackets that is certainly one, and what follows.
fn take_iri(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('<')?;
    let end = rest.bytes().position(|byte| byte == b'>')?;
    let iri = &rest[..end];
    is_plain_iri(iri.as_bytes()).then_some((iri, &rest[end + 1..]))
}

/// Scheme and host of letters, digits, points and hyphens, and then what is allowed anywhere in paths, queries and fragments.
fn is_plain_iri(iri: &[u8]) -> bool {
    let rest = match iri {
        [b'h', b't', b't', b'p', b':', b'/', b'/', rest @ ..] => rest,
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', rest @ ..] => rest,
        _ => return false,
    };
    let host = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')).count();
    let path = &rest[host..];
    let mut has_fragment = false;
    host > 0
        && path.first().is_none_or(|byte| matches!(byte, b'/' | b'#' | b'?'))
        && path.iter().all(|&byte| {
            let is_first_fragment = byte == b'#' && !has_fragment;
            has_fragment |= byte == b'#';
            is_first_fragment || PLAIN[byte as usize]
        })
}

/// The bytes that are allowed in paths, queries and fragments by themselves.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        plain[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"-._~!$&'()*+,;=:@/?";
    let mut index = 0;
    while index < others.len() {
        plain[others[index] as usize] = true;
        index += 1;
    }
    plain
};

const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

#[cfg(test)]
mod tests {
    use oxrdfio::{RdfFormat, RdfParser};
    use proptest::prelude::*;

    use super::*;
    use crate::dictionary::TermHasher;

    /// What a batch has of a line that was taken here, or by the parser: quads with the bytes of their terms.
    fn contents(batch: &Batch) -> Vec<[Vec<u8>; 4]> {
        let terms: Vec<TermId> =
            (0..batch.terms.len()).map(|index| TermId::new(crate::id::Tag::LITERAL, index as u64)).collect();
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
    }
}
