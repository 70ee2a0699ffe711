//! Refuses requests from web pages of other sites, and requests to foreign host names.
//!
//! Every web page in a user's browser can send requests to a server on a loopback address. The browser adds headers
//! that a page cannot forge. `Host` is the name in the page's URL, so it shows a foreign name that resolves to this
//! machine. `Origin` shows forms and scripts of other sites. `Sec-Fetch-Site` shows requests without `Origin`, as for
//! an image.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use axum::response::Response;

use crate::http::refusal::Refusal;

/// What a server lets pass.
pub struct Guard {
    is_loopback: bool,
    /// In small letters; `*` is any.
    host_names: Vec<String>,
    /// Of `ServerOptions::base`: `name` or `name:port`.
    base_authority: Option<String>,
    cors_origin: Option<HeaderValue>,
    /// Which paths are those of the store, and not of its page.
    is_of_store: fn(&str) -> bool,
}

impl Guard {
    pub fn new(address: SocketAddr, base: Option<&str>, cors_origin: Option<HeaderValue>) -> Self {
        let base_authority = base.and_then(authority_of).map(str::to_ascii_lowercase);
        let is_loopback = address.ip().is_loopback();
        Self { is_loopback, host_names: Vec::new(), base_authority, cors_origin, is_of_store: |_| true }
    }

    /// Which paths are those of the store. The others are of its page, which other sites may link to.
    pub fn store_paths(self, is_of_store: fn(&str) -> bool) -> Self {
        Self { is_of_store, ..self }
    }

    /// The server is known by these names too.
    pub fn host_names(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.host_names.extend(names.into_iter().map(|name| name.as_ref().to_ascii_lowercase()));
        self
    }

    /// Whether the server is known by this authority. By an address nobody is misled: that page was asked for at this
    /// machine.
    fn is_known_as(&self, authority: &str) -> bool {
        let name = name_of(authority);
        self.base_authority.as_deref() == Some(authority)
            || is_loopback_name(name)
            || !self.is_loopback && name.parse::<IpAddr>().is_ok()
            || self.host_names.iter().any(|known| known == "*" || known == name)
    }

    /// # Errors
    /// If the request is meant for another server, or comes from a page of another site.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        if request.headers().get_all(HOST).iter().nth(1).is_some() {
            return Err(Refusal::bad_request("the request has several Hosts"));
        }
        let authority = authority(request.uri(), request.headers())
            .ok_or_else(|| Refusal::bad_request("the request has no Host"))?;
        if !self.is_known_as(&authority) {
            let mend = match self.is_loopback {
                true => "it is for this machine: ask localhost, or start it with --host-name",
                false => "ask its address, or start it with --host-name",
            };
            let message = format!("this server is not known as {authority}; {mend}");
            return Err(Refusal::of(StatusCode::MISDIRECTED_REQUEST, message));
        }
        let message = "pages of other sites may not use this server; start it with --cors to allow those of one";
        let refused = || Refusal::of(StatusCode::FORBIDDEN, message);
        let Some(origin) = request.headers().get(ORIGIN) else {
            // Images, frames and links of pages have no `Origin`. Of them only `*` can be known to be allowed.
            let site = request.headers().get(FETCH_SITE).map(HeaderValue::as_bytes);
            let is_foreign =
                matches!(site, Some(b"cross-site" | b"same-site")) && (self.is_of_store)(request.uri().path());
            let is_allowed = self.cors_origin.as_ref().is_some_and(|allowed| allowed == "*");
            return if is_foreign && !is_allowed { Err(refused()) } else { Ok(()) };
        };
        let is_own = origin.to_str().ok().and_then(authority_of).is_some_and(|origin| {
            let origin = origin.to_ascii_lowercase();
            origin == authority || self.base_authority.as_deref() == Some(&origin)
        });
        if is_own || self.allows(origin) {
            return Ok(());
        }
        Err(refused())
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        self.cors_origin.as_ref().is_some_and(|allowed| allowed == "*" || allowed == origin)
    }

    /// The answer to a browser that asks whether it may ask; `None` if the request is something else.
    pub fn preflight<B>(&self, request: &Request<B>) -> Option<Response> {
        if request.method() != Method::OPTIONS || self.cors_origin.is_none() {
            return None;
        }
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        let methods = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE");
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("accept, content-type"));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        Some(response)
    }

    /// Lets the pages of the allowed origin read an answer.
    pub fn mark(&self, headers: &mut HeaderMap) {
        if let Some(origin) = &self.cors_origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("location"));
            headers.append(VARY, HeaderValue::from_static("origin"));
        }
    }
}

/// The name and port that the client believes to talk to, in small letters.
pub fn authority(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let of_headers = || headers.get(HOST).and_then(|host| host.to_str().ok());
    let authority = uri.authority().map(|authority| authority.as_str()).or_else(of_headers)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]%".contains(&byte);
    (!authority.is_empty() && authority.bytes().all(is_plain)).then(|| authority.to_ascii_lowercase())
}

fn authority_of(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split('/').next()
}

/// An authority without its port.
fn name_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

const FETCH_SITE: &str = "sec-fetch-site";

#[cfg(test)]
mod tests {
    use super::*;

    fn status(guard: &Guard, headers: &[(&str, &str)]) -> u16 {
        status_of("/sparql", guard, headers)
    }

    fn status_of(path: &str, guard: &Guard, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        guard.check(&request.body(()).unwrap()).map_or_else(|refusal| refusal.status.as_u16(), |()| 200)
    }

    #[test]
    fn a_server_on_loopback_answers_to_names_of_this_machine_alone() {
        let guard = Guard::new("127.0.0.1:7878".parse().unwrap(), Some("https://quads.example/"), None);
        for (host, expected) in [
            ("localhost:7878", 200),
            ("LOCALHOST", 200),
            ("a.localhost", 200),
            ("127.0.0.1:7878", 200),
            ("[::1]:7878", 200),
            ("quads.example", 200),
            ("evil.example", 421),
            ("localhost.evil.example:7878", 421),
            ("127.0.0.1.evil.example", 421),
            ("8.8.8.8", 421),
            ("", 400),
            ("a b", 400),
        ] {
            assert_eq!(status(&guard, &[("host", host)]), expected, "{host}");
        }
        assert_eq!(status(&guard, &[]), 400);
        assert_eq!(status(&guard, &[("host", "localhost"), ("host", "localhost")]), 400, "which of them?");
        // `--base` is another option of servers of facts.
        let request = Request::builder().uri("/").header("host", "evil.example").body(()).unwrap();
        let message = guard.check(&request).unwrap_err().message;
        assert!(message.contains("--host-name") && !message.contains("--base"), "{message}");
    }

    #[test]
    fn a_server_for_others_answers_to_addresses_and_to_the_names_that_it_was_given() {
        let guard = Guard::new("192.0.2.1:80".parse().unwrap(), Some("https://quads.example/"), None);
        let named = |guard: Guard, names: &[&str]| guard.host_names(names);
        let guard = named(guard, &["Data.example", "inner"]);
        for (host, expected) in [
            ("192.0.2.1", 200),
            ("203.0.113.9:8080", 200),
            ("[2001:db8::1]:80", 200),
            ("localhost:80", 200),
            ("quads.example", 200),
            ("data.example:80", 200),
            ("INNER", 200),
            ("evil.example", 421),
            ("a.data.example", 421),
            ("192.0.2.1.evil.example", 421),
        ] {
            assert_eq!(status(&guard, &[("host", host)]), expected, "{host}");
        }
        let any = named(Guard::new("192.0.2.1:80".parse().unwrap(), None, None), &["*"]);
        assert_eq!(status(&any, &[("host", "anything.example")]), 200);
        let local = named(Guard::new("127.0.0.1:80".parse().unwrap(), None, None), &["quads.test"]);
        assert_eq!(status(&local, &[("host", "quads.test:80")]), 200);
        assert_eq!(status(&local, &[("host", "192.0.2.1")]), 421);
    }

    #[test]
    fn pages_of_other_sites_are_refused_unless_they_are_allowed() {
        let address = "127.0.0.1:7878".parse().unwrap();
        let asks = |guard: &Guard, origin| status(guard, &[("host", "localhost:7878"), ("origin", origin)]);
        let guard = Guard::new(address, None, None);
        assert_eq!(asks(&guard, "http://localhost:7878"), 200);
        assert_eq!(asks(&guard, "http://localhost:1"), 403);
        assert_eq!(asks(&guard, "https://evil.example"), 403);
        assert_eq!(asks(&guard, "null"), 403);
        let guard = Guard::new(address, None, Some(HeaderValue::from_static("https://good.example")));
        assert_eq!(asks(&guard, "https://good.example"), 200);
        assert_eq!(asks(&guard, "https://evil.example"), 403);
        let guard = Guard::new(address, None, Some(HeaderValue::from_static("*")));
        assert_eq!(asks(&guard, "https://evil.example"), 200);
    }

    #[test]
    fn what_other_sites_ask_without_an_origin_is_refused_but_for_the_page() {
        let address = "127.0.0.1:7878".parse().unwrap();
        let asks =
            |guard: &Guard, path, site| status_of(path, guard, &[("host", "localhost:7878"), ("sec-fetch-site", site)]);
        let guard = Guard::new(address, None, Some(HeaderValue::from_static("https://good.example")));
        let guard = guard.store_paths(|path| path != "/");
        for site in ["cross-site", "same-site"] {
            for path in ["/sparql", "/sparql?query=ASK%20%7B%7D", "/graphs/a"] {
                assert_eq!(asks(&guard, path, site), 403, "{site} {path}");
            }
            assert_eq!(asks(&guard, "/", site), 200);
        }
        for site in ["same-origin", "none"] {
            assert_eq!(asks(&guard, "/sparql", site), 200);
        }
        let guard = Guard::new(address, None, Some(HeaderValue::from_static("*")));
        assert_eq!(asks(&guard, "/sparql", "cross-site"), 200);
    }
}
