//! [`Bound`]: an address that a server listens on, with the threads that will serve it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::http::admission::{Admission, Cancel};
use crate::http::guard::Guard;
use crate::http::panics;
use crate::listening::front::Front;
use crate::settings::Settings;

/// An address that a server listens on. Connections wait until they are served.
pub struct Bound {
    pub listener: TcpListener,
    pub address: SocketAddr,
    pub runtime: Runtime,
    pub stop: watch::Sender<bool>,
    /// For the middleware and the connections.
    pub front: Arc<Front>,
}

/// Shuts a server down, from any thread. Clones are handles of the same server.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    stop: watch::Sender<bool>,
}

impl Bound {
    /// Listens on `address`. `base` is the URL of the server, if it has one; `is_of_store` says which paths are not of
    /// its page.
    ///
    /// # Errors
    /// [`Error::Bind`]; [`Error::System`]; [`Error::Invalid`] if a setting has an invalid value.
    pub fn bind<K: Cancel>(
        address: &str,
        settings: Settings,
        admission: &Admission<K>,
        base: Option<&str>,
        is_of_store: fn(&str) -> bool,
    ) -> Result<Self> {
        check(&settings)?;
        panics::note_places();
        let failed = |source| Error::Bind { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("http")
            .thread_stack_size(STACK_BYTES)
            .max_blocking_threads(admission.permits_max() + BLOCKING_SPARE)
            .enable_io()
            .enable_time()
            .build()
            .map_err(|source| Error::System { what: "threads", source })?;
        let cors_origin = settings.cors_origin.as_deref().map(HeaderValue::from_str).transpose();
        let cors_origin = cors_origin.map_err(|_| Error::Invalid {
            message: "the allowed origin has characters that a header cannot have".into(),
        })?;
        let guard = Guard::new(bound, base, cors_origin)
            .store_paths(is_of_store)
            .host_names(&settings.host_names)
            .host_names(name_bound_to(address));
        let front = Arc::new(Front { guard, settings });
        Ok(Self { listener, address: bound, runtime, stop: watch::channel(false).0, front })
    }

    /// A handle that shuts the server down.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle { stop: self.stop.clone() }
    }
}

impl ServerHandle {
    /// Starts the shutdown, and returns at once.
    pub fn shut_down(&self) {
        self.stop.send_replace(true);
    }
}

/// Ends the threads of a server. Those that do not check their cancellation token in time are abandoned.
pub fn end(runtime: Runtime) {
    runtime.shutdown_timeout(LEFT_BEHIND);
}

fn check(settings: &Settings) -> Result<()> {
    let is_of_names = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%[]".contains(&byte);
    if let Some(name) =
        settings.host_names.iter().find(|name| *name != "*" && (name.is_empty() || !name.bytes().all(is_of_names)))
    {
        let message =
            format!("{name}: not a host name; give it without scheme and port, as data.example.org, or * for any");
        return Err(Error::Invalid { message });
    }
    match settings.cors_origin.as_deref() {
        None | Some("*") => Ok(()),
        Some(origin) if origin.split_once("://").is_some_and(|(_, host)| !host.is_empty() && !host.contains('/')) => {
            Ok(())
        }
        Some(origin) => {
            let message = format!("{origin}: not an origin; give scheme, host and port alone, as https://example.org");
            Err(Error::Invalid { message })
        }
    }
}

/// The host name of an address, without the port. `None` if it is an IP address.
fn name_bound_to(address: &str) -> Option<&str> {
    let (name, _) = address.rsplit_once(':')?;
    (!name.is_empty() && name.parse::<std::net::Ipv4Addr>().is_err() && !name.starts_with('[')).then_some(name)
}

/// Threads that serve connections. They only forward bytes.
const WORKERS: usize = 2;
/// Enough for most queries: very deep ones get threads of their own.
const STACK_BYTES: usize = 4 << 20;
const BLOCKING_SPARE: usize = 4;
const LEFT_BEHIND: Duration = Duration::from_secs(2);
