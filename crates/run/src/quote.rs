//! An argv as a line that a POSIX shell reads back as the same argv.

use report::is_hostile;

pub(crate) fn shell_line(argv: &[String]) -> String {
    argv.iter().map(|argument| shell_word(argument)).collect::<Vec<_>>().join(" ")
}

/// One argument, in quotes where a shell needs them. What a terminal would obey is spelled out, so that the line can be
/// shown and is still the same argument: all but line breaks, which no shell reads back from a command.
pub fn shell_word(text: &str) -> String {
    let plain =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./@%+=:,".contains(c));
    if plain {
        return text.to_owned();
    }
    let mut word = String::from("'");
    let mut bytes = [0; 4];
    for c in text.chars() {
        match c {
            '\'' => word.push_str("'\\''"),
            c if is_hostile(c) && c != '\n' => {
                let spelled = c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}"));
                word.push_str(&format!("'\"$(printf '{}')\"'", spelled.collect::<String>()));
            }
            c => word.push(c),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use report::printable_lines;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_shell_reads_it_back(argv in proptest::collection::vec("[^\0]{0,12}|[\x01-\x1f\u{202e}\u{85}'a]{0,12}", 1..4)) {
            // As it is written into files and onto screens.
            let line = printable_lines(&shell_line(&argv));
            let script = format!("printf '%s\\0' {line}");
            let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
            let expected: Vec<u8> = argv.iter().flat_map(|text| [text.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(output.stdout, expected);
        }
    }
}
