//! The tables that programs get.

use super::graphs::{captured, cuda_graphs};
use super::hardware::{hardware_kernels, hardware_regions, host_lines};
use super::kernels::{kernels, steady_kernels};
use super::rank_verdicts::rank_verdict_table;
use super::ranks::{balance, collectives, ranks};
use super::requests::{batches, phases, request_times, requests};
use super::table::Tabular;
use super::{
    bounds, calls, copies, counter_launches, counter_ranges, counter_regions, efficiency, findings, idle,
    operators, overhead, processes, regions, roofline, stages,
};
use crate::page::Page;

/// All that have rows.
pub(crate) fn of_programs<'p>(page: &Page<'p>) -> Vec<Box<dyn Tabular + 'p>> {
    let mut tables: Vec<Box<dyn Tabular + 'p>> = Vec::new();
    if let Some(analysis) = page.analysis {
        tables.extend([
            Box::new(kernels(page, analysis)) as Box<dyn Tabular + 'p>,
            Box::new(regions(page, analysis)),
            Box::new(captured(analysis)),
            Box::new(cuda_graphs(analysis)),
            Box::new(ranks(analysis)),
            Box::new(collectives(analysis)),
            Box::new(balance(analysis)),
            Box::new(request_times(analysis)),
            Box::new(requests(analysis)),
            Box::new(phases(analysis)),
            Box::new(batches(analysis)),
            Box::new(stages(analysis)),
            Box::new(operators(analysis)),
            Box::new(idle(page, analysis)),
            Box::new(copies(analysis)),
            Box::new(calls(analysis)),
            Box::new(hardware_regions(analysis)),
            Box::new(hardware_kernels(analysis)),
            Box::new(host_lines(analysis)),
        ]);
        let steady = steady_kernels(page, analysis);
        tables.extend(steady.map(|table| Box::new(table) as Box<dyn Tabular + 'p>));
    }
    tables.push(Box::new(rank_verdict_table(page)));
    tables.push(Box::new(processes(page)));
    let insight = page.insight;
    if let Some(joined) = &insight.joined {
        tables.push(Box::new(bounds(joined)));
    }
    tables.extend([
        Box::new(roofline(&insight.roofline)) as Box<dyn Tabular + 'p>,
        Box::new(efficiency(&insight.efficiency)),
        Box::new(findings(&insight.findings)),
        Box::new(overhead(&insight.overhead)),
    ]);
    if let Some(counters) = page.counters {
        tables.extend([
            Box::new(counter_regions(counters)) as Box<dyn Tabular + 'p>,
            Box::new(counter_ranges(counters)),
            Box::new(counter_launches(counters)),
        ]);
    }
    tables.retain(|table| table.len() > 0);
    tables
}
