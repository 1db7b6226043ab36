//! `RuleResult`: what ncu's own rules said.

use super::budget::Budget;
use super::fault::Fault;
use super::wire::Wire;
use crate::model::{FocusMetric, MessageKind, Rule, RuleMessage, Severity, Speedup, SpeedupKind};

pub(super) fn rule(message: Wire<'_>, budget: &mut Budget) -> Result<Rule, Fault> {
    let mut rule = Rule {
        identifier: String::new(),
        name: String::new(),
        section: None,
        messages: Vec::new(),
        speedup: None,
        focus: Vec::new(),
    };
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => rule.identifier = budget.text(field)?,
            2 => rule.name = budget.text(field)?,
            3 => {
                let mut items = field.message();
                while let Some((number, field)) = items.next()? {
                    if number == 1 {
                        item(field, &mut rule, budget)?;
                    }
                }
            }
            4 => rule.section = Some(budget.text(field)?),
            _ => {}
        }
    }
    Ok(rule)
}

/// `RuleResultBodyItem`: its tables and charts are for ncu's own window.
fn item(message: Wire<'_>, rule: &mut Rule, budget: &mut Budget) -> Result<(), Fault> {
    let mut said = None;
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => said = Some(rule_message(field, budget)?),
            8 => {
                let metric = focus(field, budget)?;
                budget.push(&mut rule.focus, metric)?;
            }
            10 => rule.speedup = Some(speedup(field)?),
            _ => {}
        }
    }
    if let Some(said) = said {
        budget.push(&mut rule.messages, said)?;
    }
    Ok(())
}

fn rule_message(message: Wire<'_>, budget: &mut Budget) -> Result<RuleMessage, Fault> {
    let mut said = RuleMessage { kind: MessageKind::None, title: None, text: String::new() };
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => said.text = budget.text(field)?,
            2 => {
                said.kind = match field.integer() {
                    Some(1) => MessageKind::Ok,
                    Some(2) => MessageKind::Warning,
                    Some(3) => MessageKind::Error,
                    Some(4) => MessageKind::Optimization,
                    _ => MessageKind::None,
                }
            }
            4 => said.title = Some(budget.text(field)?),
            _ => {}
        }
    }
    Ok(said)
}

fn focus(message: Wire<'_>, budget: &mut Budget) -> Result<FocusMetric, Fault> {
    let mut metric =
        FocusMetric { name: String::new(), value: 0.0, severity: Severity::Default, info: String::new() };
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            2 => metric.name = budget.text(field)?,
            3 => metric.value = field.double().unwrap_or(0.0),
            4 => {
                metric.severity = match field.integer() {
                    Some(1) => Severity::Low,
                    Some(2) => Severity::High,
                    _ => Severity::Default,
                }
            }
            5 => metric.info = budget.text(field)?,
            _ => {}
        }
    }
    Ok(metric)
}

fn speedup(message: Wire<'_>) -> Result<Speedup, Fault> {
    let mut speedup = Speedup { kind: SpeedupKind::Unknown, percent: 0.0 };
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => {
                speedup.kind = match field.integer() {
                    Some(1) => SpeedupKind::Local,
                    Some(2) => SpeedupKind::Global,
                    _ => SpeedupKind::Unknown,
                }
            }
            2 => speedup.percent = field.double().unwrap_or(0.0),
            _ => {}
        }
    }
    Ok(speedup)
}
