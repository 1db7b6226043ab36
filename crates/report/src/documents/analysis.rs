//! `analysis.json`, and what `analyze --json` prints.

use analysis::{Analysis, Efficiency, Finding, Joined, RooflinePoint};
use serde::Serialize;
use serde_json::Value;

use super::counter_regions::counter_regions_json;
use crate::page::Page;
use crate::tables::{RankVerdict, rank_verdicts};

/// For the document with counters only.
const SCHEMA: u32 = 2;

/// The findings and the counters, or the counters alone.
#[derive(Debug, Serialize)]
pub struct AnalysisDocument<'a> {
    /// The findings have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<u32>,
    #[serde(flatten)]
    analysis: Option<&'a Analysis>,
    /// What limits the program. Called apart from the whole analysis of the timeline around it.
    #[serde(rename = "findings")]
    found: &'a [Finding],
    /// Only if the model is known; otherwise it follows from the counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    efficiency: Option<&'a [Efficiency]>,
    #[serde(flatten)]
    counted: Option<Counted<'a>>,
    /// What was recorded of each rank, if each has a run of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rank_verdicts: Vec<RankVerdict>,
}

#[derive(Debug, Serialize)]
struct Counted<'a> {
    joined: &'a Option<Joined>,
    roofline: &'a [RooflinePoint],
    counters: counters::Rows<'a>,
    counter_session: &'a counters::Session,
    counter_regions: Value,
    counter_notes: &'a [String],
}

impl<'a> AnalysisDocument<'a> {
    pub fn of(page: &Page<'a>) -> Self {
        let insight = page.insight;
        let counted = page.measured.zip(page.counters).map(|(report, regions)| Counted {
            joined: &insight.joined,
            roofline: &insight.roofline,
            counters: counters::Rows(report),
            counter_session: &report.session,
            counter_regions: counter_regions_json(regions),
            counter_notes: &regions.notes,
        });
        let by_model = insight.efficiency.iter().any(|row| row.tokens.is_some());
        Self {
            schema: page.analysis.is_none().then_some(SCHEMA),
            analysis: page.analysis,
            rank_verdicts: page.ranks.map(|_| rank_verdicts(page)).unwrap_or_default(),
            found: &insight.findings,
            efficiency: by_model.then_some(&insight.efficiency),
            counted,
        }
    }
}
