//! Tests of the log: what is written is read back, whatever fails or breaks in between.

mod fixture;
mod replay;
mod writing;
