//! The options that all servers have, with units and defaults, and their events.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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

/// The values of the options that all servers have. [`options`] documents them.
#[derive(Clone)]
pub(crate) struct Settings {
    pub stop_on_signals: bool,
    pub body_time: Duration,
    pub stall: Duration,
    pub queries_max: usize,
    pub wait: Duration,
    pub grace: Duration,
    pub host_names: Vec<String>,
    pub cors_origin: Option<String>,
    pub listener: Option<Listener>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            stop_on_signals: false,
            body_time: Duration::from_secs(300),
            stall: Duration::from_secs(60),
            queries_max: 2 * std::thread::available_parallelism().map_or(1, usize::from),
            wait: Duration::from_secs(10),
            grace: Duration::from_secs(5),
            host_names: Vec::new(),
            cors_origin: None,
            listener: None,
        }
    }
}

impl Settings {
    pub fn notify(&self, event: Event<'_>) {
        if let Some(listener) = &self.listener {
            listener(event);
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Settings")
            .field("queries_max", &self.queries_max)
            .field("host_names", &self.host_names)
            .field("cors_origin", &self.cors_origin)
            .finish_non_exhaustive()
    }
}

/// Declares the options of a server: those that all servers have, and for each of its own the documentation, type and
/// default.
macro_rules! options {
    (
        $(#[$about_all:meta])*
        struct $options:ident;
        $($(#[$about:meta])* $name:ident: $kind:ty = $default:expr;)*
    ) => {
        $(#[$about_all])*
        #[derive(Clone)]
        pub struct $options {
            pub(crate) settings: $crate::settings::Settings,
            $(pub(crate) $name: $kind,)*
        }

        impl Default for $options {
            fn default() -> Self {
                Self { settings: $crate::settings::Settings::default(), $($name: $default,)* }
            }
        }

        impl $options {
            /// The defaults.
            pub fn new() -> Self {
                Self::default()
            }

            $(
                $(#[$about])*
                #[must_use]
                pub fn $name(mut self, $name: $kind) -> Self {
                    self.$name = $name;
                    self
                }
            )*

            $crate::settings::options! { @setters
                /// Shuts the server down on Ctrl-C and, on Unix, on SIGTERM. A second signal ends the process at once.
                /// Default: `false`.
                stop_on_signals: bool;

                /// The time in which the complete body of a request must arrive. Default: 5 minutes.
                body_time: std::time::Duration;

                /// A client that reads nothing of an answer for this time is disconnected. Default: 60 seconds.
                stall: std::time::Duration;

                /// How many requests are evaluated at once. At least 1. Default: two for each processor.
                queries_max: usize;

                /// A request that has waited this long to run is refused. Default: 10 seconds.
                wait: std::time::Duration;

                /// At a shutdown, running requests are cancelled after this time. Default: 5 seconds.
                grace: std::time::Duration;

                /// Further host names of the server, without ports. `*` is any name. Default: none.
                ///
                /// Requests to other names are refused, because a web site can make its own name resolve to this
                /// machine. These names are always allowed: those of the loopback and, if the server does not listen on
                /// the loopback, all IP addresses and the name that it was bound to.
                host_names: Vec<String>;

                /// An origin (`https://example.org`) whose web pages may call the server, or `*` for all. Default: only
                /// the server's own.
                cors_origin: Option<String>;
            }

            /// Calls `listener` with every event.
            #[must_use]
            pub fn on_event(
                mut self,
                listener: impl Fn($crate::settings::Event<'_>) + Send + Sync + 'static,
            ) -> Self {
                self.settings.listener = Some(std::sync::Arc::new(listener));
                self
            }
        }
    };
    (@setters $($(#[$about:meta])* $name:ident: $kind:ty;)*) => {
        $(
            $(#[$about])*
            #[must_use]
            pub fn $name(mut self, $name: $kind) -> Self {
                self.settings.$name = $name;
                self
            }
        )*
    };
}
pub(crate) use options;
