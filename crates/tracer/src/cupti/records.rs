//! CUPTI's records, written down short.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};

use tracefile::layout::{first_word, gpu};

use super::abi::{Cupti, DRIVER_CALLS, RUNTIME_CALLS, SUCCESS, activity};
use super::at;
use crate::clock;
use crate::file::{self, LOCK, Part};
use crate::names::{self, Given};
use crate::spin::Spin;

const CHUNK: usize = 256 << 10;
/// The longest record, in words.
const LONGEST: usize = 7;
const BYTES_OF_LONGEST: usize = LONGEST * 8;

/// Only under [`WRITING`].
struct Writer {
    part: Option<Part>,
    launches: HashMap<Launch, u32>,
    /// By the address at which CUPTI keeps it, which stays.
    names: HashMap<usize, u32>,
    /// By domain and number.
    calls: HashMap<(u32, u32), u32>,
    devices: Vec<u32>,
}

/// A kernel and its shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Launch {
    name: u32,
    shape: [u32; 9],
}

struct Shared(UnsafeCell<Option<Writer>>);
// SAFETY: only touched under WRITING.
unsafe impl Sync for Shared {}

static WRITER: Shared = Shared(UnsafeCell::new(None));
static WRITING: Spin = Spin::new();

fn with_writer<T>(work: impl FnOnce(&mut Writer) -> T) -> T {
    WRITING.with(|| {
        // SAFETY: we hold the lock.
        let writer = unsafe { &mut *WRITER.0.get() };
        work(writer.get_or_insert_with(|| Writer {
            part: None,
            launches: HashMap::new(),
            names: HashMap::new(),
            calls: HashMap::new(),
            devices: Vec::new(),
        }))
    })
}

/// In the child of a fork. What another thread may have been writing is left alone.
pub(super) fn forget() {
    // SAFETY: no other thread exists.
    unsafe { std::ptr::write(WRITER.0.get(), None) };
    WRITING.unlock();
}

/// Records of a buffer, and how many CUPTI had no room for.
///
/// # Safety
/// `buffer` holds `valid` bytes of CUPTI's records.
pub(super) unsafe fn write(cupti: &Cupti, context: *mut c_void, stream: u32, buffer: *mut u8, valid: usize) {
    with_writer(|writer| {
        let mut record = std::ptr::null_mut();
        // SAFETY: as stated; CUPTI finds the records itself.
        while unsafe { (cupti.next_record)(buffer, valid, &mut record) } == SUCCESS {
            let record = Record(record);
            // SAFETY: a record of CUPTI's begins with its kind.
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

/// CUPTI's clock beside ours.
pub(super) fn clock() {
    if let Some(cupti) = super::cupti() {
        with_writer(|writer| writer.clock(cupti));
    }
}

/// Says why nothing more comes.
pub(super) fn stop(why: u64) {
    with_writer(|writer| writer.put([first_word(gpu::STOPPED, why)]));
}

/// The name of a function, `cudaLaunchKernel_v7000`.
///
/// # Safety
/// CUPTI is loaded.
pub(super) unsafe fn call_name(cupti: &Cupti, domain: u32, id: u32) -> Option<String> {
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: CUPTI gives a text of its own that stays.
    unsafe {
        if (cupti.callback_name)(domain, id, &mut name) != SUCCESS || name.is_null() {
            return None;
        }
        Some(CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// A record of CUPTI's.
#[derive(Clone, Copy)]
struct Record(*const u8);

impl Record {
    /// # Safety
    /// The record is that long; its fields need not be aligned.
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
    /// A whole record of the kind it says.
    unsafe fn record(&mut self, cupti: &Cupti, record: Record) {
        // SAFETY: as stated; `at` says where fields lie in every version.
        unsafe {
            match record.u32(0) {
                activity::KERNEL => self.kernel(record),
                kind @ (activity::MEMCPY | activity::MEMCPY2 | activity::MEMSET) => {
                    self.transfer(kind, record);
                }
                activity::RUNTIME => self.call(cupti, RUNTIME_CALLS, record),
                activity::DRIVER => self.call(cupti, DRIVER_CALLS, record),
                activity::SYNCHRONIZATION => self.put([
                    first_word(gpu::SYNC, u64::from(record.u32(at::sync::CORRELATION))),
                    record.u64(at::sync::START),
                    record.u64(at::sync::END),
                ]),
                activity::GRAPH_TRACE => {
                    let device = record.u32(at::graph::DEVICE);
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
            let flags = if record.u64(place::GRAPH_NODE) != 0 { gpu::IN_GRAPH } else { 0 };
            self.put([
                first_word(gpu::KERNEL, u64::from(record.u32(place::CORRELATION))),
                record.u64(place::START),
                record.u64(place::END),
                u64::from(launch) | u64::from(device as u16) << 32 | u64::from(flags) << 48,
                u64::from(record.u32(place::STREAM)),
            ]);
        }
    }

    /// # Safety
    /// A record of a copy or a fill, of this kind.
    unsafe fn transfer(&mut self, kind: u32, record: Record) {
        use at::transfer as place;
        let (correlation, graph_node) = match kind {
            activity::MEMCPY2 => (place::PEER_CORRELATION, place::PEER_GRAPH_NODE),
            _ => (place::CORRELATION, place::GRAPH_NODE),
        };
        // SAFETY: as stated.
        unsafe {
            let (written, direction) = match kind {
                activity::MEMSET => (gpu::FILL, 0),
                _ => (gpu::COPY, record.0.add(place::COPY_KIND).read()),
            };
            let device = record.u32(place::DEVICE);
            self.device(device);
            self.put([
                first_word(written, u64::from(record.u32(correlation))),
                record.u64(place::START),
                record.u64(place::END),
                record.u64(place::BYTES),
                u64::from(record.u32(place::STREAM))
                    | u64::from(device as u16) << 32
                    | u64::from(direction) << 48,
                if record.u64(graph_node) != 0 { u64::from(gpu::IN_GRAPH) } else { 0 },
            ]);
        }
    }

    /// # Safety
    /// A record of a call.
    unsafe fn call(&mut self, cupti: &Cupti, domain: u32, record: Record) {
        use at::call as place;
        // SAFETY: as stated.
        unsafe {
            let id = record.u32(place::ID);
            let name = match self.calls.get(&(domain, id)) {
                Some(name) => *name,
                None => {
                    let text = call_name(cupti, domain, id).unwrap_or_default();
                    let name = interned(text.as_bytes());
                    self.calls.insert((domain, id), name);
                    name
                }
            };
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
    /// A text of CUPTI's, or null.
    unsafe fn name(&mut self, text: *const c_char) -> u32 {
        if let Some(name) = self.names.get(&(text as usize)) {
            return *name;
        }
        // SAFETY: as stated.
        let name = interned(unsafe { names::ascii(text) }.bytes);
        self.names.insert(text as usize, name);
        name
    }

    fn launch(&mut self, launch: Launch) -> u32 {
        if let Some(number) = self.launches.get(&launch) {
            return *number;
        }
        let number = self.launches.len() as u32;
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
        self.launches.insert(launch, number);
        number
    }

    /// Its name, the first time something runs on it.
    fn device(&mut self, device: u32) {
        if self.devices.contains(&device) || self.devices.len() >= 1024 {
            return;
        }
        self.devices.push(device);
        if let Some(name) = device_name(device) {
            let name = interned(&name);
            self.put([first_word(gpu::DEVICE, u64::from(device)), u64::from(name)]);
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
                best = (took, time, before.wrapping_add(took / 2).wrapping_sub(file::base_ticks()));
            }
        }
        self.put([first_word(gpu::CLOCK, 0), best.1, best.2, best.0]);
    }

    fn put<const N: usize>(&mut self, words: [u64; N]) {
        let room = |part: &Part| part.end as usize - part.cursor as usize >= BYTES_OF_LONGEST;
        if !self.part.as_ref().is_some_and(room) {
            self.part = LOCK.with(|| file::take_gpu_chunk(CHUNK));
        }
        match &mut self.part {
            // SAFETY: there is room for the longest record.
            Some(part) => unsafe { file::write_words(part, &words) },
            None => file::count_dropped(),
        }
    }
}

fn interned(bytes: &[u8]) -> u32 {
    names::intern(Given { bytes, flags: 0 }).map_or(0, |name| name.id)
}

/// Asks the driver, which is loaded: we are inside it.
fn device_name(device: u32) -> Option<Vec<u8>> {
    type GetName = unsafe extern "C" fn(*mut c_char, i32, i32) -> i32;
    // SAFETY: the driver's own function, if the process has it.
    unsafe {
        let driver = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
        if driver.is_null() {
            return None;
        }
        let found = libc::dlsym(driver, c"cuDeviceGetName".as_ptr());
        if found.is_null() {
            return None;
        }
        let get_name = std::mem::transmute::<*mut c_void, GetName>(found);
        let mut name = [0u8; 256];
        if get_name(name.as_mut_ptr().cast(), 255, device as i32) != 0 {
            return None;
        }
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
        Some(name[..length].to_vec())
    }
}
