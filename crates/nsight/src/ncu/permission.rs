//! Whether this user may read the GPU's counters.

use serde::Serialize;

const PARAMETERS: &str = "/proc/driver/nvidia/params";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// Everyone may, or we are root.
    Allowed,
    /// Only administrators may, and we are not one.
    AdminOnly,
    /// Unknown: there is no driver, or it is elsewhere.
    Unknown,
}

/// As the driver was loaded. A user who is not root may still have CAP_SYS_ADMIN.
pub fn permission() -> Permission {
    let parameters = std::fs::read_to_string(PARAMETERS).ok();
    as_loaded(parameters.as_deref(), is_administrator())
}

fn as_loaded(parameters: Option<&str>, administrator: bool) -> Permission {
    let Some(parameters) = parameters else { return Permission::Unknown };
    let restricted = parameters.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:"));
    match restricted.map(str::trim) {
        Some("0") => Permission::Allowed,
        Some(_) if administrator => Permission::Allowed,
        Some(_) => Permission::AdminOnly,
        None => Permission::Unknown,
    }
}

/// CAP_SYS_ADMIN, which root usually has, but a container's root often does not.
fn is_administrator() -> bool {
    const CAP_SYS_ADMIN: u32 = 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> CAP_SYS_ADMIN & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_driver_says() {
        let open = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n";
        let closed = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
        assert_eq!(as_loaded(Some(open), false), Permission::Allowed);
        assert_eq!(as_loaded(Some(closed), false), Permission::AdminOnly);
        assert_eq!(as_loaded(Some(closed), true), Permission::Allowed);
        assert_eq!(as_loaded(Some("x: 1"), false), Permission::Unknown);
        assert_eq!(as_loaded(None, true), Permission::Unknown);
    }
}
