//! The threads that the kernel samples for us: each needs a descriptor and memory of the kernel, of which there is not much, so
//! threads of all processes that run take turns.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use nix::libc::{EMFILE, ENFILE, ESRCH};

use super::super::descriptors::{Descriptors, Kept};
use super::ring::{Moment, Refused, Ring};

/// More are of no use: so many threads seldom run at once.
const MOST: usize = 256;
/// A thread that runs is sampled for so many ticks before another one gets its place.
const TURN: u64 = 20;

/// More often than samples are asked for, so that there is one each time.
pub(super) const RATE: u64 = 499;

/// Shared by all processes.
#[derive(Debug, Clone)]
pub(crate) struct Rings(Rc<RefCell<Pool>>);

#[derive(Debug)]
struct Pool {
    of: HashMap<u32, Held>,
    descriptors: Descriptors,
    /// None as long as the kernel has given all that were asked for.
    room: Option<usize>,
    refused: Option<Refused>,
    tick: u64,
}

#[derive(Debug)]
struct Held {
    ring: Ring,
    _kept: Kept,
    since: u64,
    /// When it ran last.
    ran: u64,
}

impl Rings {
    pub(crate) fn new() -> Self {
        let descriptors = Descriptors::at_most(MOST);
        let pool = Pool { of: HashMap::new(), descriptors, room: None, refused: None, tick: 0 };
        Self(Rc::new(RefCell::new(pool)))
    }

    /// Another round of samples begins.
    pub(crate) fn tick(&self) {
        self.0.borrow_mut().tick += 1;
    }

    /// The kernel stops to sample, until a thread is asked for again.
    pub(crate) fn rest(&self) {
        self.0.borrow_mut().of.clear();
    }

    /// Why no thread can be sampled.
    pub(crate) fn refused(&self) -> Option<Refused> {
        self.0.borrow().refused
    }

    /// Where the thread was when it ran last, if it ran since it was asked for. One that does not run takes no place from others.
    pub(crate) fn latest(&self, tid: u32, runs: bool, moment: &mut Moment) -> bool {
        self.0.borrow_mut().latest(tid, runs, moment)
    }
}

impl Pool {
    fn latest(&mut self, tid: u32, runs: bool, moment: &mut Moment) -> bool {
        if self.refused.is_some() {
            return false;
        }
        let tick = self.tick;
        if let Some(held) = self.of.get_mut(&tid) {
            let found = held.ring.latest(moment);
            if found || runs {
                held.ran = tick;
            }
            return found;
        }
        let is_full = self.room.is_some_and(|room| self.of.len() >= room);
        if is_full && !(runs && self.make_room()) {
            return false;
        }
        let kept = match self.descriptors.keep(1) {
            Some(kept) => kept,
            None if runs && self.make_room() => match self.descriptors.keep(1) {
                Some(kept) => kept,
                None => return false,
            },
            None => return false,
        };
        match Ring::open(tid, RATE) {
            Ok(ring) => {
                if let Entry::Vacant(place) = self.of.entry(tid) {
                    place.insert(Held { ring, _kept: kept, since: tick, ran: tick });
                }
            }
            // The thread may have ended, or others have all descriptors just now.
            Err(Refused { errno: ESRCH | EMFILE | ENFILE }) => {}
            // Others are sampled: there is not enough memory, or no descriptor, for one more.
            Err(_) if !self.of.is_empty() => self.room = Some(self.of.len()),
            Err(refused) => self.refused = Some(refused),
        }
        false
    }

    /// Gives up a thread that does not run, or else the one that has been sampled longest, if it has had its turn.
    fn make_room(&mut self) -> bool {
        let tick = self.tick;
        let idle = self.of.iter().filter(|(_, held)| held.ran + 1 < tick).min_by_key(|(_, held)| held.ran);
        let longest = || {
            let had_its_turn = self.of.iter().filter(|(_, held)| held.since + TURN <= tick);
            had_its_turn.min_by_key(|(_, held)| held.since)
        };
        let Some(tid) = idle.or_else(longest).map(|(tid, _)| *tid) else { return false };
        self.of.remove(&tid);
        true
    }
}
