//! Writes CUPTI's records in a compact form.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::Ordering;

use tracefile::layout::{self, first_word, gpu, header};

use super::abi::{Cupti, DRIVER_CALLS, RUNTIME_CALLS, STREAM_WAIT_EVENT, SUCCESS, activity};
use super::device::device_name;
use super::{at, library};
use crate::memory::AfterFork;
use crate::state::{self, Entry, Gpu, KnownLaunch, KnownName, Launch, Part, Writer, hash_of_address, state};
use crate::text::{Given, ascii};
use crate::{clock, file, names};

const CHUNK: usize = 256 << 10;
/// So many changes from one stream to another are no accident.
const SEVERAL_STREAMS: u32 = 64;
/// The length of the longest record.
const BYTES_OF_LONGEST: usize = 7 * 8;

fn with_writer(work: impl FnOnce(&mut Writer)) {
    if let Some(gpu) = state::gpu() {
        gpu.with_writer(work);
    }
}

/// Writes the records of a buffer, and how many CUPTI had to drop.
///
/// # Safety
/// `buffer` holds `valid` bytes of CUPTI's records.
pub(super) unsafe fn write(cupti: &Cupti, context: *mut c_void, stream: u32, buffer: *mut u8, valid: usize) {
    with_writer(|writer| {
        let mut record = core::ptr::null_mut();
        // SAFETY: as stated; CUPTI finds the next record itself.
        while unsafe { (cupti.next_record)(buffer, valid, &mut record) } == SUCCESS {
            let record = Record(record);
            // SAFETY: CUPTI returned a whole record, which begins with its kind.
            unsafe { writer.record(cupti, record) };
        }
        let mut dropped = 0;
        // SAFETY: CUPTI counts for each stream.
        if unsafe { (cupti.dropped)(context, stream, &mut dropped) } == SUCCESS && dropped > 0 {
            writer.put([first_word(gpu::DROPPED, dropped as u64)]);
        }
        writer.clock(cupti);
    });
}

/// Writes CUPTI's clock and ours at the same moment.
pub(super) fn clock() {
    if let Some(cupti) = library::loaded() {
        with_writer(|writer| writer.clock(cupti));
    }
}

/// Writes that from now on it is known which stream waits for which.
pub(super) fn stream_waits_since(cupti: &Cupti) {
    let mut time = 0;
    // SAFETY: CUPTI writes one number.
    if unsafe { (cupti.timestamp)(&mut time) } == SUCCESS {
        with_writer(|writer| writer.put([first_word(gpu::STREAM_WAITS_SINCE, 0), time]));
    }
}

/// Whether enough graphs were recorded node by node.
pub(super) fn enough_nodes() -> bool {
    let mut enough = false;
    with_writer(|writer| enough = writer.graphs.is_enough());
    enough
}

pub(super) fn count_nodes_anew() {
    with_writer(|writer| writer.graphs.begin());
}

/// Whether waits are recorded for the sake of the streams alone.
fn only_stream_waits() -> bool {
    state::gpu().is_some_and(|gpu| gpu.stream_waits.load(Ordering::Relaxed) == Gpu::STARTED)
}

/// Writes why there are no more records.
pub(super) fn stop(why: u64) {
    with_writer(|writer| writer.put([first_word(gpu::STOPPED, why)]));
}

/// A record from CUPTI.
#[derive(Clone, Copy)]
struct Record(*const u8);

impl Record {
    /// # Safety
    /// The record has such a field at `at`; it need not be aligned.
    unsafe fn u16(self, at: usize) -> u16 {
        // SAFETY: as stated.
        unsafe { self.0.add(at).cast::<u16>().read_unaligned() }
    }

    /// # Safety
    /// As above.
    unsafe fn u32(self, at: usize) -> u32 {
        // SAFETY: as stated.
        unsafe { self.0.add(at).cast::<u32>().read_unaligned() }
    }

    /// # Safety
    /// As above.
    unsafe fn u64(self, at: usize) -> u64 {
        // SAFETY: as stated.
        unsafe { self.0.add(at).cast::<u64>().read_unaligned() }
    }
}

impl Writer {
    /// # Safety
    /// A whole record, of the kind that its first field says.
    unsafe fn record(&mut self, cupti: &Cupti, record: Record) {
        // SAFETY: as stated; the offsets in `at` hold for every version.
        unsafe {
            match record.u32(0) {
                activity::KERNEL => self.kernel(record),
                kind @ (activity::MEMCPY | activity::MEMCPY2 | activity::MEMSET) => {
                    self.transfer(kind, record);
                }
                activity::RUNTIME => self.call(cupti, RUNTIME_CALLS, record),
                activity::DRIVER => self.call(cupti, DRIVER_CALLS, record),
                activity::CUDA_EVENT => self.put([
                    first_word(gpu::EVENT, u64::from(record.u32(at::event::CORRELATION))),
                    u64::from(record.u32(at::event::STREAM)) | u64::from(record.u32(at::event::ID)) << 32,
                ]),
                activity::SYNCHRONIZATION if record.u32(at::sync::TYPE) == STREAM_WAIT_EVENT => self.put([
                    first_word(gpu::STREAM_WAIT, u64::from(record.u32(at::sync::CORRELATION))),
                    u64::from(record.u32(at::sync::STREAM)) | u64::from(record.u32(at::sync::EVENT)) << 32,
                ]),
                // The calls themselves say when the host waits.
                activity::SYNCHRONIZATION if only_stream_waits() => {}
                activity::SYNCHRONIZATION => self.put([
                    first_word(gpu::SYNC, u64::from(record.u32(at::sync::CORRELATION))),
                    record.u64(at::sync::START),
                    record.u64(at::sync::END),
                ]),
                activity::GRAPH_TRACE => {
                    let device = record.u32(at::graph::DEVICE);
                    self.whole_graph(record.u32(at::graph::ID));
                    self.device(device);
                    self.put([
                        first_word(gpu::GRAPH, u64::from(record.u32(at::graph::CORRELATION))),
                        record.u64(at::graph::START),
                        record.u64(at::graph::END),
                        u64::from(record.u32(at::graph::ID)) | u64::from(device as u16) << 32,
                        u64::from(record.u32(at::graph::STREAM)),
                    ]);
                }
                activity::OVERHEAD => {
                    let took = record.u64(at::overhead::END).saturating_sub(record.u64(at::overhead::START));
                    self.put([first_word(gpu::OVERHEAD, u64::from(record.u32(at::overhead::KIND))), took]);
                }
                _ => {}
            }
        }
    }

    /// # Safety
    /// A record of a kernel.
    unsafe fn kernel(&mut self, record: Record) {
        use at::kernel as place;
        // SAFETY: as stated.
        unsafe {
            let three = |at: usize| [record.u32(at), record.u32(at + 4), record.u32(at + 8)];
            let ([gx, gy, gz], [bx, by, bz]) = (three(place::GRID), three(place::BLOCK));
            let shape = [
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                u32::from(record.u16(place::REGISTERS)),
                record.u32(place::STATIC_SHARED),
                record.u32(place::DYNAMIC_SHARED),
            ];
            let name = self.name(record.u64(place::NAME) as *const c_char);
            let launch = self.launch(Launch { name, shape });
            let device = record.u32(place::DEVICE);
            self.device(device);
            self.in_stream(record.u32(place::STREAM));
            let node = record.u64(place::GRAPH_NODE);
            if node != 0 {
                self.graphs.node((node >> 32) as u32, record.u32(place::CORRELATION));
            }
            let flags = flags_of(node);
            let words @ [first, start, end, about, stream] = [
                first_word(gpu::KERNEL, u64::from(record.u32(place::CORRELATION))),
                record.u64(place::START),
                record.u64(place::END),
                u64::from(launch) | u64::from(device as u16) << 32 | u64::from(flags) << 48,
                u64::from(record.u32(place::STREAM)),
            ];
            match node {
                0 => self.put(words),
                node => self.put([first, start, end, about, stream, node]),
            }
        }
    }

    /// # Safety
    /// A record of a copy or a fill, of the given kind.
    unsafe fn transfer(&mut self, kind: u32, record: Record) {
        use at::transfer as place;
        let (correlation, graph_node) = match kind {
            activity::MEMCPY2 => (place::PEER_CORRELATION, place::PEER_GRAPH_NODE),
            _ => (place::CORRELATION, place::GRAPH_NODE),
        };
        // SAFETY: as stated.
        unsafe {
            let (written, direction, memory) = match kind {
                activity::MEMSET => (gpu::FILL, 0, [0; 2]),
                _ => {
                    let sides = [place::FROM, place::TO].map(|side| record.0.add(side).read());
                    (gpu::COPY, record.0.add(place::COPY_KIND).read(), sides)
                }
            };
            let node = record.u64(graph_node);
            if node != 0 {
                self.graphs.node((node >> 32) as u32, record.u32(correlation));
            }
            let flags = flags_of(node);
            let device = record.u32(place::DEVICE);
            self.device(device);
            self.in_stream(record.u32(place::STREAM));
            let words @ [first, start, end, bytes, about, more] = [
                first_word(written, u64::from(record.u32(correlation))),
                record.u64(place::START),
                record.u64(place::END),
                record.u64(place::BYTES),
                u64::from(record.u32(place::STREAM))
                    | u64::from(device as u16) << 32
                    | u64::from(direction) << 48,
                u64::from(flags) | u64::from(memory[0]) << 16 | u64::from(memory[1]) << 24,
            ];
            match node {
                0 => self.put(words),
                node => self.put([first, start, end, bytes, about, more, node]),
            }
        }
    }

    /// # Safety
    /// A record of a call.
    unsafe fn call(&mut self, cupti: &Cupti, domain: u32, record: Record) {
        use at::call as place;
        // SAFETY: as stated.
        unsafe {
            let id = record.u32(place::ID);
            let name = self.call_number(cupti, domain, id);
            self.put([
                first_word(gpu::CALL, u64::from(record.u32(place::CORRELATION))),
                record.u64(place::START),
                record.u64(place::END),
                u64::from(name) | u64::from(record.u32(place::THREAD)) << 32,
                u64::from(record.u32(place::RESULT)),
            ]);
        }
    }

    /// # Safety
    /// CUPTI is loaded.
    unsafe fn call_number(&mut self, cupti: &Cupti, domain: u32, id: u32) -> u32 {
        let [of_driver, of_runtime] = &mut self.calls;
        let known = if domain == RUNTIME_CALLS { of_runtime } else { of_driver };
        if let Some(known) = known.get(id as usize).filter(|known| **known != 0) {
            return *known;
        }
        // SAFETY: as stated.
        let name = unsafe { cupti.call_name(domain, id) };
        let number = interned(name.map_or(&[], CStr::to_bytes));
        if let Some(place) = known.get_mut(id as usize) {
            *place = number;
        }
        number
    }

    /// # Safety
    /// `text` is null or a C string that CUPTI keeps.
    unsafe fn name(&mut self, text: *const c_char) -> u32 {
        let address = text as usize;
        let hash = hash_of_address(address);
        if let Some(known) = self.names.find(hash, |known| known.address == address) {
            return known.id;
        }
        // SAFETY: as stated.
        let id = interned(unsafe { ascii(text) }.bytes);
        // Without memory for it, the name is looked up again the next time.
        if let Some(place) = self.pool.take(size_of::<KnownName>(), AfterFork::Cleared) {
            let place = place.cast::<KnownName>();
            // SAFETY: fresh memory of that size.
            unsafe { place.write(KnownName { address, id }) };
            self.names.insert(&mut self.pool, place);
        }
        id
    }

    fn launch(&mut self, launch: Launch) -> u32 {
        if let Some(known) = self.launches.find(launch.hash(), |known| known.launch == launch) {
            return known.number;
        }
        let number = self.next_launch;
        self.next_launch += 1;
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let [gx, gy, gz, bx, by, bz, registers, fixed, dynamic] = launch.shape;
        self.put([
            first_word(gpu::LAUNCH, u64::from(number)),
            u64::from(launch.name),
            pair(gx, gy),
            pair(gz, bx),
            pair(by, bz),
            pair(registers, fixed),
            u64::from(dynamic),
        ]);
        // Without memory for it, the launch is written again the next time.
        if let Some(place) = self.pool.take(size_of::<KnownLaunch>(), AfterFork::Cleared) {
            let place = place.cast::<KnownLaunch>();
            // SAFETY: fresh memory of that size.
            unsafe { place.write(KnownLaunch { launch, number }) };
            self.launches.insert(&mut self.pool, place);
        }
        number
    }

    /// Writes the name of a device when something runs on it for the first time.
    fn device(&mut self, device: u32) {
        let Some(bits) = self.devices.get_mut(device as usize / 64) else { return };
        let bit = 1 << (device % 64);
        if *bits & bit != 0 {
            return;
        }
        *bits |= bit;
        let mut name = [0u8; 256];
        if let Some(name) = device_name(device, &mut name) {
            let name = interned(name);
            self.put([first_word(gpu::DEVICE, u64::from(device)), u64::from(name)]);
        }
    }

    /// Asks for what streams wait for, once work has gone from stream to stream for some time.
    fn in_stream(&mut self, stream: u32) {
        if self.stream == stream {
            return;
        }
        self.stream = stream;
        self.changes = self.changes.saturating_add(1);
        if self.changes == SEVERAL_STREAMS
            && let Some(state) = state::gpu()
        {
            // If they are not recorded already.
            let _ = state.stream_waits.compare_exchange(0, Gpu::WANTED, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Asks for the nodes of a graph that is recorded as a whole, if none of its launches was recorded otherwise.
    fn whole_graph(&mut self, graph: u32) {
        if self.graphs.whole(graph)
            && let Some(state) = state::gpu()
        {
            let _ = state.graph_nodes.compare_exchange(
                Gpu::WHOLE,
                Gpu::NODES_WANTED,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
        }
    }

    fn clock(&mut self, cupti: &Cupti) {
        let mut best = (u64::MAX, 0, 0);
        for _ in 0..4 {
            let before = clock::ticks();
            let mut time = 0;
            // SAFETY: CUPTI writes one number.
            if unsafe { (cupti.timestamp)(&mut time) } != SUCCESS {
                return;
            }
            let took = clock::ticks().wrapping_sub(before);
            if took < best.0 {
                best = (took, time, before.wrapping_add(took / 2).wrapping_sub(clock::base()));
            }
        }
        self.put([first_word(gpu::CLOCK, 0), best.1, best.2, best.0]);
    }

    fn put<const N: usize>(&mut self, words: [u64; N]) {
        if self.part.room() < BYTES_OF_LONGEST {
            let full = core::mem::replace(&mut self.part, Part::NOWHERE);
            file::retire(full);
            let part = state().and_then(|state| {
                state.alone(|state, guarded| {
                    file::ready(state, guarded).then(|| file::take_gpu_chunk(state, guarded, CHUNK))?
                })
            });
            match part {
                Some(part) => self.part = part,
                None => return file::count(header::DROPPED),
            }
        }
        // SAFETY: there is room for the longest record.
        unsafe { file::write_words(&mut self.part, &words) };
    }
}

/// The flags of work that is the node of that id, or of no graph.
fn flags_of(node: u64) -> u16 {
    if node == 0 { 0 } else { gpu::IN_GRAPH | gpu::NODE_KNOWN }
}

fn interned(bytes: &[u8]) -> u32 {
    let given = Given { bytes, flags: 0 };
    names::entry(given).map_or(layout::LOST, Entry::id)
}
