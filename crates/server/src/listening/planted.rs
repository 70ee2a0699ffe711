//! For tests: requests that panic, each in a place of its own.

use std::io::Write;
use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use crate::http::admission::{Admission, Cancel};
use crate::http::answer::{compute, stream};

/// The routes, which panic in a handler, in work, before the first chunk of an answer, and later.
pub fn routes<S: Clone + Send + Sync + 'static, K: Cancel>(admission: &Arc<Admission<K>>) -> Router<S> {
    let [work, first, later] = [(); 3].map(|()| Arc::clone(admission));
    let work = async move || compute::<K, StatusCode>(&work, |_| panic!("planted in the work")).await;
    let first = async move || {
        stream(&first, |_, out| {
            let _ = out.write(b"a few rows");
            panic!("planted before the first chunk")
        })
        .await
    };
    let later = async move || {
        stream(&later, |_, out| {
            for _ in 0..20 {
                let _ = out.write(&[b'x'; 10_000]);
            }
            panic!("planted behind {} chunks", 6)
        })
        .await
    };
    Router::new()
        .route("/planted/handler", get(handler))
        .route("/planted/work", get(work))
        .route("/planted/first", get(first))
        .route("/planted/later", get(later))
}

async fn handler() -> StatusCode {
    panic!("planted in a handler")
}
