//! Which nsys to use if there are several: the newest, unless it is too old for the driver.

/// Whether a version can record what the driver does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fitness {
    /// It came out before the driver's CUDA: measured with 2023.4.4 under CUDA 13, it keeps
    /// 504 of 300,000 kernels and says nothing.
    TooOld,
    Fit,
}

/// The first nsys that came with each major version of CUDA.
const FIRST_FOR_CUDA: [(u32, (u32, u32)); 2] = [(12, (2022, 4)), (13, (2025, 3))];

/// `cuda` is the newest version the driver supports, `13.0`; None without a driver.
pub(super) fn fitness(version: &str, cuda: Option<&str>) -> Fitness {
    let Some(major) = cuda.and_then(|cuda| number(cuda, 0)) else { return Fitness::Fit };
    let needed = FIRST_FOR_CUDA.iter().rev().find(|(cuda, _)| *cuda <= major);
    let (year, release) = (number(version, 0).unwrap_or(0), number(version, 1).unwrap_or(0));
    match needed {
        Some((_, needed)) if (year, release) < *needed => Fitness::TooOld,
        _ => Fitness::Fit,
    }
}

fn number(version: &str, part: usize) -> Option<u32> {
    version.split(['.', '-']).nth(part)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_driver() {
        for (version, cuda, fit) in [
            ("2023.4.4.54-v0", Some("13.0"), Fitness::TooOld),
            ("2025.3.1.90-v0", Some("13.0"), Fitness::Fit),
            ("2022.4.2.1-df9881f", Some("12.4"), Fitness::Fit),
            ("2021.3.1", Some("12.4"), Fitness::TooOld),
            ("2021.3.1", Some("11.8"), Fitness::Fit),
            ("2023.4.4", None, Fitness::Fit),
            ("what", Some("13.0"), Fitness::TooOld),
        ] {
            assert_eq!(fitness(version, cuda), fit, "{version} {cuda:?}");
        }
    }
}
