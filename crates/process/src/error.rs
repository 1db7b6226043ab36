//! Why a program could not be run to its end.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    #[error("cannot start `{program}`: {}", why_not(error))]
    NotStarted { program: String, error: io::Error },
    #[error("cannot start `{program}`: the working directory `{}` does not exist", cwd.display())]
    NoDirectory { program: String, cwd: PathBuf },
    #[error("cannot write `{}`: {error}", path.display())]
    Log { path: PathBuf, error: io::Error },
    #[error("cannot supervise `{program}`: {error}")]
    Setup { program: String, error: io::Error },
    #[error(
        "something else already answers at {url}: the load would reach that, not `{program}`\nhint: end the other server, or use another port"
    )]
    Taken { program: String, url: String },
    #[error("`{program}` could not be killed: {who} (no permission, or stuck in the kernel)")]
    Unkillable { program: String, who: String },
    #[error("the process that supervised `{program}` was killed; everything it had started was terminated")]
    GuardianLost { program: String },
}

impl SuperviseError {
    /// Whether the program may have done anything.
    pub fn was_started(&self) -> bool {
        matches!(self, Self::Unkillable { .. } | Self::GuardianLost { .. })
    }
}

/// The program itself was found before, so a missing file is one it needs.
fn why_not(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "its interpreter or loader does not exist".to_owned(),
        _ => error.to_string(),
    }
}
