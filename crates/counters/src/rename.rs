//! Replaces names everywhere in a report.

use std::sync::Arc;

use crate::model::{Kernel, Report, Subject, Value};
use crate::nvtx_state::{NvtxState, Payload};

impl Report {
    /// Every text of the program's own: names of kernels, ranges, domains.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.results.iter().flat_map(|result| {
            let kernel = result.subject.name().into_iter();
            let stacks = result.nvtx.threads.iter().flat_map(|thread| &thread.stacks);
            let pushed = stacks.flat_map(|(domain, stack)| {
                std::iter::once(domain.as_str()).chain(stack.iter().map(|range| range.name.as_str()))
            });
            let started = result.nvtx.started.iter();
            let started = started.flat_map(|(domain, range)| [domain.as_str(), range.name.as_str()]);
            kernel.chain(pushed).chain(started)
        })
    }

    /// `renamed` says what to call a text from now on; none leaves it as it is.
    pub fn rename(&mut self, mut renamed: impl FnMut(&str) -> Option<String>) {
        let mut rename = |text: &mut String| {
            if let Some(other) = renamed(text) {
                *text = other;
            }
        };
        for result in &mut self.results {
            match &mut result.subject {
                Subject::Kernel(Kernel { name, short_name, mangled, .. }) => {
                    [name, short_name, mangled].into_iter().for_each(&mut rename);
                }
                Subject::CommandList { name, .. } => rename(name),
                Subject::Range | Subject::Graph { .. } => {}
            }
            let mut process = result.process.name.clone();
            rename(&mut process);
            if process != result.process.name {
                Arc::make_mut(&mut result.process).name = process;
            }
            rename_ranges(&mut result.nvtx, &mut rename);
            for metric in &mut result.metrics {
                if let Some(Value::Text(text)) = &mut metric.value {
                    let mut owned = text.to_string();
                    rename(&mut owned);
                    *text = owned.into_boxed_str();
                }
            }
        }
        self.session.command.iter_mut().for_each(&mut rename);
        self.notes.iter_mut().for_each(&mut rename);
    }
}

fn rename_ranges(nvtx: &mut NvtxState, rename: &mut impl FnMut(&mut String)) {
    let stacks = nvtx.threads.iter_mut().flat_map(|thread| &mut thread.stacks);
    for (domain, stack) in stacks {
        rename(domain);
        stack.iter_mut().for_each(|range| rename_range(range, rename));
    }
    for (domain, range) in &mut nvtx.started {
        rename(domain);
        rename_range(range, rename);
    }
}

fn rename_range(range: &mut crate::NvtxRange, rename: &mut impl FnMut(&mut String)) {
    rename(&mut range.name);
    if let Some(Payload::Text(text)) = &mut range.payload {
        rename(text);
    }
}
