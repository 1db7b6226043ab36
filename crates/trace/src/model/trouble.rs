//! Why something was not sampled.

macro_rules! troubles {
    ($($(#[$meta:meta])* $Trouble:ident = $number:literal;)+) => {
        /// Why something was not sampled. Its number is the one in files: never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Trouble {
            $($(#[$meta])* $Trouble = $number,)+
        }

        impl Trouble {
            pub const ALL: &[Self] = &[$(Self::$Trouble),+];
        }
    };
}

troubles! {
    /// No libcupti was found, or it cannot be loaded.
    NoCupti = 1;
    /// This libcupti cannot sample: it is older than CUDA 12.6.
    OldCupti = 2;
    /// The system gives the counters only to an administrator.
    AdminOnly = 3;
    /// Another profiler has the counters.
    Busy = 4;
    /// The GPU is divided (MIG), or otherwise cannot be sampled.
    NotOnThisGpu = 5;
    /// The library does not know this GPU.
    UnknownChip = 6;
    /// Some quantities were left out because the GPU cannot count them at once.
    Reduced = 7;
    /// Nothing came although sampling was on.
    NoSamples = 8;
    /// The samples came faster than they could be read.
    Overrun = 9;
    /// NVML is missing or refused something.
    NoNvml = 10;
    /// The stacks of a process may not be read.
    NoStacks = 11;
    /// Something else: the text says it.
    Other = 12;
    /// Some samples of stacks were left out, because they would have cost too much.
    FewerStacks = 13;
}

impl Trouble {
    pub(crate) fn from_number(number: u8) -> Self {
        Self::ALL.iter().copied().find(|trouble| *trouble as u8 == number).unwrap_or(Self::Other)
    }
}
