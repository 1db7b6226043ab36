//! Ranges → requests.

use std::collections::HashMap;

use serde::Serialize;
use trace::{Kind, OPEN, Trace};

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestRow {
    pub id: String,
    pub process: u32,
    /// When it came, since the recording began.
    pub begin_ns: i64,
    pub prompt_tokens: Option<f64>,
    /// Tokens that it got.
    pub tokens: u64,
    pub queue_ns: Option<i64>,
    pub first_token_ns: Option<i64>,
    /// On average; None with fewer than two tokens.
    pub between_tokens_ns: Option<i64>,
    /// None if it had not ended when the recording did.
    pub whole_ns: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Queued,
    Prefill,
    Token,
}

/// The id of a request, and which part of it a range is.
fn part_of(name: &str) -> Option<(&str, Part)> {
    let rest = name.strip_prefix("request ").filter(|rest| !rest.is_empty())?;
    let parts = [(" queued", Part::Queued), (" prefill", Part::Prefill), (" token", Part::Token)];
    let part = parts.into_iter().find_map(|(end, part)| Some((rest.strip_suffix(end)?, part)));
    Some(part.filter(|(id, _)| !id.is_empty()).unwrap_or((rest, Part::Whole)))
}

/// What is known about a request while its ranges are read.
#[derive(Debug, Default)]
struct Known {
    whole: Option<(i64, i64)>,
    prompt_tokens: Option<f64>,
    scheduled: Option<i64>,
    /// When it got each token: only the first, the last, and how many.
    first: Option<i64>,
    last: Option<i64>,
    tokens: u64,
}

/// In the order in which they came.
pub(super) fn requests(trace: &Trace) -> Vec<RequestRow> {
    let ranges = &trace.ranges;
    let mut of_name: HashMap<trace::StringId, Option<(String, Part)>> = HashMap::new();
    let mut known: HashMap<(u32, String), Known> = HashMap::new();
    let payloads: HashMap<u32, f64> = ranges.payload.iter().copied().collect();
    for range in (0..ranges.len()).filter(|range| ranges.kind[*range] == Kind::StartEnd) {
        let name = ranges.name[range];
        let part = of_name
            .entry(name)
            .or_insert_with(|| part_of(trace.strings.text(name)).map(|(id, part)| (id.to_owned(), part)));
        let Some((id, part)) = part else { continue };
        let key = (trace.process_of(ranges.thread[range]), id.clone());
        let request = known.entry(key).or_default();
        let (begin, end) = (ranges.begin[range], ranges.end[range]);
        match part {
            Part::Whole => {
                request.whole = request.whole.or(Some((begin, end)));
                request.prompt_tokens = request.prompt_tokens.or(payloads.get(&(range as u32)).copied());
            }
            Part::Queued => request.scheduled = request.scheduled.or(Some(end).filter(|end| *end != OPEN)),
            Part::Prefill => {}
            Part::Token => {
                request.tokens += 1;
                request.first = Some(request.first.map_or(begin, |first| first.min(begin)));
                request.last = Some(request.last.map_or(begin, |last| last.max(begin)));
            }
        }
    }
    let row = |((process, id), request): ((u32, String), Known)| {
        let (begin, end) = request.whole?;
        let since = |time: i64| time.saturating_sub(begin).max(0);
        let between = request.first.zip(request.last).filter(|_| request.tokens > 1);
        Some(RequestRow {
            id,
            process: trace.processes[process as usize].pid,
            begin_ns: begin.saturating_sub(trace.begin),
            prompt_tokens: request.prompt_tokens,
            tokens: request.tokens,
            queue_ns: request.scheduled.map(since),
            first_token_ns: request.first.map(since),
            between_tokens_ns: between.map(|(first, last)| {
                last.saturating_sub(first) / (request.tokens - 1).min(i64::MAX as u64) as i64
            }),
            whole_ns: Some(end).filter(|end| *end != OPEN).map(since),
        })
    };
    let mut rows: Vec<RequestRow> = known.into_iter().filter_map(row).collect();
    rows.sort_by(|a, b| (a.begin_ns, &a.id).cmp(&(b.begin_ns, &b.id)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Process, Range, Thread};

    #[test]
    fn names() {
        assert_eq!(part_of("request 7"), Some(("7", Part::Whole)));
        assert_eq!(part_of("request a b token"), Some(("a b", Part::Token)));
        assert_eq!(part_of("request  token"), Some((" token", Part::Whole)));
        assert!(part_of("request ").is_none() && part_of("requests 7").is_none());
    }

    fn trace_of(rows: &[(&str, i64, i64)]) -> Trace {
        let mut trace = Trace { processes: vec![Process::default()], ..Trace::default() };
        trace.threads.push(Thread { process: 0, id: 0, name: None });
        for (name, begin, end) in rows {
            let name = trace.strings.intern(name);
            let (begin, end) = (*begin, *end);
            trace.ranges.push(Range { name, kind: Kind::StartEnd, begin, end, ..Range::default() });
        }
        trace.finish();
        trace
    }

    #[test]
    fn times_of_requests() {
        let rows = requests(&trace_of(&[
            ("request 1", 100, 1000),
            ("request 1 queued", 100, 150),
            ("request 1 prefill", 150, 400),
            ("request 1 token", 400, 500),
            ("request 1 token", 500, 700),
            ("request 1 token", 700, 1000),
            ("request 2", 200, OPEN),
            ("request 2 queued", 200, OPEN),
        ]));
        let [one, two] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!((one.tokens, one.queue_ns, one.first_token_ns), (3, Some(50), Some(300)));
        assert_eq!((one.between_tokens_ns, one.whole_ns), (Some(150), Some(900)));
        assert_eq!((two.tokens, two.queue_ns, two.first_token_ns, two.whole_ns), (0, None, None, None));
    }
}
