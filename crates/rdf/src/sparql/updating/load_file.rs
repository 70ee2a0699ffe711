//! What `LOAD` reads: files that `file:` IRIs name.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use oxrdf::{GraphName, NamedNode};
use oxrdfio::RdfFormat;

use crate::error::{Error, Result};
use crate::load::{Document, DocumentQuads, parser_of};

/// The quads of a file. Statements that name no graph are `destination`'s; if that is a named graph, none may name one.
pub fn quads(source: &NamedNode, destination: &GraphName) -> Result<DocumentQuads> {
    let refused = || Error::LoadRefused { iri: source.as_str().to_owned() };
    let path = path(source.as_str()).ok_or_else(refused)?;
    let name = path.display().to_string();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format = RdfFormat::from_extension(extension).ok_or_else(|| Error::Invalid {
        message: format!("{name}: unknown RDF extension; use .ttl, .nt, .nq, .trig, .rdf or .jsonld"),
    })?;
    let file = File::open(&path).map_err(|source| Error::Input { input: name.clone(), source })?;
    // A relative IRI is relative to its file.
    let (graph, base) = (destination.clone(), Some(source.as_str().into()));
    let document = Document { number: 0, name, format, graph, base, is_packed: false };
    let mut parser = parser_of(&document)?.with_default_graph(destination.clone());
    if *destination != GraphName::DefaultGraph {
        parser = parser.without_named_graphs();
    }
    DocumentQuads::new(document, parser, Box::new(BufReader::new(file)))
}

/// The path that a `file:` IRI names on this machine.
fn path(iri: &str) -> Option<PathBuf> {
    let rest = iri.strip_prefix("file:")?;
    let path = match rest.strip_prefix("//") {
        Some(rest) => {
            let (host, _) = rest.split_once('/')?;
            if !(host.is_empty() || host == "localhost") {
                return None;
            }
            &rest[host.len()..]
        }
        None => rest,
    };
    let decoded = percent_decoded(path)?;
    // `file:///C:/x` is `C:/x` where drives have letters.
    let without_slash = decoded.strip_prefix('/').filter(|rest| cfg!(windows) && rest.as_bytes().get(1) == Some(&b':'));
    Some(PathBuf::from(without_slash.unwrap_or(&decoded)))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        bytes.push(digit()? * 16 + digit()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_iris_name_paths_of_this_machine_alone() {
        assert_eq!(path("file:///tmp/a%20b.ttl"), Some(PathBuf::from("/tmp/a b.ttl")));
        assert_eq!(path("file://localhost/tmp/a.ttl"), Some(PathBuf::from("/tmp/a.ttl")));
        assert_eq!(path("file:/tmp/a.ttl"), Some(PathBuf::from("/tmp/a.ttl")));
        assert_eq!(path("file://other/tmp/a.ttl"), None);
        assert_eq!(path("http://localhost/tmp/a.ttl"), None);
        assert_eq!(path("file:///tmp/%zz"), None);
    }
}
