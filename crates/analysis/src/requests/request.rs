//! Ranges → requests.

use std::collections::HashMap;

use serde::Serialize;
use trace::{Kind, OPEN, StringId, Trace};

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
    /// When the last thing is known of it, since the recording began.
    #[serde(skip)]
    pub(super) last_ns: i64,
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
#[derive(Debug)]
struct Known {
    begin: i64,
    end: i64,
    prompt_tokens: Option<f64>,
    scheduled: Option<i64>,
    /// When it got each token: only the first, the last, and how many.
    first: Option<i64>,
    last: Option<i64>,
    tokens: u64,
}

/// By process and id, requests in the order in which they came: an id may be used again.
type Requests = HashMap<(u32, String), Vec<Known>>;

/// In the order in which they came.
pub(super) fn requests(trace: &Trace) -> Vec<RequestRow> {
    let ranges = &trace.ranges;
    let mut of_name: HashMap<StringId, Option<(String, Part)>> = HashMap::new();
    let mut parts: Vec<(usize, u32, String, Part)> = Vec::new();
    let mut known: Requests = HashMap::new();
    let payloads: HashMap<u32, f64> = ranges.payload.iter().copied().collect();
    for range in (0..ranges.len()).filter(|range| ranges.kind[*range] == Kind::StartEnd) {
        let name = ranges.name[range];
        let part = of_name
            .entry(name)
            .or_insert_with(|| part_of(trace.strings.text(name)).map(|(id, part)| (id.to_owned(), part)));
        let Some((id, part)) = part else { continue };
        let process = trace.process_of(ranges.thread[range]);
        match part {
            Part::Whole => known.entry((process, id.clone())).or_default().push(Known {
                begin: ranges.begin[range],
                end: ranges.end[range],
                prompt_tokens: payloads.get(&(range as u32)).copied(),
                scheduled: None,
                first: None,
                last: None,
                tokens: 0,
            }),
            part => parts.push((range, process, id.clone(), *part)),
        }
    }
    known.values_mut().for_each(|requests| requests.sort_by_key(|request| request.begin));
    for (range, process, id, part) in parts {
        let (begin, end) = (ranges.begin[range], ranges.end[range]);
        let Some(requests) = known.get_mut(&(process, id)) else { continue };
        let latest = requests.partition_point(|request| request.begin <= begin).checked_sub(1);
        let Some(request) = latest.and_then(|latest| requests.get_mut(latest)) else { continue };
        match part {
            Part::Queued => request.scheduled = request.scheduled.or(Some(end).filter(|end| *end != OPEN)),
            Part::Token => {
                request.tokens += 1;
                request.first = Some(request.first.map_or(begin, |first| first.min(begin)));
                request.last = Some(request.last.map_or(begin, |last| last.max(begin)));
            }
            Part::Whole | Part::Prefill => {}
        }
    }
    let mut rows: Vec<RequestRow> = known
        .into_iter()
        .flat_map(|((process, id), requests)| {
            requests.into_iter().map(move |request| row(trace, process, id.clone(), &request))
        })
        .collect();
    rows.sort_by(|a, b| (a.begin_ns, &a.id).cmp(&(b.begin_ns, &b.id)));
    rows
}

fn row(trace: &Trace, process: u32, id: String, request: &Known) -> RequestRow {
    let since = |time: i64| time.saturating_sub(request.begin).max(0);
    let end = Some(request.end).filter(|end| *end != OPEN);
    let between = request.first.zip(request.last).filter(|_| request.tokens > 1);
    let last = end.or(request.last).or(request.scheduled).unwrap_or(request.begin);
    RequestRow {
        id,
        process: trace.processes[process as usize].pid,
        begin_ns: request.begin.saturating_sub(trace.begin),
        prompt_tokens: request.prompt_tokens,
        tokens: request.tokens,
        queue_ns: request.scheduled.map(since),
        first_token_ns: request.first.map(since),
        between_tokens_ns: between.map(|(first, last)| {
            last.saturating_sub(first) / (request.tokens - 1).min(i64::MAX as u64) as i64
        }),
        whole_ns: end.map(since),
        last_ns: last.saturating_sub(trace.begin),
    }
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

    /// Whoever serves may count from the beginning again.
    #[test]
    fn an_id_that_comes_again() {
        let rows = requests(&trace_of(&[
            ("request 1", 100, 300),
            ("request 1 token", 200, 300),
            ("request 1", 5000, 5300),
            ("request 1 token", 5100, 5200),
            ("request 1 token", 5200, 5300),
        ]));
        let found: Vec<_> =
            rows.iter().map(|row| (row.tokens, row.first_token_ns, row.between_tokens_ns)).collect();
        assert_eq!(found, [(1, Some(100), None), (2, Some(100), Some(100))]);
    }
}
