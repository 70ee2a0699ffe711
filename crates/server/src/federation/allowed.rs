//! Which endpoints may be asked.

use axum::http::Uri;

use super::tls;

/// One URL that may be asked, or all that begin with one.
#[derive(Clone, Debug)]
pub struct Allowed(String);

impl Allowed {
    /// # Errors
    /// If it is not a URL that can be asked.
    pub fn new(url: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            Err(format!("{url}: {why}; give the URL of an endpoint, as http://localhost:3030/people/query"))
        };
        if url.contains('#') {
            return wrong("a URL with a fragment");
        }
        let Ok(uri) = url.parse::<Uri>() else { return wrong("not a URL in ASCII") };
        let Some(authority) = uri.authority() else { return wrong("not an absolute URL") };
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                if let Some(why) = tls::refuse_https() {
                    return Err(format!("{url}: {why}"));
                }
            }
            _ => return wrong("not a URL of HTTP"),
        }
        if authority.as_str().contains('@') {
            return wrong("a user or password, which are not sent");
        }
        if authority.host().is_empty() {
            return wrong("not an absolute URL");
        }
        Ok(Self(url.to_owned()))
    }

    /// Whether `url` may be asked: it is this one, or below it. Compared letter by letter.
    pub fn has(&self, url: &str) -> bool {
        if url == self.0 {
            return true;
        }
        let Some(rest) = url.strip_prefix(&self.0) else { return false };
        let path = decoded(rest.split(['?', '#']).next().unwrap_or_default());
        // Some servers leave out what follows a `;`.
        let is_dots = |part: &str| matches!(part.split(';').next(), Some("." | ".."));
        self.0.ends_with('/') && !path.split(['/', '\\']).any(is_dots)
    }
}

/// The path with its dots and separators decoded, also if they are encoded several times: a server may decode the path
/// before it resolves `..`, which leads to the directory above.
fn decoded(path: &str) -> String {
    let path = path.to_ascii_lowercase();
    let mut parts = path.split('%');
    let mut once = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        once.push('%');
        once.push_str(part.trim_start_matches("25"));
    }
    [("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%3b", ";")]
        .iter()
        .fold(once, |path, (code, character)| path.replace(code, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_allows_itself_and_one_with_a_slash_at_its_end_all_below_it() {
        let one = Allowed::new("http://a.example/sparql").unwrap();
        assert!(one.has("http://a.example/sparql"));
        for other in [
            "http://a.example/sparql/",
            "http://a.example/sparql?x",
            "http://a.example/sparq",
            "http://a.example/",
            "http://b.example/sparql",
            "https://a.example/sparql",
            "http://a.example/SPARQL",
        ] {
            assert!(!one.has(other), "{other}");
        }
        let below = Allowed::new("http://a.example/data/").unwrap();
        for (url, expected) in [
            ("http://a.example/data/", true),
            ("http://a.example/data/people/query", true),
            ("http://a.example/data/query?default-graph-uri=http://b/../c", true),
            ("http://a.example/data", false),
            ("http://a.example/data/../admin", false),
            ("http://a.example/data/%2E%2e/admin", false),
            ("http://a.example/data/x/..", false),
            ("http://a.example/data/..%2fadmin", false),
            ("http://a.example/data/%2E%2E%2Fadmin", false),
            ("http://a.example/data/x%2F..%5Cadmin", false),
            ("http://a.example/data/..%5c", false),
            ("http://a.example/data/%252e%252e%252fadmin", false),
            ("http://a.example/data/..%25252fadmin", false),
            ("http://a.example/data/..;x/admin", false),
            ("http://a.example/data/..%3Bx/admin", false),
            ("http://a.example/data/a..b;x/%25/..c", true),
            ("http://a.example/data/x%2Fquery", true),
            ("http://a.example.evil.example/data/", false),
            ("http://user@a.example/data/", false),
        ] {
            assert_eq!(below.has(url), expected, "{url}");
        }
        assert!(!Allowed::new("http://a.example/").unwrap().has("http://a.example:81/"));
    }

    #[test]
    fn what_cannot_be_asked_cannot_be_allowed() {
        for wrong in [
            "",
            "a.example",
            "/sparql",
            "ftp://a.example/",
            "file:///etc/passwd",
            "http://",
            "http:///sparql",
            "http://u:p@a.example/",
            "http://a.example/#x",
            "http://a b/",
            "*",
        ] {
            assert!(Allowed::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Allowed::new("https://a.example/").is_ok(), tls::refuse_https().is_none());
    }
}
