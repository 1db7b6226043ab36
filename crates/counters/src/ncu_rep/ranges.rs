//! `NvtxState`: the ranges that were open.

use std::collections::HashMap;

use super::budget::Budget;
use super::fault::Fault;
use super::wire::{Fields, Wire};
use crate::nvtx_state::{DEFAULT_DOMAIN, NvtxRange, NvtxState, NvtxThread, Payload};

/// Names of domains by their ids.
struct Domains {
    names: HashMap<u64, String>,
}

pub(super) fn state(message: Wire<'_>, budget: &mut Budget) -> Result<NvtxState, Fault> {
    let mut domains = Domains { names: HashMap::new() };
    let mut default = None;
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => domains.add(field, budget)?,
            4 => default = field.integer(),
            _ => {}
        }
    }
    if let Some(default) = default {
        domains.names.insert(default, String::new());
    }
    let mut state = NvtxState::default();
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            2 => {
                let thread = thread(field, &domains, budget)?;
                budget.push(&mut state.threads, thread)?;
            }
            3 => started(field, &domains, &mut state.started, budget)?,
            _ => {}
        }
    }
    Ok(state)
}

impl Domains {
    fn add(&mut self, message: Wire<'_>, budget: &mut Budget) -> Result<(), Fault> {
        let (mut id, mut name) = (0, String::new());
        let mut fields = message.message();
        while let Some((number, field)) = fields.next()? {
            match number {
                1 => id = field.integer().unwrap_or(0),
                2 => name = budget.text(field)?,
                _ => {}
            }
        }
        if name == DEFAULT_DOMAIN {
            name.clear();
        }
        budget.spend(size_of::<(u64, String)>())?;
        self.names.insert(id, name);
        Ok(())
    }

    /// A domain that the file does not name is called by its number.
    fn name(&self, id: u64, budget: &mut Budget) -> Result<String, Fault> {
        let name = self.names.get(&id).cloned().unwrap_or_else(|| format!("domain {id}"));
        budget.spend(name.len())?;
        Ok(name)
    }
}

fn thread(message: Wire<'_>, domains: &Domains, budget: &mut Budget) -> Result<NvtxThread, Fault> {
    let mut thread = NvtxThread { id: 0, stacks: Vec::new() };
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => thread.id = field.small().unwrap_or(0),
            2 => {
                let mut stack = Vec::new();
                let id = domain(
                    field,
                    |field, budget| {
                        let range = range(field.message(), &PUSH_POP, budget)?;
                        budget.push(&mut stack, range)
                    },
                    budget,
                )?;
                if !stack.is_empty() {
                    let name = domains.name(id, budget)?;
                    budget.push(&mut thread.stacks, (name, stack))?;
                }
            }
            _ => {}
        }
    }
    Ok(thread)
}

fn started(
    message: Wire<'_>,
    domains: &Domains,
    started: &mut Vec<(String, NvtxRange)>,
    budget: &mut Budget,
) -> Result<(), Fault> {
    let mut ranges = Vec::new();
    let id = domain(
        message,
        |field, budget| {
            let range = range(field.message(), &START_END, budget)?;
            budget.push(&mut ranges, range)
        },
        budget,
    )?;
    for range in ranges {
        let name = domains.name(id, budget)?;
        budget.push(started, (name, range))?;
    }
    Ok(())
}

/// `NvtxPushPopDomain` and `NvtxStartEndDomain`: the ranges of one domain, and its id.
fn domain<'a>(
    message: Wire<'a>,
    mut range: impl FnMut(Wire<'a>, &mut Budget) -> Result<(), Fault>,
    budget: &mut Budget,
) -> Result<u64, Fault> {
    let mut id = 0;
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => id = field.integer().unwrap_or(0),
            3 => range(field, budget)?,
            _ => {}
        }
    }
    Ok(id)
}

/// Where a kind of range has its fields; 0 where it has none.
struct Layout {
    id: u32,
    name: u32,
    attributes: u32,
    thread: u32,
}

const PUSH_POP: Layout = Layout { id: 0, name: 1, attributes: 2, thread: 0 };
const START_END: Layout = Layout { id: 1, name: 2, attributes: 3, thread: 5 };

fn range(mut fields: Fields<'_>, layout: &Layout, budget: &mut Budget) -> Result<NvtxRange, Fault> {
    let mut range = NvtxRange::default();
    while let Some((number, field)) = fields.next()? {
        if number == layout.id {
            range.id = field.integer();
        } else if number == layout.name {
            range.name = budget.text(field)?;
        } else if number == layout.attributes {
            attributes(field, &mut range, budget)?;
        } else if number == layout.thread {
            range.thread = field.small();
        }
    }
    Ok(range)
}

/// `NvtxEventAttributes`.
fn attributes(message: Wire<'_>, range: &mut NvtxRange, budget: &mut Budget) -> Result<(), Fault> {
    const ARGB: u64 = 1;
    const REGISTERED: u64 = 3;
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            2 => range.category = field.small().filter(|category| *category != 0),
            3 => {
                if let [Some(ARGB), Some(color)] = numbers(field, [1, 2])? {
                    range.color = Some(color as u32);
                }
            }
            4 => range.payload = payload(field, budget)?,
            5 => range.registered = numbers(field, [1])? == [Some(REGISTERED)],
            _ => {}
        }
    }
    Ok(())
}

/// Whole numbers of a message, by their fields.
fn numbers<const N: usize>(message: Wire<'_>, wanted: [u32; N]) -> Result<[Option<u64>; N], Fault> {
    let mut found = [None; N];
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        if let Some(at) = wanted.iter().position(|wanted| *wanted == number) {
            found[at] = field.integer();
        }
    }
    Ok(found)
}

/// `NvtxPayload`: the type says which of the values counts.
fn payload(message: Wire<'_>, budget: &mut Budget) -> Result<Option<Payload>, Fault> {
    let [kind] = numbers(message, [1])?;
    // By type: 64 bits with and without a sign, double, 32 bits, float, JSON.
    let Some(wanted) = kind.filter(|kind| (1..=7).contains(kind)) else { return Ok(None) };
    let mut found = None;
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        if u64::from(number) != wanted + 1 {
            continue;
        }
        found = match number {
            2 => field.integer().map(Payload::Unsigned),
            3 => field.integer().map(|value| Payload::Signed(value as i64)),
            4 => field.double().map(Payload::Float),
            5 => field.small().map(|value| Payload::Unsigned(value.into())),
            6 => field.small().map(|value| Payload::Signed((value as i32).into())),
            7 => field.float().map(Payload::Float),
            _ => Some(Payload::Text(budget.text(field)?)),
        };
    }
    Ok(found)
}
