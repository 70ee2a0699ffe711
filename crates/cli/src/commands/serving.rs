//! What all verbs that serve have in common: options, the log, and the warning about open doors.

use std::io::Write;
use std::net::SocketAddr;

use fulgurite_server::Event;

use crate::notation::printable;
use crate::output::size;
use crate::progress::time;

/// Sets the options that all servers have.
macro_rules! with_serving {
    ($options:expr, $serving:expr) => {{
        let verbose = $serving.verbose;
        let options = $options
            .stop_on_signals(true)
            .body_time($serving.body_time)
            .wait($serving.wait)
            .host_names($serving.host_name.clone())
            .cors_origin($serving.cors.clone())
            .on_event(move |event| crate::commands::serving::tell(event, verbose));
        match $serving.queries {
            Some(queries) => options.queries_max(queries.into()),
            None => options,
        }
    }};
}
pub(crate) use with_serving;

/// One line on standard error. Without standard error it goes on.
pub fn tell(event: Event<'_>, verbose: bool) {
    let line = match event {
        Event::Answered { method, path, status, bytes, is_whole, elapsed } if verbose => {
            let cut = if is_whole { "" } else { ", cut off" };
            format!("{status} {method} {path} {} in {}{cut}", size(bytes), time(elapsed))
        }
        Event::Failed { message } => format!("failed: {message}"),
        _ => return,
    };
    let _ = writeln!(std::io::stderr(), "{}", printable(&line));
}

/// Warns if others than this machine may connect.
pub fn warn_if_open(out: &mut impl Write, address: SocketAddr, may: &str) {
    if !address.ip().is_loopback() {
        let _ = writeln!(
            out,
            "warning: everyone who can connect to {address} may {may} everything: there are no passwords; put a proxy with authentication in front"
        );
    }
}
