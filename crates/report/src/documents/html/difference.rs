//! An iteration as bars, before and after: regions, and what happens in them.

use std::collections::HashMap;

use analysis::compare::{Change, StackChange, What};
use nvtx::RegionPath;
use serde_json::{Value, json};

use super::widest::Widest;
use crate::form::texts::Texts;
use crate::tables::{OUTSIDE, part_name};

/// A page shows the bars with the most time.
const MOST_BARS: usize = 3_000;

/// Bars, each behind the one around it.
#[derive(Debug, Default)]
pub(super) struct Bars {
    bars: Vec<Bar>,
    known: HashMap<(Option<usize>, String), usize>,
}

#[derive(Debug)]
struct Bar {
    around: Option<usize>,
    name: String,
    /// Before, and after.
    ns: [f64; 2],
}

impl Bars {
    /// By region, and in each by what the time is spent on.
    pub(super) fn of_changes<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Self {
        let mut bars = Self::default();
        for change in changes {
            let mut path = regions(change.place.as_deref());
            // The region's own time is what no bar below it covers.
            if !matches!(change.shown(), Some(What::Host) | None) {
                path.push(part_name(change));
            }
            bars.add(path, change.ns);
        }
        bars
    }

    pub(super) fn of_stacks(stacks: &[StackChange]) -> Self {
        let mut bars = Self::default();
        stacks.iter().for_each(|stack| bars.add(stack.frames.clone(), stack.ns));
        bars
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bars.iter().all(|bar| bar.ns == [0.0; 2])
    }

    fn add(&mut self, path: Vec<String>, ns: [f64; 2]) {
        let mut around = None;
        for name in path {
            let next = self.bars.len();
            let at = *self.known.entry((around, name.clone())).or_insert(next);
            if at == next {
                self.bars.push(Bar { around, name, ns: [0.0; 2] });
            }
            for (sum, more) in self.bars[at].ns.iter_mut().zip(ns) {
                *sum += more;
            }
            around = Some(at);
        }
    }

    /// As the page reads it; the widest bars of an outer one come first.
    pub(super) fn json(&self, texts: &mut Texts) -> Value {
        let widest = |at: usize| self.bars[at].ns[0].max(self.bars[at].ns[1]);
        let shown = Widest::of((0..self.bars.len()).map(|at| widest(at).round() as u64), MOST_BARS);
        let bars = || shown.of_all(&self.bars);
        let time = |side: usize| bars().map(|bar| bar.ns[side].round() as i64).collect::<Vec<_>>();
        json!({
            "caller": bars().map(|bar| shown.around(bar.around)).collect::<Vec<_>>(),
            "name": bars().map(|bar| texts.id(&bar.name)).collect::<Vec<_>>(),
            "place": bars().map(|_| 0).collect::<Vec<_>>(),
            "before": time(0),
            "after": time(1),
        })
    }
}

/// The names of a region and of those around it.
fn regions(place: Option<&str>) -> Vec<String> {
    let Some(place) = place else { return vec![OUTSIDE.to_owned()] };
    let Ok(RegionPath { domain, mut names }) = place.parse() else { return vec![place.to_owned()] };
    if let Some(outermost) = names.first_mut().filter(|_| !domain.is_empty()) {
        *outermost = format!("{domain}:{outermost}");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_outer_bars_come_first() {
        let stack = |frames: &[&str], ns| StackChange {
            frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
            ns,
        };
        let bars = Bars::of_stacks(&[
            stack(&["main", "load"], [10.0, 30.0]),
            stack(&["main", "step", "launch"], [50.0, 50.0]),
            stack(&["main"], [5.0, 5.0]),
        ]);
        let mut texts = Texts::default();
        let json = bars.json(&mut texts);
        let texts = texts.into_json();
        let name = |at: usize| texts[json["name"][at].as_u64().unwrap_or(0) as usize].clone();
        assert_eq!([0, 1, 2, 3].map(name), ["main", "step", "launch", "load"]);
        assert_eq!(json["before"], json!([65, 50, 50, 10]));
        assert_eq!(json["after"], json!([85, 50, 50, 30]));
        assert_eq!(json["caller"], json!([-1, 0, 1, 0]));
        assert!(!bars.is_empty() && Bars::of_stacks(&[]).is_empty());
    }

    #[test]
    fn regions_are_nested_by_their_names() {
        assert_eq!(regions(Some(r":step/a\/b")), ["step", "a/b"]);
        assert_eq!(regions(Some("LLM:step")), ["LLM:step"]);
        assert_eq!(regions(None), [OUTSIDE]);
    }
}
