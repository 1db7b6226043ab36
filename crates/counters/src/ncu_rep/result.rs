//! One result: a kernel, a range, a graph or a list of commands.

use std::sync::Arc;

use super::block::Kind;
use super::budget::Budget;
use super::fault::Fault;
use super::metrics::metric;
use super::ranges;
use super::rules::rule;
use super::wire::{Fields, Wire};
use crate::kernel_name::without_casts;
use crate::model::{Kernel, Measured, Process, Section, Subject};

/// Where a kind of result has the fields that all kinds have.
struct Layout {
    metrics: u32,
    sections: u32,
    rules: u32,
    nvtx: u32,
    context: u32,
    stream: Option<u32>,
}

/// `ProfileResult`.
const KERNEL: Layout =
    Layout { metrics: 13, sections: 17, rules: 19, nvtx: 21, context: 22, stream: Some(23) };
/// `RangeResult`.
const RANGE: Layout = Layout { metrics: 4, sections: 7, rules: 20, nvtx: 10, context: 11, stream: None };
/// `CmdlistResult`.
const COMMAND_LIST: Layout =
    Layout { metrics: 4, sections: 7, rules: 21, nvtx: 10, context: 11, stream: Some(12) };
/// `GraphResult`.
const GRAPH: Layout = Layout { metrics: 4, sections: 7, rules: 22, nvtx: 10, context: 11, stream: Some(12) };

/// The names of its metrics are still places in the table of strings.
pub(super) fn result(
    bytes: &[u8],
    kind: Kind,
    process: &Arc<Process>,
    budget: &mut Budget,
) -> Result<Measured, Fault> {
    let layout = match kind {
        Kind::Kernel => &KERNEL,
        Kind::Range => &RANGE,
        Kind::CommandList => &COMMAND_LIST,
        Kind::Graph => &GRAPH,
    };
    let mut measured = Measured::new(Subject::Range, process.clone());
    let (mut kernel, mut command_list) = (Kernel::default(), String::new());
    let mut fields = Fields::of(bytes);
    while let Some((number, field)) = fields.next()? {
        if number == layout.metrics {
            let metric = metric(field, budget)?;
            budget.push(&mut measured.metrics, metric)?;
        } else if number == 1 {
            measured.thread = field.small();
        } else if number == layout.sections {
            let section = section(field, budget)?;
            budget.push(&mut measured.sections, section)?;
        } else if number == layout.rules {
            let rule = rule(field, budget)?;
            // Rules that were asked and had nothing to say are of no use.
            if !(rule.messages.is_empty() && rule.focus.is_empty()) {
                budget.push(&mut measured.rules, rule)?;
            }
        } else if number == layout.nvtx {
            measured.nvtx = ranges::state(field, budget)?;
        } else if number == layout.context {
            measured.context = field.small();
        } else if Some(number) == layout.stream {
            kernel.stream = field.small();
        } else if kind == Kind::Kernel {
            kernel_field(number, field, &mut kernel, budget)?;
        } else if kind == Kind::CommandList && number == 18 {
            command_list = budget.text(field)?;
        }
    }
    // Every kind must say which thread it belongs to: zeros are not a result.
    if measured.thread.is_none() {
        return Err(Fault::Broken);
    }
    // Kernels that are not C++ are named only once.
    if kernel.name.is_empty() {
        kernel.name = [&kernel.mangled, &kernel.short_name]
            .into_iter()
            .find(|name| !name.is_empty())
            .cloned()
            .unwrap_or_default();
    }
    measured.subject = match kind {
        Kind::Kernel => Subject::Kernel(kernel),
        Kind::Range => Subject::Range,
        Kind::CommandList => Subject::CommandList { name: command_list, stream: kernel.stream },
        Kind::Graph => Subject::Graph { stream: kernel.stream },
    };
    budget.spend(size_of::<Measured>())?;
    Ok(measured)
}

fn kernel_field(number: u32, field: Wire<'_>, kernel: &mut Kernel, budget: &mut Budget) -> Result<(), Fault> {
    match number {
        5 => kernel.mangled = budget.text(field)?,
        6 => kernel.short_name = budget.text(field)?,
        7 => kernel.name = without_casts(&budget.text(field)?),
        10 => kernel.grid = dimensions(field)?,
        11 => kernel.block = dimensions(field)?,
        _ => {}
    }
    Ok(())
}

/// `Uint64x3`.
fn dimensions(message: Wire<'_>) -> Result<[u64; 3], Fault> {
    let mut sizes = [0; 3];
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        if let Some(size) = (number as usize).checked_sub(1).and_then(|at| sizes.get_mut(at)) {
            *size = field.integer().unwrap_or(0);
        }
    }
    Ok(sizes)
}

fn section(message: Wire<'_>, budget: &mut Budget) -> Result<Section, Fault> {
    let mut section = Section { identifier: String::new(), name: String::new() };
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => section.identifier = budget.text(field)?,
            2 => section.name = budget.text(field)?,
            _ => {}
        }
    }
    Ok(section)
}
