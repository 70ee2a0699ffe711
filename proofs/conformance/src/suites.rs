//! The suites: the place of each in the archive, the address of its files on the Web, and its number of tests.

use crate::archive::Archive;

/// A suite of the W3C.
pub struct Suite {
    /// Its name in the report.
    pub name: &'static str,
    /// Its directory in the archive.
    directory: &'static str,
    /// The address of that directory: what relative references in its files are resolved against.
    pub base: &'static str,
    /// Its manifests. Each may include others.
    pub manifests: &'static [&'static str],
    /// So many tests are listed in them, counted without any RDF: fewer would mean that our own store has lost some
    /// while it read the manifests.
    pub tests: usize,
}

/// All suites.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "SPARQL 1.0",
        directory: "test/data/suites/w3c/dawg-data-r2/",
        base: "http://www.w3.org/2001/sw/DataAccess/tests/data-r2/",
        manifests: &["manifest-syntax.ttl", "manifest-evaluation.ttl", "extended-manifest-evaluation.ttl"],
        tests: 449,
    },
    Suite {
        name: "SPARQL 1.1",
        directory: "test/data/suites/w3c/sparql11/",
        base: "http://www.w3.org/2009/sparql/docs/tests/data-sparql11/",
        manifests: &["manifest-all.ttl"],
        tests: 547,
    },
    Suite {
        name: "N-Triples",
        directory: "test/data/suites/w3c/ntriples/",
        base: "http://www.w3.org/2013/N-TriplesTests/",
        manifests: &["manifest.ttl"],
        tests: 68,
    },
    Suite {
        name: "N-Quads",
        directory: "test/data/suites/w3c/nquads/",
        base: "http://www.w3.org/2013/N-QuadsTests/",
        manifests: &["manifest.ttl"],
        tests: 85,
    },
    Suite {
        name: "Turtle",
        directory: "test/data/suites/w3c/turtle/",
        base: "http://www.w3.org/2013/TurtleTests/",
        manifests: &["manifest.ttl"],
        tests: 291,
    },
    Suite {
        name: "TriG",
        directory: "test/data/suites/w3c/trig/",
        base: "http://www.w3.org/2013/TriGTests/",
        manifests: &["manifest.ttl"],
        tests: 335,
    },
    Suite {
        name: "RDF/XML",
        directory: "test/data/suites/w3c/rdf-xml/",
        base: "http://www.w3.org/2013/RDFXMLTests/",
        manifests: &["manifest.ttl"],
        tests: 162,
    },
    Suite {
        name: "JSON-LD 1.1",
        directory: "test/jsonld/1.1/",
        base: "https://w3c.github.io/json-ld-api/tests/",
        manifests: &[
            "toRdf-manifest.jsonld",
            "fromRdf-manifest.jsonld",
            "expand-manifest.jsonld",
            "compact-manifest.jsonld",
            "flatten-manifest.jsonld",
            "html-manifest.jsonld",
            "remote-doc-manifest.jsonld",
        ],
        tests: 1263,
    },
];

/// Finds documents by their addresses.
pub struct Documents {
    archive: Archive,
}

impl Documents {
    /// The documents of the suites in `archive`.
    pub fn new(archive: Archive) -> Self {
        Self { archive }
    }

    /// The bytes of a document.
    ///
    /// # Errors
    /// If no suite has it.
    pub fn bytes(&self, address: &str) -> Result<&[u8], String> {
        let address = address.split('#').next().unwrap_or(address);
        SUITES
            .iter()
            .filter_map(|suite| Some((suite, address.strip_prefix(suite.base)?)))
            .find_map(|(suite, path)| self.archive.file(&format!("{}{path}", suite.directory)))
            .ok_or_else(|| format!("{address}: no suite has this file"))
    }

    /// A document as text.
    ///
    /// # Errors
    /// If no suite has it, or it is not UTF-8.
    pub fn text(&self, address: &str) -> Result<&str, String> {
        std::str::from_utf8(self.bytes(address)?).map_err(|error| format!("{address}: {error}"))
    }
}
