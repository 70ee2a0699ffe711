//! Tests of the log: what is written is read back, whatever fails or breaks in between.

mod fixture;
mod recycling;
mod replay;
mod writing;
