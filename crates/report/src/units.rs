//! Numbers for people.

/// Shown for what is not a number, such as 0/0 in a counter.
const NO_NUMBER: &str = "n/a";

/// With this many decimals.
pub(crate) fn fixed(number: f64, places: usize) -> String {
    if number.is_finite() { format!("{number:.places$}") } else { NO_NUMBER.to_owned() }
}

/// A number that is a percentage already.
pub(crate) fn percentage(percent: f64) -> String {
    if percent.is_finite() { format!("{percent:.1} %") } else { NO_NUMBER.to_owned() }
}

/// In the unit that leaves at most three digits before the decimal point.
pub fn duration(ns: f64) -> String {
    if !ns.is_finite() {
        return NO_NUMBER.to_owned();
    }
    let (value, unit) = match ns.abs() {
        size if size < 1e3 => return format!("{ns:.0} ns"),
        size if size < 1e6 => (ns / 1e3, "us"),
        size if size < 1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{value:.2} {unit}")
}

/// As far as samples know it: `56 us`, `1.7 ms`, `180 us`.
pub(crate) fn about(ns: f64) -> String {
    if !ns.is_finite() {
        return NO_NUMBER.to_owned();
    }
    let known = match ns.abs() {
        0.0 => 0.0,
        size => {
            let step = 10f64.powf(size.log10().floor() - 1.0);
            (ns / step).round() * step
        }
    };
    let (value, unit) = match known.abs() {
        size if size < 1e3 => (known, "ns"),
        size if size < 1e6 => (known / 1e3, "us"),
        size if size < 1e9 => (known / 1e6, "ms"),
        _ => (known / 1e9, "s"),
    };
    let places = usize::from(value.abs() < 10.0 && unit != "ns");
    format!("{value:.places$} {unit}")
}

/// As one says how long something will take: `35 s`, `4 min`, `1 h 20 min`.
pub fn roughly(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match seconds {
        short if !short.is_finite() => NO_NUMBER.to_owned(),
        short if short < 100.0 => format!("{:.0} s", short.max(1.0)),
        _ if minutes < 100 => format!("{minutes} min"),
        _ if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

pub fn bytes(bytes: f64) -> String {
    scaled(bytes, "B")
}

/// Floating-point operations.
pub(crate) fn operations(count: f64) -> String {
    scaled(count, "FLOP")
}

fn scaled(number: f64, unit: &str) -> String {
    if !number.is_finite() {
        return NO_NUMBER.to_owned();
    }
    let (value, prefix) = match number {
        size if size < 1e3 => return format!("{number:.0} {unit}"),
        size if size < 1e6 => (number / 1e3, "k"),
        size if size < 1e9 => (number / 1e6, "M"),
        size if size < 1e12 => (number / 1e9, "G"),
        _ => (number / 1e12, "T"),
    };
    format!("{value:.1} {prefix}{unit}")
}

/// A share; a small one is not shown as zero.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if !percent.is_finite() => NO_NUMBER.to_owned(),
        percent if percent > 0.0 && percent < 0.1 => "<0.1 %".to_owned(),
        // Never minus zero.
        percent => format!("{:.1} %", if percent.abs() < 0.05 { 0.0 } else { percent }),
    }
}

/// With a comma at every thousand.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 launch`, `3,400 launches`. The plural is regular.
pub(crate) fn counted(number: u64, what: &str) -> String {
    record::counted(number, what).replacen(&number.to_string(), &count(number), 1)
}

/// A number of any size, with at most three decimals.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return NO_NUMBER.to_owned();
    }
    if value != 0.0 && !(1e-3..1e15).contains(&size) {
        return format!("{value:.2e}");
    }
    let places = match size {
        size if size.fract() == 0.0 || size >= 1e5 => 0,
        size if size >= 1e2 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{size:.places$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{rest}")
}

/// With ncu's unit.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        _ if !value.is_finite() => NO_NUMBER.to_owned(),
        "" => number(value),
        "%" => percent(value / 100.0),
        "ns" | "nsecond" => duration(value),
        "byte" => bytes(value),
        "byte/s" | "byte/second" => format!("{}/s", bytes(value)),
        "hz" if value >= 1e9 => format!("{:.2} GHz", value / 1e9),
        "hz" if value >= 1e6 => format!("{:.2} MHz", value / 1e6),
        _ => format!("{} {unit}", number(value)),
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
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let shown = [duration, bytes, percent, operations, super::number].map(|shown| shown(number));
            assert!(shown.iter().all(|text| text == "n/a"), "{shown:?}");
            assert_eq!((fixed(number, 2).as_str(), quantity(number, "hz").as_str()), ("n/a", "n/a"));
        }
    }

    #[test]
    fn numbers() {
        let shown = [0.0, 3_400.0, 1_234_567.89, -12.345, 0.01234, 1e-7, 2e18, 123.456].map(number);
        assert_eq!(shown, ["0", "3,400", "1,234,568", "-12.35", "0.012", "1.00e-7", "2.00e18", "123.5"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([1, 1_000].map(|number| counted(number, "launch")), ["1 launch", "1,000 launches"]);
        assert_eq!(quantity(4.15e12, "byte/s"), "4.2 TB/s");
        assert_eq!(quantity(1.98e9, "hz"), "1.98 GHz");
        assert_eq!(quantity(86.34, "%"), "86.3 %");
        assert_eq!(quantity(16.0, "register/thread"), "16 register/thread");
    }
}
