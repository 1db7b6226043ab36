//! Requests of a server: how long each waited, until its first token, and between tokens; and the batches in which they
//! are worked on.
//!
//! A request is a start/end range `request ID`; its phases are `request ID queued`, `request ID prefill`, and from each
//! token to the next `request ID token`, as the Python helper opens them. A batch is a range
//! `execute_context_N(T)_generation_M(T)`, as vLLM and the helper call each step, or else `scheduler.run_batch` of SGLang.

mod batches;
mod request;

use serde::Serialize;
use trace::Trace;

pub use batches::{BatchRow, Composition, Phase};
pub use request::RequestRow;

use crate::attribute::Attribution;
use crate::limit::{Limit, MoreRows};
use crate::statistics::percentile;

/// What a server did for whom.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Requests {
    /// In the order in which they came.
    pub requests: Vec<RequestRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_requests: Option<MoreRows>,
    /// All of them, and those that ended.
    pub count: u64,
    pub ended: u64,
    /// Tokens that they got.
    pub tokens: u64,
    /// From the first request to the end of the last, or its last token, and tokens in a second of that.
    pub span_ns: i64,
    pub tokens_per_second: Option<f64>,
    /// From coming to being scheduled.
    pub queue: Option<Percentiles>,
    /// From coming to the first token.
    pub first_token: Option<Percentiles>,
    /// From one token to the next, on average for each request.
    pub between_tokens: Option<Percentiles>,
    pub whole: Option<Percentiles>,
    /// In the order in which they ran.
    pub batches: Vec<BatchRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_batches: Option<MoreRows>,
    /// The batches by what is in them.
    pub phases: Vec<Phase>,
}

/// How long something took, of many.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    pub count: u64,
    #[serde(serialize_with = "crate::statistics::rounded")]
    pub mean_ns: f64,
    pub p50_ns: i64,
    pub p90_ns: i64,
    pub p99_ns: i64,
    pub max_ns: i64,
}

impl Percentiles {
    /// None when there are none.
    fn of(mut durations: Vec<i64>) -> Option<Self> {
        durations.sort_unstable();
        let count = durations.len();
        Some(Self {
            count: count as u64,
            mean_ns: durations.iter().map(|ns| *ns as f64).sum::<f64>() / count as f64,
            p50_ns: percentile(&durations, 50)?,
            p90_ns: percentile(&durations, 90)?,
            p99_ns: percentile(&durations, 99)?,
            max_ns: *durations.last()?,
        })
    }
}

/// When requests ended, in that order.
pub fn request_ends(trace: &Trace) -> Vec<i64> {
    let ends = request::requests(trace).into_iter();
    let mut ends: Vec<i64> =
        ends.filter_map(|row| Some(trace.begin + row.begin_ns + row.whole_ns?)).collect();
    ends.sort_unstable();
    ends
}

/// None if there are neither requests nor batches.
pub(crate) fn requests(trace: &Trace, attribution: &Attribution, limit: Limit) -> Option<Requests> {
    let mut rows = request::requests(trace);
    let mut batches = batches::batches(trace, attribution);
    if rows.is_empty() && batches.is_empty() {
        return None;
    }
    let times = |of: fn(&RequestRow) -> Option<i64>| Percentiles::of(rows.iter().filter_map(of).collect());
    let begin = rows.iter().map(|row| row.begin_ns).min().unwrap_or(0);
    // Of a request that goes on, its last token is known.
    let end = rows.iter().map(|row| row.last_ns).max();
    let span_ns = end.map_or(0, |end| end.saturating_sub(begin));
    let tokens: u64 = rows.iter().map(|row| row.tokens).sum();
    let mut found = Requests {
        count: rows.len() as u64,
        ended: rows.iter().filter(|row| row.whole_ns.is_some()).count() as u64,
        tokens,
        span_ns,
        tokens_per_second: (span_ns > 0 && tokens > 0).then(|| tokens as f64 * 1e9 / span_ns as f64),
        queue: times(|row| row.queue_ns),
        first_token: times(|row| row.first_token_ns),
        between_tokens: times(|row| row.between_tokens_ns),
        whole: times(|row| row.whole_ns),
        phases: batches::phases(&batches),
        ..Requests::default()
    };
    let more = limit.cut(&mut rows, |row| row.id.len());
    found.more_requests = MoreRows::add_up(more.iter().map(|row| (row.tokens, row.whole_ns.unwrap_or(0))));
    let more = limit.cut(&mut batches, |_| 0);
    found.more_batches = MoreRows::add_up(more.iter().map(|row| (1, row.host_ns)));
    (found.requests, found.batches) = (rows, batches);
    Some(found)
}
