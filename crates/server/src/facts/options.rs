//! The options of a server of facts, with units and defaults.

use std::fmt;
use std::time::Duration;

use crate::settings::options;

options! {
    /// Options of a [`FactServer`](crate::FactServer). Clients may ask for less than these limits.
    struct FactServerOptions;

    /// The longest time of a query, with the printing of its page. Then the page ends, with a continuation. A result
    /// that is being printed then may take a quarter of this time more. Default: 60 seconds.
    timeout: Duration = Duration::from_secs(60);

    /// The most results of a page. Default: 100,000.
    results_max: usize = 100_000;

    /// The most bytes of a page's results as JSON. The page ends with the result that reaches it. The value or
    /// the facts of one result have at most as many bytes, as they are stored. Default: 16 MiB.
    bytes_max: usize = 16 << 20;

    /// The most memory of a query for derived facts, sets, values and results, in bytes, and of a list that a request
    /// about an index of code collects. Each of the requests that run at once may use this much. Default: 256 MiB.
    memory_bytes_max: usize = 256 << 20;

    /// The longest body of a request, in bytes. Default: 1 MiB.
    body_bytes_max: usize = 1 << 20;
}

impl fmt::Debug for FactServerOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("FactServerOptions")
            .field("timeout", &self.timeout)
            .field("results_max", &self.results_max)
            .field("bytes_max", &self.bytes_max)
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("body_bytes_max", &self.body_bytes_max)
            .field("settings", &self.settings)
            .finish()
    }
}
