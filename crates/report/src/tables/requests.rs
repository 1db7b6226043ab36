//! Requests of a server: how long they took, each of them, and the batches in which they were worked on.

use analysis::{Analysis, BatchRow, MoreRows, Percentiles, Phase, RequestRow, Requests};

use super::cell::Cell;
use super::column::{self, Kind};
use super::table::{Keys, More, Table, View};
use crate::units::{count, counted, duration};

/// One thing that was timed for all requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed {
    what: &'static str,
    title: &'static str,
    times: Percentiles,
}

pub(crate) fn request_times(analysis: &Analysis) -> Table<'_, Timed> {
    type Column<'p> = column::Column<'p, Timed>;
    let timed = |requests: &Requests| {
        let all = [
            ("queue", "until scheduled", requests.queue),
            ("first_token", "until the first token (TTFT)", requests.first_token),
            ("between_tokens", "between tokens, each request's mean (TPOT)", requests.between_tokens),
            ("whole", "whole request", requests.whole),
        ];
        all.into_iter()
            .filter_map(|(what, title, times)| Some(Timed { what, title, times: times? }))
            .collect()
    };
    let rows: Vec<Timed> = analysis.requests.as_ref().map(timed).unwrap_or_default();
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "what", "what", |row| row.what.into()),
        Column::new(Kind::Text, "title", "time", |row| row.title.into()).for_people(),
        Column::new(Kind::Count, "count", "requests", |row| row.times.count.into()),
        Column::new(Kind::Time, "mean_ns", "mean", |row| Cell::Nanoseconds(row.times.mean_ns)),
        Column::new(Kind::Time, "p50_ns", "p50", |row| row.times.p50_ns.into()),
        Column::new(Kind::Time, "p90_ns", "p90", |row| row.times.p90_ns.into()),
        Column::new(Kind::Time, "p99_ns", "p99", |row| row.times.p99_ns.into()),
        Column::new(Kind::Time, "max_ns", "max", |row| row.times.max_ns.into()),
    ];
    let keys = || Keys::of(["title", "count", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"]);
    Table::new("request_times", "Requests", rows, columns)
        .view(View::Page, keys())
        .view(View::Screen, keys())
        .view(View::Summary, keys())
}

/// Every request.
pub(crate) fn requests(analysis: &Analysis) -> Table<'_, &RequestRow> {
    type Column<'p> = column::Column<'p, &'p RequestRow>;
    let all = analysis.requests.as_ref();
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Name, "id", "request", |row| (&row.id).into()).found(),
        Column::new(Kind::Id, "process", "process", |row| row.process.into()),
        Column::new(Kind::Time, "begin_ns", "came at", |row| row.begin_ns.into()),
        Column::new(Kind::Number(0), "prompt_tokens", "prompt tokens", |row| row.prompt_tokens.into()),
        Column::new(Kind::Count, "tokens", "tokens", |row| row.tokens.into()),
        Column::new(Kind::Time, "queue_ns", "until scheduled", |row| row.queue_ns.into()),
        Column::new(Kind::Time, "first_token_ns", "until first token", |row| row.first_token_ns.into()),
        Column::new(Kind::Time, "between_tokens_ns", "between tokens", |row| row.between_tokens_ns.into()),
        Column::new(Kind::Time, "whole_ns", "whole", |row| row.whole_ns.into()),
    ];
    Table::new(
        "requests",
        "Every request",
        all.map(|all| all.requests.iter().collect()).unwrap_or_default(),
        columns,
    )
    .absent("–")
    .more(all.and_then(|all| all.more_requests).map(|more| left_out(more, "request", "id", "token")))
}

/// Steps by what is in them.
pub(crate) fn phases(analysis: &Analysis) -> Table<'_, &Phase> {
    type Column<'p> = column::Column<'p, &'p Phase>;
    let rows = analysis.requests.iter().flat_map(|requests| &requests.phases).collect();
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Text, "phase", "batches with", |row| row.phase.into()),
        Column::new(Kind::Count, "batches", "batches", |row| row.batches.into()),
        Column::new(Kind::Count, "context_tokens", "prompt tokens", |row| row.context_tokens.into()),
        Column::new(Kind::Count, "generation_tokens", "next tokens", |row| row.generation_tokens.into()),
        Column::new(Kind::Time, "host_ns", "host", |row| row.host_ns.into()),
        Column::new(Kind::Time, "gpu_ns", "GPU time", |row| row.gpu_ns.into()),
        Column::new(Kind::Share, "share", "share", |row| row.share.into())
            .help("of the GPU time of all batches"),
    ];
    Table::new("phases", "Batches by what is in them", rows, columns).absent("–")
}

/// Every step.
pub(crate) fn batches(analysis: &Analysis) -> Table<'_, &BatchRow> {
    type Column<'p> = column::Column<'p, &'p BatchRow>;
    let all = analysis.requests.as_ref();
    let columns: Vec<Column<'_>> = vec![
        Column::new(Kind::Id, "process", "process", |row| row.process.into()),
        Column::new(Kind::Time, "begin_ns", "began at", |row| row.begin_ns.into()),
        Column::new(Kind::Time, "host_ns", "host", |row| row.host_ns.into()),
        Column::new(Kind::Count, "contexts", "prompts", |row| {
            row.composition.map(|in_it| in_it.contexts).into()
        }),
        Column::new(Kind::Count, "context_tokens", "prompt tokens", |row| {
            row.composition.map(|in_it| in_it.context_tokens).into()
        }),
        Column::new(Kind::Count, "generations", "generating", |row| {
            row.composition.map(|in_it| in_it.generations).into()
        }),
        Column::new(Kind::Count, "generation_tokens", "next tokens", |row| {
            row.composition.map(|in_it| in_it.generation_tokens).into()
        }),
        Column::new(Kind::Time, "gpu_ns", "GPU time", |row| row.gpu_ns.into()),
    ];
    Table::new(
        "batches",
        "Every batch",
        all.map(|all| all.batches.iter().collect()).unwrap_or_default(),
        columns,
    )
    .absent("–")
    .more(all.and_then(|all| all.more_batches).map(|more| left_out(more, "batch", "process", "batch")))
}

fn left_out(more: MoreRows, of: &'static str, named: &'static str, what: &str) -> More {
    More {
        rows: more.rows,
        of,
        named,
        sums: Vec::new(),
        told: format!(": {}, {}", counted(more.calls, what), duration(more.total_ns as f64)),
    }
}

/// `200 requests in 4.20 s, 6,400 tokens, 1,523 tokens a second`
pub(crate) fn requests_line(analysis: &Analysis) -> Option<String> {
    let requests = analysis.requests.as_ref().filter(|requests| requests.count > 0)?;
    let mut text = format!("{} in {}", counted(requests.count, "request"), duration(requests.span_ns as f64));
    if requests.ended < requests.count {
        text.push_str(&format!(" ({} had not ended)", count(requests.count - requests.ended)));
    }
    text.push_str(&format!(", {}", counted(requests.tokens, "token")));
    if let Some(rate) = requests.tokens_per_second {
        text.push_str(&format!(", {} a second", counted(rate.round() as u64, "token")));
    }
    Some(text)
}
