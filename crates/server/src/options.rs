//! The options of a server of RDF, with units and defaults.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fulgurite_rdf::MeteringAllocator;
use fulgurite_rdf::sparql::ServiceHandler;

use crate::settings::options;

options! {
    /// Options of a [`Server`](crate::Server).
    struct ServerOptions;

    /// Allows updates and changes of graphs. Default: `false`.
    writable: bool = false;

    /// Uses the union of all graphs as the default graph of queries and of `WHERE`. Default: `false`.
    union_default_graph: bool = false;

    /// The longest time of a request, from the start of its evaluation to the end of its answer. `None` sets no limit.
    /// [`ServerOptions::body_time`] limits the time before that in which its body arrives, and [`ServerOptions::wait`]
    /// the time that it waits for other requests. Default: 60 seconds.
    timeout: Option<Duration> = Some(Duration::from_secs(60));

    /// The most rows or triples of a query. Default: no limit.
    rows_max: Option<u64> = None;

    /// The most memory of a query, or of one operation of an update, in bytes
    /// ([`Limits::memory_bytes_max`](fulgurite_rdf::sparql::Limits::memory_bytes_max)). `None` sets no limit. Each
    /// query that runs at once may use this much. Default: 1 GiB if the program has a [`MeteringAllocator`], which the
    /// limit requires; else no limit.
    memory_bytes_max: Option<u64> = MeteringAllocator::is_installed().then_some(1 << 30);

    /// The most memory of the terms that a query or update computes (by `CONCAT`, `BIND`, aggregates), in bytes. `None`
    /// sets no limit. Memory of joins, sorting and `DISTINCT` is not counted. Default: 256 MiB.
    computed_bytes_max: Option<u64> = Some(256 << 20);

    /// The longest body of a request, in bytes. It is in memory while the request runs. Default: 64 MiB.
    body_bytes_max: usize = 64 << 20;

    /// The URL by which clients reach the server, with a slash at the end. It is the base of relative IRIs and of the
    /// names of graphs under `/graphs/`. The server is known by its name. Default: the `Host` of each request.
    base: Option<String> = None;

    /// The name of the store as a repository of RDF4J's protocol: letters, digits, `-`, `_` and `.`. Default: the name
    /// of its file without the extension; other characters become `-`.
    repository: Option<String> = None;

    /// How many transactions of RDF4J's protocol may be open at once. Default: 64.
    transactions_max: usize = 64;

    /// A transaction of RDF4J's protocol for which no request came for this time is rolled back. Default: 60 seconds.
    transaction_idle: Duration = Duration::from_secs(60);

    /// Calls other endpoints for `SERVICE`, as a [`ServiceClient`](crate::ServiceClient) does. Default: none, and
    /// `SERVICE` is refused.
    service: Option<Arc<dyn ServiceHandler>> = None;
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServerOptions")
            .field("writable", &self.writable)
            .field("timeout", &self.timeout)
            .field("rows_max", &self.rows_max)
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("computed_bytes_max", &self.computed_bytes_max)
            .field("body_bytes_max", &self.body_bytes_max)
            .field("base", &self.base)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_can_use_is_limited_by_default() {
        let options = ServerOptions::new();
        assert!(options.timeout.is_some() && options.computed_bytes_max.is_some());
        // Unit tests have no meter; a limit would be refused.
        assert_eq!(options.memory_bytes_max, None);
    }
}
