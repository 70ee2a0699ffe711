//! The options of a server, with units and defaults, and its events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fulgurite_rdf::MeteringAllocator;
use fulgurite_rdf::sparql::ServiceHandler;

/// An event of a running server. Listeners are called on any thread, and must return quickly.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A request was answered, or its client left.
    Answered {
        /// Its method.
        method: &'e str,
        /// Its path, without the parameters.
        path: &'e str,
        /// The status of the answer.
        status: u16,
        /// Bytes of the answer's body that were handed to the connection.
        bytes: u64,
        /// Whether the body was sent to its end.
        is_whole: bool,
        /// The time from the head of the request to the end of the answer.
        elapsed: Duration,
    },
    /// The store or the server failed. Clients get an error without these details.
    Failed {
        /// The method and path of the request, and the error. For a panic, with its place in the code.
        message: &'e str,
    },
}

type Listener = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Declares the options: for each its documentation, type and default.
macro_rules! options {
    ($($(#[$about:meta])* $name:ident: $kind:ty = $default:expr;)*) => {
        /// Options of a [`Server`](crate::Server).
        #[derive(Clone)]
        pub struct ServerOptions {
            $(pub(crate) $name: $kind,)*
            pub(crate) listener: Option<Listener>,
        }

        impl Default for ServerOptions {
            fn default() -> Self {
                Self { $($name: $default,)* listener: None }
            }
        }

        impl ServerOptions {
            $(
                $(#[$about])*
                #[must_use]
                pub fn $name(mut self, $name: $kind) -> Self {
                    self.$name = $name;
                    self
                }
            )*
        }
    };
}

options! {
    /// Allows updates and changes of graphs. Default: `false`.
    writable: bool = false;

    /// Shuts the server down on Ctrl-C and, on Unix, on SIGTERM. A second signal ends the process at once. Default:
    /// `false`.
    stop_on_signals: bool = false;

    /// Uses the union of all graphs as the default graph of queries and of `WHERE`. Default: `false`.
    union_default_graph: bool = false;

    /// The longest time of a request, from the start of its evaluation to the end of its answer. `None` is no limit.
    /// [`ServerOptions::body_time`] limits the time before that in which its body arrives, and [`ServerOptions::wait`]
    /// the time that it waits for other requests. Default: 60 seconds.
    timeout: Option<Duration> = Some(Duration::from_secs(60));

    /// The most rows or triples of a query. Default: no limit.
    rows_max: Option<u64> = None;

    /// The most memory of a query, or of one operation of an update, in bytes
    /// ([`Limits::memory_bytes_max`](fulgurite_rdf::sparql::Limits::memory_bytes_max)). `None` is no limit. Each of the
    /// queries that run at once may use this much. Default: 1 GiB if the program has a [`MeteringAllocator`], which the
    /// limit requires; else no limit.
    memory_bytes_max: Option<u64> = MeteringAllocator::is_installed().then_some(1 << 30);

    /// The most memory of the terms that a query or update computes (by `CONCAT`, `BIND`, aggregates), in bytes. `None`
    /// is no limit. Memory of joins, sorting and `DISTINCT` is not counted. Default: 256 MiB.
    computed_bytes_max: Option<u64> = Some(256 << 20);

    /// The longest body of a request, in bytes. It is in memory while the request runs. Default: 64 MiB.
    body_bytes_max: usize = 64 << 20;

    /// The time in which the complete body of a request must arrive. Default: 5 minutes.
    body_time: Duration = Duration::from_secs(300);

    /// A client that reads nothing of an answer for this time is disconnected. Default: 60 seconds.
    stall: Duration = Duration::from_secs(60);

    /// How many queries, updates and changes of graphs run at once. At least 1. Default: two for each processor.
    queries_max: usize = 2 * std::thread::available_parallelism().map_or(1, usize::from);

    /// A request that has waited this long for others to end is refused. Default: 10 seconds.
    wait: Duration = Duration::from_secs(10);

    /// At a shutdown, running requests are cancelled after this time. Default: 5 seconds.
    grace: Duration = Duration::from_secs(5);

    /// The URL by which clients reach the server, with a slash at the end. It is the base of relative IRIs and of the
    /// names of graphs under `/graphs/`. Default: the `Host` of each request.
    base: Option<String> = None;

    /// Further host names of the server, without ports. `*` is any name. Default: none.
    ///
    /// Requests to other names are refused, because a web site can make its own name resolve to this machine. These
    /// names are always allowed: those of the loopback, that of [`ServerOptions::base`], and, if the server does not
    /// listen on the loopback, all IP addresses and the name that it was bound to.
    host_names: Vec<String> = Vec::new();

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

    /// An origin (`https://example.org`) whose web pages may call the server, or `*` for all. Default: only the
    /// server's own.
    cors_origin: Option<String> = None;
}

impl ServerOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `listener` with every event.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    pub(crate) fn notify(&self, event: Event<'_>) {
        if let Some(listener) = &self.listener {
            listener(event);
        }
    }
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
            .field("queries_max", &self.queries_max)
            .field("base", &self.base)
            .field("host_names", &self.host_names)
            .field("cors_origin", &self.cors_origin)
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
