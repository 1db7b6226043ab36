//! The numbers of Perfetto's public schema that are used here, by message.

/// `Trace.packet`
pub(crate) const PACKET: u32 = 1;

/// `TracePacket`
pub(crate) mod packet {
    pub(crate) const CLOCK_SNAPSHOT: u32 = 6;
    pub(crate) const TIMESTAMP: u32 = 8;
    pub(crate) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(crate) const TRACK_EVENT: u32 = 11;
    pub(crate) const INTERNED_DATA: u32 = 12;
    pub(crate) const SEQUENCE_FLAGS: u32 = 13;
    pub(crate) const TRACK_DESCRIPTOR: u32 = 60;
    pub(crate) const PERF_SAMPLE: u32 = 66;

    /// `SequenceFlags`
    pub(crate) const SEQ_INCREMENTAL_STATE_CLEARED: u64 = 1;
    pub(crate) const SEQ_NEEDS_INCREMENTAL_STATE: u64 = 2;
}

/// `ClockSnapshot`
pub(crate) mod clock_snapshot {
    pub(crate) const CLOCKS: u32 = 1;
    pub(crate) const PRIMARY_TRACE_CLOCK: u32 = 2;

    /// `ClockSnapshot.Clock`
    pub(crate) const CLOCK_ID: u32 = 1;
    pub(crate) const TIMESTAMP: u32 = 2;

    /// `BuiltinClock`
    pub(crate) const REALTIME: u64 = 1;
    pub(crate) const BOOTTIME: u64 = 6;
}

/// `InternedData`; each entry has a number, and most a text.
pub(crate) mod interned {
    pub(crate) const EVENT_CATEGORIES: u32 = 1;
    pub(crate) const EVENT_NAMES: u32 = 2;
    pub(crate) const DEBUG_ANNOTATION_NAMES: u32 = 3;
    pub(crate) const FUNCTION_NAMES: u32 = 5;
    pub(crate) const FRAMES: u32 = 6;
    pub(crate) const CALLSTACKS: u32 = 7;
    pub(crate) const MAPPING_PATHS: u32 = 17;
    pub(crate) const SOURCE_PATHS: u32 = 18;
    pub(crate) const MAPPINGS: u32 = 19;
    pub(crate) const DEBUG_ANNOTATION_STRING_VALUES: u32 = 29;

    /// `EventCategory`, `EventName`, `DebugAnnotationName`, `InternedString`
    pub(crate) const IID: u32 = 1;
    pub(crate) const TEXT: u32 = 2;

    /// `Frame`
    pub(crate) const FRAME_FUNCTION_NAME_ID: u32 = 2;
    pub(crate) const FRAME_MAPPING_ID: u32 = 3;
    pub(crate) const FRAME_REL_PC: u32 = 4;
    pub(crate) const FRAME_SOURCE_PATH_IID: u32 = 5;
    pub(crate) const FRAME_LINE_NUMBER: u32 = 6;

    /// `Callstack`
    pub(crate) const CALLSTACK_FRAME_IDS: u32 = 2;

    /// `Mapping`
    pub(crate) const MAPPING_PATH_STRING_IDS: u32 = 7;
}

/// `TrackDescriptor`
pub(crate) mod track {
    pub(crate) const UUID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT_UUID: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
    pub(crate) const CHILD_ORDERING: u32 = 11;
    pub(crate) const SIBLING_ORDER_RANK: u32 = 12;
    pub(crate) const SIBLING_MERGE_BEHAVIOR: u32 = 15;

    /// `ChildTracksOrdering.EXPLICIT`
    pub(crate) const EXPLICIT: u64 = 3;
    /// `SiblingMergeBehavior.SIBLING_MERGE_BEHAVIOR_NONE`
    pub(crate) const MERGE_NONE: u64 = 2;
}

/// `ProcessDescriptor`
pub(crate) mod process {
    pub(crate) const PID: u32 = 1;
    pub(crate) const PROCESS_NAME: u32 = 6;
    pub(crate) const PROCESS_LABELS: u32 = 8;
}

/// `ThreadDescriptor`
pub(crate) mod thread {
    pub(crate) const PID: u32 = 1;
    pub(crate) const TID: u32 = 2;
    pub(crate) const THREAD_NAME: u32 = 5;
}

/// `CounterDescriptor`
pub(crate) mod counter {
    pub(crate) const UNIT: u32 = 3;
    pub(crate) const UNIT_NAME: u32 = 6;

    /// `Unit.UNIT_COUNT`
    pub(crate) const COUNT: u64 = 2;
}

/// `TrackEvent`
pub(crate) mod event {
    pub(crate) const CATEGORY_IIDS: u32 = 3;
    pub(crate) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_IID: u32 = 10;
    pub(crate) const TRACK_UUID: u32 = 11;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(crate) const FLOW_IDS: u32 = 47;
    pub(crate) const TERMINATING_FLOW_IDS: u32 = 48;

    /// `Type`
    pub(crate) const SLICE_BEGIN: u64 = 1;
    pub(crate) const SLICE_END: u64 = 2;
    pub(crate) const INSTANT: u64 = 3;
    pub(crate) const COUNTER: u64 = 4;
}

/// `PerfSample`
pub(crate) mod sample {
    pub(crate) const PID: u32 = 2;
    pub(crate) const TID: u32 = 3;
    pub(crate) const CALLSTACK_IID: u32 = 4;
}

/// `DebugAnnotation`
pub(crate) mod annotation {
    pub(crate) const NAME_IID: u32 = 1;
    pub(crate) const BOOL_VALUE: u32 = 2;
    pub(crate) const UINT_VALUE: u32 = 3;
    pub(crate) const DOUBLE_VALUE: u32 = 5;
    pub(crate) const ARRAY_VALUES: u32 = 12;
    pub(crate) const STRING_VALUE_IID: u32 = 17;
}
