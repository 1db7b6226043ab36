//! `ProfileMetricResult` and the values in it.

use super::budget::Budget;
use super::fault::Fault;
use super::wire::Wire;
use crate::model::{Metric, Value};
use crate::names::MetricId;

/// A metric whose name is still a place in the table of strings.
pub(super) fn metric(message: Wire<'_>, budget: &mut Budget) -> Result<Metric, Fault> {
    let (mut name, mut metric_value, mut instances) = (None, None, 0u32);
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => name = field.small(),
            2 => metric_value = value(field, budget)?,
            3 => instances = instances.saturating_add(1),
            _ => {}
        }
    }
    let name = name.map(MetricId).ok_or(Fault::Broken)?;
    Ok(Metric { name, value: metric_value, instances })
}

/// `ProfileMetricValue`: one field per type, only one of which is set.
pub(super) fn value(message: Wire<'_>, budget: &mut Budget) -> Result<Option<Value>, Fault> {
    let mut found = None;
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        let value = match number {
            1 => Some(Value::Text(budget.text(field)?.into())),
            2 => field.float().map(Value::Float),
            3 => field.double().map(Value::Float),
            4 => field.small().map(u64::from).map(Value::Integer),
            5 => field.integer().map(Value::Integer),
            _ => None,
        };
        found = found.or(value);
    }
    Ok(found)
}
