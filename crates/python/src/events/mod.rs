//! Event stores: appends, reads, views and followers.

mod arguments;
mod columns;
mod exclusive;
mod following;
mod reading;
mod recorded;
mod store;
mod transaction;
mod views;

use pyo3::prelude::*;

/// Adds the classes to the native module.
///
/// # Errors
/// Those of the interpreter.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<recorded::Event>()?;
    module.add_class::<reading::EventSnapshot>()?;
    module.add_class::<reading::EventScan>()?;
    module.add_class::<reading::StreamScan>()?;
    module.add_class::<store::EventStore>()?;
    module.add_class::<transaction::EventTransaction>()?;
    module.add_class::<following::Follower>()?;
    module.add_class::<following::Server>()?;
    module.add_function(wrap_pyfunction!(store::open_events, module)?)?;
    module.add_function(wrap_pyfunction!(store::open_events_in, module)?)?;
    module.add_function(wrap_pyfunction!(views::run_view, module)?)?;
    module.add_function(wrap_pyfunction!(views::rebuild_view, module)?)?;
    module.add_function(wrap_pyfunction!(views::drop_view, module)?)?;
    module.add_function(wrap_pyfunction!(views::wait_for_event, module)?)?;
    module.add_function(wrap_pyfunction!(following::follow, module)?)?;
    module.add_function(wrap_pyfunction!(following::serve, module)?)?;
    module.add_function(wrap_pyfunction!(following::connect, module)?)
}
