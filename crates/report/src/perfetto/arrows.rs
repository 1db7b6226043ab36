//! Arrows from calls to what they started on a device.

use trace::{NONE, Trace};

use super::packets::Arrow;

#[derive(Debug)]
pub(crate) struct Arrows {
    /// By activity: the call its arrow comes from.
    call: Vec<u32>,
    /// By call: how many arrows leave it, as far as two.
    leaving: Vec<u8>,
    /// What began before its call did, on clocks that do not agree: no arrow leads backwards.
    pub(crate) backwards: u64,
    /// What an arrow leads to.
    pub(crate) drawn: u64,
}

impl Arrows {
    /// `call` is, by activity, the call that started it.
    pub(crate) fn of(trace: &Trace, mut call: Vec<u32>) -> Self {
        let mut leaving = vec![0u8; trace.calls.len()];
        let (mut backwards, mut drawn) = (0, 0);
        for (activity, call) in call.iter_mut().enumerate().filter(|(_, call)| **call != NONE) {
            if trace.activities.begin[activity] < trace.calls.begin[*call as usize] {
                *call = NONE;
                backwards += 1;
                continue;
            }
            let leaving = &mut leaving[*call as usize];
            *leaving = leaving.saturating_add(1).min(2);
            drawn += 1;
        }
        Self { call, leaving, backwards, drawn }
    }

    pub(crate) fn at_call(&self, trace: &Trace, call: u32) -> Option<Arrow> {
        (self.leaving[call as usize] > 0).then(|| Arrow::On(number(trace, call)))
    }

    /// The launch of a graph has one arrow, that goes on from each of its kernels to the next.
    pub(crate) fn at_activity(&self, trace: &Trace, activity: u32) -> Option<Arrow> {
        match self.call[activity as usize] {
            NONE => None,
            call if self.leaving[call as usize] == 1 => Some(Arrow::Last(number(trace, call))),
            call => Some(Arrow::On(number(trace, call))),
        }
    }
}

/// Every process counts correlations for itself.
fn number(trace: &Trace, call: u32) -> u64 {
    let process = trace.process_of(trace.calls.thread[call as usize]);
    (u64::from(process) + 1) << 32 | u64::from(trace.calls.correlation[call as usize])
}
