//! The gate of ncu: what `--nvtx-include` takes.
//!
//! `[DOMAIN@]EXPRESSION`; without a domain it is the default one, and an
//! expression speaks of one domain only. Two kinds of expression:
//!
//! - start/end ranges: `A`, or `A,B` for kernels inside both.
//! - push/pop ranges, told by a `/` or a bracket: `A/` anywhere in the stack of the
//!   launching thread, `A/B` directly inside, `A/*/B` with any number of ranges in
//!   between, `A/+/B` with exactly one, `[A` outermost, `A]` innermost.
//!
//! A backslash takes the meaning from `@ , [ ] / * +`. With `regex:` before it every
//! name is a regular expression. Anything else is literal: `decode*` and `a;b` are names.

use std::fmt;

use regex::Regex;

use crate::seen::OpenRanges;

#[derive(Debug, Clone)]
pub struct NcuGate {
    /// Empty for the default domain.
    pub domain: String,
    pub expression: NcuExpression,
}

#[derive(Debug, Clone)]
pub enum NcuExpression {
    /// Inside all of these start/end ranges.
    StartEnd(Vec<Name>),
    PushPop {
        outermost: bool,
        steps: Vec<Step>,
        innermost: bool,
    },
}

#[derive(Debug, Clone)]
pub enum Step {
    Name(Name),
    /// `*`: any number of ranges.
    Any,
    /// `+`: exactly one range.
    One,
}

#[derive(Debug, Clone)]
pub enum Name {
    Exact(String),
    Pattern(Regex),
}

impl Name {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NcuGateError {
    Empty,
    BadRegex { text: String },
}

impl std::error::Error for NcuGateError {}

impl fmt::Display for NcuGateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the expression names no range"),
            Self::BadRegex { text } => write!(f, "`{text}` is not a regular expression"),
        }
    }
}

impl NcuGate {
    pub fn parse(text: &str) -> Result<Self, NcuGateError> {
        let (text, is_regex) = match text.strip_prefix("regex:") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let mut marks = marks(text, is_regex);
        let domain_end = marks.iter().position(|mark| *mark == Mark::Special('@'));
        let domain = match domain_end {
            Some(end) => {
                let domain = plain(&marks[..end]);
                marks.drain(..=end);
                domain
            }
            None => String::new(),
        };
        let is_stack = marks.contains(&Mark::Special('/'))
            || marks.first() == Some(&Mark::Special('['))
            || marks.last() == Some(&Mark::Special(']'));
        let expression = if is_stack { stack(&marks, is_regex)? } else { started(&marks, is_regex)? };
        Ok(Self { domain, expression })
    }

    /// Whether a kernel launched inside these ranges is profiled.
    pub fn includes(&self, open: &OpenRanges) -> bool {
        let in_domain = |ranges: &[(String, String)]| -> Vec<String> {
            let names = ranges.iter().filter(|(domain, _)| *domain == self.domain);
            names.map(|(_, name)| name.clone()).collect()
        };
        match &self.expression {
            NcuExpression::StartEnd(names) => {
                let started = in_domain(&open.started);
                names.iter().all(|name| started.iter().any(|range| name.matches(range)))
            }
            NcuExpression::PushPop { outermost, steps, innermost } => {
                let stack = in_domain(&open.stack);
                let starts = if *outermost { 0..1 } else { 0..stack.len() };
                starts.into_iter().any(|start| {
                    let rest = stack.get(start..).unwrap_or_default();
                    matches_from(steps, rest, *innermost)
                })
            }
        }
    }
}

/// Whether the steps match the beginning of this part of a stack, or all of it.
fn matches_from(steps: &[Step], stack: &[String], to_the_end: bool) -> bool {
    match steps.split_first() {
        None => !to_the_end || stack.is_empty(),
        Some((Step::Any, rest)) => {
            (0..=stack.len()).any(|skip| matches_from(rest, &stack[skip..], to_the_end))
        }
        Some((Step::One, rest)) => {
            stack.split_first().is_some_and(|(_, inner)| matches_from(rest, inner, to_the_end))
        }
        Some((Step::Name(name), rest)) => stack
            .split_first()
            .is_some_and(|(range, inner)| name.matches(range) && matches_from(rest, inner, to_the_end)),
    }
}

/// A character, and whether it means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Plain(char),
    Special(char),
}

/// In a regular expression only `@`, `,` and `/` keep their meaning.
fn marks(text: &str, is_regex: bool) -> Vec<Mark> {
    let special = if is_regex { "@,/" } else { "@,[]/*+" };
    let mut marks = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' if characters.peek().is_some_and(|next| special.contains(*next)) => {
                marks.extend(characters.next().map(Mark::Plain));
            }
            c if special.contains(c) => marks.push(Mark::Special(c)),
            c => marks.push(Mark::Plain(c)),
        }
    }
    marks
}

fn plain(marks: &[Mark]) -> String {
    marks
        .iter()
        .map(|mark| match mark {
            Mark::Plain(c) | Mark::Special(c) => *c,
        })
        .collect()
}

fn started(marks: &[Mark], is_regex: bool) -> Result<NcuExpression, NcuGateError> {
    let names = marks.split(|mark| *mark == Mark::Special(',')).map(|part| name(&plain(part), is_regex));
    Ok(NcuExpression::StartEnd(names.collect::<Result<_, _>>()?))
}

fn stack(marks: &[Mark], is_regex: bool) -> Result<NcuExpression, NcuGateError> {
    let outermost = marks.first() == Some(&Mark::Special('['));
    let innermost = marks.last() == Some(&Mark::Special(']'));
    let inner = &marks[usize::from(outermost)..marks.len() - usize::from(innermost && marks.len() > 1)];
    let mut parts: Vec<&[Mark]> = inner.split(|mark| *mark == Mark::Special('/')).collect();
    // `A/` is `A` with a sign that a stack is meant.
    if parts.len() > 1 && parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    let mut steps = Vec::new();
    for part in parts {
        steps.push(match part {
            [Mark::Special('*')] => Step::Any,
            [Mark::Special('+')] => Step::One,
            part => Step::Name(name(&plain(part), is_regex)?),
        });
    }
    Ok(NcuExpression::PushPop { outermost, steps, innermost })
}

fn name(text: &str, is_regex: bool) -> Result<Name, NcuGateError> {
    if text.is_empty() {
        return Err(NcuGateError::Empty);
    }
    if !is_regex {
        return Ok(Name::Exact(text.to_owned()));
    }
    let pattern = Regex::new(&format!("^(?:{text})$"));
    pattern.map(Name::Pattern).map_err(|_| NcuGateError::BadRegex { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The kernels of the program that recorded the truth table, each with the
    /// ranges it was launched in: stack, then start/end ranges, as `domain:name`.
    const KERNELS: [(&[&str], &[&str]); 27] = [
        (&[], &[]),
        (&[":plain"], &[]),
        (&[":outer", ":mid", ":inner"], &[]),
        (&[":outer", ":mid"], &[]),
        (&[":outer"], &[]),
        (&[":outer", ":inner"], &[]),
        (&[":reg_default"], &[]),
        (&["LLM:reg_llm"], &[]),
        (&["LLM:unreg_llm"], &[]),
        (&[":same"], &[]),
        (&["LLM:same"], &[]),
        (&["LLM:same"], &[]),
        (&["other:same"], &[]),
        (&["other:same"], &[]),
        (&["other:same"], &[]),
        (&[], &[":se"]),
        (&[], &[":sx", ":sy"]),
        (&[], &[":sy"]),
        (&[], &["LLM:se_llm"]),
        (&[":a/b"], &[]),
        (&[":x@y"], &[]),
        (&[":[z]"], &[]),
        (&[":two words"], &[]),
        (&[":st*ar"], &[]),
        (&[":step0"], &[]),
        (&[":step1"], &[]),
        (&[":Case"], &[]),
    ];

    fn ranges(of: &[&str]) -> Vec<(String, String)> {
        let split = of.iter().filter_map(|range| range.split_once(':'));
        split.map(|(domain, name)| (domain.to_owned(), name.to_owned())).collect()
    }

    /// Every recorded row of ncu 2025.3.1 but those about other threads' ranges.
    #[test]
    fn the_recorded_truth_table() {
        let recorded = include_str!("../tests/data/ncu-2025.3.1.tsv");
        let mut rows = 0;
        for line in recorded.lines().skip(1) {
            let mut columns = line.split('\t');
            let (expression, kernels) = (columns.next().unwrap(), columns.next().unwrap());
            if expression.contains("--nvtx-push-pop-scope") {
                continue;
            }
            let gate = NcuGate::parse(expression).unwrap();
            let included = KERNELS.iter().filter(|(stack, started)| {
                gate.includes(&OpenRanges { stack: ranges(stack), started: ranges(started) })
            });
            assert_eq!(included.count(), kernels.parse::<usize>().unwrap(), "{expression}");
            rows += 1;
        }
        assert!(rows >= 25, "{rows}");
    }

    #[test]
    fn errors() {
        assert_eq!(NcuGate::parse("").unwrap_err(), NcuGateError::Empty);
        assert_eq!(NcuGate::parse("LLM@").unwrap_err(), NcuGateError::Empty);
        assert!(matches!(NcuGate::parse("regex:(/").unwrap_err(), NcuGateError::BadRegex { .. }));
    }

    proptest! {
        #[test]
        fn never_panics(text in "[a-b@,\\[\\]/*+\\\\:]{0,14}", stack in proptest::collection::vec("[ab]", 0..4)) {
            if let Ok(gate) = NcuGate::parse(&text) {
                let stack = stack.into_iter().map(|name| (String::new(), name)).collect();
                gate.includes(&OpenRanges { stack, started: Vec::new() });
            }
        }

        /// The expression made for a region includes exactly that region. (What ncu
        /// makes of a backslash in a name has not been measured.)
        #[test]
        fn expressions_select_their_region(names in proptest::collection::vec("[ab/@*+,\\[\\]]{1,3}", 1..4)) {
            let path = crate::RegionPath::new("LLM", names.clone());
            let gate = NcuGate::parse(&crate::ncu_expression(&path, crate::Kind::PushPop)).unwrap();
            let stack = |names: &[String]| OpenRanges {
                stack: names.iter().map(|name| ("LLM".to_owned(), name.clone())).collect(),
                started: Vec::new(),
            };
            prop_assert!(gate.includes(&stack(&names)));
            prop_assert!(!gate.includes(&stack(&names[..names.len() - 1])));
            prop_assert!(!gate.includes(&OpenRanges::default()));
        }
    }
}
