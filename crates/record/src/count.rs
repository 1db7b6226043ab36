//! Counts with a noun that agrees.

/// `1 launch`, `2 launches`. The plural is regular.
pub fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ if what.ends_with("ch") || what.ends_with('s') => format!("{count} {what}es"),
        _ if what.ends_with("py") => format!("{count} {}ies", &what[..what.len() - 1]),
        _ => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_agree() {
        assert_eq!(counted(1, "launch"), "1 launch");
        assert_eq!(counted(0, "launch"), "0 launches");
        assert_eq!(counted(2, "region"), "2 regions");
        assert_eq!(counted(3, "pass"), "3 passes");
    }
}
