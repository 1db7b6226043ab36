//! What opens a gate of nsys.

use analysis::{Region, Registered};

/// nsys opens a gate for a name that was not registered only when told to.
pub fn needs_register_only_off(region: &Region) -> bool {
    region.registered != Registered::Yes
}
