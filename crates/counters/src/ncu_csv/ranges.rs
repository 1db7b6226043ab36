//! The two columns that hold NVTX ranges.
//!
//! `686  "<default domain>:A:none:none:none:none:none:none"  "…" ` is a thread and its
//! stacks, ` "0:<default domain>:se:…" ` are start/end ranges with their ids. Within the
//! quotes: domain, name, type and value of the payload, of the colour, of the message.

use crate::nvtx_state::{DEFAULT_DOMAIN, NvtxRange, NvtxState, NvtxThread, Payload};

const PAYLOADS: [&str; 8] = ["none", "Uint64", "Int64", "Double", "Uint32", "Int32", "Float", "Json"];
const COLORS: [&str; 3] = ["none", "RGB", "ARGB"];
const MESSAGES: [&str; 4] = ["none", "ASCII", "UNICODE", "REGISTERED"];

/// The state, and the launching thread.
pub(super) fn state(pushed: &str, started: &str) -> (NvtxState, Option<u32>) {
    let mut state = NvtxState::default();
    let thread = pushed.split_whitespace().next().and_then(|id| id.parse().ok());
    if let Some(id) = thread {
        let mut stacks: Vec<(String, Vec<NvtxRange>)> = Vec::new();
        for (domain, range) in quoted(pushed).filter_map(range) {
            // Domains are few; a made-up list of them must not be searched for ever.
            match stacks.iter_mut().rev().take(64).find(|(other, _)| *other == domain) {
                Some((_, stack)) => stack.push(range),
                None => stacks.push((domain, vec![range])),
            }
        }
        state.threads.push(NvtxThread { id, stacks });
    }
    for text in quoted(started) {
        let Some((id, rest)) = text.split_once(':') else { continue };
        if let Some((domain, range)) = range(rest) {
            state.started.push((domain, NvtxRange { id: id.parse().ok(), ..range }));
        }
    }
    (state, thread)
}

fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    let inside = cell.find('"').zip(cell.rfind('"')).filter(|(first, last)| first < last);
    inside.map(|(first, last)| &cell[first + 1..last]).into_iter().flat_map(|list| list.split("\"  \""))
}

/// A name may hold colons: it ends where the types are in their places.
fn range(text: &str) -> Option<(String, NvtxRange)> {
    let parts: Vec<&str> = text.split(':').collect();
    let end = (2..parts.len().checked_sub(5)?).find(|at| {
        PAYLOADS.contains(&parts[*at]) && COLORS.contains(&parts[at + 2]) && MESSAGES.contains(&parts[at + 4])
    })?;
    let domain = if parts[0] == DEFAULT_DOMAIN { "" } else { parts[0] };
    let number = parts[end + 1];
    let payload = match parts[end] {
        "Uint64" | "Uint32" => number.parse().ok().map(Payload::Unsigned),
        "Int64" | "Int32" => number.parse().ok().map(Payload::Signed),
        "Double" | "Float" => number.parse().ok().map(Payload::Float),
        "none" => None,
        _ => Some(Payload::Text(number.to_owned())),
    };
    let color = parts[end + 3].strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let range = NvtxRange {
        name: parts[1..end].join(":"),
        registered: parts[end + 4] == "REGISTERED",
        color,
        payload,
        ..NvtxRange::default()
    };
    Some((domain.to_owned(), range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_and_started_ranges() {
        let pushed = "7  \"<default domain>:A:none:none:none:none:none:none\"  \"LLM:a:b:Int32:-3:RGB:0xff00ff00:REGISTERED:a:b\"  \"<default domain>:B:Double:2.5:none:none:ASCII:B\" ";
        let started = " \"42:LLM:se:none:none:none:none:none:none\" ";
        let (state, thread) = state(pushed, started);
        assert_eq!(thread, Some(7));
        let names = |stack: &[NvtxRange]| stack.iter().map(|range| range.name.clone()).collect::<Vec<_>>();
        let stacks = &state.threads[0].stacks;
        assert_eq!((stacks[0].0.as_str(), names(&stacks[0].1)), ("", vec!["A".to_owned(), "B".to_owned()]));
        assert_eq!((stacks[1].0.as_str(), names(&stacks[1].1)), ("LLM", vec!["a:b".to_owned()]));
        let registered = &stacks[1].1[0];
        assert!(registered.registered);
        assert_eq!((registered.color, &registered.payload), (Some(0xff00_ff00), &Some(Payload::Signed(-3))));
        assert_eq!(state.started[0].0, "LLM");
        assert_eq!(state.started[0].1.id, Some(42));
        for cell in ["", "\"", "\"\"", "7", "7 \"a:b\"", "x  \"a:b:none:none:none:none:none\""] {
            super::state(cell, cell);
        }
    }
}
