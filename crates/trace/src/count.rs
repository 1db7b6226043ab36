//! Counts with a word that agrees with them.

/// `1 launch`, `2 launches`. The plural is regular.
pub fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ if what.ends_with("ch") || what.ends_with('s') => format!("{count} {what}es"),
        _ => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_agree() {
        let all = [counted(1, "launch"), counted(0, "launch"), counted(2, "region"), counted(3, "process")];
        assert_eq!(all, ["1 launch", "0 launches", "2 regions", "3 processes"]);
    }
}
