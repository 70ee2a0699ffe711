//! Tests of the format as a whole: builders against views against models, and views against hostile bytes.

mod branches;
mod golden;
mod leaves;
mod mutations;
mod packed;
mod searching;
mod shapes;
