//! The branch: its layout, builder, verification and routing.

mod build;
mod child;
mod layout;
mod route;
mod verify;
mod view;

pub use build::BranchBuilder;
pub use child::{BranchStart, Child, key_start};
pub use layout::LEVEL_MAX;
pub use verify::verify_branch;
pub use view::Branch;
