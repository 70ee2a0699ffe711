//! Elements that are nodes, and elements that are properties, by turns (RDF 1.1 XML Syntax, 7.2).

use std::collections::{HashSet, VecDeque};
use std::io::Read;

use oxrdf::vocab::rdf;
use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, Triple};
use xxhash_rust::xxh3::xxh3_128;

use super::attributes::{Attributes, Property, check_bytes, iri_of, term_of};
use super::literal::XmlLiteral;
use super::problem::{Problem, RDF};
use super::scope::{Scope, Version};
use crate::xml::{Event, XmlReader};

/// The elements that are open.
pub struct Elements {
    /// Outermost first. The first is the document.
    open: Vec<Element>,
    /// Hashes of the IRIs that an `rdf:ID` has made.
    ids: HashSet<u128>,
}

struct Element {
    scope: Scope,
    kind: Kind,
}

enum Kind {
    Document,
    /// `rdf:RDF`.
    Root,
    Node(Node),
    Property(Box<PropertyElement>),
}

struct Node {
    subject: NamedOrBlankNode,
    /// How many `rdf:li` it has had.
    members: u64,
}

/// A property element.
struct PropertyElement {
    /// None once it was emitted.
    statement: Option<Statement>,
    content: Content,
}

/// A statement whose object is not known yet.
struct Statement {
    subject: NamedOrBlankNode,
    predicate: NamedNode,
    /// The IRI that reifies it.
    id: Option<NamedNode>,
    /// What `rdf:reifies` it.
    annotations: Vec<NamedOrBlankNode>,
}

enum Content {
    /// Text or a node: the content decides.
    Open {
        text: String,
        node: Option<NamedOrBlankNode>,
    },
    /// Text of a datatype.
    Typed {
        text: String,
        datatype: NamedNode,
    },
    /// Nothing: the object is in an attribute.
    Empty(NamedOrBlankNode),
    /// With the last cell of the list.
    Collection(Option<BlankNode>),
    Xml(XmlLiteral),
    /// One triple, which is the object.
    Triple(Vec<Triple>),
}

impl Elements {
    pub fn new(scope: Scope) -> Self {
        Self { open: vec![Element { scope, kind: Kind::Document }], ids: HashSet::new() }
    }

    /// Takes what the reader has read.
    pub fn take<R: Read>(
        &mut self,
        event: Event,
        reader: &XmlReader<R>,
        triples: &mut VecDeque<Triple>,
    ) -> Result<(), Problem> {
        if let Some(Element { kind: Kind::Property(property), .. }) = self.open.last_mut()
            && let Content::Xml(literal) = &mut property.content
            && literal.take(event, reader)?
        {
            return Ok(());
        }
        match event {
            Event::Start => self.start(reader, triples),
            Event::End => self.end(triples),
            Event::Text => self.text(reader.text()),
            Event::Comment | Event::Instruction | Event::EndOfDocument => Ok(()),
        }
    }

    fn start<R: Read>(&mut self, reader: &XmlReader<R>, triples: &mut VecDeque<Triple>) -> Result<(), Problem> {
        let name = reader.tag().name();
        let around = self.open.last().ok_or("an element behind the root element")?;
        let mut scope = around.scope.clone();
        let mut attributes = Attributes::take(reader, &mut scope)?;
        if name.namespace.is_empty() {
            return Err(format!("the element `{}` is in no namespace; declare one by xmlns", name.local()).into());
        }
        let term = term_of(name);
        let term = term.as_deref();
        if matches!(around.kind, Kind::Document) && term == Some("RDF") {
            attributes.properties.retain(|property| !property.predicate.as_str().starts_with(XSI));
            attributes.permit(&[], "rdf:RDF")?;
            self.open.push(Element { scope, kind: Kind::Root });
            return Ok(());
        }
        if let Some(term) = term
            && NO_ELEMENTS.contains(&term)
        {
            return Err(format!("rdf:{term} must not be an element here").into());
        }
        let kind = match self.open.last_mut().map(|element| &mut element.kind) {
            Some(Kind::Node(node)) => {
                let predicate = match term {
                    Some("Description") => return Err("rdf:Description must not be a property".into()),
                    Some("li") => {
                        node.members += 1;
                        NamedNode::new_unchecked(format!("{RDF}_{}", node.members))
                    }
                    _ => iri_of(&name.namespace, name.local())?,
                };
                let subject = node.subject.clone();
                self.property(subject, predicate, attributes, &scope, triples)?
            }
            Some(Kind::Property(property)) => {
                property.check_node()?;
                self.node(term, reader, attributes, &scope, triples)?
            }
            _ => self.node(term, reader, attributes, &scope, triples)?,
        };
        self.open.push(Element { scope, kind });
        Ok(())
    }

    fn node<R: Read>(
        &mut self,
        term: Option<&str>,
        reader: &XmlReader<R>,
        attributes: Attributes,
        scope: &Scope,
        triples: &mut VecDeque<Triple>,
    ) -> Result<Kind, Problem> {
        if term == Some("li") {
            return Err("rdf:li must not be a node".into());
        }
        attributes.permit(&["ID", "nodeID", "about", "properties"], "the element of a node")?;
        let subject: NamedOrBlankNode = match (&attributes.id, &attributes.node_id, &attributes.about) {
            (None, None, None) => BlankNode::default().into(),
            (Some(id), None, None) => self.id(id, scope)?.into(),
            (None, Some(label), None) => BlankNode::new_unchecked(label).into(),
            (None, None, Some(about)) => scope.resolve("rdf:about", about)?.into(),
            _ => return Err("a node has one of rdf:ID, rdf:nodeID and rdf:about".into()),
        };
        if term != Some("Description") {
            let name = reader.tag().name();
            let class = iri_of(&name.namespace, name.local())?;
            self.emit(Triple::new(subject.clone(), rdf::TYPE, class), triples);
        }
        self.emit_properties(&subject, attributes.properties, scope, triples)?;
        Ok(Kind::Node(Node { subject, members: 0 }))
    }

    fn property(
        &mut self,
        subject: NamedOrBlankNode,
        predicate: NamedNode,
        attributes: Attributes,
        scope: &Scope,
        triples: &mut VecDeque<Triple>,
    ) -> Result<Kind, Problem> {
        let id = attributes.id.as_deref().map(|id| self.id(id, scope)).transpose()?;
        let mut annotations = Vec::new();
        if let Some(annotation) = &attributes.annotation {
            annotations.push(scope.resolve("rdf:annotation", annotation)?.into());
        }
        if let Some(label) = &attributes.annotation_node_id {
            annotations.push(BlankNode::new_unchecked(label).into());
        }
        let statement = Statement { subject, predicate, id, annotations };
        let parse_type = attributes.parse_type.as_deref();
        if let Some(parse_type) = parse_type {
            let permitted = ["ID", "parseType", "annotation", "annotationNodeID"];
            attributes.permit(&permitted, &format!("a property with rdf:parseType=\"{parse_type}\""))?;
        }
        let content = match parse_type {
            Some("Resource") => {
                let node = NamedOrBlankNode::from(BlankNode::default());
                self.emit_statement(statement, node.clone().into(), triples);
                return Ok(Kind::Node(Node { subject: node, members: 0 }));
            }
            Some("Collection") => Content::Collection(None),
            Some("Triple") if scope.version == Version::V12 => Content::Triple(Vec::new()),
            // Whatever it says (7.2.20).
            Some(_) => Content::Xml(XmlLiteral::default()),
            None => self.content(attributes, scope, triples)?,
        };
        Ok(Kind::Property(Box::new(PropertyElement { statement: Some(statement), content })))
    }

    /// The content of a property without `rdf:parseType`, by its attributes.
    fn content(
        &mut self,
        attributes: Attributes,
        scope: &Scope,
        triples: &mut VecDeque<Triple>,
    ) -> Result<Content, Problem> {
        if let Some(datatype) = &attributes.datatype {
            let permitted = ["ID", "datatype", "annotation", "annotationNodeID"];
            attributes.permit(&permitted, "a property with rdf:datatype")?;
            let datatype = scope.resolve("rdf:datatype", datatype)?;
            if matches!(datatype.as_ref(), rdf::LANG_STRING | rdf::DIR_LANG_STRING) {
                return Err(format!("the datatype {datatype} is for text with xml:lang").into());
            }
            return Ok(Content::Typed { text: String::new(), datatype });
        }
        let permitted = ["ID", "resource", "nodeID", "annotation", "annotationNodeID", "properties"];
        attributes.permit(&permitted, "the element of a property")?;
        let object: NamedOrBlankNode = match (&attributes.resource, &attributes.node_id) {
            (None, None) if attributes.properties.is_empty() => {
                return Ok(Content::Open { text: String::new(), node: None });
            }
            (None, None) => BlankNode::default().into(),
            (Some(resource), None) => scope.resolve("rdf:resource", resource)?.into(),
            (None, Some(label)) => BlankNode::new_unchecked(label).into(),
            (Some(_), Some(_)) => return Err("a property has one of rdf:resource and rdf:nodeID".into()),
        };
        self.emit_properties(&object, attributes.properties, scope, triples)?;
        Ok(Content::Empty(object))
    }

    /// The IRI that an `rdf:ID` makes, which no other may make.
    fn id(&mut self, id: &str, scope: &Scope) -> Result<NamedNode, Problem> {
        let iri = scope.resolve("rdf:ID", &format!("#{id}"))?;
        match self.ids.insert(xxh3_128(iri.as_str().as_bytes())) {
            true => Ok(iri),
            false => Err(format!("rdf:ID=\"{id}\" is in the document before, with the same base").into()),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Problem> {
        let is_blank = || text.bytes().all(|byte| byte.is_ascii_whitespace());
        let problem = || format!("the text `{}` must not stand here", shortened(text));
        let Some(Element { kind: Kind::Property(property), .. }) = self.open.last_mut() else {
            return if is_blank() { Ok(()) } else { Err(problem().into()) };
        };
        match &mut property.content {
            Content::Open { text: so_far, node: None } | Content::Typed { text: so_far, .. } => {
                if so_far.len() + text.len() > LITERAL_BYTES_MAX {
                    let message = format!("a literal is longer than {} MiB", LITERAL_BYTES_MAX >> 20);
                    return Err(Problem { message, is_too_large: true, needs_base: false });
                }
                so_far.push_str(text);
                Ok(())
            }
            _ if is_blank() => Ok(()),
            _ => Err(problem().into()),
        }
    }

    fn end(&mut self, triples: &mut VecDeque<Triple>) -> Result<(), Problem> {
        let Some(Element { scope, kind }) = self.open.pop() else { return Ok(()) };
        match kind {
            Kind::Document | Kind::Root => Ok(()),
            Kind::Node(node) => {
                self.end_node(node.subject, triples);
                Ok(())
            }
            Kind::Property(property) => self.end_property(*property, &scope, triples),
        }
    }

    /// A node ends, which may be the object of a property.
    fn end_node(&mut self, subject: NamedOrBlankNode, triples: &mut VecDeque<Triple>) {
        let Some(Element { kind: Kind::Property(property), .. }) = self.open.last_mut() else { return };
        match &mut property.content {
            Content::Open { text, node } => {
                text.clear();
                *node = Some(subject);
            }
            Content::Collection(last) => {
                let cell = BlankNode::default();
                let (last, statement) = (last.replace(cell.clone()), property.statement.take());
                if let Some(statement) = statement {
                    self.emit_statement(statement, cell.clone().into(), triples);
                }
                if let Some(last) = last {
                    self.emit(Triple::new(last, rdf::REST, cell.clone()), triples);
                }
                self.emit(Triple::new(cell, rdf::FIRST, subject), triples);
            }
            Content::Typed { .. } | Content::Empty(_) | Content::Xml(_) | Content::Triple(_) => {}
        }
    }

    fn end_property(
        &mut self,
        property: PropertyElement,
        scope: &Scope,
        triples: &mut VecDeque<Triple>,
    ) -> Result<(), Problem> {
        let object = match property.content {
            Content::Open { node: Some(node), .. } | Content::Empty(node) => node.into(),
            Content::Open { text, node: None } => scope.literal(text)?.into(),
            Content::Typed { text, datatype } => Literal::new_typed_literal(text, datatype).into(),
            Content::Xml(literal) => Literal::new_typed_literal(literal.into_text(), rdf::XML_LITERAL).into(),
            Content::Collection(None) => rdf::NIL.into(),
            Content::Collection(Some(last)) => {
                self.emit(Triple::new(last, rdf::REST, rdf::NIL), triples);
                return Ok(());
            }
            Content::Triple(held) => match <[Triple; 1]>::try_from(held) {
                Ok([triple]) => triple.into(),
                Err(_) => return Err("rdf:parseType=\"Triple\" holds one triple, no more and no less".into()),
            },
        };
        if let Some(statement) = property.statement {
            self.emit_statement(statement, object, triples);
        }
        Ok(())
    }

    fn emit_properties(
        &mut self,
        subject: &NamedOrBlankNode,
        properties: Vec<Property>,
        scope: &Scope,
        triples: &mut VecDeque<Triple>,
    ) -> Result<(), Problem> {
        let subject_bytes = match subject {
            NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
            NamedOrBlankNode::BlankNode(node) => node.as_str().len(),
        };
        check_bytes(subject_bytes.saturating_mul(properties.len()))?;
        for Property { predicate, value } in properties {
            let object: Term = match predicate.as_ref() {
                rdf::TYPE => scope.resolve("rdf:type", &value)?.into(),
                _ => scope.literal(value)?.into(),
            };
            self.emit(Triple::new(subject.clone(), predicate, object), triples);
        }
        Ok(())
    }

    fn emit_statement(&mut self, statement: Statement, object: Term, triples: &mut VecDeque<Triple>) {
        let Statement { subject, predicate, id, annotations } = statement;
        let triple = Triple::new(subject, predicate, object);
        if id.is_none() && annotations.is_empty() {
            return self.emit(triple, triples);
        }
        self.emit(triple.clone(), triples);
        if let Some(id) = id {
            let object_of = |predicate, object: Term| Triple::new(id.clone(), predicate, object);
            self.emit(object_of(rdf::TYPE, rdf::STATEMENT.into()), triples);
            self.emit(object_of(rdf::SUBJECT, triple.subject.clone().into()), triples);
            self.emit(object_of(rdf::PREDICATE, triple.predicate.clone().into()), triples);
            self.emit(object_of(rdf::OBJECT, triple.object.clone()), triples);
        }
        for annotation in annotations {
            self.emit(Triple::new(annotation, rdf::REIFIES, triple.clone()), triples);
        }
    }

    /// Hands a triple on: to the triple term around it, if there is one.
    fn emit(&mut self, triple: Triple, triples: &mut VecDeque<Triple>) {
        let around = self.open.iter_mut().rev().find_map(|element| match &mut element.kind {
            Kind::Property(property) => match &mut property.content {
                Content::Triple(held) => Some(held),
                _ => None,
            },
            _ => None,
        });
        match around {
            // Two are too many.
            Some(held) => {
                if held.len() < 2 {
                    held.push(triple);
                }
            }
            None => triples.push_back(triple),
        }
    }
}

impl PropertyElement {
    /// Whether a node may follow.
    fn check_node(&self) -> Result<(), Problem> {
        match &self.content {
            Content::Open { text, node: None } if text.bytes().all(|byte| byte.is_ascii_whitespace()) => Ok(()),
            Content::Open { node: None, .. } => {
                Err("an element within text; rdf:parseType=\"Literal\" permits that".into())
            }
            Content::Open { .. } => Err("a second node in one property; write the property twice".into()),
            Content::Typed { .. } => Err("an element in a property with rdf:datatype".into()),
            Content::Empty(_) => Err("an element in a property whose object is in its attributes".into()),
            Content::Collection(_) | Content::Triple(_) | Content::Xml(_) => Ok(()),
        }
    }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    let mut short: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Terms of RDF that are attributes or were withdrawn, and the root element.
const NO_ELEMENTS: [&str; 10] =
    ["RDF", "ID", "about", "bagID", "parseType", "resource", "nodeID", "datatype", "aboutEach", "aboutEachPrefix"];
/// Attributes of `rdf:RDF` in this namespace say where a schema of the document is, and are passed over.
const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
const LITERAL_BYTES_MAX: usize = 1 << 30;
const SHOWN_CHARACTERS: usize = 40;
