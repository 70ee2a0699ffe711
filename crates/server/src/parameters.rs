//! Parameters of requests: `name=value` pairs with percent escapes, in URLs and in bodies of forms.

use axum::http::Uri;
use fulgurite_rdf::oxrdf::NamedNode;

use crate::refusal::Refusal;

/// Decoded parameters in their order; names may come several times.
#[derive(Debug, Default)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// # Errors
    /// If escapes are broken, or make no UTF-8.
    pub fn of_url(uri: &Uri) -> Result<Self, Refusal> {
        Self::parse(uri.query().unwrap_or_default().as_bytes())
    }

    /// # Errors
    /// As [`Parameters::of_url`].
    pub fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let mut pairs = Vec::new();
        for pair in text.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()) {
            let end = pair.iter().position(|&byte| byte == b'=').unwrap_or(pair.len());
            let value = pair.get(end + 1..).unwrap_or_default();
            pairs.push((decoded(&pair[..end])?, decoded(value)?));
        }
        Ok(Self(pairs))
    }

    /// These, and behind them the others.
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter that may come once.
    ///
    /// # Errors
    /// If it comes several times.
    pub fn at_most_one(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.all(name);
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(_) => Err(Refusal::bad_request(format!("the parameter {name} is given more than once; give it once"))),
        }
    }

    /// The IRIs of a parameter.
    ///
    /// # Errors
    /// If one is no absolute IRI.
    pub fn iris(&self, name: &str) -> Result<Vec<NamedNode>, Refusal> {
        self.all(name).map(|value| iri(name, value)).collect()
    }

    /// Refuses parameters that mean something elsewhere, but not here.
    ///
    /// # Errors
    /// If one of `names` is there.
    pub fn refuse(&self, names: &[&str], why: &str) -> Result<(), Refusal> {
        match names.iter().find(|name| self.has(name)) {
            None => Ok(()),
            Some(name) => Err(Refusal::bad_request(format!("the parameter {name} is not for this: {why}"))),
        }
    }
}

/// # Errors
/// If the value of the parameter is no absolute IRI.
pub fn iri(parameter: &str, value: &str) -> Result<NamedNode, Refusal> {
    NamedNode::new(value)
        .map_err(|error| Refusal::bad_request(format!("{parameter}=`{value}` is not an absolute IRI: {error}")))
}

fn decoded(text: &[u8]) -> Result<String, Refusal> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || char::from(*rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (Some(high), Some(low)) = (digit(), digit()) else {
                    return Err(Refusal::bad_request("a parameter has a % that no two hexadecimal digits follow"));
                };
                bytes.push(high * 16 + low);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| Refusal::bad_request("a parameter is not UTF-8; send it as such"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_keep_their_order() {
        let parameters = Parameters::parse(b"query=ASK+%7B%7D&g=http%3a%2F%2Fa&&g=b&empty=&bare").unwrap();
        assert_eq!(parameters.at_most_one("query").unwrap(), Some("ASK {}"));
        assert_eq!(parameters.all("g").collect::<Vec<_>>(), ["http://a", "b"]);
        assert_eq!(parameters.at_most_one("empty").unwrap(), Some(""));
        assert!(parameters.has("bare") && !parameters.has("missing"));
        assert!(parameters.at_most_one("g").is_err());
        assert!(parameters.iris("g").is_err());
    }

    #[test]
    fn broken_escapes_and_other_encodings_are_refused() {
        for text in ["a=%", "a=%4", "a=%zz", "a=%+1", "a=%ff"] {
            assert!(Parameters::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
