//! Tests of the log: what is written is read back, whatever fails or breaks in between.

mod fixture;
#[cfg(all(target_os = "linux", not(miri)))]
mod placing;
mod recycling;
mod replay;
mod writing;
