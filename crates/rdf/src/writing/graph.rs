//! Quads or triples in a form of RDF.

use std::io::{self, Write};

use oxrdf::QuadRef;
use oxrdfio::{RdfFormat, RdfSerializer, WriterQuadSerializer};

use super::check::check_form;
use super::prefix::is_turtle_prefix;
use super::rdf_xml::RdfXmlWriter;
use super::terms::{TermCheck, relabelled};
use crate::error::{Error, Result};

/// Writes quads. A form without graphs takes those of the default graph alone.
pub struct GraphWriter<W: Write> {
    terms: TermCheck,
    form: Form<W>,
}

enum Form<W: Write> {
    RdfXml(Box<RdfXmlWriter<W>>),
    Other { format: RdfFormat, writer: Box<WriterQuadSerializer<W>> },
}

impl<W: Write> GraphWriter<W> {
    /// Writes with prefixes and their namespaces, as far as the form can declare them.
    pub fn new(format: RdfFormat, prefixes: &[(String, String)], out: W) -> Self {
        Self { terms: TermCheck::default(), form: Form::new(format, prefixes, out) }
    }

    /// # Errors
    /// [`Error::Unwritable`] and [`Error::MalformedTerm`], and nothing of the quad is written; [`Error::Output`].
    pub fn write(&mut self, quad: QuadRef<'_>) -> Result<()> {
        self.terms.check(quad)?;
        match &mut self.form {
            Form::RdfXml(_) if !quad.graph_name.is_default_graph() => {
                let source = io::Error::new(io::ErrorKind::InvalidInput, "RDF/XML has no graphs");
                Err(Error::Output { source })
            }
            Form::RdfXml(writer) => writer.write(quad.into()),
            Form::Other { format, writer } => {
                check_form(*format, quad)?;
                let relabelled = relabelled(quad);
                let quad = relabelled.as_ref().map_or(quad, |quad| quad.as_ref());
                writer.serialize_quad(quad).map_err(output)
            }
        }
    }

    /// Ends the document.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(self) -> Result<W> {
        let mut out = match self.form {
            Form::RdfXml(writer) => writer.finish()?,
            Form::Other { writer, .. } => writer.finish().map_err(output)?,
        };
        out.flush().map_err(output)?;
        Ok(out)
    }
}

impl<W: Write> Form<W> {
    fn new(format: RdfFormat, prefixes: &[(String, String)], out: W) -> Self {
        if format == RdfFormat::RdfXml {
            let prefixes = prefixes.iter().map(|(prefix, namespace)| (prefix.as_str(), namespace.as_str()));
            return Self::RdfXml(Box::new(RdfXmlWriter::new(out, prefixes)));
        }
        let mut serializer = RdfSerializer::from_format(format);
        for (prefix, namespace) in prefixes.iter().filter(|(prefix, _)| is_turtle_prefix(prefix)) {
            // One that is not an IRI cannot be declared, but nothing depends on it.
            serializer = serializer.clone().with_prefix(prefix, namespace).unwrap_or(serializer);
        }
        Self::Other { format, writer: Box::new(serializer.for_writer(out)) }
    }
}

fn output(source: io::Error) -> Error {
    Error::Output { source }
}
