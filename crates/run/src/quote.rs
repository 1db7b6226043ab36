//! An argv as a line that a POSIX shell reads back as the same argv.

pub(crate) fn shell_line(argv: &[String]) -> String {
    argv.iter().map(|argument| shell_word(argument)).collect::<Vec<_>>().join(" ")
}

/// One argument, in quotes where a shell needs them.
pub fn shell_word(text: &str) -> String {
    let plain =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@%+=:,".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shell_reads_it_back(argv in proptest::collection::vec("[^\0]{0,12}", 1..4)) {
            let script = format!("printf '%s\\0' {}", shell_line(&argv));
            let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
            let expected: Vec<u8> = argv.iter().flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(output.stdout, expected);
        }
    }
}
