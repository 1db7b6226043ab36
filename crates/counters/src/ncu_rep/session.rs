//! `ReportSessionDetails`: each block may bring a part of it.

use super::budget::Budget;
use super::fault::Fault;
use super::metrics::value;
use super::wire::Wire;
use crate::model::{Device, Session};

#[derive(Debug, Default)]
pub(super) struct SessionParts {
    session: Session,
    process: Option<u32>,
}

impl SessionParts {
    pub(super) fn add(&mut self, details: Wire<'_>, budget: &mut Budget) -> Result<(), Fault> {
        let session = &mut self.session;
        let mut fields = details.message();
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => self.process = value.small(),
                2 => session.created = value.integer(),
                6 => {
                    let device = device(value, budget)?;
                    let known = session.devices.iter().any(|other| other.id == device.id);
                    // No machine has more; a made-up list must not be searched for ever.
                    if !known && session.devices.len() < 256 {
                        budget.push(&mut session.devices, device)?;
                    }
                }
                8 => match version(value, budget)? {
                    (provider, version) if provider == "CUDA Version" => session.cuda_version = Some(version),
                    (provider, version) if provider.starts_with("Nsight Compute") => {
                        session.ncu_version = Some(version);
                    }
                    _ => {}
                },
                10 => session.replay_mode = replay_mode(value, budget)?,
                11 => session.command = Some(budget.text(value)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// The session, and the process of the results that name none.
    pub(super) fn finish(mut self) -> (Session, Option<u32>) {
        if self.session.replay_mode.is_none() {
            self.session.replay_mode = self.session.command.as_deref().and_then(asked_for);
        }
        (self.session, self.process)
    }
}

/// Newer versions store the command line and leave the settings out.
fn asked_for(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    words.by_ref().find_map(|word| word.strip_prefix("--replay-mode")).and_then(|rest| {
        let mode = rest.strip_prefix('=').or_else(|| if rest.is_empty() { words.next() } else { None });
        mode.map(str::to_owned)
    })
}

fn device(message: Wire<'_>, budget: &mut Budget) -> Result<Device, Fault> {
    let mut device = Device { id: 0, name: String::new(), attributes: Vec::new() };
    let mut fields = message.message();
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => device.id = field.small().unwrap_or(0),
            2 => device.name = budget.text(field)?,
            3 => {
                let (mut name, mut attribute) = (String::new(), None);
                let mut fields = field.message();
                while let Some((number, field)) = fields.next()? {
                    match number {
                        1 => name = budget.text(field)?,
                        2 => attribute = value(field, budget)?,
                        _ => {}
                    }
                }
                if let Some(attribute) = attribute {
                    budget.push(&mut device.attributes, (name, attribute))?;
                }
            }
            _ => {}
        }
    }
    Ok(device)
}

fn version(message: Wire<'_>, budget: &mut Budget) -> Result<(String, String), Fault> {
    let mut texts = [String::new(), String::new()];
    let mut fields = message.message();
    while let Some((number, value)) = fields.next()? {
        if let Some(text) = (number as usize).checked_sub(1).and_then(|at| texts.get_mut(at)) {
            *text = budget.text(value)?;
        }
    }
    Ok(texts.into())
}

fn replay_mode(settings: Wire<'_>, budget: &mut Budget) -> Result<Option<String>, Fault> {
    let mut fields = settings.message();
    let mut mode = None;
    while let Some((number, value)) = fields.next()? {
        if number == 11 {
            mode = Some(budget.text(value)?);
        }
    }
    Ok(mode)
}

#[cfg(test)]
mod tests {
    use super::asked_for;

    #[test]
    fn replay_mode_of_a_command() {
        assert_eq!(asked_for("ncu --nvtx --replay-mode app-range ./toy").as_deref(), Some("app-range"));
        assert_eq!(asked_for("ncu --replay-mode=range ./toy").as_deref(), Some("range"));
        assert_eq!(asked_for("ncu --nvtx ./toy"), None);
        assert_eq!(asked_for("ncu --replay-mode"), None);
    }
}
