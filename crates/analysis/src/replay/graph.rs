//! The graph of a loop, and its replay.

use std::ops::Range;

use crate::attribute::CallKind;

/// Rounds that are played: behind the first, the host is as far ahead of the device as it ever gets.
const ROUNDS: usize = 3;

/// What a call takes that waits for nothing, and only asks.
pub(crate) const QUICK: i64 = 5_000;

/// A call of the host.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// Index into [`trace::Trace::calls`].
    pub(crate) call: u32,
    pub(crate) kind: CallKind,
    /// Time since the end of the call before it.
    pub(crate) gap: i64,
    /// How long it takes when it waits for nothing.
    pub(crate) own: i64,
    /// So many works before its own first one is the one that it waits for; 0 is its own.
    pub(crate) awaits: Option<u32>,
    /// From the end of what it waits for to its own end.
    pub(crate) tail: i64,
    /// How long it waited as it was recorded.
    pub(crate) waited: i64,
    /// What it starts, in [`Graph::works`].
    pub(crate) works: Range<u32>,
}

impl Call {
    /// Whether it waits for work that it started itself.
    pub(crate) fn awaits_own(&self) -> bool {
        self.awaits == Some(0)
    }
}

/// Work of a device: a kernel, a copy, or a graph as a whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    /// Index into [`trace::Trace::activities`]; of a graph, its first.
    pub(crate) activity: u32,
    /// All of them, in [`Graph::activities`]: more than one in a graph.
    pub(crate) activities: Range<u32>,
    /// Index of its call in [`Graph::calls`].
    pub(crate) call: u32,
    pub(crate) stream: u16,
    /// From the beginning of its call to its own, when its stream is free.
    pub(crate) lag: i64,
    /// From the end of the work before it in its stream to its beginning, when it is already there.
    pub(crate) gap: i64,
    pub(crate) duration: i64,
    /// Kernels in it: more than one in a graph.
    pub(crate) kernels: u32,
    /// When it really began.
    pub(crate) began: i64,
}

/// A work does not begin before one of another stream has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamWait {
    /// Index into [`Graph::works`].
    pub(crate) work: u32,
    /// The other one is so many works before it, maybe in the iterations before.
    pub(crate) back: u32,
    /// From the end of the other one to its beginning.
    pub(crate) gap: i64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    pub(crate) calls: Vec<Call>,
    pub(crate) works: Vec<Work>,
    /// In the order of the works.
    pub(crate) stream_waits: Vec<StreamWait>,
    /// Indexes into [`trace::Trace::activities`].
    pub(crate) activities: Vec<u32>,
    pub(crate) streams: usize,
    /// The first of the steady iterations that it has, and how many.
    pub(crate) first: usize,
    pub(crate) iterations: usize,
    /// What an iteration really took.
    pub(crate) measured: f64,
    /// What the recording does not say, so that no gain can be worked out.
    pub(crate) unknown: Option<&'static str>,
}

impl Graph {
    /// How long an iteration takes.
    pub(crate) fn play(&self) -> f64 {
        let all = self.works.len();
        let mut ended: Vec<i64> = Vec::with_capacity(all * ROUNDS);
        let mut free = vec![i64::MIN / 4; self.streams];
        let mut host = 0i64;
        let mut begins = [0i64; ROUNDS];
        for begun in &mut begins {
            let mut first = true;
            let (round, mut waits) = (ended.len(), self.stream_waits.iter().peekable());
            for call in &self.calls {
                let begin = host + call.gap;
                let before = ended.len();
                for work in &self.works[call.works.start as usize..call.works.end as usize] {
                    let stream = &mut free[usize::from(work.stream)];
                    let mut start = (begin + work.lag).max(stream.saturating_add(work.gap));
                    let here = ended.len();
                    while let Some(wait) = waits.next_if(|wait| wait.work as usize <= here - round) {
                        let other = here.checked_sub(wait.back as usize).and_then(|at| ended.get(at));
                        start = start.max(other.map_or(i64::MIN, |end| end.saturating_add(wait.gap)));
                    }
                    *stream = start + work.duration;
                    ended.push(start + work.duration);
                    if std::mem::replace(&mut first, false) {
                        *begun = start;
                    }
                }
                if first && self.works.is_empty() {
                    first = false;
                    *begun = begin;
                }
                let awaited = call.awaits.and_then(|back| before.checked_sub(back as usize));
                let awaited = awaited.and_then(|at| ended.get(at));
                host = (begin + call.own).max(awaited.map_or(i64::MIN, |end| end + call.tail));
            }
        }
        (begins[ROUNDS - 1] - begins[ROUNDS - 2]) as f64 / self.iterations.max(1) as f64
    }

    /// What a work consists of.
    pub(crate) fn activities(&self, work: &Work) -> &[u32] {
        &self.activities[work.activities.start as usize..work.activities.end as usize]
    }

    /// Leaves out a work, and its call if that starts nothing else.
    pub(crate) fn leave_out(&mut self, work: usize) {
        let work = &mut self.works[work];
        (work.duration, work.gap) = (0, work.gap.min(0));
        let call = &mut self.calls[work.call as usize];
        if call.works.len() == 1 {
            (call.own, call.gap, call.awaits) = (0, 0, None);
        }
    }

    /// What one change of the `original` does, done to this one, too. A copy that another change has moved to a stream
    /// of its own stays there.
    pub(crate) fn change_as(&mut self, original: &Self, changed: &Self) {
        for ((call, was), is) in self.calls.iter_mut().zip(&original.calls).zip(&changed.calls) {
            if is.awaits != was.awaits {
                call.awaits = is.awaits;
            }
            call.gap = call.gap.min(if is.gap == was.gap { call.gap } else { is.gap });
            call.own = call.own.min(if is.own == was.own { call.own } else { is.own });
        }
        for ((work, was), is) in self.works.iter_mut().zip(&original.works).zip(&changed.works) {
            if is.duration != was.duration {
                work.duration = work.duration.min(is.duration);
            }
            if is.stream != was.stream {
                work.stream = is.stream;
            }
            work.gap = work.gap.min(is.gap);
        }
        self.streams = self.streams.max(changed.streams);
    }
}
