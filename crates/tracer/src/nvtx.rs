//! The functions NVTX calls in our place of its own.
//!
//! Every one returns what it would return with nobody listening, except where
//! the program needs a handle or an id of ours.
//!
//! Safety, for all of them: NVTX's contract is that strings are null or end in a
//! zero, attributes are null or as large as their `size` says, and handles came
//! from us.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

use tracefile::layout::{self, extra, first_word, kind, name_word};

use crate::abi::{
    CALLBACKS, EventAttributes, ExportTableCallbacks, FunctionTable, GetExportTable, MESSAGE_ASCII,
    MESSAGE_REGISTERED, MESSAGE_WIDE, MODULE_CORE, MODULE_CORE2, NO_PUSH_POP_TRACKING,
};
use crate::names::{self, Given, Registered, ascii, domain_number, wide};
use crate::thread::{self, Thread};

/// Puts our functions into the tables of one shared object.
///
/// # Safety
/// `get_export_table` is NVTX's.
pub(crate) unsafe fn attach(get_export_table: GetExportTable) -> bool {
    // SAFETY: NVTX's table has this layout and lives for ever.
    let callbacks = unsafe { get_export_table(CALLBACKS).cast::<ExportTableCallbacks>().as_ref() };
    let Some(get_table) = callbacks.and_then(|callbacks| callbacks.get_module_function_table) else {
        return false;
    };
    let core: [*const c_void; 16] = [
        std::ptr::null(),
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
        std::ptr::null(),
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
        let mut table: FunctionTable = std::ptr::null_mut();
        let mut size = 0;
        // SAFETY: NVTX fills in a table of `size` slots, each null or the place
        // of a function pointer.
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

/// What an event says of itself.
struct About {
    name: u32,
    payload: Option<(u16, u64)>,
    category: u32,
}

impl About {
    fn name(name: u32) -> Self {
        Self { name, payload: None, category: 0 }
    }

    #[inline(always)]
    unsafe fn of(thread: &mut Thread, attributes: *const EventAttributes) -> Self {
        if attributes.is_null() {
            return Self::name(layout::NO_NAME);
        }
        // SAFETY: the attributes are as large as their size says.
        unsafe {
            let size = (*attributes).size as usize;
            if size < offset_of!(EventAttributes, message) + size_of::<usize>() {
                return Self::name(layout::NO_NAME);
            }
            let attributes = &*attributes;
            let name = match attributes.message_type {
                MESSAGE_ASCII => thread.c_name(attributes.message.ascii),
                MESSAGE_WIDE => thread.name(wide(attributes.message.wide)),
                MESSAGE_REGISTERED => attributes
                    .message
                    .registered
                    .cast::<Registered>()
                    .as_ref()
                    .map_or(layout::NO_NAME, Registered::number),
                _ => layout::NO_NAME,
            };
            let payload_type = u8::try_from(attributes.payload_type).unwrap_or(0);
            let payload = (payload_type != 0).then_some((u16::from(payload_type), attributes.payload));
            Self { name, payload, category: attributes.category }
        }
    }
}

/// Writes a push, start or mark; `id` only for a start.
#[inline(always)]
fn write(thread: &mut Thread, kind: u8, ticks: u64, domain: u16, about: &About, id: Option<u64>) {
    let first = first_word(kind, ticks);
    if about.payload.is_none() && about.category == 0 {
        let second = name_word(about.name, domain, 0);
        match id {
            None => thread.record([first, second]),
            Some(id) => thread.record([first, second, id]),
        }
        return;
    }
    write_long(thread, first, domain, about, id);
}

fn write_long(thread: &mut Thread, first: u64, domain: u16, about: &About, id: Option<u64>) {
    let mut extra = 0;
    if let Some((payload_type, _)) = about.payload {
        extra |= extra::PAYLOAD | payload_type << 8;
    }
    if about.category != 0 {
        extra |= extra::CATEGORY;
    }
    let second = name_word(about.name, domain, extra);
    let category = u64::from(about.category);
    match (about.payload, about.category != 0, id) {
        (Some((_, payload)), true, None) => thread.record([first, second, payload, category]),
        (Some((_, payload)), true, Some(id)) => thread.record([first, second, payload, category, id]),
        (Some((_, payload)), false, None) => thread.record([first, second, payload]),
        (Some((_, payload)), false, Some(id)) => thread.record([first, second, payload, id]),
        (None, _, None) => thread.record([first, second, category]),
        (None, _, Some(id)) => thread.record([first, second, category, id]),
    }
}

/// A push, or a mark. The clock is read last for what begins.
#[inline(always)]
fn begin(kind: u8, domain: u16, about: impl FnOnce(&mut Thread) -> About) {
    thread::with(|thread| {
        let about = about(thread);
        let ticks = thread.now();
        write(thread, kind, ticks, domain, &about, None);
    });
}

#[inline(always)]
fn start(domain: u16, about: impl FnOnce(&mut Thread) -> About) -> u64 {
    let mut given = 0;
    thread::with(|thread| {
        let about = about(thread);
        let id = thread.range_id();
        let ticks = thread.now();
        write(thread, kind::START, ticks, domain, &about, Some(id));
        given = id;
    });
    given
}

fn end(id: u64) {
    thread::with(|thread| {
        let ticks = thread.now();
        thread.record([first_word(kind::END, ticks), id]);
    });
}

#[inline(always)]
fn pop(domain: u16) -> c_int {
    thread::with(|thread| {
        let ticks = thread.now();
        if domain == layout::DEFAULT_DOMAIN {
            thread.record([first_word(kind::POP, ticks)]);
        } else {
            thread.record([first_word(kind::POP_DOMAIN, ticks), u64::from(domain) << 32]);
        }
    });
    NO_PUSH_POP_TRACKING
}

#[inline(always)]
fn named(given: Given<'_>) -> impl FnOnce(&mut Thread) -> About {
    move |thread| About::name(thread.name(given))
}

/// # Safety
/// `text` is null or a C string.
#[inline(always)]
unsafe fn c_named(text: *const c_char) -> impl FnOnce(&mut Thread) -> About {
    // SAFETY: as stated.
    move |thread| About::name(unsafe { thread.c_name(text) })
}

unsafe extern "C" fn mark_ex(attributes: *const EventAttributes) {
    begin(kind::MARK, layout::DEFAULT_DOMAIN, |thread| unsafe { About::of(thread, attributes) });
}

unsafe extern "C" fn mark_a(text: *const c_char) {
    begin(kind::MARK, layout::DEFAULT_DOMAIN, unsafe { c_named(text) });
}

unsafe extern "C" fn mark_w(text: *const u32) {
    begin(kind::MARK, layout::DEFAULT_DOMAIN, named(unsafe { wide(text) }));
}

unsafe extern "C" fn range_start_ex(attributes: *const EventAttributes) -> u64 {
    start(layout::DEFAULT_DOMAIN, |thread| unsafe { About::of(thread, attributes) })
}

unsafe extern "C" fn range_start_a(text: *const c_char) -> u64 {
    start(layout::DEFAULT_DOMAIN, unsafe { c_named(text) })
}

unsafe extern "C" fn range_start_w(text: *const u32) -> u64 {
    start(layout::DEFAULT_DOMAIN, named(unsafe { wide(text) }))
}

unsafe extern "C" fn range_end(id: u64) {
    end(id);
}

unsafe extern "C" fn range_push_ex(attributes: *const EventAttributes) -> c_int {
    begin(kind::PUSH, layout::DEFAULT_DOMAIN, |thread| unsafe { About::of(thread, attributes) });
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn range_push_a(text: *const c_char) -> c_int {
    begin(kind::PUSH, layout::DEFAULT_DOMAIN, unsafe { c_named(text) });
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn range_push_w(text: *const u32) -> c_int {
    begin(kind::PUSH, layout::DEFAULT_DOMAIN, named(unsafe { wide(text) }));
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn range_pop() -> c_int {
    pop(layout::DEFAULT_DOMAIN)
}

unsafe extern "C" fn name_category_a(category: u32, text: *const c_char) {
    rarely(|| names::name_category(layout::DEFAULT_DOMAIN, category, unsafe { ascii(text) }));
}

unsafe extern "C" fn name_category_w(category: u32, text: *const u32) {
    rarely(|| names::name_category(layout::DEFAULT_DOMAIN, category, unsafe { wide(text) }));
}

unsafe extern "C" fn name_os_thread_a(thread: u32, text: *const c_char) {
    rarely(|| names::name_thread(thread, unsafe { ascii(text) }));
}

unsafe extern "C" fn name_os_thread_w(thread: u32, text: *const u32) {
    rarely(|| names::name_thread(thread, unsafe { wide(text) }));
}

unsafe extern "C" fn domain_mark_ex(domain: *const c_void, attributes: *const EventAttributes) {
    begin(kind::MARK, unsafe { domain_number(domain) }, |thread| unsafe { About::of(thread, attributes) });
}

unsafe extern "C" fn domain_range_start_ex(domain: *const c_void, attributes: *const EventAttributes) -> u64 {
    start(unsafe { domain_number(domain) }, |thread| unsafe { About::of(thread, attributes) })
}

unsafe extern "C" fn domain_range_end(_: *const c_void, id: u64) {
    end(id);
}

unsafe extern "C" fn domain_range_push_ex(
    domain: *const c_void,
    attributes: *const EventAttributes,
) -> c_int {
    begin(kind::PUSH, unsafe { domain_number(domain) }, |thread| unsafe { About::of(thread, attributes) });
    NO_PUSH_POP_TRACKING
}

unsafe extern "C" fn domain_range_pop(domain: *const c_void) -> c_int {
    pop(unsafe { domain_number(domain) })
}

/// Resources are not recorded. Null is what it returns with nobody listening.
unsafe extern "C" fn domain_resource_create(_: *const c_void, _: *mut c_void) -> *mut c_void {
    std::ptr::null_mut()
}

unsafe extern "C" fn domain_resource_destroy(_: *mut c_void) {}

unsafe extern "C" fn domain_name_category_a(domain: *const c_void, category: u32, text: *const c_char) {
    rarely(|| names::name_category(unsafe { domain_number(domain) }, category, unsafe { ascii(text) }));
}

unsafe extern "C" fn domain_name_category_w(domain: *const c_void, category: u32, text: *const u32) {
    rarely(|| names::name_category(unsafe { domain_number(domain) }, category, unsafe { wide(text) }));
}

unsafe extern "C" fn domain_register_string_a(_: *const c_void, text: *const c_char) -> *const c_void {
    rarely(|| names::register(unsafe { ascii(text) })).unwrap_or(std::ptr::null())
}

unsafe extern "C" fn domain_register_string_w(_: *const c_void, text: *const u32) -> *const c_void {
    rarely(|| names::register(unsafe { wide(text) })).unwrap_or(std::ptr::null())
}

unsafe extern "C" fn domain_create_a(text: *const c_char) -> *const c_void {
    rarely(|| names::create_domain(unsafe { ascii(text) })).unwrap_or(std::ptr::null())
}

unsafe extern "C" fn domain_create_w(text: *const u32) -> *const c_void {
    rarely(|| names::create_domain(unsafe { wide(text) })).unwrap_or(std::ptr::null())
}

/// Kept: a program may still use it, and its name stays true.
unsafe extern "C" fn domain_destroy(_: *const c_void) {}

unsafe extern "C" fn initialize(_: *const c_void) {}

/// What happens seldom may allocate; a panic in there stays in there.
fn rarely<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}
