//! Every tunable of a server with its unit and default, and what it tells the program around it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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
        /// What happened.
        message: &'e str,
    },
}

type Listener = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// How to serve.
#[derive(Clone)]
pub struct ServerOptions {
    pub(crate) writable: bool,
    pub(crate) stop_on_signals: bool,
    pub(crate) union_default_graph: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) rows_max: Option<u64>,
    pub(crate) computed_bytes_max: Option<u64>,
    pub(crate) body_bytes_max: usize,
    pub(crate) body_time: Duration,
    pub(crate) stall: Duration,
    pub(crate) queries_max: usize,
    pub(crate) wait: Duration,
    pub(crate) grace: Duration,
    pub(crate) base: Option<String>,
    pub(crate) cors_origin: Option<String>,
    pub(crate) listener: Option<Listener>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            writable: false,
            stop_on_signals: false,
            union_default_graph: false,
            timeout: Some(Duration::from_secs(60)),
            rows_max: None,
            computed_bytes_max: Some(256 << 20),
            body_bytes_max: 64 << 20,
            body_time: Duration::from_secs(300),
            stall: Duration::from_secs(60),
            queries_max: 2 * processors,
            wait: Duration::from_secs(10),
            grace: Duration::from_secs(5),
            base: None,
            cors_origin: None,
            listener: None,
        }
    }
}

impl ServerOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether updates and changes of graphs are allowed. Default: no.
    #[must_use]
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    /// Whether Ctrl-C and, where there is such, SIGTERM shut the server down; the second of them ends the process at once. Default: no.
    #[must_use]
    pub fn stop_on_signals(mut self, stop: bool) -> Self {
        self.stop_on_signals = stop;
        self
    }

    /// Whether the default graph of queries and of `WHERE` is the union of all graphs. Default: no.
    #[must_use]
    pub fn union_default_graph(mut self, union: bool) -> Self {
        self.union_default_graph = union;
        self
    }

    /// The time that one request may be evaluated, from when its turn has come to the end of the answer; `None` for any. What its body takes
    /// to come is [`ServerOptions::body_time`], what it waits for its turn [`ServerOptions::wait`]. Default: 60 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// The rows or triples that one query may return. Default: any number.
    #[must_use]
    pub fn rows_max(mut self, rows: Option<u64>) -> Self {
        self.rows_max = rows;
        self
    }

    /// The bytes of memory that the terms may take that one query or update makes itself (by `CONCAT`, `BIND`, aggregates); `None` for any.
    /// What joins, sorting and `DISTINCT` hold is not counted. Default: 256 MiB.
    #[must_use]
    pub fn computed_bytes_max(mut self, bytes: Option<u64>) -> Self {
        self.computed_bytes_max = bytes;
        self
    }

    /// The bytes of a request's body. It is held in memory while the request runs. Default: 64 MiB.
    #[must_use]
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes;
        self
    }

    /// The time in which all of a request's body has to come. Default: 5 minutes.
    #[must_use]
    pub fn body_time(mut self, time: Duration) -> Self {
        self.body_time = time;
        self
    }

    /// A client that takes nothing of an answer for so long is cut off. Default: 60 seconds.
    #[must_use]
    pub fn stall(mut self, stall: Duration) -> Self {
        self.stall = stall;
        self
    }

    /// The queries, updates and changes of graphs that run at once, at least 1. Default: two for each processor.
    #[must_use]
    pub fn queries_max(mut self, queries: usize) -> Self {
        self.queries_max = queries;
        self
    }

    /// The time that a request waits for others to end before it is refused. Default: 10 seconds.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// The time that running requests are given at a shutdown before they are cancelled. Default: 5 seconds.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Where clients reach the server, with a slash at the end: what relative IRIs are resolved against, and how the graphs under
    /// `/graphs/` are named. Default: what each request says by its `Host`.
    #[must_use]
    pub fn base(mut self, base: Option<String>) -> Self {
        self.base = base;
        self
    }

    /// An origin (`https://example.org`) whose pages may use the server, or `*` for all. Default: none but the server's own.
    #[must_use]
    pub fn cors_origin(mut self, origin: Option<String>) -> Self {
        self.cors_origin = origin;
        self
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
            .field("computed_bytes_max", &self.computed_bytes_max)
            .field("body_bytes_max", &self.body_bytes_max)
            .field("queries_max", &self.queries_max)
            .field("base", &self.base)
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
    }
}
