//! What other recordings of the same program add to an analysis: operators, and what was sampled. No more of them is
//! worked out than that.

use trace::Trace;

use crate::attribute::attribute;
use crate::diagnose::{Cause, Finding, HostLines};
use crate::document::{Analysis, Concluded, conclude};
use crate::options::Options;
use crate::sampled::{Sampled, energy_per_token};
use crate::time::{operators, stages};

/// What the samples of a recording show.
#[derive(Debug, Default)]
pub struct Samples {
    /// What the hardware did.
    pub sampled: Option<Sampled>,
    /// Where the host was.
    pub host: Option<HostLines>,
    /// What limits the program, with what was sampled taken into account.
    pub findings: Vec<Finding>,
}

/// What the samples of this recording show; nothing if it has none.
pub fn samples(trace: &Trace, options: &Options) -> Samples {
    if trace.series.is_empty() && trace.stacks.samples.is_empty() {
        return Samples::default();
    }
    let attribution = attribute(trace);
    let Concluded { loops, diagnosis, mut sampled, host, .. } = conclude(trace, &attribution, options);
    if let Some(sampled) = &mut sampled {
        let (stages, _) =
            stages(trace, &attribution, options, &loops, &vec![false; attribution.tree.nodes.len()]);
        energy_per_token(sampled, &loops, &stages);
    }
    Samples { sampled, host, findings: diagnosis.findings }
}

impl Analysis {
    /// Takes what was sampled in another recording, where this one has none: what the hardware did, where the host was,
    /// and what findings owe to both.
    pub fn take_samples(&mut self, other: Samples) {
        let lacks_samples = self.sampled.is_none() && other.sampled.is_some();
        for finding in &mut self.findings {
            let is_same =
                |one: &&Finding| (one.cause, &one.place.region) == (finding.cause, &finding.place.region);
            let limits =
                |one: &&Finding| lacks_samples && one.is_limit_of_kernels() && finding.is_limit_of_kernels();
            if let Some(measured) = other.findings.iter().find(limits) {
                *finding = measured.clone();
            } else if let Some(same) = other.findings.iter().find(is_same)
                && finding.place.line.is_none()
            {
                finding.place.line.clone_from(&same.place.line);
            }
        }
        if lacks_samples {
            let held_down = |one: &Finding| one.cause == Cause::ClockThrottled;
            self.findings.extend(other.findings.into_iter().filter(held_down));
            self.sampled = other.sampled;
        }
        self.host = self.host.take().or(other.host);
    }

    /// Takes the operators of another recording: only PyTorch's profiler records them.
    pub fn take_operators(&mut self, other: &Trace, options: &Options) {
        let attribution = attribute(other);
        (self.operators, self.more_operators) = operators(other, &attribution, options.scope, options.limit);
    }
}
