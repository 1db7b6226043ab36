//! A change as it is typed: `kernel:sgemm*=0.2`.

use std::fmt;
use std::str::FromStr;

use nvtx::{FOLDED, NamePattern, RegionPath, RegionPattern};
use serde::Serialize;

/// Nobody makes anything slower than this to see what happens, and times stay within what can be added up.
const LARGEST: f64 = 1000.0;

/// What a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOf {
    /// The time of kernels, by name.
    Kernel,
    /// The time of copies and fills, by direction.
    Copy,
    /// The host's own time in calls, by name; without any of it, it does not wait in them either.
    Call,
    /// The host's time between calls, by region.
    Host,
}

impl ChangeOf {
    const ALL: [Self; 4] = [Self::Kernel, Self::Copy, Self::Call, Self::Host];

    fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Copy => "copy",
            Self::Call => "call",
            Self::Host => "host",
        }
    }
}

/// Something takes another part of its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub(super) of: ChangeOf,
    pub(super) name: String,
    /// From 0 to [`LARGEST`].
    pub(super) factor: f64,
    /// As it was typed.
    text: String,
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl FromStr for Change {
    /// What is wrong, after the text itself: `is not …`.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "is not KIND:NAME=FACTOR\nhint: for example `kernel:sgemm*=0.2`, `copy:host to device=0.5`, \
                    `call:cudaStreamSynchronize=0` or `host:log=0`";
        // Names of kernels may contain both.
        let (kind, rest) = text.split_once(':').ok_or(form)?;
        let (name, factor) = rest.rsplit_once('=').ok_or(form)?;
        if kind.is_empty() || name.is_empty() {
            return Err(form.to_owned());
        }
        let Some(of) = ChangeOf::ALL.into_iter().find(|of| of.as_str() == kind) else {
            return Err(format!("begins with `{kind}`, which is not `kernel`, `copy`, `call` or `host`"));
        };
        let number: Option<f64> = factor.parse().ok();
        let Some(factor) = number.filter(|number| (0.0..=LARGEST).contains(number)) else {
            return Err(format!(
                "ends with `{factor}`, which is not a number from 0 to {LARGEST}\n\
                 hint: 0.5 is half of the time, 0 none of it"
            ));
        };
        // Zero may have been typed with a sign.
        Ok(Self { of, name: name.to_owned(), factor: factor.abs(), text: text.to_owned() })
    }
}

impl Change {
    /// Whether a kernel, a call, a direction, or every region of this name is meant.
    pub(super) fn means(&self, name: &str) -> bool {
        NamePattern::parse(&self.name).is_some_and(|pattern| pattern.matches(name))
    }

    /// Whether all of the host's time is meant, in regions and outside of them.
    pub(super) fn means_everywhere(&self) -> bool {
        self.name.chars().eq([FOLDED])
    }

    /// The path that was typed, if it may be one.
    pub(super) fn path(&self) -> Option<RegionPattern> {
        // In the default domain, without its colon.
        path(&self.name).or_else(|| path(&format!(":{}", self.name)).filter(|_| self.name.contains('/')))
    }

    /// Whether a name has a part of the one that was typed, or the other way round, in whatever case: it may have
    /// been meant.
    pub(super) fn is_like(&self, name: &str) -> bool {
        let (name, typed) = (name.to_lowercase(), self.name.to_lowercase());
        let mut parts = typed.split([FOLDED, '/', ':']).filter(|part| part.len() > 2);
        parts.any(|part| name.contains(part) || name.len() > 2 && part.contains(&name))
    }
}

/// With or without a pattern in it.
fn path(text: &str) -> Option<RegionPattern> {
    let exact = |path: RegionPath| RegionPattern::Path {
        domain: NamePattern::exactly(&path.domain),
        names: path.names.iter().map(|name| NamePattern::exactly(name)).collect(),
    };
    let pattern = RegionPattern::parse(text).filter(|pattern| matches!(pattern, RegionPattern::Path { .. }));
    pattern.or_else(|| text.parse().ok().map(exact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<(ChangeOf, String, f64), String> {
        text.parse().map(|change: Change| (change.of, change.name, change.factor))
    }

    #[test]
    fn forms() {
        for (text, of, name, factor) in [
            ("kernel:sgemm*=0.2", ChangeOf::Kernel, "sgemm*", 0.2),
            ("copy:host to device=.5", ChangeOf::Copy, "host to device", 0.5),
            ("call:cudaMalloc=1e3", ChangeOf::Call, "cudaMalloc", 1000.0),
            ("host::step/log=0", ChangeOf::Host, ":step/log", 0.0),
            ("host:lr=1e-5=-0", ChangeOf::Host, "lr=1e-5", 0.0),
            ("kernel:void f<a::b, 1 == 2>(int*)=1", ChangeOf::Kernel, "void f<a::b, 1 == 2>(int*)", 1.0),
        ] {
            assert_eq!(read(text), Ok((of, name.to_owned(), factor)), "{text}");
            assert_eq!(text.parse::<Change>().unwrap().to_string(), text);
        }
        assert!(read("call:x=-0").unwrap().2.is_sign_positive());
    }

    #[test]
    fn what_is_wrong() {
        for text in ["", "=", ":", ":=", "kernel", "kernel:", "kernel:x", "kernel=0.5", "kernel:=0.5", "x=1"]
        {
            assert!(read(text).unwrap_err().starts_with("is not KIND:NAME=FACTOR\nhint: "), "{text}");
        }
        for (text, kind) in [("kernels:x=1", "kernels"), (" kernel:x=1", " kernel"), ("Kernel:x=1", "Kernel")]
        {
            let why = format!("begins with `{kind}`, which is not `kernel`, `copy`, `call` or `host`");
            assert_eq!(read(text), Err(why));
        }
        for number in
            ["", " ", "x", "-1", "-1e-300", "nan", "inf", "-inf", "1000.1", "1e999", "50%", "0,5", "١"]
        {
            let why = read(&format!("kernel:x={number}")).unwrap_err();
            let expected = format!("ends with `{number}`, which is not a number from 0 to 1000\n");
            assert!(why.starts_with(&expected), "{number}: {why}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("sgemm", "sgemm", true),
            ("sgemm", "sgemm_nn", false),
            ("sgemm*", "sgemm", true),
            ("*gemm*", "ampere_sgemm_128x64", true),
            ("a*b*a", "aba", true),
            ("a*a", "a", false),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "aab", false),
            ("**", "", true),
            ("?", "x", false),
            ("f(int*)", "f(int*)", true),
            ("*é", "né", true),
            (r"f(int\*)", "f(int*)", true),
            (r"f(int\*)", "f(int&*)", false),
        ] {
            let change: Change = format!("kernel:{pattern}=0").parse().unwrap();
            assert_eq!(change.means(name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn regions() {
        let change = |name: &str| format!("host:{name}=0").parse::<Change>().unwrap();
        assert!(change("log").means("log") && !change("log").means("logs"));
        assert!(change("step *").means("step *") && change("step *").means("step 7"));
        assert!(change("l*").means("log") && !change("l*").means("blog"));
        assert_eq!(change("step/log").path(), change(":step/log").path());
        assert_eq!(change("log").path(), None);
        assert!(change("aten::mm").means("aten::mm") && change("aten::*").means("aten::mm"));
        for (typed, path) in
            [("LLM*:step", "LLM 1:step"), ("*/log", ":step/log"), (":step */log", ":step */log")]
        {
            assert!(change(typed).path().unwrap().matches(&path.parse().unwrap()), "{typed} {path}");
        }
        let inside = change(":step/l*").path().unwrap();
        assert!(!inside.matches(&":step/a/log".parse().unwrap()), "never more than one name");
        assert!(change("*").means_everywhere() && !change("**").means_everywhere());
        assert!(change("step/Logs").is_like("log") && change("log").is_like("logging"));
        assert!(!change("a*b").is_like("ab") && !change("*").is_like("log"), "too little to say so");
    }

    proptest! {
        /// Whatever is typed, it is read or refused, and read as it was typed.
        #[test]
        fn anything(text in "\\PC{0,40}") {
            if let Ok(change) = text.parse::<Change>() {
                prop_assert!((0.0..=LARGEST).contains(&change.factor));
                prop_assert_eq!(change.to_string(), text);
            }
        }

        /// Parts of a name with anything between them fit it.
        #[test]
        fn what_is_left_of_a_name_fits(parts in proptest::collection::vec("[ab*]{0,3}", 1..5)) {
            let name = parts.concat();
            for typed in [parts.join("*"), name.clone()].into_iter().filter(|typed| !typed.is_empty()) {
                let change: Change = format!("kernel:{typed}=0").parse().unwrap();
                prop_assert!(change.means(&name), "{parts:?}");
            }
        }
    }
}
