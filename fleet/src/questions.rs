//! Questions that many have, as SQL with a name.

/// A question, and what is done with the rows that answer it.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    pub name: &'static str,
    pub sql: &'static str,
    /// The rows are values over time, in which changes are looked for.
    pub over_time: bool,
}

macro_rules! question {
    ($name:literal) => {
        Question { name: $name, sql: include_str!(concat!("../questions/", $name, ".sql")), over_time: false }
    };
}

pub const ALL: [Question; 6] = [
    question!("top-kernels"),
    question!("kernel-times"),
    Question { over_time: true, ..question!("regressions-over-time") },
    question!("stragglers-by-node"),
    question!("gpu-hours-by-cause"),
    question!("throttling"),
];

impl Question {
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|question| question.name == name)
    }

    /// The sentence that its file begins with.
    pub fn about(&self) -> &'static str {
        self.sql.lines().next().unwrap_or_default().trim_start_matches("-- ")
    }
}

/// All of them, a line each.
pub fn list() -> String {
    ALL.iter().map(|question| format!("  {:<22} {}\n", question.name, question.about())).collect()
}
