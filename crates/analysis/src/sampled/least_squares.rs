//! Several unknown rates from many sums of them, by least squares.

/// Sums over samples: how long each class ran in a sample, and what was measured in it.
#[derive(Debug)]
pub(super) struct Normal {
    classes: usize,
    /// Products of times, by row.
    times: Vec<f64>,
    /// By quantity: products of times and measurements, and the squares of measurements.
    measured: Vec<(Vec<f64>, f64)>,
    samples: u64,
}

/// A rate and its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rate {
    pub(super) rate: f64,
    pub(super) error: f64,
}

impl Normal {
    pub(super) fn new(classes: usize, quantities: usize) -> Self {
        let measured = vec![(vec![0.0; classes], 0.0); quantities];
        Self { classes, times: vec![0.0; classes * classes], measured, samples: 0 }
    }

    /// `times`: class and time in the sample, each class once. `measured`: by quantity.
    pub(super) fn add(&mut self, times: &[(usize, f64)], measured: &[f64]) {
        for (row, time) in times {
            for (column, other) in times {
                self.times[row * self.classes + column] += time * other;
            }
        }
        for ((products, squares), value) in self.measured.iter_mut().zip(measured) {
            times.iter().for_each(|(class, time)| products[*class] += time * value);
            *squares += value * value;
        }
        self.samples += 1;
    }

    /// By quantity and class. None where a class cannot be told from others.
    pub(super) fn solve(&self) -> Vec<Vec<Option<Rate>>> {
        let Some(inverse) = inverse(&self.times, self.classes) else {
            return self.measured.iter().map(|_| vec![None; self.classes]).collect();
        };
        let free = self.samples as f64 - self.classes as f64;
        let of_quantity = |(products, squares): &(Vec<f64>, f64)| {
            let rates: Vec<f64> = (0..self.classes)
                .map(|row| {
                    let row = &inverse[row * self.classes..(row + 1) * self.classes];
                    row.iter().zip(products).map(|(a, b)| a * b).sum()
                })
                .collect();
            let explained: f64 = rates.iter().zip(products).map(|(rate, product)| rate * product).sum();
            let variance = (squares - explained).max(0.0) / free;
            let rate = |class: usize| {
                let error = (variance * inverse[class * self.classes + class]).sqrt();
                let known = free >= 1.0 && error.is_finite() && rates[class].is_finite();
                known.then_some(Rate { rate: rates[class], error })
            };
            (0..self.classes).map(rate).collect()
        };
        self.measured.iter().map(of_quantity).collect()
    }
}

/// Of a symmetric matrix with positive eigenvalues, by Gauss and Jordan; None if it has none.
fn inverse(matrix: &[f64], size: usize) -> Option<Vec<f64>> {
    // Classes differ by orders of magnitude in time: first to a common scale.
    let scale: Vec<f64> = (0..size).map(|at| matrix[at * size + at].sqrt()).collect();
    if scale.iter().any(|scale| *scale <= 0.0 || !scale.is_finite()) {
        return None;
    }
    let mut left: Vec<f64> =
        (0..size * size).map(|at| matrix[at] / (scale[at / size] * scale[at % size])).collect();
    let mut right: Vec<f64> = (0..size * size).map(|at| f64::from(at / size == at % size)).collect();
    for pivot in 0..size {
        let value = left[pivot * size + pivot];
        // Two classes that always run together.
        if value < 1e-6 {
            return None;
        }
        for column in 0..size {
            left[pivot * size + column] /= value;
            right[pivot * size + column] /= value;
        }
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = left[row * size + pivot];
            if factor == 0.0 {
                continue;
            }
            for column in 0..size {
                left[row * size + column] -= factor * left[pivot * size + column];
                right[row * size + column] -= factor * right[pivot * size + column];
            }
        }
    }
    (0..size * size).for_each(|at| right[at] /= scale[at / size] * scale[at % size]);
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_rates_that_made_the_sums() {
        let rates = [90.0, 10.0, 0.0];
        let mut normal = Normal::new(3, 2);
        let mut state = 1u64;
        for _ in 0..200 {
            let times: Vec<(usize, f64)> = (0..3)
                .map(|class| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (class, (state >> 40) as f64 / 1e6 * 10f64.powi(class as i32))
                })
                .collect();
            let sum: f64 = times.iter().map(|(class, time)| rates[*class] * time).sum();
            normal.add(&times, &[sum, 2.0 * sum]);
        }
        let solved = normal.solve();
        for (factor, found) in [1.0, 2.0].iter().zip(&solved) {
            for (rate, found) in rates.iter().zip(found) {
                let found = found.unwrap();
                assert!((found.rate - rate * factor).abs() < 1e-6 && found.error < 1e-3, "{found:?}");
            }
        }
    }

    #[test]
    fn what_always_runs_together_cannot_be_told_apart() {
        let mut normal = Normal::new(2, 1);
        (1..50).for_each(|at| normal.add(&[(0, f64::from(at)), (1, 2.0 * f64::from(at))], &[f64::from(at)]));
        assert_eq!(normal.solve(), [[None, None]]);
        assert_eq!(Normal::new(1, 1).solve(), [[None]]);
    }
}
