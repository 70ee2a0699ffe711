//! Parameters of requests: `name=value` pairs with percent escapes, in URLs and in bodies of forms.

use std::borrow::Cow;
use std::time::Duration;

use axum::http::Uri;

use crate::http::refusal::Refusal;

/// Decoded parameters in their order, of those that mean something somewhere; names may come several times.
#[derive(Debug, Default)]
pub struct Parameters {
    pairs: Vec<(Cow<'static, str>, String)>,
    /// The beginning of the first name that no request knows.
    unknown: Option<String>,
}

impl Parameters {
    /// # Errors
    /// If there are more than a thousand; if escapes of those that mean something are broken, or make no UTF-8.
    pub fn of_url(uri: &Uri) -> Result<Self, Refusal> {
        Self::parse(uri.query().unwrap_or_default().as_bytes())
    }

    /// # Errors
    /// As [`Parameters::of_url`].
    pub fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let mut parameters = Self::default();
        for (number, pair) in text.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty()).enumerate() {
            if number == PARAMETERS_MAX {
                return Err(Refusal::bad_request(format!("there are more than {PARAMETERS_MAX} parameters")));
            }
            let end = pair.iter().position(|&byte| byte == b'=').unwrap_or(pair.len());
            let Some(name) = known(&pair[..end]) else {
                if parameters.unknown.is_none() && !IGNORED.iter().any(|ignored| ignored.as_bytes() == &pair[..end]) {
                    let shown = &pair[..end.min(SHOWN_BYTES_MAX)];
                    parameters.unknown = Some(String::from_utf8_lossy(shown).into_owned());
                }
                continue;
            };
            parameters.pairs.push((name, decoded(pair.get(end + 1..).unwrap_or_default())?));
        }
        Ok(parameters)
    }

    /// These, and behind them the others.
    pub fn and(mut self, others: Self) -> Self {
        self.pairs.extend(others.pairs);
        self.unknown = self.unknown.or(others.unknown);
        self
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub fn all<'p>(&'p self, name: &str) -> impl Iterator<Item = &'p str> {
        self.pairs.iter().filter(move |(other, _)| *other == name).map(|(_, value)| value.as_str())
    }

    /// The parameters whose names begin with one of [`PREFIXES`]: the rest of each name, and the value.
    pub fn with_prefix<'p>(&'p self, prefix: &'static str) -> impl Iterator<Item = (&'p str, &'p str)> {
        self.pairs.iter().filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    /// A parameter that is `true` or `false`.
    ///
    /// # Errors
    /// If it is something else, or comes several times.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        match self.at_most_one(name)? {
            None => Ok(None),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(Some(true)),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(Some(false)),
            Some(value) => Err(Refusal::bad_request(format!("{name}=`{value}` must be true or false"))),
        }
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

    /// Takes the value of a parameter that may come once out of them.
    ///
    /// # Errors
    /// If it comes several times.
    pub fn take_one(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        self.at_most_one(name)?;
        let place = self.pairs.iter().position(|(other, _)| *other == name);
        Ok(place.map(|place| self.pairs.remove(place).1))
    }

    /// The time of a parameter that may come once; `None` if it does not, or is 0, which clients mean for no time of
    /// their own.
    ///
    /// # Errors
    /// If it is not a decimal number of seconds.
    pub fn seconds(&self, name: &str) -> Result<Option<Duration>, Refusal> {
        let Some(text) = self.at_most_one(name)? else { return Ok(None) };
        let number = text.strip_suffix('s').unwrap_or(text);
        let is_decimal = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let seconds = number.parse().ok().filter(|_| is_decimal);
        let time = seconds.map(|seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        match time {
            Some(time) => Ok((!time.is_zero()).then_some(time)),
            None => {
                Err(Refusal::bad_request(format!("{name}=`{text}` is not a time; give seconds, such as 30 or 0.5")))
            }
        }
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

    /// Refuses all parameters that are not `allowed`, so that a misspelled one does not widen what a request changes.
    /// If one of [`PREFIXES`] is allowed, all names with this prefix are.
    ///
    /// # Errors
    /// If there is another parameter.
    pub fn refuse_others(&self, allowed: &[&str]) -> Result<(), Refusal> {
        let is_allowed = |name: &str| {
            allowed.iter().any(|&allowed| name == allowed || PREFIXES.contains(&allowed) && name.starts_with(allowed))
        };
        let known = self.pairs.iter().map(|(name, _)| &**name);
        match self.unknown.as_deref().into_iter().chain(known).find(|name| !is_allowed(name)) {
            None => Ok(()),
            Some(name) => Err(Refusal::bad_request(format!(
                "`{name}` is not a parameter of this request; its parameters are {}",
                allowed.join(", ").replace(BINDING, "$NAME")
            ))),
        }
    }
}

/// The name, if it means something.
fn known(text: &[u8]) -> Option<Cow<'static, str>> {
    // Every byte of a name may be an escape of three.
    let name = if text.len() <= 3 * NAME_BYTES_MAX { decoded(text).ok()? } else { return None };
    if let Some(known) = NAMES.iter().find(|known| **known == name) {
        return Some(Cow::Borrowed(known));
    }
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)).then_some(Cow::Owned(name))
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

const NAMES: &[&str] = &[
    "query",
    "update",
    "default-graph-uri",
    "named-graph-uri",
    "using-graph-uri",
    "using-named-graph-uri",
    "default",
    "graph",
    "timeout",
    // Those of RDF4J's protocol.
    "action",
    "baseURI",
    "context",
    "explain",
    "infer",
    "insert-graph-uri",
    "isolation-level",
    "limit",
    "obj",
    "offset",
    "pred",
    "preserveNodeId",
    "queryLn",
    "remove-graph-uri",
    "subj",
    // Those of stores of facts.
    "id",
    "recursive",
    "repo",
];
/// The prefix of names for values of variables in RDF4J's protocol.
pub const BINDING: &str = "$";
/// The prefix of names for settings of transactions in RDF4J's protocol.
pub const SETTING: &str = "transaction-setting__";
const PREFIXES: &[&str] = &[BINDING, SETTING];
/// Names without effect that clients of SPARQL send, also with changes.
const IGNORED: &[&str] = &["Accept", "distinct", "format", "output", "results"];
const NAME_BYTES_MAX: usize = 1 << 10;
/// The bytes of an unknown name that an error shows.
const SHOWN_BYTES_MAX: usize = 64;
const PARAMETERS_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_keep_their_order() {
        let text = b"query=ASK+%7B%7D&gr%61ph=http%3a%2F%2Fa&&graph=b&update=&default&other=c";
        let mut parameters = Parameters::parse(text).unwrap();
        assert_eq!(parameters.all("graph").collect::<Vec<_>>(), ["http://a", "b"]);
        assert_eq!(parameters.at_most_one("update").unwrap(), Some(""));
        assert!(parameters.has("default") && !parameters.has("named-graph-uri"));
        assert!(parameters.at_most_one("graph").is_err() && parameters.take_one("graph").is_err());
        assert_eq!(parameters.take_one("query").unwrap().as_deref(), Some("ASK {}"));
        assert_eq!(parameters.take_one("query").unwrap(), None);
    }

    #[test]
    fn broken_escapes_and_other_encodings_are_refused() {
        for text in ["query=%", "query=%4", "query=%zz", "query=%+1", "query=%ff"] {
            assert!(Parameters::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_decimal_numbers_of_seconds() {
        let seconds = |text: &str| Parameters::parse(text.as_bytes()).unwrap().seconds("timeout");
        for (text, milliseconds) in [("30", 30_000), ("0.5", 500), ("2.", 2_000), (".25", 250), ("30s", 30_000)] {
            let time = Some(Duration::from_millis(milliseconds));
            assert_eq!(seconds(&format!("timeout={text}")).unwrap(), time, "{text}");
        }
        assert_eq!(seconds("query=a").unwrap(), None);
        assert_eq!(seconds("timeout=0").unwrap(), None);
        assert_eq!(seconds(&format!("timeout={}", "9".repeat(400))).unwrap(), Some(Duration::MAX));
        for wrong in
            ["timeout=", "timeout=-1", "timeout=1e3", "timeout=inf", "timeout=NaN", "timeout=1.2.3", "timeout=%2b1"]
        {
            assert_eq!(seconds(wrong).unwrap_err().status, 400, "{wrong}");
        }
        assert!(seconds("timeout=1&timeout=2").is_err());
    }

    #[test]
    fn all_but_some_are_refused_but_for_names_without_effect() {
        let refused = |text: &str| {
            let parameters = Parameters::parse(b"timeout=1").unwrap().and(Parameters::parse(text.as_bytes()).unwrap());
            parameters.refuse_others(&["timeout", BINDING]).err().map(|refusal| refusal.message.into_owned())
        };
        for allowed in ["", "$x=1&%24y=2", "format=json&Accept=a"] {
            assert_eq!(refused(allowed), None, "{allowed}");
        }
        for other in ["sbj=1", "graph=a", "$x=1&grph"] {
            let message = refused(other).expect(other);
            assert!(message.ends_with("its parameters are timeout, $NAME"), "{message}");
        }
    }

    #[test]
    fn parameters_that_mean_nothing_are_not_kept_and_more_than_a_thousand_are_refused() {
        let text = |count: usize| "a=b&".repeat(count - 1) + "query=c";
        let parameters = Parameters::parse(text(1000).as_bytes()).unwrap();
        assert_eq!(parameters.pairs, [(Cow::Borrowed("query"), "c".to_owned())]);
        assert!(Parameters::parse(text(1001).as_bytes()).is_err());
        assert!(Parameters::parse(&b"a&".repeat(1 << 20)).is_err());
    }
}
