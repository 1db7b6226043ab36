//! Options in the text of a tool's `--help`.

/// Every option by its long name, with the text beside and below it, one line each.
pub(crate) fn options_in(help: &str) -> Vec<(String, Vec<&str>)> {
    let mut options: Vec<(String, Vec<&str>)> = Vec::new();
    for line in help.lines().map(str::trim) {
        let long = line.split([' ', ',', '=']).find(|word| word.starts_with("--"));
        match long.filter(|_| line.starts_with('-')) {
            Some(name) => options.push((name.trim_start_matches('-').to_owned(), vec![line])),
            None => {
                if let Some((_, text)) = options.last_mut() {
                    text.push(line);
                }
            }
        }
    }
    options
}
