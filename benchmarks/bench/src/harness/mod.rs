//! What every suite shares: what a suite is, its options, its report and its judgement. Nothing here names a suite.
//!
//! Reading order: `program` finds a suite by its name, `suite` runs it with its `arguments`; a `report` has the times
//! of `contest`s and the `row`s of tables, and `single_rounds` writes the figures of each round; `judge` compares a
//! report with bars. `command_options` has the options of commands that print a report of their own.

pub mod arguments;
pub mod command_options;
pub mod contest;
pub mod judge;
pub mod program;
pub mod report;
pub mod row;
pub mod single_rounds;
pub mod suite;
