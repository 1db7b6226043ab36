//! CPython 3.13 and newer publish their layout at the start of the runtime (`_Py_DebugOffsets`). The list itself
//! changes from version to version, by fields that are added.

use super::layout::{
    Code, Frame, FrameHead, GilPlace, Instructions, Interpreter, Layout, LineFormat, Position, Text, Thread,
    Version,
};

const COOKIE: &[u8; 8] = b"xdebugpy";

/// The first version that has a list.
pub(crate) const FIRST: Version = Version::new(3, 13);

/// The list is shorter than this in all versions.
pub(crate) const SIZE: usize = 1024;

/// Structures that a runtime needs are small; the interpreter is the largest.
const LARGEST: u64 = 1 << 20;

/// The fields of each structure in a version's list, in order.
type List = &'static [(&'static str, &'static [&'static str])];

const RUNTIME: (&str, &[&str]) = ("runtime", &["size", "finalizing", "interpreters_head"]);
const OBJECT: (&str, &[&str]) = ("object", &["size", "type"]);
const SEQUENCE: &[&str] = &["size", "item", "count"];

const V13: List = &[
    RUNTIME,
    (
        "interpreter",
        &[
            "size",
            "id",
            "next",
            "threads_head",
            "gc",
            "modules",
            "sysdict",
            "builtins",
            "ceval_gil",
            "gil",
            "gil_enabled",
            "gil_locked",
            "gil_holder",
        ],
    ),
    ("thread", &["size", "prev", "next", "interpreter", "frame", "pthread", "native", "datastack", "status"]),
    ("frame", &["size", "previous", "code", "position", "locals", "owner"]),
    (
        "code",
        &[
            "size",
            "filename",
            "name",
            "qualname",
            "linetable",
            "firstline",
            "argcount",
            "localnames",
            "localkinds",
            "instructions",
        ],
    ),
    OBJECT,
    ("type", &["size", "name", "repr", "flags"]),
    ("tuple", SEQUENCE),
    ("list", SEQUENCE),
    ("dict", &["size", "keys", "values"]),
    ("float", &["size", "value"]),
    ("long", &["size", "tag", "digit"]),
    ("bytes", &["size", "length", "letters"]),
    ("text", &["size", "state", "length", "ascii_size"]),
];

const INTERPRETER_14: &[&str] = &[
    "size",
    "id",
    "next",
    "threads_head",
    "threads_main",
    "gc",
    "modules",
    "sysdict",
    "builtins",
    "ceval_gil",
    "gil",
    "gil_enabled",
    "gil_locked",
    "gil_holder",
    "code_generation",
    "copies_generation",
];
const FRAME_14: &[&str] =
    &["size", "previous", "code", "position", "locals", "owner", "stackpointer", "copy"];
const CODE_14: &[&str] = &[
    "size",
    "filename",
    "name",
    "qualname",
    "linetable",
    "firstline",
    "argcount",
    "localnames",
    "localkinds",
    "instructions",
    "copies",
];

const V14: List = &[
    RUNTIME,
    ("interpreter", INTERPRETER_14),
    ("thread", &["size", "prev", "next", "interpreter", "frame", "pthread", "native", "datastack", "status"]),
    ("frame", FRAME_14),
    ("code", CODE_14),
    OBJECT,
    ("type", &["size", "name", "repr", "flags"]),
    ("tuple", SEQUENCE),
    ("list", SEQUENCE),
    ("set", &["size", "used", "table", "mask"]),
    ("dict", &["size", "keys", "values"]),
    ("float", &["size", "value"]),
    ("long", &["size", "tag", "digit"]),
    ("bytes", &["size", "length", "letters"]),
    ("text", &["size", "state", "length", "ascii_size"]),
];

const V15: List = &[
    RUNTIME,
    ("interpreter", INTERPRETER_14),
    (
        "thread",
        &[
            "size",
            "prev",
            "next",
            "interpreter",
            "frame",
            "base_frame",
            "profiled",
            "profiled_seq",
            "pthread",
            "native",
            "datastack",
            "status",
            "holds_gil",
            "gil_requested",
            "exception",
            "exc_state",
        ],
    ),
    ("error", &["value"]),
    ("frame", FRAME_14),
    ("code", CODE_14),
    OBJECT,
    ("type", &["size", "name", "repr", "flags", "basicsize", "dictoffset"]),
    ("heap_type", &["size", "cached_keys"]),
    ("tuple", SEQUENCE),
    ("list", SEQUENCE),
    ("set", &["size", "used", "table", "mask"]),
    ("dict", &["size", "keys", "values"]),
    ("float", &["size", "value"]),
    ("long", &["size", "tag", "digit"]),
    ("bytes", &["size", "length", "letters"]),
    ("text", &["size", "state", "length", "ascii_size"]),
];

/// The version of a runtime that publishes its layout.
pub(crate) fn version(bytes: &[u8]) -> Option<Version> {
    (bytes.get(..8)? == COOKIE).then(|| word(bytes, 1).map(Version::from_hex))?
}

/// The layout, or None if the list is not one we know or has nonsense in it.
pub(crate) fn read(bytes: &[u8]) -> Option<Layout> {
    let version = version(bytes)?;
    let list = match (version.major, version.minor) {
        (3, 13) => V13,
        (3, 14) => V14,
        (3, 15) => V15,
        _ => return None,
    };
    let free_threaded = word(bytes, 2)? != 0;
    let get = |structure: &str, field: &str| -> Option<u64> {
        let mut at = 3;
        for (name, fields) in list {
            if *name == structure {
                let place = fields.iter().position(|name| *name == field)?;
                return word(bytes, at + place).filter(|offset| *offset < LARGEST);
            }
            at += fields.len();
        }
        None
    };
    let gil = get("interpreter", "gil")?;
    let in_gil = |field: &str| get("interpreter", field)?.checked_sub(gil);
    let with_copies = free_threaded && version.minor >= 14;
    let head = get("object", "size")?;
    Some(Layout {
        version,
        free_threaded,
        interpreters_head: get("runtime", "interpreters_head")?,
        interpreter: Interpreter {
            next: get("interpreter", "next")?,
            threads_head: get("interpreter", "threads_head")?,
        },
        thread: Thread {
            next: get("thread", "next")?,
            interpreter: get("thread", "interpreter")?,
            frame: FrameHead::InThread(get("thread", "frame")?),
            pthread: get("thread", "pthread")?,
            native: Some(get("thread", "native")?),
        },
        frame: Frame {
            previous: get("frame", "previous")?,
            code: get("frame", "code")?,
            position: Position::Pointer(get("frame", "position")?),
            owner: Some(get("frame", "owner")?),
            copy: if with_copies { Some(get("frame", "copy")?) } else { None },
        },
        code: Code {
            size: usize::try_from(get("code", "size")?).ok().filter(|size| *size <= 1024)?,
            filename: get("code", "filename")?,
            name: get("code", "name")?,
            qualified_name: Some(get("code", "qualname")?),
            line_table: get("code", "linetable")?,
            first_line: get("code", "firstline")?,
            instructions: Instructions::Inside { at: get("code", "instructions")?, count: head },
            copies: if with_copies { Some(get("code", "copies")?) } else { None },
        },
        text: Text {
            length: get("text", "length")?,
            state: get("text", "state")?,
            shift: if with_copies { 8 } else { 2 },
            ascii: get("text", "ascii_size")?,
            wide: get("text", "size")?.checked_sub(8)?,
            bytes_length: get("bytes", "length")?,
            bytes: get("bytes", "letters")?,
        },
        gil: GilPlace::Interpreter {
            pointer: get("interpreter", "ceval_gil")?,
            locked: in_gil("gil_locked")?,
            holder: in_gil("gil_holder")?,
            enabled: if free_threaded { Some(get("interpreter", "gil_enabled")?) } else { None },
        },
        lines: LineFormat::Locations,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at * 8..at * 8 + 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}
