//! One device's counters: set up, read and written until it is over.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trace::{SampledSet, SeriesSource, SetClock, Trouble};

use super::choice::{Chip, Choice, choose};
use super::cupti::{Cupti, Host, MetricNames, Session, Trigger};
use super::file::Shared;
use super::order::{DeviceOrder, Interval};
use super::refusal::Refusal;
use crate::clock::{monotonic, thread_time};
use crate::pauses::Pauses;

/// Samples in one image. An image takes up to 42 kB a sample.
const IMAGE_SAMPLES: u32 = 128;
/// Where the hardware keeps samples until we read them.
const BUFFER: usize = 256 << 20;
/// How often we read. The hardware's buffer holds far more.
const PERIOD: Duration = Duration::from_millis(20);
/// The share of a core that reading may take when we choose the interval; what else the sampler does takes a tenth.
const SHARE: f64 = 0.4;
/// What we choose from.
const INTERVALS_NS: [u64; 9] =
    [50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 500_000, 1_000_000, 2_000_000];
/// While we find out how long reading takes.
const TRIAL_NS: u64 = 500_000;
const TRIAL_SAMPLES: usize = 40;
const TRIAL_PATIENCE: Duration = Duration::from_millis(250);
/// The system clock, for chips that cannot be triggered by time.
const SYSTEM_CLOCK_GHZ: f64 = 1.5;

/// The sampling of one device, set up and started.
#[derive(Debug)]
pub(crate) struct Counters<'c> {
    device: u32,
    set: u32,
    choice: Choice,
    host: Host<'c>,
    cupti: &'c Cupti,
    /// A session keeps the configuration that it had when it was started first: a new one needs a new session.
    session: Session<'c>,
    names: MetricNames,
    config: Vec<u8>,
    image: Vec<u8>,
    by_time: bool,
    interval_ns: u64,
    automatic: bool,
    /// Where the last sample ended, since 1970.
    until: u64,
    /// The first sample after a start begins too early.
    fresh: bool,
    samples: u64,
    values: Vec<f64>,
}

impl std::fmt::Debug for MetricNames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MetricNames")
    }
}

/// A chip as the library knows it.
#[derive(Debug)]
struct ChipOf<'c> {
    cupti: &'c Cupti,
    name: CString,
    availability: Option<Vec<u8>>,
}

impl Chip for ChipOf<'_> {
    fn knows(&self, metric: &str) -> bool {
        // A host that refused a metric is not asked again.
        self.host().is_ok_and(|host| host.knows(&MetricNames::new([metric])))
    }

    fn passes(&self, metrics: &[&str]) -> Option<usize> {
        let names = MetricNames::new(metrics.iter().copied());
        self.host().ok()?.config(&names).ok().map(|(_, passes)| passes)
    }
}

impl<'c> ChipOf<'c> {
    fn host(&self) -> Result<Host<'c>, Refusal> {
        self.cupti.host(&self.name, self.availability.as_deref())
    }
}

impl<'c> Counters<'c> {
    /// `links`: whether NVLink is in use.
    pub(crate) fn start(
        cupti: &'c Cupti,
        device: &DeviceOrder,
        set: u32,
        interval: Interval,
        links: bool,
        file: &Shared,
    ) -> Result<Self, Refusal> {
        let name = cupti.chip_name(device.id)?;
        let availability = cupti.availability(device.id)?;
        let chip = ChipOf { cupti, name, availability: Some(availability) };
        let choice = choose(links, &chip);
        if choice.metrics.is_empty() {
            let said = format!("no metric of {} can be sampled", chip.name.to_string_lossy());
            return Err(Refusal::new(Trouble::UnknownChip, said));
        }
        let host = chip.host()?;
        let names = MetricNames::new(choice.metrics.iter().map(|metric| metric.name));
        let (config, _) = host.config(&names)?;
        let session = cupti.session(device.id)?;
        let mut counters = Self {
            device: device.id,
            set,
            values: vec![0.0; choice.metrics.len()],
            choice,
            host,
            cupti,
            session,
            names,
            config,
            image: Vec::new(),
            by_time: true,
            interval_ns: TRIAL_NS,
            automatic: interval == Interval::Auto,
            until: 0,
            fresh: true,
            samples: 0,
        };
        counters.choose_interval(interval)?;
        counters.announce(file);
        counters.begin()?;
        Ok(counters)
    }

    fn choose_interval(&mut self, interval: Interval) -> Result<(), Refusal> {
        match interval {
            Interval::Nanoseconds(interval) => {
                self.interval_ns = interval;
                self.configure()
            }
            Interval::Auto => {
                self.configure()?;
                let cost_ns = self.cost_of_a_sample()?;
                let enough = |interval: &u64| cost_ns / (*interval as f64) <= SHARE;
                let longest = INTERVALS_NS[INTERVALS_NS.len() - 1];
                self.interval_ns = INTERVALS_NS.into_iter().find(enough).unwrap_or(longest);
                self.session.renew(self.cupti, self.device)?;
                self.configure()
            }
        }
    }

    /// Chips that cannot be triggered by time are triggered by cycles.
    fn configure(&mut self) -> Result<(), Refusal> {
        let by_time = Trigger::Nanoseconds(self.interval_ns);
        let cycles = (self.interval_ns as f64 * SYSTEM_CLOCK_GHZ) as u64;
        let done = match self.by_time {
            true => self.session.configure(&self.config, BUFFER, by_time),
            false => self.session.configure(&self.config, BUFFER, Trigger::Cycles(cycles)),
        };
        if let Err(refusal) = done {
            if !self.by_time || refusal.trouble != Trouble::NotOnThisGpu {
                return Err(refusal);
            }
            self.by_time = false;
            self.session.configure(&self.config, BUFFER, Trigger::Cycles(cycles))?;
        }
        let size = self.session.image_size(&self.names, IMAGE_SAMPLES)?;
        self.image.resize(size, 0);
        self.session.clear(&mut self.image)
    }

    /// Processor time that reading a sample takes, in nanoseconds.
    fn cost_of_a_sample(&mut self) -> Result<f64, Refusal> {
        self.begin()?;
        let (clock, began) = (Instant::now(), thread_time());
        let mut samples = 0;
        while samples < TRIAL_SAMPLES && clock.elapsed() < TRIAL_PATIENCE {
            std::thread::sleep(PERIOD);
            samples += self.read(|_, _, _| ())?;
        }
        let used = thread_time() - began;
        self.session.stop()?;
        // What is left is of no interest.
        let _ = self.read(|_, _, _| ());
        Ok(used as f64 / samples.max(1) as f64)
    }

    fn begin(&mut self) -> Result<(), Refusal> {
        (self.until, self.fresh) = (0, true);
        self.session.start()
    }

    /// What is sampled, into the file; what is not, too.
    fn announce(&self, file: &Shared) {
        let quantities = self.choice.metrics.iter().map(|metric| metric.quantity).collect();
        let set = SampledSet {
            number: self.set,
            device: self.device,
            source: SeriesSource::Counters,
            clock: SetClock::Epoch,
            interval_ns: self.interval_ns,
            quantities,
        };
        let _ = file.lock().set(&set);
        if !self.choice.too_many.is_empty() {
            let titles: Vec<&str> = self.choice.too_many.iter().map(|quantity| quantity.title()).collect();
            file.say(Trouble::Reduced, Some(self.device), &titles.join(", "));
        }
    }

    /// Reads until told to stop, and what is left after that.
    pub(crate) fn run(mut self, pauses: Pauses, file: &Shared, stop: &AtomicBool) {
        let mut next = Instant::now() + PERIOD;
        // Since when nothing is sampled.
        let mut rests = None;
        loop {
            let over = stop.load(Ordering::Acquire);
            let pause = pauses.rests(monotonic());
            if rests.is_none() && (over || pause) {
                let _ = self.session.stop();
                rests = Some(monotonic());
            } else if let Some(since) = rests.filter(|_| !over && !pause) {
                self.rested(since, file);
                rests = None;
                if let Err(refusal) = self.begin() {
                    file.refused(&refusal, Some(self.device));
                    return;
                }
            }
            if let Err(refusal) = self.write(file) {
                file.refused(&refusal, Some(self.device));
                if !refusal.is_overrun() || over || !self.slower(file) {
                    return;
                }
            }
            if over {
                break;
            }
            let wait = next.saturating_duration_since(Instant::now());
            std::thread::sleep(wait.min(pauses.next(monotonic())));
            next = Instant::now() + PERIOD;
        }
        if self.samples == 0 {
            file.say(Trouble::NoSamples, Some(self.device), "");
        }
    }

    /// Says that nothing was sampled until now. All devices rest together, so that one says it for all.
    fn rested(&self, since: u64, file: &Shared) {
        if self.set == 0 {
            let _ = file.lock().paused(since, monotonic());
        }
    }

    /// Starts again with a longer interval. False if that is not possible.
    fn slower(&mut self, file: &Shared) -> bool {
        let again = |counters: &mut Self| -> Result<(), Refusal> {
            let _ = counters.session.stop();
            counters.interval_ns = counters.interval_ns.saturating_mul(2).min(1_000_000_000);
            counters.session.renew(counters.cupti, counters.device)?;
            counters.configure()?;
            counters.begin()
        };
        if !self.automatic {
            return false;
        }
        match again(self) {
            Ok(()) => true,
            Err(refusal) => {
                file.refused(&refusal, Some(self.device));
                false
            }
        }
    }

    fn write(&mut self, file: &Shared) -> Result<(), Refusal> {
        let (set, interval) = (self.set, self.interval_ns);
        let mut rows: Vec<(u64, u32)> = Vec::new();
        let mut values: Vec<f32> = Vec::new();
        let mut lost: Vec<(u64, u64)> = Vec::new();
        let factors: Vec<f64> = self.choice.metrics.iter().map(|metric| metric.factor).collect();
        let mut until = self.until;
        let read = self.read(|begin, end, sample| {
            // A sample more is missing.
            if until > 0 && begin > until + interval {
                lost.push((until, begin));
            }
            until = end;
            rows.push((begin, u32::try_from(end - begin).unwrap_or(u32::MAX)));
            values.extend(sample.iter().zip(&factors).map(|(value, factor)| (value * factor) as f32));
        });
        self.until = until;
        self.samples += rows.len() as u64;
        let mut file = file.lock();
        let count = factors.len();
        let samples =
            rows.iter().zip(values.chunks(count)).map(|((begin, length), row)| (*begin, *length, row));
        let written = file.samples(set, samples);
        let written =
            written.and_then(|()| lost.iter().try_for_each(|(begin, end)| file.lost(set, *begin, *end)));
        if let Err(error) = written {
            return Err(Refusal::new(Trouble::Other, error.to_string()));
        }
        read.map(|_| ())
    }

    /// Every sample that is there: when it began and ended, and its values.
    fn read(&mut self, mut see: impl FnMut(u64, u64, &[f64])) -> Result<usize, Refusal> {
        let mut count = 0;
        loop {
            let decoded = self.session.decode(&mut self.image)?;
            for index in 0..decoded.samples {
                let (begin, end) = self.session.times(&self.image, index)?;
                if std::mem::replace(&mut self.fresh, false) || end < begin {
                    continue;
                }
                self.host.evaluate(&self.image, index, &self.names, &mut self.values)?;
                see(begin, end, &self.values);
                count += 1;
            }
            if decoded.samples > 0 {
                self.session.clear(&mut self.image)?;
            }
            if decoded.overflow {
                return Err(Refusal::new(Trouble::Overrun, "the hardware's buffer was full"));
            }
            if !decoded.is_full {
                return Ok(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use trace::Quantity;

    use super::*;

    /// NVIDIA's library knows every chip, with or without a GPU.
    #[test]
    fn every_chip_has_what_matters_most() {
        let tools = std::env::var_os("RANGEFINDER_TEST_TOOLS").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools")),
            PathBuf::from,
        );
        let library = tools.join("python/cupti-13.0.85/nvidia/cu13/lib/libcupti.so.13");
        if !library.is_file() {
            return;
        }
        let cupti = Cupti::open(&library).unwrap();
        for chip in ["GH100", "GA100", "GA102", "AD102", "GB100", "GB202"] {
            let chip = ChipOf { cupti: &cupti, name: CString::new(chip).unwrap(), availability: None };
            let choice = choose(true, &chip);
            let chosen: Vec<Quantity> = choice.metrics.iter().map(|metric| metric.quantity).collect();
            let names: Vec<&str> = choice.metrics.iter().map(|metric| metric.name).collect();
            assert_eq!(chip.passes(&names), Some(1), "{chip:?}");
            let musts = [
                Quantity::SmActive,
                Quantity::TensorActive,
                Quantity::DramRead,
                Quantity::DramWrite,
                Quantity::DramReadBytes,
                Quantity::SmIssue,
                Quantity::SmClock,
                Quantity::GpuActive,
            ];
            for must in musts {
                assert!(chosen.contains(&must), "{:?} lacks {must:?}: {chosen:?}", chip.name);
            }
        }
    }

    #[test]
    fn old_and_missing_libraries_are_refused() {
        let refused =
            |path: &str| Cupti::open(std::path::Path::new(path)).err().map(|refusal| refusal.trouble);
        assert_eq!(refused("/nonexistent/libcupti.so.13"), Some(Trouble::NoCupti));
        assert_eq!(refused("libc.so.6"), Some(Trouble::OldCupti));
    }
}
