//! Values over time below a device's lanes, each with as many points as a page can hold.

use trace::{Measure, Quantity, Series, Trace};

use super::aligned::{Aligned, beside_device};
use super::envelope::{Point, envelope};
use crate::sampled::{holds_until, title, unbroken};
use crate::units::{self, count};

/// Of all curves together.
const MOST_POINTS: usize = 48_000;
const MOST_OF_ONE: usize = 2_000;
const LEAST_OF_ONE: usize = 100;
/// Each is a row of the picture.
const MOST_CURVES: usize = 400;

/// Shown from the start; the others can be switched on.
const FIRST: [Quantity; 6] = [
    Quantity::SmActive,
    Quantity::TensorActive,
    Quantity::DramRead,
    Quantity::DramWrite,
    Quantity::Power,
    Quantity::SmClock,
];

/// One quantity of a device.
#[derive(Debug)]
pub(in crate::documents::html) struct Curve {
    pub(in crate::documents::html) title: String,
    /// Of its values: an amount becomes a rate.
    pub(in crate::documents::html) unit: String,
    pub(super) first: bool,
    pub(super) points: Vec<Point>,
    pub(super) lost: Vec<(i64, i64)>,
    pub(in crate::documents::html) samples: u64,
    pub(in crate::documents::html) mean: f64,
    pub(in crate::documents::html) low: f64,
    pub(in crate::documents::html) high: f64,
}

impl Curve {
    /// A value as the page shows it.
    pub(in crate::documents::html) fn shown(&self, value: f64) -> String {
        match self.unit.as_str() {
            "B" | "B/s" => units::bytes(value) + self.unit.trim_start_matches('B'),
            "" => units::number(value),
            unit => format!("{} {unit}", units::number(value)),
        }
    }

    pub(in crate::documents::html) fn lost_ns(&self) -> i64 {
        self.lost.iter().map(|(begin, end)| end - begin).sum()
    }
}

/// By device, those that have any, the important quantities first; and a note if there are too many.
pub(super) fn curves(trace: &Trace, aligned: &Aligned) -> (Vec<(u16, Vec<Curve>)>, Option<String>) {
    let mut wanted: Vec<(&Series, Quantity, &[f32])> = Vec::new();
    for series in &trace.series {
        // Bits are neither lower nor higher.
        let columns = series.columns.iter().filter(|(quantity, _)| quantity.measure() != Measure::Flags);
        wanted.extend(columns.map(|(quantity, values)| (series, *quantity, values.as_slice())));
    }
    let place = |quantity: Quantity| FIRST.iter().position(|first| *first == quantity);
    wanted.sort_by_key(|(series, quantity, _)| (series.device, place(*quantity).unwrap_or(FIRST.len())));
    let left_out = wanted.len().saturating_sub(MOST_CURVES) as u64;
    let note = (left_out > 0).then(|| {
        let shown = count(MOST_CURVES as u64);
        format!("{shown} values over time are shown; {} more are in `trace.perfetto`.", count(left_out))
    });
    wanted.truncate(MOST_CURVES);
    let most = (MOST_POINTS / wanted.len().max(1)).clamp(LEAST_OF_ONE, MOST_OF_ONE);
    let mut devices: Vec<(u16, Vec<Curve>)> = Vec::new();
    for (series, quantity, values) in wanted {
        let Some(curve) = curve(trace, aligned, series, quantity, values, most) else { continue };
        match devices.last_mut() {
            Some((device, curves)) if *device == series.device => curves.push(curve),
            _ => devices.push((series.device, vec![curve])),
        }
    }
    (devices, note)
}

fn curve(
    trace: &Trace,
    aligned: &Aligned,
    series: &Series,
    quantity: Quantity,
    values: &[f32],
    most: usize,
) -> Option<Curve> {
    let process = beside_device(trace, series.device);
    let inside = |(begin, end): (i64, i64)| {
        let (begin, end) = (begin.max(trace.begin), end.min(trace.end));
        let place =
            |time: i64| process.map_or(time, |process| aligned.at(process, time)).saturating_sub(trace.begin);
        (begin < end).then(|| (place(begin), place(end)))
    };
    let is_amount = quantity.measure() == Measure::Amount;
    let mut samples = Vec::new();
    for stretch in unbroken(series, values) {
        for row in stretch.clone() {
            let until = holds_until(series, &stretch, row);
            let Some((begin, end)) = inside((series.begin[row], until)) else { continue };
            let seconds = series.end[row].saturating_sub(series.begin[row]) as f64 / 1e9;
            let value = f64::from(values[row]);
            match is_amount {
                // In no time there is no rate.
                true if seconds <= 0.0 => {}
                true => samples.push(Point::one(begin, end, value / seconds)),
                false => samples.push(Point::one(begin, end, value)),
            }
        }
    }
    let whole = envelope(&samples, 1).pop()?;
    let unit = if is_amount { format!("{}/s", quantity.unit()) } else { quantity.unit().to_owned() };
    Some(Curve {
        title: title(&trace.series, series, quantity),
        unit,
        first: FIRST.contains(&quantity),
        samples: samples.len() as u64,
        points: envelope(&samples, most),
        lost: series.lost.iter().filter_map(|lost| inside(*lost)).collect(),
        mean: whole.mean,
        low: whole.low,
        high: whole.high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::SeriesSource;

    #[test]
    fn by_device_the_important_ones_first() {
        let mut trace = Trace { begin: 1_000, end: 3_000, ..Trace::default() };
        let quantities = [Quantity::ThrottleReasons, Quantity::PcieReadBytes, Quantity::Power];
        for device in [1, 0] {
            let mut series = Series::new(device, SeriesSource::Counters, &quantities);
            series.push(500, 900, [1.0, 1.0, 100.0]);
            series.push(900, 1_100, [1.0, 200.0, 300.0]);
            series.push(1_100, 2_100, [1.0, 1_000.0, f32::NAN]);
            series.lost.push((2_900, 9_000));
            trace.series.push(series);
        }
        let (devices, note) = curves(&trace, &Aligned::default());
        assert_eq!(note, None);
        assert_eq!(devices.iter().map(|(device, _)| *device).collect::<Vec<_>>(), [0, 1]);
        let [power, read] = &devices[0].1[..] else { panic!("{devices:?}") };
        assert_eq!((power.title.as_str(), power.unit.as_str(), power.first), ("power", "W", true));
        assert_eq!(power.points, [Point::one(0, 100, 300.0)]);
        // 200 bytes in 200 ns, 1,000 in 1,000 ns.
        assert_eq!((read.unit.as_str(), read.first, read.samples), ("B/s", false, 2));
        assert_eq!((read.mean, read.shown(read.high)), (1e9, "1.0 GB/s".to_owned()));
        assert_eq!(read.lost_ns(), 100);
    }
}
