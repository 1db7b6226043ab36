//! Many samples as fewer points that keep the lowest and the highest value.

/// Some samples in a row: when they began and ended, and their values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) begin: i64,
    pub(super) end: i64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Over time.
    pub(super) mean: f64,
}

impl Point {
    pub(super) fn one(begin: i64, end: i64, value: f64) -> Self {
        Self { begin, end, low: value, high: value, mean: value }
    }

    fn long(&self) -> f64 {
        (self.end - self.begin).max(0) as f64
    }

    fn add(&mut self, other: &Self, long: &mut f64) {
        let both = *long + other.long();
        self.mean = match both > 0.0 {
            true => (self.mean * *long + other.mean * other.long()) / both,
            false => (self.mean + other.mean) / 2.0,
        };
        *long = both;
        self.end = other.end;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

/// At most so many points: the samples themselves if they are no more, else one for each of equal parts of their
/// time. A gap that is longer than such a part stays one.
pub(super) fn envelope(samples: &[Point], most: usize) -> Vec<Point> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Vec::new() };
    if samples.len() <= most {
        return samples.to_vec();
    }
    let part = ((last.begin - first.begin) as u64 / most as u64 + 1).max(1);
    let mut points: Vec<Point> = Vec::with_capacity(most);
    let (mut at, mut long) = (None, 0.0);
    for sample in samples {
        let place = Some((sample.begin - first.begin) as u64 / part);
        match points.last_mut().filter(|_| place == at) {
            Some(point) => point.add(sample, &mut long),
            None => {
                points.push(*sample);
                long = sample.long();
            }
        }
        at = place;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_survive_and_gaps_stay() {
        let mut samples: Vec<Point> = (0..10_000).map(|at| Point::one(at * 10, at * 10 + 10, 50.0)).collect();
        samples[1_234] = Point::one(12_340, 12_350, 99.0);
        samples[5_678] = Point::one(56_780, 56_790, 1.0);
        samples.drain(7_000..8_000);
        let points = envelope(&samples, 100);
        assert!(points.len() <= 100, "{}", points.len());
        let high = points.iter().map(|point| point.high).fold(0.0, f64::max);
        let low = points.iter().map(|point| point.low).fold(100.0, f64::min);
        assert_eq!((low, high), (1.0, 99.0));
        let sum = |points: &[Point]| points.iter().map(|point| point.mean * point.long()).sum::<f64>();
        assert!((sum(&points) - sum(&samples)).abs() < 1e-3, "the mean over time stays");
        let gaps: Vec<_> = points.windows(2).filter(|pair| pair[1].begin > pair[0].end).collect();
        assert_eq!(gaps.len(), 1);
        assert_eq!((gaps[0][0].end, gaps[0][1].begin), (70_000, 80_000));
        assert_eq!(envelope(&samples, 9_000), samples);
        assert_eq!(envelope(&[], 5), []);
        let moments = [Point::one(5, 5, 1.0), Point::one(5, 5, 3.0)];
        assert_eq!(envelope(&moments, 1), [Point { low: 1.0, high: 3.0, mean: 2.0, begin: 5, end: 5 }]);
    }
}
