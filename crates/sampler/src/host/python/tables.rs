//! CPython 3.8 to 3.12 on 64-bit x86, which do not say themselves where things are. Taken from their headers with
//! `offsetof`; within such a version no release has moved any of them.

use super::layout::{
    Code, Frame, FrameHead, GilPlace, Instructions, Interpreter, Layout, LineFormat, Position, Text, Thread,
    Version,
};

const OLD_TEXT: Text =
    Text { length: 16, state: 32, shift: 2, ascii: 48, wide: 72, bytes_length: 16, bytes: 32 };

const OLD_CODE: Code = Code {
    size: 176,
    filename: 104,
    name: 112,
    qualified_name: None,
    line_table: 120,
    first_line: 40,
    instructions: Instructions::Bytes(48),
    copies: None,
};

const fn old(minor: u8, current: u64, gil: u64, last: u64, scale: u8, lines: LineFormat) -> Layout {
    Layout {
        version: Version::new(3, minor),
        free_threaded: false,
        interpreters_head: 32,
        interpreter: Interpreter { next: 0, threads_head: 8 },
        thread: Thread {
            next: 8,
            interpreter: 16,
            frame: FrameHead::InThread(24),
            pthread: 176,
            native: None,
        },
        frame: Frame {
            previous: 24,
            code: 32,
            position: Position::Index { at: last, scale },
            owner: None,
            copy: None,
        },
        code: OLD_CODE,
        text: OLD_TEXT,
        gil: GilPlace::Runtime { current, gil },
        lines,
    }
}

const TABLES: [Layout; 5] = [
    old(8, 1368, 1152, 104, 1, LineFormat::Steps),
    old(9, 568, 352, 104, 1, LineFormat::Steps),
    old(10, 568, 352, 96, 2, LineFormat::Ranges),
    Layout {
        version: Version::new(3, 11),
        free_threaded: false,
        interpreters_head: 40,
        interpreter: Interpreter { next: 0, threads_head: 16 },
        thread: Thread {
            next: 8,
            interpreter: 16,
            frame: FrameHead::InCFrame { cframe: 56, frame: 8 },
            pthread: 152,
            native: Some(160),
        },
        frame: Frame { previous: 48, code: 32, position: Position::Pointer(56), owner: Some(69), copy: None },
        code: Code {
            size: 192,
            filename: 112,
            name: 120,
            qualified_name: Some(128),
            line_table: 136,
            first_line: 72,
            instructions: Instructions::Inside { at: 184, count: 16 },
            copies: None,
        },
        text: OLD_TEXT,
        gil: GilPlace::Runtime { current: 576, gil: 360 },
        lines: LineFormat::Locations,
    },
    Layout {
        version: Version::new(3, 12),
        free_threaded: false,
        interpreters_head: 40,
        interpreter: Interpreter { next: 0, threads_head: 72 },
        thread: Thread {
            next: 8,
            interpreter: 16,
            frame: FrameHead::InCFrame { cframe: 56, frame: 0 },
            pthread: 136,
            native: Some(144),
        },
        frame: Frame { previous: 8, code: 0, position: Position::Pointer(56), owner: Some(70), copy: None },
        code: Code {
            size: 200,
            filename: 112,
            name: 120,
            qualified_name: Some(128),
            line_table: 136,
            first_line: 68,
            instructions: Instructions::Inside { at: 192, count: 16 },
            copies: None,
        },
        text: Text { ascii: 40, wide: 56, ..OLD_TEXT },
        gil: GilPlace::Interpreter { pointer: 384, locked: 16, holder: 8, enabled: None },
        lines: LineFormat::Locations,
    },
];

/// The layout of a version that does not publish it.
pub(crate) fn known(version: Version) -> Option<Layout> {
    let here = cfg!(target_arch = "x86_64");
    TABLES.iter().find(|layout| here && layout.version == version).copied()
}
