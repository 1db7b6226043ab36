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
//! name, and the domain, is a regular expression that is searched for. Anything else is
//! literal: `decode*` is a name.
//!
//! Measured on 2025.3.1, and not in its documentation (the rows are in `tests/data`):
//!
//! - A name counts once in a stack, where it was first pushed: `A/A` never matches,
//!   `A/B` does not match inside `B`, `A`, `B`.
//! - Of several wildcards in a row only the last counts, `A/*` is `A/`, and an
//!   expression may not begin with one.
//! - A bracket counts at the outer end of the first and the last name; a name takes
//!   only one of them, so `[A]` is a name `A]`, outermost.
//! - An expression with a `;` matches nothing, not even a name that holds one.
//! - A backslash cannot be escaped: `x\\@y` is the domain `x\\`.
//! - The default domain is called `<default domain>`.
//! - A regular expression matches bytes: `^a.b$` is not `aéb`, `^a..b$` is.

use std::fmt;

use regex::bytes::{Regex, RegexBuilder};

use crate::region_pattern::REGEX;
use crate::seen::OpenRanges;

const DEFAULT_DOMAIN: &str = "<default domain>";

#[derive(Debug, Clone)]
pub struct NcuGate {
    /// None is the default domain.
    domain: Option<Name>,
    expression: Expression,
    /// It holds a `;`.
    never: bool,
}

#[derive(Debug, Clone)]
enum Expression {
    /// Inside all of these start/end ranges.
    StartEnd(Vec<Name>),
    PushPop(Stack),
}

/// Names in a stack, outermost first.
#[derive(Debug, Clone)]
struct Stack {
    outermost: bool,
    /// Each with how far it lies from the one before.
    steps: Vec<(Distance, Name)>,
    innermost: bool,
    /// A `+` at the end: something is open inside the last name.
    something_inside: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distance {
    /// `A/B`
    Direct,
    /// `A/*/B`
    Any,
    /// `A/+/B`
    One,
}

#[derive(Debug, Clone)]
enum Name {
    Exact(String),
    Pattern(Regex),
}

impl Name {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Pattern(pattern) => pattern.is_match(name.as_bytes()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NcuGateError {
    Empty,
    NoDomain,
    WildcardFirst,
    BadRegex { text: String },
}

impl std::error::Error for NcuGateError {}

impl fmt::Display for NcuGateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the expression names no range"),
            Self::NoDomain => write!(f, "there is no domain before the `@`"),
            Self::WildcardFirst => write!(f, "it cannot start with a wildcard"),
            Self::BadRegex { text } => write!(f, "`{text}` is not a regular expression"),
        }
    }
}

impl NcuGate {
    pub fn parse(text: &str) -> Result<Self, NcuGateError> {
        let (body, is_regex) = match text.strip_prefix(REGEX) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let marks = marks(body, is_regex);
        let (domain, rest) = match marks.iter().position(|mark| *mark == Mark::Special('@')) {
            Some(0) => return Err(NcuGateError::NoDomain),
            Some(end) => (Some(name(&marks[..end], is_regex)?), &marks[end + 1..]),
            None => (None, marks.as_slice()),
        };
        let is_stack = rest.contains(&Mark::Special('/'))
            || rest.len() > 1
                && (rest.first() == Some(&Mark::Special('[')) || rest.last() == Some(&Mark::Special(']')));
        let expression = if rest.is_empty() {
            return Err(NcuGateError::Empty);
        } else if is_stack {
            Expression::PushPop(stack(rest, is_regex)?)
        } else {
            let names = rest.split(|mark| *mark == Mark::Special(','));
            Expression::StartEnd(names.map(|part| name(part, is_regex)).collect::<Result<_, _>>()?)
        };
        Ok(Self { domain, expression, never: text.contains(';') })
    }

    /// Whether it speaks of this domain.
    pub fn in_domain(&self, domain: &str) -> bool {
        let called = if domain.is_empty() { DEFAULT_DOMAIN } else { domain };
        self.domain.as_ref().map_or(domain.is_empty(), |name| name.matches(called))
    }

    /// Whether it is this name and nothing else.
    pub fn is_name(&self, name: &str) -> bool {
        let is_it = |other: &Name| matches!(other, Name::Exact(other) if other == name);
        match &self.expression {
            Expression::StartEnd(names) => matches!(names.as_slice(), [only] if is_it(only)),
            Expression::PushPop(Stack {
                outermost: false,
                steps,
                innermost: false,
                something_inside: false,
            }) => {
                matches!(steps.as_slice(), [(_, only)] if is_it(only))
            }
            Expression::PushPop(_) => false,
        }
    }

    /// How many start/end ranges must be open at once; none where it speaks of push/pop ranges.
    pub fn started_names(&self) -> usize {
        match &self.expression {
            Expression::StartEnd(wanted) if !self.never => wanted.len(),
            _ => 0,
        }
    }

    /// The name at such a place in the expression.
    pub fn started_name(&self, at: usize) -> Option<&str> {
        let Expression::StartEnd(wanted) = &self.expression else { return None };
        Some(match wanted.get(at)? {
            Name::Exact(text) => text,
            Name::Pattern(pattern) => pattern.as_str(),
        })
    }

    /// Which of those a start/end range is, by their place in the expression.
    pub fn started_as(&self, domain: &str, name: &str) -> Vec<usize> {
        let Expression::StartEnd(wanted) = &self.expression else { return Vec::new() };
        let is_it = |at: &usize| self.in_domain(domain) && wanted[*at].matches(name);
        (0..self.started_names()).filter(is_it).collect()
    }

    /// Whether a kernel launched inside these ranges is profiled.
    pub fn includes(&self, open: &OpenRanges) -> bool {
        let names = |ranges: &'_ [(String, String)]| -> Vec<String> {
            let ours = ranges.iter().filter(|(domain, _)| self.in_domain(domain));
            ours.map(|(_, name)| name.clone()).collect()
        };
        if self.never {
            return false;
        }
        match &self.expression {
            Expression::StartEnd(wanted) => {
                let started = names(&open.started);
                wanted.iter().all(|name| started.iter().any(|range| name.matches(range)))
            }
            Expression::PushPop(wanted) => wanted.matches(&once(names(&open.stack))),
        }
    }
}

/// Every name where it was first pushed.
fn once(stack: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for name in stack {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

impl Stack {
    fn matches(&self, stack: &[String]) -> bool {
        // Where the name of the step before can lie; None before the first.
        let mut places: Option<Vec<usize>> = None;
        for (distance, name) in &self.steps {
            let fits = |at: usize| match &places {
                None => !self.outermost || at == 0,
                Some(before) => before.iter().any(|before| match distance {
                    Distance::Direct => at == before + 1,
                    Distance::One => at == before + 2,
                    Distance::Any => at >= *before,
                }),
            };
            places = Some((0..stack.len()).filter(|at| name.matches(&stack[*at]) && fits(*at)).collect());
        }
        places.unwrap_or_default().into_iter().any(|last| {
            let innermost = last + 1 == stack.len();
            (!self.innermost || innermost) && (!self.something_inside || !innermost)
        })
    }
}

/// A character, and whether it means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Plain(char),
    Special(char),
}

/// A special character is plain behind an odd number of backslashes. The last of
/// those is then dropped, unless it may mean something in a regular expression.
fn marks(text: &str, is_regex: bool) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut backslashes = 0;
    for c in text.chars() {
        let special = "@,[]/*+".contains(c);
        match (special, backslashes % 2) {
            (true, 1) => {
                if !is_regex || "@,/".contains(c) {
                    marks.pop();
                }
                marks.push(Mark::Plain(c));
            }
            (true, _) => marks.push(Mark::Special(c)),
            (false, _) => marks.push(Mark::Plain(c)),
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    marks
}

fn stack(marks: &[Mark], is_regex: bool) -> Result<Stack, NcuGateError> {
    let mut parts: Vec<&[Mark]> =
        marks.split(|mark| *mark == Mark::Special('/')).filter(|part| !part.is_empty()).collect();
    let mut stack = Stack { outermost: false, steps: Vec::new(), innermost: false, something_inside: false };
    let only_one = parts.len() == 1;
    if let Some(first) = parts.first_mut()
        && let [Mark::Special('['), rest @ ..] = first
        && !rest.is_empty()
    {
        stack.outermost = true;
        *first = rest;
    }
    if let Some(last) = parts.last_mut()
        && let [rest @ .., Mark::Special(']')] = last
        && !rest.is_empty()
        && !(only_one && stack.outermost)
        && !(is_regex && rest.contains(&Mark::Special('[')))
    {
        stack.innermost = true;
        *last = rest;
    }
    let mut distance = Distance::Direct;
    for part in parts {
        match part {
            [Mark::Special('*' | '+')] if stack.steps.is_empty() => return Err(NcuGateError::WildcardFirst),
            [Mark::Special('*')] => distance = Distance::Any,
            [Mark::Special('+')] => distance = Distance::One,
            part => {
                stack.steps.push((distance, name(part, is_regex)?));
                distance = Distance::Direct;
            }
        }
    }
    stack.something_inside = distance == Distance::One;
    if stack.steps.is_empty() { Err(NcuGateError::Empty) } else { Ok(stack) }
}

fn name(marks: &[Mark], is_regex: bool) -> Result<Name, NcuGateError> {
    let text: String = marks
        .iter()
        .map(|mark| match mark {
            Mark::Plain(c) | Mark::Special(c) => *c,
        })
        .collect();
    if !is_regex {
        return Ok(Name::Exact(text));
    }
    let regex = RegexBuilder::new(&text).unicode(false).build();
    regex.map(Name::Pattern).map_err(|_| NcuGateError::BadRegex { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Begins, Kind, NamePattern, RegionPath, ncu_expression, ncu_pattern};
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

        /// The expression made for a region includes it, and nothing around it, unless
        /// it says that it cannot.
        #[test]
        fn expressions_select_their_region(
            names in proptest::collection::vec("[ab;/@*+,.\\\\\\[\\]]{1,3}", 1..4),
            begins in prop_oneof![Just(Begins::Anywhere), Just(Begins::Outermost)],
        ) {
            let path = RegionPath::new("LLM", names.clone());
            let include = ncu_expression(&path, Kind::PushPop, begins);
            let gate = NcuGate::parse(&include.text).unwrap();
            let stack = |names: &[String]| OpenRanges {
                stack: names.iter().map(|name| ("LLM".to_owned(), name.clone())).collect(),
                started: Vec::new(),
            };
            prop_assert!(gate.includes(&stack(&names)), "{}", include.text);
            prop_assert!(!gate.includes(&OpenRanges::default()));
            if include.note.is_none() {
                prop_assert!(!gate.includes(&stack(&names[..names.len() - 1])), "{}", include.text);
                let inside = [&["z".to_owned()], names.as_slice()].concat();
                prop_assert_eq!(gate.includes(&stack(&inside)), begins == Begins::Anywhere, "{}", include.text);
            }
            let started = OpenRanges { stack: Vec::new(), started: vec![("LLM".to_owned(), names[0].clone())] };
            let path = RegionPath::new("LLM", [names[0].as_str()]);
            let include = ncu_expression(&path, Kind::StartEnd, begins);
            let gate = NcuGate::parse(&include.text).unwrap();
            prop_assert!(gate.includes(&started), "{}", include.text);
        }

        /// The expression made for a pattern includes what the pattern matches, and nothing else.
        #[test]
        fn expressions_select_what_a_pattern_matches(
            pattern in "[ab/@+,.()?^$|é\\[\\]*]{1,5}", name in "[ab/@+,.()?^$|é\\[\\]*]{1,5}",
            domain in "[a.é]{0,2}", kind in prop_oneof![Just(Kind::PushPop), Just(Kind::StartEnd)],
        ) {
            let pattern = NamePattern::parse(&pattern).unwrap();
            let include = ncu_pattern(&NamePattern::exactly(&domain), std::slice::from_ref(&pattern), kind, Begins::Anywhere);
            let gate = NcuGate::parse(&include).unwrap();
            let open = |domain: &str| {
                let ranges = vec![(domain.to_owned(), name.clone())];
                match kind {
                    Kind::PushPop => OpenRanges { stack: ranges, started: Vec::new() },
                    Kind::StartEnd => OpenRanges { stack: Vec::new(), started: ranges },
                }
            };
            prop_assert_eq!(gate.includes(&open(&domain)), pattern.matches(&name), "{} {}", include, name);
            prop_assert!(!gate.includes(&open("elsewhere")));
        }
    }
}
