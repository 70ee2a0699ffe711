//! [`Front`]: what every request passes, whatever it asks for.

use crate::http::guard::Guard;
use crate::settings::Settings;

/// What every request passes: the guard, and the options that all servers have.
pub struct Front {
    pub guard: Guard,
    pub settings: Settings,
}
