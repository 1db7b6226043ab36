//! The rules as they stand in `rules.txt`.

/// Where a rule looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The bare name: what the kernel is.
    Name,
    /// All of it, template arguments and parameters too.
    Text,
}

/// A kernel in which `wanted` occurs and `unwanted` does not is of this family.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule<'a> {
    pub(super) family: &'a str,
    pub(super) part: Part,
    pub(super) wanted: &'a str,
    pub(super) unwanted: Option<&'a str>,
}

/// One rule a line: `FAMILY PART WANTED [!UNWANTED]`; `#` begins a line that is a comment.
pub(super) fn parse(text: &str) -> Result<Vec<Rule<'_>>, String> {
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| rule(line).ok_or_else(|| format!("line {number} is not a rule: `{line}`")))
        .collect()
}

fn rule(line: &str) -> Option<Rule<'_>> {
    let mut words = line.split_whitespace();
    let (family, part, wanted) = (words.next()?, words.next()?, words.next()?);
    let part = match part {
        "name" => Part::Name,
        "text" => Part::Text,
        _ => return None,
    };
    let unwanted = match words.next() {
        Some(word) => Some(word.strip_prefix('!')?),
        None => None,
    };
    words.next().is_none().then_some(Rule { family, part, wanted, unwanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_rules_or_comments() {
        let rules = parse("# why\n\n norm  name  rms_?norm  !quant\ngemm text gemm\n").unwrap();
        assert_eq!(rules.len(), 2);
        assert_eq!((rules[0].family, rules[0].part, rules[0].wanted), ("norm", Part::Name, "rms_?norm"));
        assert_eq!(rules[0].unwanted, Some("quant"));
        assert_eq!((rules[1].part, rules[1].unwanted), (Part::Text, None));
        for wrong in ["norm", "norm name", "norm all x", "norm name x y", "norm name x !y z"] {
            assert_eq!(parse(wrong).unwrap_err(), format!("line 1 is not a rule: `{wrong}`"));
        }
    }
}
