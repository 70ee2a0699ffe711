//! What a tag says in its attributes (RDF 1.1 XML Syntax, 6.1.4 and 7.2).

use std::borrow::Cow;
use std::io::Read;

use oxrdf::{BaseDirection, NamedNode};

use super::problem::{Problem, RDF};
use super::scope::{Scope, Version};
use crate::xml::{HELD_BYTES_MAX, Name, XML_NAMESPACE, XmlReader, is_nc_name};

/// The attributes of a tag. IRIs are as they were written, to be resolved in the tag's own scope.
#[derive(Default)]
pub struct Attributes {
    pub id: Option<String>,
    pub about: Option<String>,
    pub node_id: Option<String>,
    pub resource: Option<String>,
    pub datatype: Option<String>,
    pub parse_type: Option<String>,
    pub annotation: Option<String>,
    pub annotation_node_id: Option<String>,
    /// `rdf:type` among them.
    pub properties: Vec<Property>,
}

/// An attribute that is a statement.
pub struct Property {
    pub predicate: NamedNode,
    pub value: String,
}

impl Attributes {
    /// Takes the attributes of the reader's tag, and brings those that are inherited into `scope`.
    pub fn take<R: Read>(reader: &XmlReader<R>, scope: &mut Scope) -> Result<Self, Problem> {
        let mut taken = Self::default();
        let (mut direction, mut bytes) = (None, 0);
        for attribute in reader.tag().attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            if &*name.namespace == XML_NAMESPACE {
                match name.local() {
                    "base" => scope.set_base(value)?,
                    "lang" => scope.set_language(value),
                    _ => {}
                }
            } else if is_reserved(name) {
                // These are removed (6.1.2).
            } else if &*name.namespace == ITS {
                match name.local() {
                    "dir" => direction = Some(value),
                    "version" => {}
                    _ => taken.push_property(name, value, &mut bytes)?,
                }
            } else {
                match term_of_attribute(name)?.as_deref() {
                    Some("version") => scope.version = Version::parse(value)?,
                    Some(term) => taken.take_term(term, name, value, &mut bytes)?,
                    None => taken.push_property(name, value, &mut bytes)?,
                }
            }
        }
        if let (Some(direction), true) = (direction, scope.version != Version::V11) {
            scope.direction = match direction {
                "ltr" => Some(BaseDirection::Ltr),
                "rtl" => Some(BaseDirection::Rtl),
                other => return Err(format!("its:dir is \"ltr\" or \"rtl\", and not \"{other}\"").into()),
            };
        }
        Ok(taken)
    }

    fn take_term(&mut self, term: &str, name: &Name, value: &str, bytes: &mut usize) -> Result<(), Problem> {
        let place = match term {
            "ID" => &mut self.id,
            "about" => &mut self.about,
            "nodeID" => &mut self.node_id,
            "resource" => &mut self.resource,
            "datatype" => &mut self.datatype,
            "parseType" => &mut self.parse_type,
            "annotation" => &mut self.annotation,
            "annotationNodeID" => &mut self.annotation_node_id,
            "RDF" | "Description" | "li" | "aboutEach" | "aboutEachPrefix" | "bagID" => {
                return Err(format!("rdf:{term} must not be an attribute").into());
            }
            _ => return self.push_property(name, value, bytes),
        };
        if matches!(term, "ID" | "nodeID" | "annotationNodeID") && !is_nc_name(value) {
            return Err(format!("rdf:{term}=\"{value}\" is not a name without a colon (NCName)").into());
        }
        if place.is_some() {
            return Err(format!("the tag has rdf:{term} twice, once without a prefix").into());
        }
        *place = Some(value.to_owned());
        Ok(())
    }

    fn push_property(&mut self, name: &Name, value: &str, bytes: &mut usize) -> Result<(), Problem> {
        let namespace = if name.namespace.is_empty() { RDF } else { &*name.namespace };
        *bytes += namespace.len() + name.local().len();
        check_bytes(*bytes)?;
        let predicate = iri_of(namespace, name.local())?;
        self.properties.push(Property { predicate, value: value.to_owned() });
        Ok(())
    }

    /// Refuses every attribute that `permitted` does not name, and statements unless it names `properties`.
    pub fn permit(&self, permitted: &[&str], within: &str) -> Result<(), Problem> {
        let given = [
            ("ID", self.id.is_some()),
            ("about", self.about.is_some()),
            ("nodeID", self.node_id.is_some()),
            ("resource", self.resource.is_some()),
            ("datatype", self.datatype.is_some()),
            ("parseType", self.parse_type.is_some()),
            ("annotation", self.annotation.is_some()),
            ("annotationNodeID", self.annotation_node_id.is_some()),
        ];
        let offending = given.into_iter().find(|(name, is_given)| *is_given && !permitted.contains(name));
        if let Some((name, _)) = offending {
            return Err(format!("rdf:{name} is not permitted in {within}").into());
        }
        match self.properties.first() {
            Some(property) if !permitted.contains(&"properties") => {
                Err(format!("the attribute {} is not permitted in {within}", property.predicate).into())
            }
            _ => Ok(()),
        }
    }
}

/// What names of one tag come to together is bounded: a subject or a namespace may be long, and attributes many.
pub fn check_bytes(bytes: usize) -> Result<(), Problem> {
    if bytes <= HELD_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "the names of the document take too much memory where they are put together: namespace or subject times the attributes of a tag, or \
         namespaces times the elements of an XML literal, are more than {} MiB; shorten the names, or divide the element",
        HELD_BYTES_MAX >> 20
    );
    Err(Problem { message, is_too_large: true, needs_base: false })
}

/// The IRI of a name.
pub fn iri_of(namespace: &str, local: &str) -> Result<NamedNode, Problem> {
    let iri = [namespace, local].concat();
    match oxiri::Iri::parse(iri) {
        Ok(iri) => Ok(NamedNode::new_unchecked(iri.into_inner())),
        Err(error) => Err(format!("`{namespace}{local}` is not an absolute IRI: {error}").into()),
    }
}

/// The term of RDF that a name is, if it is one. Names are what namespace and local part come to together.
pub fn term_of(name: &Name) -> Option<Cow<'_, str>> {
    match name.namespace.strip_prefix(RDF)? {
        "" => Some(Cow::Borrowed(name.local())),
        begin => Some(Cow::Owned([begin, name.local()].concat())),
    }
}

/// As [`term_of`]. Without a namespace, five names are terms of RDF (6.1.4), and no others are permitted.
fn term_of_attribute(name: &Name) -> Result<Option<Cow<'_, str>>, Problem> {
    let local = name.local();
    match &*name.namespace {
        "" if matches!(local, "ID" | "about" | "resource" | "parseType" | "type") => Ok(Some(Cow::Borrowed(local))),
        "" => Err(format!("the attribute `{local}` is in no namespace; give it a prefix").into()),
        _ => Ok(term_of(name)),
    }
}

/// Names that are reserved to XML begin with these letters.
fn is_reserved(name: &Name) -> bool {
    name.qualified.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("xml"))
}

/// Directions of text.
const ITS: &str = "http://www.w3.org/2005/11/its";
