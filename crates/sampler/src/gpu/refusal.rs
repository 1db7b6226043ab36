//! Why CUPTI does not sample.

use trace::Trouble;

use super::abi::result;

/// A call that failed: which, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) trouble: Trouble,
    pub(crate) said: String,
}

impl Refusal {
    pub(crate) fn new(trouble: Trouble, said: impl Into<String>) -> Self {
        Self { trouble, said: said.into() }
    }

    /// A `CUptiResult` other than success, with its name if the library gave one.
    pub(crate) fn of_result(function: &str, code: i32, name: Option<&str>) -> Self {
        let said = match name {
            Some(name) => format!("{function}: {name}"),
            None => format!("{function}: error {code}"),
        };
        Self { trouble: trouble(code), said }
    }

    pub(crate) fn is_overrun(&self) -> bool {
        self.trouble == Trouble::Overrun
    }
}

fn trouble(code: i32) -> Trouble {
    match code {
        result::OUT_OF_MEMORY => Trouble::Overrun,
        result::HARDWARE_BUSY => Trouble::Busy,
        result::PRIVILEGES | result::VIRTUALIZED_PRIVILEGES => Trouble::AdminOnly,
        result::NOT_SUPPORTED | result::VIRTUALIZED | result::CONFIDENTIAL | result::MIG | result::WSL => {
            Trouble::NotOnThisGpu
        }
        result::CHIP_NAME => Trouble::UnknownChip,
        _ => Trouble::Other,
    }
}
