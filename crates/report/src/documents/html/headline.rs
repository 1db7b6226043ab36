//! The headline numbers of a run.

use analysis::{Analysis, IdleCause, IdleRow, Loop};
use trace::Selection;

use crate::documents::insight::coverage_of;
use crate::form::escape;
use crate::page::Page;
use crate::tables::{Stack, meaning, stacked, whole};
use crate::units::{count, counted, duration, fixed, percent};

/// A label, a number, and what it is of.
struct Headline {
    label: &'static str,
    value: String,
    of: String,
}

pub(super) fn headlines(page: &Page<'_>) -> String {
    let all = match page.analysis {
        Some(analysis) => of(analysis, page),
        None => return String::new(),
    };
    let mut html = "<dl class=\"headlines\">\n".to_owned();
    for Headline { label, value, of } in all {
        html.push_str(&format!(
            "<div><dt>{label}</dt><dd><b>{}</b><span>{}</span></dd></div>\n",
            escape::unsplit(&value),
            escape::unsplit(&of)
        ));
    }
    html.push_str("</dl>\n");
    html
}

/// At most this many stages get a headline.
const MOST_STAGES: usize = 12;

fn of(analysis: &Analysis, page: &Page<'_>) -> Vec<Headline> {
    let devices: Vec<&IdleRow> = analysis.idle.iter().filter(|row| row.region.is_none()).collect();
    let span = duration(analysis.span_ns as f64);
    let mut all = match (analysis.loops.first().and_then(steady), stacked(devices.iter().copied())) {
        (Some(mut steady), Some(stack)) => {
            let busy = percent(stack[0] as f64 / whole(&stack).max(1) as f64);
            let of = format!("from the first event to the last; GPU busy {busy} of its active time");
            let label = match analysis.selected {
                Some(Selection::Ranges) => "All selected ranges",
                Some(Selection::Load) => "While the load ran",
                None => "Whole recording",
            };
            steady.push(Headline { label, value: span, of });
            steady
        }
        (_, stack) => {
            let of = "from the first event to the last".to_owned();
            let mut all = vec![Headline { label: "Span", value: span, of }];
            match stack {
                None => all.push(Headline {
                    label: "GPU busy",
                    value: "not measured".to_owned(),
                    of: "the trace has no GPU work".to_owned(),
                }),
                Some(stack) => all.extend(device_headlines(&stack, devices.len())),
            }
            all
        }
    };
    let calls = analysis.kernel_calls();
    if calls > 0 {
        let time = analysis.kernel_ns();
        all.push(Headline {
            label: "Kernels",
            value: count(calls),
            of: format!("{} distinct, {} in total", count(analysis.kernel_count()), duration(time as f64)),
        });
    }
    let rates = analysis.stages.iter().filter_map(|stage| Some((stage, stage.tokens_per_second?)));
    all.extend(rates.take(MOST_STAGES).map(|(stage, rate)| Headline {
        label: "Tokens per second",
        value: fixed(rate, 1),
        of: stage.region.clone(),
    }));
    for row in page.insight.efficiency.iter().take(MOST_STAGES) {
        let stage = &row.stage;
        let (mfu, called) = match (row.mfu, row.mfu_at_most) {
            (Some(mfu), _) => (mfu, "MFU"),
            (None, Some(most)) => (most, "MFU at most"),
            (None, None) => continue,
        };
        all.push(match row.mbu {
            // Decoding is limited by reads, not by arithmetic.
            Some(mbu) if mbu > mfu => Headline {
                label: "MBU",
                value: percent(mbu),
                of: format!("{stage}, with an {called} of {}", percent(mfu)),
            },
            Some(mbu) => Headline {
                label: called,
                value: percent(mfu),
                of: format!("{stage}, with an MBU of {}", percent(mbu)),
            },
            None => Headline { label: called, value: percent(mfu), of: stage.clone() },
        });
    }
    if let Some(joined) = &page.insight.joined {
        all.push(Headline {
            label: "Counters",
            value: percent(joined.measured_share),
            of: coverage_of(joined),
        });
    }
    all
}

/// Of the steady iterations of the main loop.
fn steady(found: &Loop) -> Option<Vec<Headline>> {
    let (period, busy) = (found.period_ns?, found.busy_share?);
    let iterations = counted(found.iterations - found.warm_up, "steady iteration");
    let of = match &found.region {
        Some(region) => format!("median of {iterations} of {region}"),
        None => format!("median of {iterations}"),
    };
    let idle = match found.idle.first() {
        Some((cause, share)) => Headline {
            label: "Largest idle cause",
            value: format!("{cause} {}", percent(*share)),
            of: format!("of the steady iterations: {}", meaning(*cause)),
        },
        None => Headline {
            label: "Largest idle cause",
            value: "none".to_owned(),
            of: "the GPU was never idle in the steady iterations".to_owned(),
        },
    };
    Some(vec![
        Headline { label: "Iteration", value: duration(period.p50 as f64), of },
        Headline { label: "GPU busy", value: percent(busy), of: "of the steady iterations".to_owned() },
        idle,
    ])
}

fn device_headlines(stack: &Stack, devices: usize) -> Vec<Headline> {
    let whole = whole(stack).max(1) as f64;
    let of = match devices {
        1 => format!("of the {} from its first to its last activity", duration(whole)),
        devices => format!("of the time of all {devices} GPUs"),
    };
    let busy = Headline { label: "GPU busy", value: percent(stack[0] as f64 / whole), of };
    let largest =
        IdleCause::ALL.into_iter().zip(&stack[1..]).max_by_key(|(_, ns)| **ns).filter(|(_, ns)| **ns > 0);
    let idle = match largest {
        Some((cause, ns)) => Headline {
            label: "Largest idle cause",
            value: format!("{cause} {}", percent(*ns as f64 / whole)),
            of: format!("{}: {}", duration(*ns as f64), meaning(cause)),
        },
        None => Headline {
            label: "Largest idle cause",
            value: "none".to_owned(),
            of: "the GPU was never idle".to_owned(),
        },
    };
    vec![busy, idle]
}
