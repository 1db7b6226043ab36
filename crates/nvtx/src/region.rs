//! The path of a region: `DOMAIN:outer/inner`, `:outer/inner` in the default domain.

use std::fmt;

use crate::pattern::{FOLDED, folded};

/// The names of a stack of ranges in one domain, outermost first. In text, `\`
/// escapes `/`, `:` and `\`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionPath {
    /// Empty for the default domain.
    pub domain: String,
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathError {
    NoColon,
    EscapeAtEnd,
}

impl std::error::Error for PathError {}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColon => write!(
                f,
                "a region path is written `DOMAIN:outer/inner`, or `:outer/inner` in the default domain"
            ),
            Self::EscapeAtEnd => write!(f, "a region path cannot end in a single `\\`"),
        }
    }
}

impl RegionPath {
    pub fn new(domain: impl Into<String>, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { domain: domain.into(), names: names.into_iter().map(Into::into).collect() }
    }

    /// The innermost name.
    pub fn name(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// Whether `other` is this region, or one that is part of it: its names have numbers where this one has
    /// patterns.
    pub fn covers(&self, other: &Self) -> bool {
        let same = |(mine, theirs): (&String, &String)| {
            mine == theirs || mine.contains(FOLDED) && folded(theirs).as_deref() == Some(mine)
        };
        self.domain == other.domain
            && self.names.len() == other.names.len()
            && self.names.iter().zip(&other.names).all(same)
    }

    pub fn depth(&self) -> usize {
        self.names.len().saturating_sub(1)
    }
}

impl fmt::Display for RegionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(f, &self.domain)?;
        f.write_str(":")?;
        for (at, name) in self.names.iter().enumerate() {
            if at > 0 {
                f.write_str("/")?;
            }
            escaped(f, name)?;
        }
        Ok(())
    }
}

fn escaped(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for c in text.chars() {
        if matches!(c, '/' | ':' | '\\') {
            f.write_str("\\")?;
        }
        write!(f, "{c}")?;
    }
    Ok(())
}

impl std::str::FromStr for RegionPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let mut domain = None;
        let mut names = Vec::new();
        let mut part = String::new();
        let mut characters = text.chars();
        while let Some(c) = characters.next() {
            match c {
                '\\' => part.push(characters.next().ok_or(PathError::EscapeAtEnd)?),
                ':' if domain.is_none() => domain = Some(std::mem::take(&mut part)),
                '/' if domain.is_some() => names.push(std::mem::take(&mut part)),
                c => part.push(c),
            }
        }
        names.push(part);
        Ok(Self { domain: domain.ok_or(PathError::NoColon)?, names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms() {
        assert_eq!(RegionPath::new("LLM", ["decode", "step"]).to_string(), "LLM:decode/step");
        assert_eq!(RegionPath::new("", ["A"]).to_string(), ":A");
        assert_eq!(RegionPath::new("a:b", ["c/d", "e\\f"]).to_string(), r"a\:b:c\/d/e\\f");
        assert_eq!("decode".parse::<RegionPath>(), Err(PathError::NoColon));
        assert_eq!(r":a\".parse::<RegionPath>(), Err(PathError::EscapeAtEnd));
        assert_eq!(":".parse::<RegionPath>().unwrap(), RegionPath::new("", [""]));
    }

    #[test]
    fn a_pattern_covers_its_names() {
        let pattern = RegionPath::new("", ["Train step *", "Layer *"]);
        assert!(pattern.covers(&RegionPath::new("", ["Train step 7", "Layer 11"])));
        assert!(pattern.covers(&pattern));
        assert!(!pattern.covers(&RegionPath::new("", ["Train step 7"])));
        assert!(!pattern.covers(&RegionPath::new("", ["Train step 7", "Loss"])));
        assert!(!RegionPath::new("", ["step 7"]).covers(&RegionPath::new("", ["step 8"])));
    }

    proptest! {
        #[test]
        fn reads_back(domain in "\\PC{0,8}", names in proptest::collection::vec("\\PC{0,8}", 1..4)) {
            let path = RegionPath::new(domain, names);
            prop_assert_eq!(path.to_string().parse::<RegionPath>().unwrap(), path);
        }
    }
}
