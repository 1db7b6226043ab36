//! From the unit a CSV is printed in to the base unit, as the newest ncu calls it.

/// The base unit of `printed`, and the factor for a value.
pub(super) fn base(printed: &str) -> (String, f64) {
    let (above, below) = printed.split_once('/').map_or((printed, None), |(a, b)| (a, Some(b)));
    let (above, mut factor) = match time(above) {
        Some(nanoseconds) => ("ns", nanoseconds),
        None => large(above),
    };
    let Some(below) = below else { return (above.to_owned(), factor) };
    let below = match time(below) {
        Some(nanoseconds) => {
            factor *= 1e9 / nanoseconds;
            "s"
        }
        None => {
            let (below, divided) = large(below);
            factor /= divided;
            below
        }
    };
    match (above, below) {
        ("cycle", "s") => ("hz".to_owned(), factor),
        // Before 2025, a share of nothing in particular.
        (above, "") => (above.to_owned(), factor),
        (above, below) => (format!("{above}/{below}"), factor),
    }
}

/// Nanoseconds of a unit of time.
fn time(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" | "nsecond" => 1.0,
        "us" | "usecond" => 1e3,
        "ms" | "msecond" => 1e6,
        "s" | "second" => 1e9,
        _ => return None,
    })
}

/// `Kbyte`, `Ghz`: decimal prefixes, whatever is counted.
fn large(unit: &str) -> (&str, f64) {
    let factor = match unit.as_bytes() {
        [b'K', b'a'..=b'z', ..] => 1e3,
        [b'M', b'a'..=b'z', ..] => 1e6,
        [b'G', b'a'..=b'z', ..] => 1e9,
        [b'T', b'a'..=b'z', ..] => 1e12,
        [b'P', b'a'..=b'z', ..] => 1e15,
        _ => return (unit, 1.0),
    };
    (&unit[1..], factor)
}

#[cfg(test)]
mod tests {
    use super::base;

    #[test]
    fn base_units() {
        for (printed, unit, factor) in [
            ("usecond", "ns", 1e3),
            ("s", "ns", 1e9),
            ("Gbyte/second", "byte/s", 1e9),
            ("byte/s", "byte/s", 1.0),
            ("cycle/nsecond", "hz", 1e9),
            ("cycle/second", "hz", 1.0),
            ("Ghz", "hz", 1e9),
            ("inst/usecond", "inst/s", 1e6),
            ("Kbyte/block", "byte/block", 1e3),
            ("%/Kbyte", "%/byte", 1e-3),
            ("%/", "%", 1.0),
            ("register/thread", "register/thread", 1.0),
            ("SM", "SM", 1.0),
            ("", "", 1.0),
            ("K", "K", 1.0),
        ] {
            assert_eq!(base(printed), (unit.to_owned(), factor), "{printed}");
        }
    }
}
