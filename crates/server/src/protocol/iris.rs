//! Parameters of requests that are IRIs.

use fulgurite_rdf::oxrdf::NamedNode;

use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;

impl Parameters {
    /// The IRIs of a parameter.
    ///
    /// # Errors
    /// If one is not an absolute IRI.
    pub fn iris(&self, name: &str) -> Result<Vec<NamedNode>, Refusal> {
        self.all(name).map(|value| iri(name, value)).collect()
    }
}

/// # Errors
/// If the value of the parameter is not an absolute IRI.
pub fn iri(parameter: &str, value: &str) -> Result<NamedNode, Refusal> {
    let expected = "give one such as http://example.org/a, without < and >";
    NamedNode::new(value)
        .map_err(|_| Refusal::bad_request(format!("{parameter}=`{value}` is not an absolute IRI; {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_must_be_an_absolute_iri() {
        let iris = |text: &str| Parameters::parse(text.as_bytes()).unwrap().iris("graph").map(|iris| iris.len());
        assert_eq!(iris("graph=http://a&graph=http://b").unwrap(), 2);
        assert_eq!(iris("query=a").unwrap(), 0);
        assert!(iris("graph=http://a&graph=b").is_err());
    }
}
