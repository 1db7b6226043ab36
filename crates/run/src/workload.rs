//! The workload as started in one pass: argv, directory, environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::config::{Config, Text};
use crate::helper;
use crate::nearest::nearest;
use crate::rundir::WriteError;

/// Set by other profilers; with one of these a capture of ours may see nothing.
const RESERVED: [&str; 2] = ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"];
const RESERVED_PREFIX: &str = "NSYS_";

/// A socket in `TMPDIR` must fit 108 bytes with what programs append to it.
const LONGEST_TMPDIR: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error("no workload given\nhint: put it at the end, after `--`: `-- python infer.py`")]
    None,
    #[error("program `{program}` not found on the PATH{}", hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
    NotOnPath { program: String, hint: Option<String> },
    #[error("`{program}` is a folder, not a program")]
    IsFolder { program: String },
    #[error("program `{program}` not found")]
    NoSuchFile { program: String },
    #[error("there is no file `{script}` for Python to run{}", hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
    NoScript { script: String, hint: Option<String> },
    #[error("`{program}` is not executable\nhint: start it through its interpreter, or `chmod +x {program}`")]
    NotExecutable { program: String },
    #[error("`workload.module` needs `python` or `python3` on the PATH, but neither was found")]
    NoPython,
    #[error("`workload.env`: invalid variable `{name}`: {why}")]
    Variable { name: String, why: &'static str },
    #[error("`capture.stop_command`: {0}")]
    StopCommand(Box<WorkloadError>),
    #[error("`capture.load`: {0}")]
    Load(Box<WorkloadError>),
    #[error("`workload.cwd`: directory `{}` not found", cwd.display())]
    NoDirectory { cwd: PathBuf },
    #[error("the path of {what} is not UTF-8: `{}`\nhint: {hint}", path.display())]
    NotUtf8 { what: &'static str, path: PathBuf, hint: &'static str },
}

/// A workload that can be started.
#[derive(Debug, Clone)]
pub struct Workload {
    argv: Vec<OsString>,
    hydra: bool,
    overrides: Vec<String>,
    pub cwd: PathBuf,
    /// Ranges around what frameworks do, without changing the program.
    auto: bool,
    /// Whether its temporary files lie where they always do: ranks of one program may meet there.
    pub(crate) keeps_tmpdir: bool,
    /// Where to note that it was started: a rank is started once, by whatever tool.
    pub(crate) started: Option<PathBuf>,
    /// Variables to set (or unset) in every pass.
    variables: Vec<(String, Option<String>)>,
}

impl Workload {
    /// Checks everything that can be checked before anything runs. `command` is the argv from the command
    /// line, if any.
    pub fn new(config: &Config, command: &[OsString], here: &Path) -> Result<Self, WorkloadError> {
        let workload = &config.workload;
        let cwd = match &workload.cwd {
            Some(cwd) => here.join(&cwd.0),
            None => here.to_owned(),
        };
        if !cwd.is_dir() {
            return Err(WorkloadError::NoDirectory { cwd });
        }
        let argv: Vec<OsString> = match &workload.module {
            Some(module) => {
                let python =
                    ["python", "python3"].into_iter().find(|name| on_path(OsStr::new(name)).is_some());
                let python = python.ok_or(WorkloadError::NoPython)?;
                vec![python.into(), "-m".into(), module.0.clone().into()]
            }
            None if !command.is_empty() => command.to_vec(),
            None => workload.command.iter().map(OsString::from).collect(),
        };
        let path = match workload.env.get("PATH") {
            Some(path) => path.as_ref().map(|path| OsString::from(&path.0)),
            None => std::env::var_os("PATH"),
        };
        check_program(argv.first().ok_or(WorkloadError::None)?, &cwd, path.as_deref())?;
        check_script(&argv, &cwd)?;
        if let Some(program) = config.capture.stop_command.first() {
            check_program(program.as_ref(), &cwd, path.as_deref())
                .map_err(|error| WorkloadError::StopCommand(Box::new(error)))?;
        }
        if let Some(program) = config.capture.load.first() {
            check_program(program.as_ref(), &cwd, path.as_deref())
                .map_err(|error| WorkloadError::Load(Box::new(error)))?;
        }
        check_variables(&workload.env)?;
        let mut variables: Vec<(String, Option<String>)> = Vec::new();
        if let Some(device) = &workload.device {
            variables.push(("CUDA_VISIBLE_DEVICES".to_owned(), Some(device.0.clone())));
        }
        if let Some(warmup) = workload.warmup {
            variables.push(("RANGEFINDER_WARMUP".to_owned(), Some(warmup.to_string())));
        }
        for (name, value) in &workload.env {
            variables.push((name.clone(), value.as_ref().map(|value| value.0.clone())));
        }
        Ok(Self {
            argv,
            hydra: workload.hydra,
            overrides: workload.overrides.clone(),
            cwd,
            auto: workload.auto,
            keeps_tmpdir: false,
            started: None,
            variables,
        })
    }

    /// The name of the run: the program, or the script it interprets.
    pub fn name(&self) -> String {
        let file = |text: &OsString| {
            Path::new(text).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let program = self.argv.first().map(file).unwrap_or_default();
        if !is_python(&program) {
            return program;
        }
        match of_python(&self.argv) {
            Some(OfPython::Module(name) | OfPython::Script(name)) => file(name),
            None => program,
        }
    }

    /// It is the program that runs: the demo.
    pub(crate) fn is_ourselves(&self) -> bool {
        let Some(program) = self.argv.first() else { return false };
        let found = match Path::new(program).components().count() {
            1 => on_path(program),
            _ => Some(self.cwd.join(program)),
        };
        let found = found.and_then(|found| found.canonicalize().ok());
        found.is_some() && found == std::env::current_exe().ok().and_then(|ours| ours.canonicalize().ok())
    }

    /// The argv before anything is added for a pass.
    pub fn command_with_overrides(&self) -> Vec<OsString> {
        self.argv.iter().cloned().chain(self.overrides.iter().map(OsString::from)).collect()
    }

    /// The interpreter, if the workload is a Python program.
    pub fn python(&self) -> Option<PathBuf> {
        let is_interpreter = |word: &&OsString| {
            let name = Path::new(word).file_name();
            name.is_some_and(|name| is_python(&name.to_string_lossy()))
        };
        let program = self.argv.first()?;
        if is_interpreter(&program) {
            return Some(program.into());
        }
        let slash = program.as_bytes().contains(&b'/');
        let path = if slash { Some(self.cwd.join(program)) } else { on_path(program) };
        // Or something that starts it: `mpirun -n 4 python train.py`.
        let started = || self.argv.iter().skip(1).find(is_interpreter).map(PathBuf::from);
        path.as_deref().and_then(shebang_python).or_else(started)
    }

    /// The path of that interpreter. Links are not followed: a virtual environment is one.
    pub(crate) fn python_path(&self) -> Option<PathBuf> {
        let python = self.python()?;
        if python.as_os_str().as_bytes().contains(&b'/') {
            return Some(self.cwd.join(python));
        }
        let variable = self.variables.iter().rev().find(|(name, _)| name == "PATH");
        match variable.and_then(|(_, value)| value.as_ref()) {
            Some(path) => found_in(python.as_os_str(), Some(OsStr::new(path))),
            None => on_path(python.as_os_str()),
        }
    }

    /// The same workload with some of its settings changed: they come last, and win.
    pub(crate) fn changed(&self, settings: &BTreeMap<String, Text>) -> Self {
        let mut changed = self.clone();
        changed.overrides.extend(words_of(settings));
        changed
    }

    /// The argv of one pass. Our own Hydra settings come before the user's overrides, which therefore win.
    pub fn argv(&self, pass_folder: &Path) -> Vec<OsString> {
        let mut argv = self.argv.clone();
        if self.hydra {
            let at = argv.iter().skip(1).position(|argument| is_override(argument));
            let at = at.map_or(argv.len(), |at| at + 1);
            let folder = hydra_quoted(&pass_folder.to_string_lossy());
            let ours = [
                format!("hydra.run.dir={folder}"),
                "hydra.job.chdir=false".to_owned(),
                "hydra.output_subdir=null".to_owned(),
            ];
            argv.splice(at..at, ours.map(OsString::from));
        }
        argv.extend(self.overrides.iter().map(OsString::from));
        argv
    }

    /// Variables that differ from our own environment in this pass.
    pub fn variables(&self, pass: &str, pass_folder: &Path, tmpdir: &Path) -> Vec<(String, Option<String>)> {
        let mut variables = vec![
            ("RANGEFINDER_PASS".to_owned(), Some(pass.to_owned())),
            ("RANGEFINDER_PASS_DIR".to_owned(), Some(pass_folder.to_string_lossy().into_owned())),
        ];
        if !self.keeps_tmpdir {
            variables.insert(0, ("TMPDIR".to_owned(), Some(tmpdir.to_string_lossy().into_owned())));
        }
        variables.extend(self.variables.iter().cloned());
        variables
    }

    /// `PYTHONPATH` with the helper of a folder in it. None if that would be at the expense of what the program needs.
    pub(crate) fn with_helper(&self, helper: &Path, prepared: bool) -> Option<String> {
        let set = self.variables.iter().rev().find(|(name, _)| name == "PYTHONPATH");
        let before = match set {
            Some((_, value)) => value.clone(),
            None => match std::env::var_os("PYTHONPATH") {
                Some(path) => Some(path.into_string().ok()?),
                None => None,
            },
        };
        Some(helper::python_path(helper, before.as_deref(), prepared))
    }

    /// The same, with the helper importable by a Python program. `stage1` are the settings of the PyTorch
    /// profiler, in the pass that uses it.
    pub(crate) fn variables_with_helper(
        &self,
        pass: &str,
        pass_folder: &Path,
        tmpdir: &Path,
        purpose: Purpose,
    ) -> Vec<(String, Option<String>)> {
        let mut variables = self.variables(pass, pass_folder, tmpdir);
        // Next to `workload/`, where it stays, so that the command of a pass can be run again.
        let Some(folder) = pass_folder.ancestors().nth(2).map(|run| run.join(helper::FOLDER)) else {
            return variables;
        };
        let traced = matches!(purpose, Purpose::Traced { .. });
        let (look, stage1) = match purpose {
            Purpose::Plain => (false, None),
            Purpose::Traced { look } => (look, None),
            Purpose::Profile(settings) => (false, Some(settings)),
        };
        // The program also runs without it.
        if self.python().is_none() || helper::place(&folder).is_err() {
            return variables;
        }
        let prepared = self.auto || traced || stage1.is_some();
        let Some(path) = self.with_helper(&folder, prepared) else { return variables };
        variables.push(("PYTHONPATH".to_owned(), Some(path)));
        let on = |wanted: bool| wanted.then(|| "1".to_owned());
        let switches = [
            ("RANGEFINDER_AUTO", on(self.auto)),
            ("RANGEFINDER_LOOK", on(look)),
            ("RANGEFINDER_STAGE1", on(stage1.is_some())),
            ("RANGEFINDER_STAGE1_SETTINGS", stage1),
        ];
        // A setting that is off needs a variable only if the environment turns it on.
        let told =
            switches.into_iter().filter(|(name, value)| value.is_some() || std::env::var_os(name).is_some());
        variables.extend(told.map(|(name, value)| (name.to_owned(), value)));
        variables
    }

    /// Of a client of the workload, which is not recorded.
    pub(crate) fn client_variables(&self, pass: &str) -> Vec<(String, Option<String>)> {
        let pass = ("RANGEFINDER_PASS".to_owned(), Some(pass.to_owned()));
        std::iter::once(pass).chain(self.variables.iter().cloned()).collect()
    }

    /// A variable as every pass has it.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        match self.variables.iter().rev().find(|(other, _)| other == name) {
            Some((_, value)) => value.as_ref().map(OsString::from),
            None => std::env::var_os(name),
        }
    }

    /// Variables of other profilers that are set for the workload.
    pub fn reserved_variables(&self) -> Vec<String> {
        let ours = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let mut names: Vec<String> =
            ours.chain(self.variables.iter().map(|(name, _)| name.clone())).collect();
        names.sort();
        names.dedup();
        names.retain(|name| {
            (RESERVED.contains(&name.as_str()) || name.starts_with(RESERVED_PREFIX))
                && self.variable(name).is_some()
        });
        names
    }
}

/// `max_new_tokens=4`, as workloads take their settings.
pub(crate) fn words_of(settings: &BTreeMap<String, Text>) -> impl Iterator<Item = String> {
    settings.iter().map(|(key, value)| format!("{key}={}", value.0))
}

/// What the helper does in a Python program, besides being importable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    Plain,
    /// Lets our tracer write what it has when a process ends by `os._exit`; notes whether torch is imported, in
    /// [`SEEN`], if that is to be looked at.
    Traced {
        look: bool,
    },
    /// Runs the program under torch's profiler, with these settings.
    Profile(String),
}

/// In the place of a rank that nsys records: its program was started.
pub(crate) const STARTED: &str = "started";

/// In the folder of a pass: empty, and `torch` once that was imported.
pub(crate) const SEEN: &str = "imported.txt";
/// Beside it, once transformers was imported.
pub(crate) const SEEN_TRANSFORMERS: &str = "imported-transformers.txt";

/// The `TMPDIR` of a run, inside it. If that path is too long for a socket, a short link to it that must be
/// removed afterwards.
pub fn tmpdir(run: &Path) -> Result<(PathBuf, Option<PathBuf>), WriteError> {
    let inside = run.join("tmp");
    std::fs::create_dir_all(&inside).map_err(|error| WriteError::new(&inside, error))?;
    if inside.as_os_str().len() <= LONGEST_TMPDIR {
        return Ok((inside, None));
    }
    for attempt in 0..100 {
        let link = std::env::temp_dir().join(format!("rf-{}-{attempt}", std::process::id()));
        if std::os::unix::fs::symlink(&inside, &link).is_ok() {
            return Ok((link.clone(), Some(link)));
        }
    }
    Ok((inside, None))
}

/// What the program and its tools are told in variables, and the run records, is text: a path that is none would be another
/// one there.
pub(crate) fn check_texts(here: &Path) -> Result<(), WorkloadError> {
    let temporary = std::env::temp_dir();
    let paths = [
        ("the current directory", here, "start it in a directory whose path is UTF-8"),
        (
            "the directory for temporary files (`TMPDIR`)",
            &temporary,
            "set `TMPDIR` to a directory whose path is UTF-8",
        ),
    ];
    let wrong = paths.into_iter().find(|(_, path, _)| path.to_str().is_none());
    wrong.map_or(Ok(()), |(what, path, hint)| {
        Err(WorkloadError::NotUtf8 { what, path: path.to_owned(), hint })
    })
}

fn check_variables(variables: &BTreeMap<String, Option<Text>>) -> Result<(), WorkloadError> {
    for (name, value) in variables {
        let why = if name.is_empty() || name.contains('=') {
            "a name must not be empty or contain `=`"
        } else if name.contains('\0') || value.as_ref().is_some_and(|value| value.0.contains('\0')) {
            "it contains a NUL character"
        } else {
            continue;
        };
        return Err(WorkloadError::Variable { name: name.clone(), why });
    }
    Ok(())
}

fn check_program(program: &OsStr, cwd: &Path, path: Option<&OsStr>) -> Result<(), WorkloadError> {
    let shown = program.to_string_lossy().into_owned();
    if !program.as_bytes().contains(&b'/') {
        return match found_in(program, path) {
            Some(_) => Ok(()),
            None if cwd.join(program).is_dir() => Err(WorkloadError::IsFolder { program: shown }),
            None => {
                let hint = instead_of(&shown, cwd, path);
                Err(WorkloadError::NotOnPath { program: shown, hint })
            }
        };
    }
    let on = path;
    let path = cwd.join(program);
    if path.is_dir() {
        return Err(WorkloadError::IsFolder { program: shown });
    }
    if !path.is_file() {
        let first = shown.split(' ').next().unwrap_or_default();
        if first != shown && check_program(OsStr::new(first), cwd, on).is_ok() {
            return Err(WorkloadError::NotOnPath { hint: Some(without_quotes(&shown)), program: shown });
        }
        return Err(WorkloadError::NoSuchFile { program: shown });
    }
    if executable(&path) { Ok(()) } else { Err(WorkloadError::NotExecutable { program: shown }) }
}

/// What a Python interpreter is to run.
enum OfPython<'w> {
    Module(&'w OsString),
    Script(&'w OsString),
}

/// None of code on the command line or from its input.
fn of_python(argv: &[OsString]) -> Option<OfPython<'_>> {
    let mut arguments = argv.iter().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-m") => return arguments.next().map(OfPython::Module),
            Some("-c" | "-") => return None,
            // Their values follow.
            Some("-W" | "-X" | "--check-hash-based-pycs") => drop(arguments.next()),
            Some(option) if option.starts_with('-') => {}
            _ => return Some(OfPython::Script(argument)),
        }
    }
    None
}

/// Python itself would say so only in the first pass, and leave a run with nothing in it.
fn check_script(argv: &[OsString], cwd: &Path) -> Result<(), WorkloadError> {
    let program = argv.first().map(Path::new).and_then(Path::file_name);
    if !program.is_some_and(|name| is_python(&name.to_string_lossy())) {
        return Ok(());
    }
    let Some(OfPython::Script(script)) = of_python(argv) else { return Ok(()) };
    let path = cwd.join(script);
    // A folder can be run, too, and what has another name may be found by another way.
    if path.exists() || path.extension().is_none_or(|end| end != "py") {
        return Ok(());
    }
    let beside = path.parent().map(std::fs::read_dir).into_iter().flatten().flatten().flatten();
    let names = beside.filter_map(|entry| entry.file_name().into_string().ok());
    let scripts = names.filter(|name| name.ends_with(".py"));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let near = nearest(&name, scripts, |name| 3.min(name.len() / 3));
    let near = near.map(|near| Path::new(script).with_file_name(near));
    let hint = near.map(|near| format!("did you mean `{}`?", near.display()));
    Err(WorkloadError::NoScript { script: script.to_string_lossy().into_owned(), hint })
}

fn without_quotes(command: &str) -> String {
    format!("leave out the quotation marks around the whole command: `-- {command}`")
}

/// What may have been meant by a program that is not there.
fn instead_of(program: &str, cwd: &Path, path: Option<&OsStr>) -> Option<String> {
    if let Some((first, _)) = program.split_once(' ')
        && found_in(OsStr::new(first), path).is_some()
    {
        return Some(without_quotes(program));
    }
    if cwd.join(program).is_file() {
        let python =
            ["python3", "python"].into_iter().find(|name| found_in(OsStr::new(name), path).is_some());
        return Some(
            match python.filter(|_| Path::new(program).extension().is_some_and(|end| end == "py")) {
                Some(python) => format!("it is in this folder: `-- {python} {program}`"),
                None => format!("it is in this folder: `-- ./{program}`"),
            },
        );
    }
    let folders = std::env::split_paths(path?).flat_map(std::fs::read_dir).flatten().flatten();
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let near = nearest(program, names, |name| 2.min(name.len() / 3));
    near.map(|name| format!("did you mean `{name}`?"))
}

/// The file that a program name refers to.
pub(crate) fn on_path(program: &OsStr) -> Option<PathBuf> {
    found_in(program, std::env::var_os("PATH").as_deref())
}

fn found_in(program: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    std::env::split_paths(path?).map(|folder| folder.join(program)).find(|path| executable(path))
}

fn executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn is_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// `#!/usr/bin/env python3` or `#!/venv/bin/python` of a script such as `torchrun`.
fn shebang_python(path: &Path) -> Option<PathBuf> {
    let mut start = [0; 256];
    let read = std::io::Read::read(&mut std::fs::File::open(path).ok()?, &mut start).ok()?;
    let line = String::from_utf8_lossy(&start[..read]).lines().next()?.strip_prefix("#!")?.to_owned();
    let mut words = line.split_whitespace();
    let program = words.next()?;
    let program =
        if program.ends_with("/env") { words.find(|word| !word.starts_with('-'))? } else { program };
    let name = Path::new(program).file_name()?.to_str()?;
    is_python(name).then(|| program.into())
}

/// `a.b=c`, `+a=b`, `~a`, `a@b=c`: what Hydra takes as an override.
fn is_override(argument: &OsStr) -> bool {
    let Some(text) = argument.to_str() else { return false };
    let key = text.trim_start_matches(['+', '~']);
    match key.split_once('=') {
        Some((key, _)) => key_like(key),
        None => text.starts_with('~') && key_like(key),
    }
}

fn key_like(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "_./@-:".contains(c))
}

/// A value as Hydra's override grammar reads it back unchanged.
fn hydra_quoted(text: &str) -> String {
    if text.chars().all(|c| c.is_alphanumeric() || "/_-.".contains(c)) {
        return text.to_owned();
    }
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'").replace("${", "\\${");
    format!("'{escaped}'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Request, resolve};

    fn workload(overrides: &[&str], command: &[&str]) -> Workload {
        let request = Request {
            overrides: overrides.iter().map(|text| (*text).to_owned()).collect(),
            command: command.iter().map(|text| (*text).to_owned()).collect(),
            cwd: "/nonexistent".into(),
            ..Request::default()
        };
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        Workload::new(&resolve(&request).unwrap().config, &command, Path::new("/")).unwrap()
    }

    fn argv(workload: &Workload) -> Vec<String> {
        workload.argv(Path::new("/r/w")).iter().map(|text| text.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn hydra_settings_stand_before_the_users_overrides() {
        let ours = ["hydra.run.dir=/r/w", "hydra.job.chdir=false", "hydra.output_subdir=null"];
        let with = |before: &[&str], after: &[&str]| -> Vec<String> {
            before.iter().chain(&ours).chain(after).map(|text| (*text).to_owned()).collect()
        };
        let given =
            workload(&["workload.hydra=true"], &["sh", "app.py", "--config-name", "x", "a.b=1", "+c=2"]);
        assert_eq!(argv(&given), with(&["sh", "app.py", "--config-name", "x"], &["a.b=1", "+c=2"]));
        let given = workload(&["workload.hydra=true", "workload.overrides=[z=3]"], &["sh", "app.py"]);
        assert_eq!(argv(&given), with(&["sh", "app.py"], &["z=3"]));
        let given = workload(&["workload.hydra=true"], &["sh", "app.py", "~db", "x=1"]);
        assert_eq!(argv(&given), with(&["sh", "app.py"], &["~db", "x=1"]));
    }

    #[test]
    fn devices_pass_through() {
        for device in ["1", "0,2", "GPU-8f1c0d6e", "MIG-1234/5/0"] {
            let given = workload(&[&format!("workload.device='{device}'")], &["true"]);
            let variables = given.variables("rehearsal", Path::new("/r/w"), Path::new("/t"));
            assert!(variables.contains(&("CUDA_VISIBLE_DEVICES".to_owned(), Some(device.to_owned()))));
            assert_eq!(given.variable("CUDA_VISIBLE_DEVICES"), Some(device.into()));
        }
        let given = workload(&["workload.device=1", "workload.env.CUDA_VISIBLE_DEVICES=null"], &["true"]);
        assert_eq!(given.variable("CUDA_VISIBLE_DEVICES"), None);
        assert_eq!(given.variable("PATH"), std::env::var_os("PATH"));
    }

    #[test]
    fn python_behind_a_launcher() {
        let python = |command: &[&str]| workload(&[], command).python();
        assert_eq!(python(&["python3.11", "-m", "train"]), Some("python3.11".into()));
        assert_eq!(python(&["env", "-n", "4", "/venv/bin/python", "a.py"]), Some("/venv/bin/python".into()));
        assert_eq!(python(&["sh", "-c", "python a.py", "pythonic"]), None);
    }

    #[test]
    fn quoted_for_hydra() {
        assert_eq!(hydra_quoted("/a/b-c_d.e"), "/a/b-c_d.e");
        assert_eq!(hydra_quoted("/a b/c=d,'e"), "'/a b/c=d,\\'e'");
    }
}
