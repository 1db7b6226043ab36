//! The content of a cell: a number as ncu prints it, a text, or nothing.

use crate::model::Value;

/// The value, and how many instances are listed behind it: `12 (4; 8)`.
pub(super) fn parse(cell: &str, factor: f64) -> (Option<Value>, u32) {
    if matches!(cell, "" | "n/a" | "no data" | "(!) n/a") {
        return (None, 0);
    }
    if let Some(value) = number(cell, factor) {
        return (Some(value), 0);
    }
    if let Some((head, list)) = cell.strip_suffix(')').and_then(|cell| cell.split_once(" ("))
        && let Some(value) = number(head, factor)
        && list.split(';').all(|item| item.trim().starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    {
        return (Some(value), list.split(';').count() as u32);
    }
    (Some(Value::Text(cell.into())), 0)
}

/// `1234`, `1,234.50`, `-0.25`, `nan`, `inf`.
fn number(text: &str, factor: f64) -> Option<Value> {
    let plain = ungrouped(text)?;
    if factor == 1.0
        && let Ok(whole) = plain.parse()
    {
        return Some(Value::Integer(whole));
    }
    plain.parse::<f64>().ok().map(|value| Value::Float(value * factor))
}

/// Without separators of thousands, which stand where they must; None if it is not a number.
fn ungrouped(text: &str) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if matches!(digits, "nan" | "inf") {
        return Some(text.to_owned());
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let whole = digits.split(['.', 'e', 'E']).next().unwrap_or_default();
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default().len();
    let grouped = whole.contains(',');
    if (grouped && first > 3) || groups.any(|group| group.len() != 3) || digits[whole.len()..].contains(',') {
        return None;
    }
    let number = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.' | 'e' | 'E' | '+' | '-');
    digits.chars().all(number).then(|| text.replace(',', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts() {
        for (cell, value) in [
            ("1,234,567", Some(Value::Integer(1_234_567))),
            ("18446744073709551615", Some(Value::Integer(u64::MAX))),
            ("4,153,761,867,704.28", Some(Value::Float(4_153_761_867_704.28))),
            ("-0.50", Some(Value::Float(-0.5))),
            ("1.5e+10", Some(Value::Float(1.5e10))),
            ("inf", Some(Value::Float(f64::INFINITY))),
            ("n/a", None),
            ("no data", None),
            ("", None),
            ("12,34", Some(Value::Text("12,34".into()))),
            ("1234,567", Some(Value::Text("1234,567".into()))),
            ("0,1,2", Some(Value::Text("0,1,2".into()))),
            ("No-CC", Some(Value::Text("No-CC".into()))),
            ("infinite", Some(Value::Text("infinite".into()))),
            ("9.0.1", Some(Value::Text("9.0.1".into()))),
            ("-", Some(Value::Text("-".into()))),
        ] {
            assert_eq!(parse(cell, 1.0).0, value, "{cell}");
        }
        assert_eq!(parse("12 (4; 8)", 1.0), (Some(Value::Integer(12)), 2));
        assert_eq!(parse("3.20", 1e9), (Some(Value::Float(3.2e9)), 0));
        for text in ["f (x)", "80 (GB)"] {
            assert_eq!(parse(text, 1.0), (Some(Value::Text(text.into())), 0));
        }
    }
}
