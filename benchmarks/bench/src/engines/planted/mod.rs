//! Engines with planted faults, which the checks of the suites must find.

#[cfg(test)]
pub mod reading;
pub mod writing;
