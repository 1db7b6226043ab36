//! What limits the program and what to change, as text.

use analysis::{BoundKind, Confidence, Joined, Recommendation, RooflinePoint, hardest};

use crate::form::terminal::Align::{Left, Right};
use crate::form::terminal::{shortened, table};
use crate::printable::printable;
use crate::units::{duration, fixed, percent, percentage};

const WIDEST_NAME: usize = 48;

/// Numbered, with what each is told from.
pub fn recommendations_text(all: &[Recommendation]) -> String {
    let mut text = String::new();
    for (at, advice) in all.iter().enumerate() {
        text.push_str(&format!(
            "{}. {}\n   at stake {} of {}, at most {} times as fast\n",
            at + 1,
            printable(&advice.title),
            percent(advice.share),
            advice.of.as_str(),
            fixed(advice.gain, 2)
        ));
        for line in &advice.evidence {
            text.push_str(&format!("   - {}\n", printable(line)));
        }
        text.push_str(&format!("   do: {}\n", printable(&advice.advice)));
    }
    text
}

/// Kernels with what limits them, the first `top`.
pub fn bounds_text(joined: &Joined, top: usize) -> String {
    let mut text = format!(
        "counters stand for {} of the GPU's time, and for {} more by the same kernels in other regions\n\n",
        percent(joined.measured_share),
        percent(joined.other_region_share),
    );
    let number = |value: Option<f64>| value.map_or("-".to_owned(), percentage);
    let rows: Vec<Vec<String>> = joined
        .kernels
        .iter()
        .take(top)
        .map(|kernel| {
            let bound = match (kernel.bound, kernel.confidence) {
                (BoundKind::Unknown, Confidence::None) => "not measured".to_owned(),
                (bound, Confidence::OtherRegion) => format!("{} *", bound.as_str()),
                (bound, _) => bound.as_str().to_owned(),
            };
            vec![
                shortened(&kernel.short_name, WIDEST_NAME),
                shortened(kernel.region.as_deref().unwrap_or("-"), WIDEST_NAME),
                kernel.launches.to_string(),
                duration(kernel.gpu_ns as f64),
                percent(kernel.share),
                bound,
                number(kernel.sm_percent),
                number(kernel.dram_percent),
                number(kernel.occupancy_percent),
            ]
        })
        .collect();
    let columns = [
        ("kernel", Left),
        ("region", Left),
        ("launches", Right),
        ("time", Right),
        ("share", Right),
        ("limited by", Left),
        ("SM", Right),
        ("DRAM", Right),
        ("occupancy", Right),
    ];
    text.push_str(&table(&columns, &rows));
    if joined.kernels.len() > top {
        text.push_str(&format!("and {} more\n", joined.kernels.len() - top));
    }
    if joined.kernels.iter().take(top).any(|kernel| kernel.confidence == Confidence::OtherRegion) {
        text.push_str("* measured on the same kernel and shape in another region\n");
    }
    text
}

/// Achieved arithmetic and traffic, the longest kernels first.
pub fn roofline_text(points: &[RooflinePoint], top: usize) -> String {
    let mut points: Vec<&RooflinePoint> = points.iter().collect();
    points.sort_by(|a, b| b.time_ns.total_cmp(&a.time_ns));
    let rows: Vec<Vec<String>> = points
        .iter()
        .take(top)
        .map(|point| {
            let hardest = hardest(&point.precisions);
            let dram = point.traffic.iter().find(|traffic| traffic.level == "DRAM");
            let share = |share: Option<f64>| share.map(percent).unwrap_or_default();
            vec![
                point.result.to_string(),
                shortened(&point.kernel, WIDEST_NAME),
                duration(point.time_ns),
                hardest.map(|achieved| achieved.precision.clone()).unwrap_or_default(),
                hardest.map(|achieved| fixed(achieved.flops_per_second / 1e12, 2)).unwrap_or_default(),
                share(hardest.and_then(|achieved| achieved.share)),
                dram.map(|dram| fixed(dram.bytes_per_second / 1e9, 0)).unwrap_or_default(),
                share(dram.and_then(|dram| dram.share)),
                dram.and_then(|dram| dram.intensity).map(|value| fixed(value, 2)).unwrap_or_default(),
                dram.and_then(|dram| dram.ridge).map(|value| fixed(value, 1)).unwrap_or_default(),
            ]
        })
        .collect();
    let columns = [
        ("ID", Right),
        ("kernel", Left),
        ("time", Right),
        ("precision", Left),
        ("TFLOP/s", Right),
        ("of peak", Right),
        ("DRAM GB/s", Right),
        ("of peak", Right),
        ("FLOP/byte", Right),
        ("ridge", Right),
    ];
    let mut text = table(&columns, &rows);
    if points.len() > top {
        text.push_str(&format!("and {} more\n", points.len() - top));
    }
    text
}
