//! Every tunable of a server with its unit and default, and what it tells the program around it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fulgurite_rdf::MeteringAllocator;
use fulgurite_rdf::sparql::ServiceHandler;

/// What a server tells while it runs, on any thread: be quick.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A request has been answered, or given up.
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
        /// From the request's head to the end of the answer.
        elapsed: Duration,
    },
    /// The store or the server failed, in a way that clients are told of without particulars.
    Failed {
        /// What happened, behind the method and the path of the request; of a bug, its place in the code.
        message: &'e str,
    },
}

type Listener = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Declares the options: of each what it is, its type and its default.
macro_rules! options {
    ($($(#[$about:meta])* $name:ident: $kind:ty = $default:expr;)*) => {
        /// How to serve.
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
    /// Whether updates and changes of graphs are allowed. Default: no.
    writable: bool = false;

    /// Whether Ctrl-C and, where there is such, SIGTERM shut the server down; the second of them ends the process at
    /// once. Default: no.
    stop_on_signals: bool = false;

    /// Whether the default graph of queries and of `WHERE` is the union of all graphs. Default: no.
    union_default_graph: bool = false;

    /// The time that one request may be evaluated, from when its turn has come to the end of the answer; `None` for
    /// any. What its body takes to come is [`ServerOptions::body_time`], what it waits for its turn
    /// [`ServerOptions::wait`]. Default: 60 seconds.
    timeout: Option<Duration> = Some(Duration::from_secs(60));

    /// The rows or triples that one query may return. Default: any number.
    rows_max: Option<u64> = None;

    /// The bytes of memory that one query, or one operation of an update, may hold while it is evaluated
    /// ([`Limits::memory_bytes_max`](fulgurite_rdf::sparql::Limits::memory_bytes_max)); `None` for any. As many queries
    /// as run at once may hold so much each. Default: 1 GiB if the program has a [`MeteringAllocator`], which this
    /// needs; else any.
    memory_bytes_max: Option<u64> = MeteringAllocator::is_installed().then_some(1 << 30);

    /// The bytes of memory that the terms may take that one query or update makes itself (by `CONCAT`, `BIND`,
    /// aggregates); `None` for any. What joins, sorting and `DISTINCT` hold is not counted. Default: 256 MiB.
    computed_bytes_max: Option<u64> = Some(256 << 20);

    /// The bytes of a request's body. It is held in memory while the request runs. Default: 64 MiB.
    body_bytes_max: usize = 64 << 20;

    /// The time in which all of a request's body has to come. Default: 5 minutes.
    body_time: Duration = Duration::from_secs(300);

    /// A client that takes nothing of an answer for so long is cut off. Default: 60 seconds.
    stall: Duration = Duration::from_secs(60);

    /// The queries, updates and changes of graphs that run at once, at least 1. Default: two for each processor.
    queries_max: usize = 2 * std::thread::available_parallelism().map_or(1, usize::from);

    /// The time that a request waits for others to end before it is refused. Default: 10 seconds.
    wait: Duration = Duration::from_secs(10);

    /// The time that running requests are given at a shutdown before they are cancelled. Default: 5 seconds.
    grace: Duration = Duration::from_secs(5);

    /// Where clients reach the server, with a slash at the end: what relative IRIs are resolved against, and how the
    /// graphs under `/graphs/` are named. Default: what each request says by its `Host`.
    base: Option<String> = None;

    /// Names, without ports, by which clients reach the server besides those that it is known by anyway: those of the
    /// loopback, that of [`ServerOptions::base`], and, if it does not listen on the loopback, all IP addresses and the
    /// name that it was bound to. Requests by other names are refused: a site can make its own name resolve to any
    /// machine. `*` is any name. Default: none.
    host_names: Vec<String> = Vec::new();

    /// What asks other endpoints for `SERVICE`, such as a [`ServiceClient`](crate::ServiceClient). Default: none, and
    /// `SERVICE` is refused.
    service: Option<Arc<dyn ServiceHandler>> = None;

    /// An origin (`https://example.org`) whose pages may use the server, or `*` for all. Default: none but the server's
    /// own.
    cors_origin: Option<String> = None;
}

impl ServerOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Is called with what happens.
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    pub(crate) fn tell(&self, event: Event<'_>) {
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
    fn nothing_that_a_client_could_take_without_end_is_unbounded_by_default() {
        let options = ServerOptions::new();
        assert!(options.timeout.is_some() && options.computed_bytes_max.is_some());
        // Unit tests have no meter; a limit would be refused.
        assert_eq!(options.memory_bytes_max, None);
    }
}
