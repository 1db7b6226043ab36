//! Why a program could not be run to its end.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    #[error("cannot start `{program}`: {}", why_not(source))]
    NotStarted { program: String, source: io::Error },
    #[error("cannot start `{program}`: the working directory `{}` does not exist", cwd.display())]
    NoDirectory { program: String, cwd: PathBuf },
    #[error("cannot write `{}`: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    #[error("cannot supervise `{program}`: {source}")]
    Setup { program: String, source: io::Error },
    #[error("`{program}` could not be killed: {who} (no permission, or stuck in the kernel)")]
    Unkillable { program: String, who: String },
    #[error("the guardian of `{program}` was killed from outside; all it had started was ended")]
    GuardianLost { program: String },
}

/// The program itself was found before, so a missing file is one it needs.
fn why_not(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "the interpreter or loader it names does not exist".to_owned(),
        _ => source.to_string(),
    }
}
