//! The functions that NVTX calls once we have put them into its tables.
//!
//! Each returns what it would return with nobody listening, except where the program needs a
//! handle or an id from us.
//!
//! Safety, for all of them: NVTX's contract is that strings are null or end in a zero, attributes
//! are null or as large as their `size` says, and handles came from us.

use core::ffi::{c_char, c_int, c_void};
use core::mem::offset_of;

use tracefile::layout::{self, extra, first_word, kind, name_word};

use crate::abi::{
    CALLBACKS, EventAttributes, ExportTableCallbacks, FunctionTable, GetExportTable, MESSAGE_ASCII,
    MESSAGE_REGISTERED, MESSAGE_WIDE, MODULE_CORE, MODULE_CORE2, NO_PUSH_POP_TRACKING,
};
use crate::names::{self, domain_number};
use crate::state::{Handle, Thread};
use crate::text::{ascii, wide};
use crate::thread;

/// Puts our functions into the tables of one shared object.
///
/// # Safety
/// `get_export_table` is NVTX's function.
pub(crate) unsafe fn attach(get_export_table: GetExportTable) -> bool {
    // SAFETY: NVTX's table has this layout and lives forever.
    let callbacks = unsafe { get_export_table(CALLBACKS).cast::<ExportTableCallbacks>().as_ref() };
    let Some(get_table) = callbacks.and_then(|callbacks| callbacks.get_module_function_table) else {
        return false;
    };
    let core: [*const c_void; 16] = [
        core::ptr::null(),
        mark_ex as *const c_void,
        mark_a as *const c_void,
        mark_w as *const c_void,
        range_start_ex as *const c_void,
        range_start_a as *const c_void,
        range_start_w as *const c_void,
        range_end as *const c_void,
        range_push_ex as *const c_void,
        range_push_a as *const c_void,
        range_push_w as *const c_void,
        range_pop as *const c_void,
        name_category_a as *const c_void,
        name_category_w as *const c_void,
        name_os_thread_a as *const c_void,
        name_os_thread_w as *const c_void,
    ];
    let core2: [*const c_void; 16] = [
        core::ptr::null(),
        domain_mark_ex as *const c_void,
        domain_range_start_ex as *const c_void,
        domain_range_end as *const c_void,
        domain_range_push_ex as *const c_void,
        domain_range_pop as *const c_void,
        domain_resource_create as *const c_void,
        domain_resource_destroy as *const c_void,
        domain_name_category_a as *const c_void,
        domain_name_category_w as *const c_void,
        domain_register_string_a as *const c_void,
        domain_register_string_w as *const c_void,
        domain_create_a as *const c_void,
        domain_create_w as *const c_void,
        domain_destroy as *const c_void,
        initialize as *const c_void,
    ];
    let mut filled = false;
    for (module, functions) in [(MODULE_CORE, core), (MODULE_CORE2, core2)] {
        let mut table: FunctionTable = core::ptr::null_mut();
        let mut size = 0;
        // SAFETY: NVTX returns a table of `size` slots, each null or the address of a function
        // pointer.
        unsafe {
            if get_table(module, &mut table, &mut size) == 0 || table.is_null() {
                continue;
            }
            for (at, function) in functions.iter().enumerate().take(size as usize).skip(1) {
                let slot = *table.add(at);
                if !slot.is_null() {
                    *slot = *function;
                    filled = true;
                }
            }
        }
    }
    filled
}

/// What the program says about an event.
#[derive(Clone, Copy)]
struct About {
    message: Message,
    payload: u64,
    /// Zero if there is no payload.
    payload_type: u8,
    category: u32,
}

#[derive(Clone, Copy)]
enum Message {
    None,
    C(*const c_char),
    Wide(*const u32),
    Registered(*const c_void),
}

impl About {
    #[inline(always)]
    fn message(message: Message) -> Self {
        Self { message, payload: 0, payload_type: 0, category: 0 }
    }

    /// # Safety
    /// The attributes are null, or as large as their size says.
    #[inline(always)]
    unsafe fn of(attributes: *const EventAttributes) -> Self {
        // SAFETY: as stated.
        unsafe {
            if attributes.is_null()
                || ((*attributes).size as usize) < offset_of!(EventAttributes, message) + size_of::<usize>()
            {
                return Self::message(Message::None);
            }
            let attributes = &*attributes;
            let message = match attributes.message_type {
                MESSAGE_ASCII => Message::C(attributes.message.ascii),
                MESSAGE_WIDE => Message::Wide(attributes.message.wide),
                MESSAGE_REGISTERED => Message::Registered(attributes.message.registered),
                _ => Message::None,
            };
            let payload_type = u8::try_from(attributes.payload_type).unwrap_or(0);
            Self { message, payload: attributes.payload, payload_type, category: attributes.category }
        }
    }

    /// The number of its name, if it can be found quickly.
    #[inline(always)]
    fn known_name(&self, thread: &mut Thread) -> Option<u32> {
        // SAFETY: NVTX's contract, as above.
        unsafe {
            match self.message {
                Message::C(text) => thread.recent_name(text),
                Message::Registered(handle) => Some(registered(handle)),
                Message::None => Some(layout::NO_NAME),
                Message::Wide(_) => None,
            }
        }
    }

    fn name(&self, thread: &mut Thread) -> u32 {
        // SAFETY: NVTX's contract, as above.
        unsafe {
            match self.message {
                Message::C(text) => thread.c_name(text),
                Message::Wide(text) => thread.name(wide(text)),
                Message::Registered(handle) => registered(handle),
                Message::None => layout::NO_NAME,
            }
        }
    }
}

/// # Safety
/// `handle` is null or came from us.
#[inline(always)]
unsafe fn registered(handle: *const c_void) -> u32 {
    // SAFETY: as stated.
    unsafe { handle.cast::<Handle>().as_ref() }.map_or(layout::NO_NAME, Handle::number)
}

/// Writes a push, start or mark; only a start has an `id`. The clock is read as late as possible, so
/// that our own work is not part of the range.
#[inline(always)]
fn write(thread: &mut Thread, kind: u8, domain: u16, name: u32, about: &About, id: Option<u64>) {
    let first = first_word(kind, thread.now());
    if about.payload_type == 0 && about.category == 0 {
        let second = name_word(name, domain, 0);
        match id {
            None => thread.record([first, second]),
            Some(id) => thread.record([first, second, id]),
        }
        return;
    }
    write_long(thread, first, domain, name, about, id);
}

#[inline(never)]
fn write_long(thread: &mut Thread, first: u64, domain: u16, name: u32, about: &About, id: Option<u64>) {
    let payload = (about.payload_type != 0).then_some(about.payload);
    let mut extra = 0;
    if payload.is_some() {
        extra |= extra::PAYLOAD | u16::from(about.payload_type) << 8;
    }
    if about.category != 0 {
        extra |= extra::CATEGORY;
    }
    let second = name_word(name, domain, extra);
    let category = u64::from(about.category);
    match (payload, about.category != 0, id) {
        (Some(payload), true, None) => thread.record([first, second, payload, category]),
        (Some(payload), true, Some(id)) => thread.record([first, second, payload, category, id]),
        (Some(payload), false, None) => thread.record([first, second, payload]),
        (Some(payload), false, Some(id)) => thread.record([first, second, payload, id]),
        (None, _, None) => thread.record([first, second, category]),
        (None, _, Some(id)) => thread.record([first, second, category, id]),
    }
}

/// A push, or a mark.
#[inline(always)]
fn begin(kind: u8, domain: u16, about: About) {
    if let Some(thread) = thread::begin_event() {
        match about.known_name(thread) {
            Some(name) => return write(thread, kind, domain, name, &about, None),
            None => thread.leave(),
        }
    }
    begin_anyway(kind, domain, &about);
}

#[inline(never)]
fn begin_anyway(kind: u8, domain: u16, about: &About) {
    if let Some(thread) = thread::begin_event_anyway() {
        let name = about.name(thread);
        write(thread, kind, domain, name, about, None);
    }
}

fn start(domain: u16, about: About) -> u64 {
    let Some(thread) = thread::begin_event_anyway() else { return 0 };
    let name = match about.known_name(thread) {
        Some(name) => name,
        None => about.name(thread),
    };
    let id = thread.range_id();
    write(thread, kind::START, domain, name, &about, Some(id));
    id
}

fn end(id: u64) {
    // The start of the range was not recorded.
    if id == 0 {
        return;
    }
    if let Some(thread) = thread::begin_event_anyway() {
        let ticks = thread.now();
        thread.record([first_word(kind::END, ticks), id]);
    }
}

#[inline(always)]
fn pop(domain: u16) -> c_int {
    match thread::begin_event() {
        Some(thread) => write_pop(thread, domain),
        None => pop_anyway(domain),
    }
    NO_PUSH_POP_TRACKING
}

#[inline(never)]
fn pop_anyway(domain: u16) {
    if let Some(thread) = thread::begin_event_anyway() {
        write_pop(thread, domain);
    }
}

#[inline(always)]
fn write_pop(thread: &mut Thread, domain: u16) {
    let ticks = thread.now();
    if domain == layout::DEFAULT_DOMAIN {
        thread.record([first_word(kind::POP, ticks)]);
    } else {
        thread.record([first_word(kind::POP_DOMAIN, ticks), u64::from(domain) << 32]);
    }
}

unsafe extern "C" fn mark_ex(attributes: *const EventAttributes) {
    begin(kind::MARK, layout::DEFAULT_DOMAIN, unsafe { About::of(attributes) });
}

unsafe extern "C" fn mark_a(text: *const c_char) {
    begin(kind::MARK, layout::DEFAULT_DOMAIN, About::message(Message::C(text)));
}

unsafe extern "C" fn mark_w(text: *const u32) {
    begin(kind::MARK, layout::DEFAULT_DOMAIN, About::message(Message::Wide(text)));
}

unsafe extern "C" fn range_start_ex(attributes: *const EventAttributes) -> u64 {
    start(layout::DEFAULT_DOMAIN, unsafe { About::of(attributes) })
}

unsafe extern "C" fn range_start_a(text: *const c_char) -> u64 {
    start(layout::DEFAULT_DOMAIN, About::message(Message::C(text)))
}

unsafe extern "C" fn range_start_w(text: *const u32) -> u64 {
    start(layout::DEFAULT_DOMAIN, About::message(Message::Wide(text)))
}

unsafe extern "C" fn range_end(id: u64) {
    end(id);
}

unsafe extern "C" fn range_push_ex(attributes: *const EventAttributes) -> c_int {
    begin(kind::PUSH, layout::DEFAULT_DOMAIN, unsafe { About::of(attributes) });
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn range_push_a(text: *const c_char) -> c_int {
    begin(kind::PUSH, layout::DEFAULT_DOMAIN, About::message(Message::C(text)));
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn range_push_w(text: *const u32) -> c_int {
    begin(kind::PUSH, layout::DEFAULT_DOMAIN, About::message(Message::Wide(text)));
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn range_pop() -> c_int {
    pop(layout::DEFAULT_DOMAIN)
}

unsafe extern "C" fn name_category_a(category: u32, text: *const c_char) {
    names::name_category(layout::DEFAULT_DOMAIN, category, unsafe { ascii(text) });
}

unsafe extern "C" fn name_category_w(category: u32, text: *const u32) {
    names::name_category(layout::DEFAULT_DOMAIN, category, unsafe { wide(text) });
}

unsafe extern "C" fn name_os_thread_a(thread: u32, text: *const c_char) {
    names::name_thread(thread, unsafe { ascii(text) });
}

unsafe extern "C" fn name_os_thread_w(thread: u32, text: *const u32) {
    names::name_thread(thread, unsafe { wide(text) });
}

unsafe extern "C" fn domain_mark_ex(domain: *const c_void, attributes: *const EventAttributes) {
    begin(kind::MARK, unsafe { domain_number(domain) }, unsafe { About::of(attributes) });
}

unsafe extern "C" fn domain_range_start_ex(domain: *const c_void, attributes: *const EventAttributes) -> u64 {
    start(unsafe { domain_number(domain) }, unsafe { About::of(attributes) })
}

unsafe extern "C" fn domain_range_end(_: *const c_void, id: u64) {
    end(id);
}

unsafe extern "C" fn domain_range_push_ex(
    domain: *const c_void,
    attributes: *const EventAttributes,
) -> c_int {
    begin(kind::PUSH, unsafe { domain_number(domain) }, unsafe { About::of(attributes) });
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn domain_range_pop(domain: *const c_void) -> c_int {
    pop(unsafe { domain_number(domain) })
}

/// Resources are not recorded. Null is what the program gets with nobody listening.
unsafe extern "C" fn domain_resource_create(_: *const c_void, _: *mut c_void) -> *mut c_void {
    core::ptr::null_mut()
}

unsafe extern "C" fn domain_resource_destroy(_: *mut c_void) {}

unsafe extern "C" fn domain_name_category_a(domain: *const c_void, category: u32, text: *const c_char) {
    names::name_category(unsafe { domain_number(domain) }, category, unsafe { ascii(text) });
}

unsafe extern "C" fn domain_name_category_w(domain: *const c_void, category: u32, text: *const u32) {
    names::name_category(unsafe { domain_number(domain) }, category, unsafe { wide(text) });
}

unsafe extern "C" fn domain_register_string_a(_: *const c_void, text: *const c_char) -> *const c_void {
    names::register(unsafe { ascii(text) })
}

unsafe extern "C" fn domain_register_string_w(_: *const c_void, text: *const u32) -> *const c_void {
    names::register(unsafe { wide(text) })
}

unsafe extern "C" fn domain_create_a(text: *const c_char) -> *const c_void {
    names::create_domain(unsafe { ascii(text) })
}

unsafe extern "C" fn domain_create_w(text: *const u32) -> *const c_void {
    names::create_domain(unsafe { wide(text) })
}

/// The domain is kept: a program may still use it, and its name stays valid.
unsafe extern "C" fn domain_destroy(_: *const c_void) {}

unsafe extern "C" fn initialize(_: *const c_void) {}
