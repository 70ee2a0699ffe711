//! The native module of Fulgurite's Python binding, `fulgurite._native`.
//!
//! The classes that users see are in `bindings/python/python/fulgurite`. This crate converts arguments, results and
//! errors. Nothing that Python code does wrong may end the process:
//!
//! - Objects of an ended transaction or closed database raise `ClosedError`.
//! - A `Value` exports memory of a snapshot. It keeps the snapshot until its transaction ends, and a view of it as long
//!   as the view lives.
//! - A child made by `fork` gets an error from what its parent opened, before any lock: `process::ProcessBound`.
//! - The interpreter's lock is released in calls that may wait, for the disk or for other transactions. A lock of this
//!   crate that is held while a function of Python runs, as a merge function or an upcaster, is never awaited with the
//!   interpreter's lock held.

mod arrow;
mod bounds;
mod change_feed;
mod error;
mod events;
mod keys;
mod kinds;
mod lent;
mod loads;
mod merging;
mod names;
mod process;
mod rdf;
mod scans;
mod source;
mod tables;
mod values;

use pyo3::prelude::*;

/// The native part of the package fulgurite.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // From now on, forks are noticed: a later fork never interrupts the preparations for that. Where they fail, opening
    // a database fails too.
    let _ = fulgurite::Stamp::new();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<source::Source>()?;
    module.add_class::<tables::Table>()?;
    module.add_class::<values::Value>()?;
    module.add_class::<scans::Scan>()?;
    module.add_class::<arrow::ArrowStream>()?;
    module.add_class::<change_feed::ChangeFeed>()?;
    module.add_class::<rdf::store::Store>()?;
    module.add_class::<rdf::rows::Rows>()?;
    module.add_function(wrap_pyfunction!(keys::check_type, module)?)?;
    module.add_function(wrap_pyfunction!(source::open, module)?)?;
    module.add_function(wrap_pyfunction!(rdf::store::open_store, module)?)?;
    events::add_to(module)
}
