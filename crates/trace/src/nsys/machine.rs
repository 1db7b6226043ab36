//! What an export says about the machine it was recorded on.

use super::loss::Losses;
use super::tables::each;
use crate::names::cuda_version;
use crate::sqlite::{Database, Finder};

/// Rows of `TARGET_INFO_SYSTEM_ENV` that matter to people, and their titles.
const FACTS: [(&str, &str); 6] = [
    ("Hostname", "host"),
    ("CpuDescription", "processor"),
    ("CpuCores", "cores"),
    ("OsDescription", "system"),
    ("NvDriverVersion", "driver"),
    ("CudaDriverVersion", "CUDA driver"),
];

/// Names and values, in the order of [`FACTS`], then the GPUs.
pub(super) fn machine(database: &Database, losses: &mut Losses) -> Vec<(String, String)> {
    let mut found: [Option<String>; FACTS.len()] = Default::default();
    let columns = |find: &mut Finder<'_>| (find.text("name"), find.text("value"));
    each(database, "TARGET_INFO_SYSTEM_ENV", losses, columns, |row, (name, value)| {
        let name = row.string(*name).unwrap_or_default();
        if let Some(at) = FACTS.iter().position(|(fact, _)| *fact == name) {
            found[at] = found[at].take().or_else(|| row.string(*value).filter(|value| !value.is_empty()));
        }
    });
    let mut machine: Vec<(String, String)> = FACTS
        .iter()
        .zip(found)
        .filter_map(|((fact, called), value)| {
            let value = value?;
            let value = if *fact == "CudaDriverVersion" { cuda_version_of(&value) } else { value };
            Some(((*called).to_owned(), value))
        })
        .collect();
    machine.extend(gpus(database));
    machine
}

fn gpus(database: &Database) -> Vec<(String, String)> {
    let mut gpus = Vec::new();
    let columns = |find: &mut Finder<'_>| {
        (find.integer("id"), find.text("name"), find.integer("totalMemory"), find.integer("smCount"))
    };
    // Who reads the devices from it says what is lost.
    let mut told_elsewhere = Losses::new();
    each(database, "TARGET_INFO_GPU", &mut told_elsewhere, columns, |row, (id, name, memory, sms)| {
        let Some(name) = row.string(*name) else { return };
        let memory = row.integer(*memory).filter(|bytes| *bytes > 0);
        let memory = memory.map(|bytes| format!(", {:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        let sms = row.integer(*sms).filter(|count| *count > 0).map(|count| format!(", {count} SMs"));
        let value = format!("{name}{}{}", memory.unwrap_or_default(), sms.unwrap_or_default());
        gpus.push((format!("GPU {}", row.integer(*id).unwrap_or(0)), value));
    });
    gpus
}

/// A number, or a text that says it already.
fn cuda_version_of(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), cuda_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(["12040", "11080", "12.4"].map(cuda_version_of), ["12.4", "11.8", "12.4"]);
    }
}
