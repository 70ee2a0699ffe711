//! What elements inherit: the base of IRIs, the language and direction of text, and the version of RDF.

use std::sync::Arc;

use oxiri::Iri;
use oxrdf::{BaseDirection, Literal, NamedNode};

use super::problem::Problem;
use crate::model::base_iri;

/// What is in force within an element.
#[derive(Clone)]
pub struct Scope {
    base: Option<Arc<Iri<String>>>,
    /// A tag of a language, in lower case; or why there is none, for the first literal that takes it.
    language: Option<Result<Arc<str>, Arc<str>>>,
    pub direction: Option<BaseDirection>,
    pub version: Version,
}

/// The version of RDF that a document asks for by `rdf:version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V11,
    V12,
    V12Basic,
}

impl Version {
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "1.1" => Ok(Self::V11),
            "1.2" => Ok(Self::V12),
            "1.2-basic" => Ok(Self::V12Basic),
            _ => Err(format!("rdf:version is \"1.1\", \"1.2\" or \"1.2-basic\", and not \"{text}\"")),
        }
    }
}

impl Scope {
    /// # Errors
    /// If `base` is not an absolute IRI.
    pub fn of_document(base: Option<&str>) -> Result<Self, String> {
        let parse = |base: &str| Iri::parse(base_iri::without_dots(base).into_owned());
        let base = base.map(parse).transpose().map_err(|error| error.to_string())?.map(Arc::new);
        Ok(Self { base, language: None, direction: None, version: Version::V11 })
    }

    /// Takes `xml:base`, which may be relative to the base around it (XML Base, 4).
    ///
    /// # Errors
    /// If it is not an IRI, or relative where there is no base.
    pub fn set_base(&mut self, value: &str) -> Result<(), Problem> {
        let resolved = match &self.base {
            Some(base) => base.resolve(value).map_err(|error| no_iri(value, &error))?,
            // It is the document's, whatever that is.
            None if value.is_empty() => return Ok(()),
            None => Iri::parse(value.to_owned()).map_err(|error| without_base("xml:base", value, &error))?,
        };
        let resolved = match base_iri::without_dots(resolved.as_str()) {
            std::borrow::Cow::Borrowed(_) => resolved,
            std::borrow::Cow::Owned(text) => Iri::parse(text).map_err(|error| no_iri(value, &error))?,
        };
        self.base = Some(Arc::new(resolved));
        Ok(())
    }

    /// Takes `xml:lang`. The empty one takes away what is around it.
    pub fn set_language(&mut self, value: &str) {
        if value.is_empty() {
            self.language = None;
            return;
        }
        self.language = match Literal::new_language_tagged_literal("", value) {
            Ok(literal) => literal.language().map(|tag| Ok(tag.into())),
            Err(error) => Some(Err(format!("xml:lang=\"{value}\" is not a tag of a language: {error}").into())),
        };
    }

    /// A text without a datatype as a literal.
    ///
    /// # Errors
    /// If its language is not a tag of one.
    pub fn literal(&self, text: String) -> Result<Literal, String> {
        let language = match &self.language {
            None => return Ok(Literal::new_simple_literal(text)),
            Some(Ok(language)) => &**language,
            Some(Err(problem)) => return Err(problem.to_string()),
        };
        Ok(match self.direction {
            None => Literal::new_language_tagged_literal_unchecked(text, language),
            Some(direction) => Literal::new_directional_language_tagged_literal_unchecked(text, language, direction),
        })
    }

    /// The IRI that an attribute means.
    ///
    /// # Errors
    /// If it is none, or relative where there is no base.
    pub fn resolve(&self, attribute: &str, value: &str) -> Result<NamedNode, Problem> {
        let iri = match &self.base {
            Some(base) => base.resolve(value).map_err(|error| no_iri(value, &error))?,
            None => Iri::parse(value.to_owned()).map_err(|error| without_base(attribute, value, &error))?,
        };
        Ok(NamedNode::new_unchecked(iri.into_inner()))
    }
}

fn no_iri(value: &str, error: &oxiri::IriParseError) -> String {
    format!("`{value}` is not an IRI: {error}")
}

/// What is wrong with an IRI that has no base to be relative to.
fn without_base(attribute: &str, value: &str, error: &oxiri::IriParseError) -> Problem {
    // A reference that some base makes an IRI has no scheme, or a colon in another place.
    if Iri::parse_unchecked("http://e/").resolve(value).is_err() {
        return no_iri(value, error).into();
    }
    let message = format!("{attribute}=\"{value}\" is relative, and there is no xml:base and no other base");
    Problem { message, is_too_large: false, needs_base: true }
}
