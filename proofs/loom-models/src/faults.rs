//! Faults that are planted without the engine's help: an operation at one line of the engine is weakened, or left
//! out.
//!
//! The operations of [`crate::sync`] know the line that calls them. A fault names its line by the text of the line.
//! If the engine does not contain this text exactly once, the fault is refused: so it moves with the engine's text,
//! and cannot end up where nothing happens.

use std::panic::Location;
use std::sync::OnceLock;

/// A fault that a model must find.
#[derive(Debug)]
pub struct Fault {
    /// What is wrong then.
    pub name: &'static str,
    /// The engine's file, below its `src`.
    pub file: &'static str,
    /// The text of the line up to its end, or of the lines from it on.
    pub line: &'static str,
    /// What becomes of the operation there.
    pub how: How,
}

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It takes place, and orders nothing else.
    Relaxed,
    /// It does not take place.
    LeftOut,
}

/// Where a fault is planted.
#[derive(Debug)]
struct Planted {
    file: &'static str,
    line: u32,
    how: How,
}

/// Plants a fault in this process, for good.
///
/// # Errors
/// Why that cannot be.
pub fn plant(fault: &Fault) -> Result<(), String> {
    let line = line_of(fault)?;
    let planted = Planted { file: fault.file, line, how: fault.how };
    PLANTED.set(planted).map_err(|before| format!("another fault is planted: {before:?}"))
}

/// What is planted at a place in the engine.
pub fn at(place: &Location<'_>) -> Option<How> {
    let planted = PLANTED.get()?;
    (planted.line == place.line() && place.file().ends_with(planted.file)).then_some(planted.how)
}

/// Whether this process has a fault.
pub fn is_planted() -> bool {
    PLANTED.get().is_some()
}

static PLANTED: OnceLock<Planted> = OnceLock::new();

/// The line of a fault, from 1.
fn line_of(fault: &Fault) -> Result<u32, String> {
    let text = SOURCES.iter().find(|(file, _)| *file == fault.file).map(|(_, text)| *text);
    let text = text.ok_or_else(|| format!("{} is not among the sources", fault.file))?;
    let mut places = text.match_indices(fault.line).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(text[..place].matches('\n').count() as u32 + 1),
        (Some(_), Some(_)) => Err(format!("{} has more than once: {}", fault.file, fault.line)),
        (None, _) => Err(format!("{} does not have: {}", fault.file, fault.line)),
    }
}

macro_rules! sources {
    ($($file:literal),*) => {
        /// The engine's files in which faults are planted.
        const SOURCES: &[(&str, &str)] =
            &[$(($file, include_str!(concat!("../../../crates/engine/src/", $file)))),*];
    };
}

sources![
    "delta/arena.rs",
    "delta/btree/node.rs",
    "delta/btree/tree.rs",
    "delta/index.rs",
    "delta/record.rs",
    "txn/commit/core.rs",
    "txn/coordination/group_sync.rs",
    "txn/coordination/slots.rs",
    "txn/coordination/turn.rs",
    "txn/coordination/visible.rs",
    "txn/snapshot/pins.rs"
];
