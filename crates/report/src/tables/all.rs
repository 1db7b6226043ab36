//! The tables that programs get.

use super::table::Tabular;
use super::{
    bounds, calls, copies, counter_launches, counter_ranges, counter_regions, efficiency, findings as found,
    idle, kernels, operators, overhead, regions, roofline, stages,
};
use crate::page::Page;

/// All that have rows.
pub(crate) fn of_programs<'p>(page: &Page<'p>) -> Vec<Box<dyn Tabular + 'p>> {
    let mut tables: Vec<Box<dyn Tabular + 'p>> = Vec::new();
    if let Some(findings) = page.findings {
        tables.extend([
            Box::new(kernels(page, findings)) as Box<dyn Tabular + 'p>,
            Box::new(regions(page, findings)),
            Box::new(stages(findings)),
            Box::new(operators(findings)),
            Box::new(idle(page, findings)),
            Box::new(copies(findings)),
            Box::new(calls(findings)),
        ]);
    }
    let insight = page.insight;
    if let Some(joined) = &insight.joined {
        tables.push(Box::new(bounds(joined)));
    }
    tables.extend([
        Box::new(roofline(&insight.roofline)) as Box<dyn Tabular + 'p>,
        Box::new(efficiency(&insight.efficiency)),
        Box::new(found(&insight.findings)),
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
