//! Numbers for people.

/// In the unit that leaves up to three digits before the point.
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size < 1e3 => return format!("{ns:.0} ns"),
        size if size < 1e6 => (ns / 1e3, "us"),
        size if size < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{value:.2} {unit}")
}

pub fn bytes(bytes: f64) -> String {
    let (value, unit) = match bytes {
        size if size < 1e3 => return format!("{bytes:.0} B"),
        size if size < 1e6 => (bytes / 1e3, "kB"),
        size if size < 1e9 => (bytes / 1e6, "MB"),
        size if size < 1e12 => (bytes / 1e9, "GB"),
        _ => (bytes / 1e12, "TB"),
    };
    format!("{value:.1} {unit}")
}

/// A share; what is there but small is not shown as nothing.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.1 => "<0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(duration(999.0), "999 ns");
        assert_eq!(duration(1_234.0), "1.23 us");
        assert_eq!(duration(5_000_000_000.0), "5.00 s");
        assert_eq!(bytes(16_777_216.0), "16.8 MB");
        assert_eq!((percent(0.0), percent(0.0001)), ("0.0 %".to_owned(), "<0.1 %".to_owned()));
    }
}
