//! The pages for browsers, without anything from elsewhere: a query editor of one document, one script and one style;
//! and, with the feature `yasgui`, in its place the editor YASGUI, whose files `build.rs` has brought.

use axum::Router;

use crate::http::page::{self, File, HTML, SCRIPT, STYLE};

/// The routes of all pages.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    page::routes(FILES.iter().chain(EDITOR))
}

/// The page of our own.
const FILES: &[File] = &[
    (if cfg!(feature = "yasgui") { "/plain" } else { "/" }, HTML, include_str!("page/page.html")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/page.css", STYLE, include_str!("page/page.css")),
];

#[cfg(not(feature = "yasgui"))]
const EDITOR: &[File] = &[];
#[cfg(feature = "yasgui")]
const EDITOR: &[File] = &[
    ("/", HTML, include_str!("page/yasgui/editor.html")),
    ("/editor.js", SCRIPT, include_str!("page/yasgui/editor.js")),
    ("/editor.css", STYLE, include_str!("page/yasgui/editor.css")),
    ("/licences.txt", "text/plain; charset=utf-8", include_str!("page/yasgui/licences.txt")),
    ("/yasgui.min.js", SCRIPT, include_str!(concat!(env!("OUT_DIR"), "/yasgui.min.js"))),
    ("/yasgui.min.css", STYLE, include_str!(concat!(env!("OUT_DIR"), "/yasgui.min.css"))),
];
