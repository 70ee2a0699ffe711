//! The page for browsers: an editor for queries, without anything from elsewhere.

use axum::Router;

use crate::http::page::{self, File, HTML, SCRIPT, STYLE};

/// The routes of the page.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    page::routes(FILES)
}

/// Whether a path is of the databases, and not of the page.
pub fn is_of_databases(path: &str) -> bool {
    FILES.iter().all(|(file, _, _)| path != *file)
}

const FILES: &[File] = &[
    ("/", HTML, include_str!("page/page.html")),
    ("/page.js", SCRIPT, include_str!("page/page.js")),
    ("/page.css", STYLE, include_str!("../page/page.css")),
];
