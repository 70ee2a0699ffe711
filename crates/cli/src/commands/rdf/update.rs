//! `rdf update`: carries out a SPARQL update, all of it or nothing.

use std::io::Write;
use std::time::Instant;

use fulgurite_rdf::Quads;
use fulgurite_rdf::sparql::{Limits, Update};

use super::store::{changing, services, sparql};
use crate::arguments::rdf::Update as Arguments;
use crate::failure::Failure;
use crate::output::{counted, grouped};
use crate::progress::time;

/// Updates.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = sparql(&arguments.text)?;
    let service = services(&arguments.services)?;
    let begun = Instant::now();
    let done = changing(&arguments.store.path, Some(arguments.create), arguments.writing, |store| {
        let base = arguments.base.as_ref().map(|base| base.as_str());
        let namespaces = store.snapshot()?.namespaces()?;
        // Who gives the update could read these files without it.
        let mut update = Update::parse_with_prefixes(&text, base, &namespaces)?.loads_files(true);
        if let Some(handler) = service {
            update = update.with_service(handler);
        }
        let mut limits = Limits::new();
        if let Some(timeout) = arguments.timeout {
            limits = limits.timeout(timeout);
        }
        if let Some(mebibytes) = arguments.memory_max {
            limits = limits.memory_bytes_max(u64::from(mebibytes) << 20);
        }
        Ok(update.with_limits(limits).execute(store)?)
    })?;
    let changes = counted(done.inserted + done.removed, "change", "changes");
    let (new, gone, took) = (grouped(done.inserted), grouped(done.removed), time(begun.elapsed()));
    let _ = writeln!(std::io::stderr(), "{changes} in {took} ({new} new, {gone} removed)");
    Ok(())
}
