//! What calls wait for: what their names say, and what the ends of calls show.

use std::collections::VecDeque;
use std::ops::Range;

use super::graph::QUICK;
use super::recorded::{Called, SLACK, Worked};
use crate::attribute::CallKind;

/// A call that has nothing to wait for takes less than this.
const HELD_UP: i64 = 50_000;
/// What starts work is held up by a full queue when so much is in it.
const FULL: usize = 256;
/// A call that waits for work ends so soon behind it: of 519 recorded synchronizations all ended within 32 us, half within
/// 5; of launches behind a full queue, all within 38 us.
const SOON: i64 = 40_000;
/// It may be chance if more of the call's time than this lies so soon behind the end of some work.
const BY_CHANCE: f64 = 0.25;
/// A call waits for the work that it starts itself if that runs for so much of its time.
const RUNS: f64 = 0.6;

/// Which works have ended, while calls are looked at in their order.
pub(super) struct Done {
    /// By stream: works not known to have ended, in order.
    waiting: Vec<VecDeque<usize>>,
    /// The last to end, of all streams.
    last: Option<usize>,
    in_queue: usize,
}

impl Done {
    pub(super) fn new(streams: usize) -> Self {
        Self { waiting: vec![Default::default(); streams], last: None, in_queue: 0 }
    }

    /// The work that a call waits for, and when that ended.
    pub(super) fn awaited(
        &mut self,
        call: &Called,
        works: &[Worked],
        own: Range<usize>,
    ) -> Option<(usize, i64)> {
        self.ended_by(call.begin, works);
        let in_queue = self.in_queue;
        self.queue(own.clone(), works);
        let took = call.end - call.begin;
        let ended = |work: usize| Some((work, works[work].end));
        let copy = own_copy(call, works, own.clone()).filter(|_| call.kind == CallKind::Copy);
        match call.kind {
            CallKind::Copy if copy.is_some() => copy.and_then(ended),
            CallKind::Wait => {
                self.ended_by(call.end + SLACK, works);
                self.last.and_then(ended)
            }
            CallKind::Memory => {
                // Whether it waits shows in the device: it has nothing left to do.
                let last = self.waiting.iter().filter_map(|stream| stream.back()).copied();
                let last = last.max_by_key(|work| works[*work].end)?;
                let until = works[last].end;
                (until > call.begin && until <= call.end + SLACK).then_some(last).and_then(ended)
            }
            _ if took < HELD_UP => None,
            CallKind::Launch | CallKind::Copy if in_queue >= FULL => {
                self.ended_by(call.end, works);
                self.last.and_then(ended)
            }
            _ => self.just_before_its_end(call, works, own).and_then(ended),
        }
    }

    pub(super) fn queue(&mut self, works: Range<usize>, all: &[Worked]) {
        self.in_queue += works.len();
        works.for_each(|work| self.waiting[usize::from(all[work].stream)].push_back(work));
    }

    /// The work that ends just before a call does, unless that may be chance: whatever the call is called, it waited.
    fn just_before_its_end(&self, call: &Called, works: &[Worked], own: Range<usize>) -> Option<usize> {
        let ended = |work: &usize| works[*work].end <= call.end + SLACK;
        let of_stream =
            |stream: &VecDeque<usize>| -> Vec<usize> { stream.iter().copied().take_while(ended).collect() };
        let took = call.end - call.begin;
        // What it starts itself may be over before it returns, too: that is waited for if it runs for most of the time.
        let runs = |work: usize| (works[work].end - works[work].begin) as f64 >= RUNS * took as f64;
        let may_be_awaited = |work: &usize| !own.contains(work) || runs(*work);
        let mut inside: Vec<usize> = self.waiting.iter().flat_map(of_stream).filter(may_be_awaited).collect();
        inside.sort_by_key(|work| works[*work].end);
        let last = *inside.last()?;
        let end = works[last].end;
        let waited = end > call.begin && call.end - end <= SOON;
        let (mut behind, mut until) = (0i64, call.begin);
        for end in inside.iter().map(|work| works[*work].end) {
            behind += ((end + SOON).min(call.end) - end.max(until)).max(0);
            until = until.max(end + SOON);
        }
        (waited && behind as f64 <= BY_CHANCE * took as f64).then_some(last)
    }

    fn ended_by(&mut self, time: i64, works: &[Worked]) {
        for stream in &mut self.waiting {
            while let Some(work) = stream.front().copied().filter(|work| works[*work].end <= time) {
                stream.pop_front();
                self.in_queue -= 1;
                if self.last.is_none_or(|last| works[last].end <= works[work].end) {
                    self.last = Some(work);
                }
            }
        }
    }
}

/// The copy that a call makes, if it waits for that.
fn own_copy(call: &Called, works: &[Worked], own: Range<usize>) -> Option<usize> {
    let copy = own.max_by_key(|work| works[*work].end)?;
    let (until, took) = (works[copy].end, call.end - call.begin);
    // From memory that is not pinned, the call lasts about as long as the copy, whatever it is called.
    let lasts = took > 2 * QUICK && call.end + SLACK >= until
        || took as f64 > 0.6 * (until - call.begin) as f64 && took > 10 * QUICK;
    (!call.is_async || lasts && !works[copy].is_pinned).then_some(copy)
}
