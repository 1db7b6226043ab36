//! Student's distribution.

/// How probable a value of at most `t` is.
pub(super) fn probability(t: f64, freedom: f64) -> f64 {
    let tail = incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5) / 2.0;
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The value that is exceeded with probability `tail`, which is less than a half.
pub(super) fn exceeded(tail: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while probability(-high, freedom) > tail && high < 1e12 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if probability(-middle, freedom) > tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The regularized incomplete beta function, by its continued fraction (DLMF 8.17.22).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // It converges quickly on this side.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    // Lentz's method.
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + term * d);
            c = away_from_zero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    (front * fraction).clamp(0.0, 1.0)
}

/// Of a positive number, by Stirling's series.
fn ln_gamma(x: f64) -> f64 {
    // The series is good for large numbers: gamma(x + 1) = x * gamma(x) leads to them.
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (x - 0.5) * x.ln() - x + (2.0 * std::f64::consts::PI).ln() / 2.0 + series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From tables of the distribution.
    #[test]
    fn as_in_the_tables() {
        for (tail, freedom, value) in [
            (0.025, 1.0, 12.706_2),
            (0.025, 2.0, 4.302_7),
            (0.025, 10.0, 2.228_1),
            (0.005, 4.0, 4.604_1),
            (0.005, 8.0, 3.355_4),
            (0.005, 28.0, 2.763_3),
            (0.05, 120.0, 1.657_7),
            (0.001, 3.0, 10.214_5),
        ] {
            let found = exceeded(tail, freedom);
            assert!((found - value).abs() < 1e-4 * value, "{tail} {freedom}: {found}, not {value}");
        }
        assert!((probability(0.0, 5.0) - 0.5).abs() < 1e-12);
        assert!((probability(1e9, 5.0) - 1.0).abs() < 1e-12 && probability(-1e9, 5.0) < 1e-12);
        // Half a degree of freedom is possible as well: it lies between its neighbours.
        let between = exceeded(0.005, 8.5);
        assert!((3.2499..3.3554).contains(&between), "{between}");
    }
}
