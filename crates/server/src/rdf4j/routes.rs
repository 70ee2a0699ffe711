//! The routes of this protocol.

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, get, post, put};

use crate::protocol::paths;
use crate::rdf4j::repository::Repository;
use crate::rdf4j::transactions::actions;
use crate::rdf4j::{repositories, statements};

/// The routes, at the root and below the path that RDF4J's own server has.
pub fn routes<S: Clone + Send + Sync + 'static>(repository: Arc<Repository>) -> Router<S> {
    let mut router = Router::new();
    for root in paths::RDF4J_ROOTS {
        let of = |path: &str| format!("{root}/repositories/{{id}}{path}");
        router = router
            .route(&format!("{root}/protocol"), get(repositories::protocol))
            .route(&format!("{root}/repositories"), get(repositories::list))
            .route(
                &of(""),
                get(repositories::query)
                    .post(repositories::query)
                    .put(repositories::manage)
                    .delete(repositories::manage),
            )
            .route(&of("/config"), get(repositories::configuration).post(repositories::manage))
            .route(&of("/size"), get(repositories::size))
            .route(&of("/contexts"), get(repositories::contexts))
            .route(&of("/namespaces"), get(repositories::namespaces).delete(repositories::clear_namespaces))
            .route(&of("/namespaces/"), of_namespace())
            .route(&of("/namespaces/{prefix}"), of_namespace())
            .route(
                &of("/statements"),
                get(statements::read).post(statements::add).put(statements::replace).delete(statements::remove),
            )
            .route(&of("/transactions"), post(actions::begin))
            .route(&of("/transactions/{transaction}"), put(actions::act).post(actions::act).delete(actions::act))
            .route(&of("/transactions/{transaction}/{action}"), put(actions::act_by_path).post(actions::act_by_path));
    }
    router.with_state(repository)
}

fn of_namespace() -> MethodRouter<Arc<Repository>> {
    get(repositories::namespace).put(repositories::set_namespace).delete(repositories::remove_namespace)
}
