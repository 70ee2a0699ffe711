//! Terms that readers of RDF refuse, whatever the format. Programs can store such terms unchecked, as RDF4J and
//! [`oxrdf::NamedNode::new_unchecked`] do.
//!
//! An IRI or a language tag that is not valid has no form that can be read: it is [`Error::MalformedTerm`]. The label
//! of a blank node has no meaning, so [`relabelled`] replaces one that cannot be read.

use std::borrow::Cow;

use oxiri::Iri;
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{
    BlankNode, BlankNodeRef, GraphName, GraphNameRef, Literal, LiteralRef, NamedNodeRef, NamedOrBlankNode,
    NamedOrBlankNodeRef, Quad, QuadRef, Term, TermRef, Triple,
};

use super::unwritable::shortened;
use crate::error::{Error, Result};
use crate::model::plain_iri;

/// Checks the terms of statements that follow each other.
#[derive(Default)]
pub struct TermCheck {
    /// Subject, predicate and graph that are IRIs, and were so before.
    sound: [String; 3],
}

impl TermCheck {
    /// # Errors
    /// [`Error::MalformedTerm`], without the graph.
    pub fn check(&mut self, quad: QuadRef<'_>) -> Result<()> {
        let [subject, predicate, graph] = &mut self.sound;
        if let NamedOrBlankNodeRef::NamedNode(node) = quad.subject {
            check_unless(subject, node)?;
        }
        check_unless(predicate, quad.predicate)?;
        if let GraphNameRef::NamedNode(node) = quad.graph_name {
            check_unless(graph, node)?;
        }
        check_term(quad.object)
    }
}

/// Checks an IRI, unless it is the one that was sound before.
fn check_unless(sound: &mut String, node: NamedNodeRef<'_>) -> Result<()> {
    if sound.is_empty() || sound.as_str() != node.as_str() {
        check_iri(node)?;
        sound.clear();
        sound.push_str(node.as_str());
    }
    Ok(())
}

/// Goes as deep as triple terms are nested.
fn check_term(term: TermRef<'_>) -> Result<()> {
    match term {
        TermRef::NamedNode(node) => check_iri(node),
        TermRef::BlankNode(_) => Ok(()),
        TermRef::Literal(literal) => check_literal(literal),
        TermRef::Triple(triple) => {
            if let NamedOrBlankNode::NamedNode(node) = &triple.subject {
                check_iri(node.as_ref())?;
            }
            check_iri(triple.predicate.as_ref())?;
            check_term(triple.object.as_ref())
        }
    }
}

fn check_iri(node: NamedNodeRef<'_>) -> Result<()> {
    if plain_iri::is_plain(node.as_str()) {
        return Ok(());
    }
    match Iri::parse(node.as_str()) {
        Ok(_) => Ok(()),
        Err(error) => Err(malformed(node.into(), format!("it is not an IRI: {error}"))),
    }
}

fn check_literal(literal: LiteralRef<'_>) -> Result<()> {
    if let Some(language) = literal.language() {
        if is_language(language) {
            return Ok(());
        }
        return Err(malformed(literal.into(), format!("`{language}` is not a language tag (BCP 47)")));
    }
    let datatype = literal.datatype();
    if datatype == xsd::STRING {
        return Ok(());
    }
    if datatype == rdf::LANG_STRING || datatype == rdf::DIR_LANG_STRING {
        return Err(malformed(literal.into(), "a literal of this datatype has a language".to_owned()));
    }
    check_iri(datatype)
}

fn is_language(tag: &str) -> bool {
    let is_plain = matches!(tag.len(), 2 | 3) && tag.bytes().all(|byte| byte.is_ascii_lowercase());
    is_plain || Literal::new_language_tagged_literal("", tag).is_ok()
}

fn malformed(term: TermRef<'_>, reason: String) -> Error {
    Error::MalformedTerm { term: shortened(term), graph: None, reason }
}

/// The statement with other labels in the place of those that cannot be read; `None` if it has none of these.
pub fn relabelled(quad: QuadRef<'_>) -> Option<Quad> {
    let is_readable = has_labels(quad.subject.into())
        && has_labels(quad.object)
        && !matches!(quad.graph_name, GraphNameRef::BlankNode(node) if !is_label(node.as_str()));
    if is_readable {
        return None;
    }
    let Quad { subject, predicate, object, graph_name } = quad.into_owned();
    let graph_name = match graph_name {
        GraphName::BlankNode(node) => GraphName::BlankNode(relabelled_node(&node)),
        other => other,
    };
    Some(Quad { subject: relabelled_subject(subject), predicate, object: relabelled_term(object), graph_name })
}

/// Whether all blank nodes of the term have labels that can be read.
fn has_labels(term: TermRef<'_>) -> bool {
    match term {
        TermRef::BlankNode(node) => is_label(node.as_str()),
        TermRef::Triple(triple) => has_labels(triple.subject.as_ref().into()) && has_labels(triple.object.as_ref()),
        TermRef::NamedNode(_) | TermRef::Literal(_) => true,
    }
}

fn relabelled_term(term: Term) -> Term {
    match term {
        Term::BlankNode(node) => relabelled_node(&node).into(),
        Term::Triple(triple) => {
            let Triple { subject, predicate, object } = *triple;
            Triple { subject: relabelled_subject(subject), predicate, object: relabelled_term(object) }.into()
        }
        other => other,
    }
}

fn relabelled_subject(subject: NamedOrBlankNode) -> NamedOrBlankNode {
    match subject {
        NamedOrBlankNode::BlankNode(node) => relabelled_node(&node).into(),
        other => other,
    }
}

fn relabelled_node(node: &BlankNode) -> BlankNode {
    BlankNode::new_unchecked(label(node.as_str()))
}

/// Whether all formats have the label: the grammar of Turtle, which unlike that of N-Triples has no colons.
fn is_label(label: &str) -> bool {
    let is_plain = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain || !label.starts_with(ESCAPED) && !label.contains(':') && BlankNodeRef::new(label).is_ok()
}

/// The label, or another one that begins as no label does that is kept, so that different ones stay different.
fn label(label: &str) -> Cow<'_, str> {
    if is_label(label) {
        return Cow::Borrowed(label);
    }
    let mut out = ESCAPED.to_owned();
    for character in label.chars() {
        match character.is_ascii_alphanumeric() {
            true => out.push(character),
            false => out.push_str(&format!("-{:x}-", u32::from(character))),
        }
    }
    Cow::Owned(out)
}

const ESCAPED: &str = "b--";
