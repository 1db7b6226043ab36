//! The Python package: what `pip install rangefinder-gpu` brings, and what it does in a program.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Ran, Sandbox, fake_cupti, skip, tool};

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python")
}

/// Runs a Python program with the package and the program that is tested.
fn python(sandbox: &Sandbox, program: &str) -> Ran {
    sandbox.write("program.py", program);
    let mut command = Command::new("python3");
    command.arg("program.py").current_dir(sandbox.path(""));
    command.env("PYTHONPATH", package()).env("RANGEFINDER", env!("CARGO_BIN_EXE_rangefinder"));
    command.env("DATA", Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data"));
    command.env("RANGEFINDER_CUPTI", fake_cupti("package"));
    Ran::from(command.output().unwrap())
}

/// What `load` returns is what `analyze` finds; what is wrong is an exception with its remedy.
#[test]
fn reports_as_objects() {
    let sandbox = Sandbox::new();
    let program = r#"
import json, os, subprocess, rangefinder

trace = os.path.join(os.environ["DATA"], "demo-2025.3.1.sqlite")
told = json.loads(subprocess.run([os.environ["RANGEFINDER"], "analyze", "--json", trace], stdout=subprocess.PIPE).stdout)
report = rangefinder.load(trace)
assert [row["total_ns"] for row in report.kernels] == [row["total_ns"] for row in told["kernels"]]
assert report.kernels["calls"] == [row["calls"] for row in told["kernels"]]
assert [finding.title for finding in report.findings] == [row["title"] for row in told["findings"]]
gain = report.findings[0].gain
assert gain.factor == told["findings"][0]["gain"]["factor"] and gain.then_ns < gain.now_ns
assert report.loop.iterations == told["loops"][0]["iterations"]
assert report.table("regions")[0]["path"] == told["regions"][0]["path"]
assert "what limits it" in report.summary
page = report._repr_html_()
assert page.startswith("<iframe sandbox") and "<script" not in page and "&lt;script" in page

within = rangefinder.load(trace, within="decode")
assert sum(within.kernels["calls"]) < sum(report.kernels["calls"])

same = rangefinder.diff(trace, trace)
assert "the same work as before" in repr(same) and same.html().startswith("<!doctype html>")

def wrong(what):
    try:
        what()
    except rangefinder.RangefinderError as error:
        print(error)
    else:
        raise AssertionError("no error")

wrong(lambda: rangefinder.load("nowhere"))
wrong(lambda: rangefinder.load("program.py"))
wrong(lambda: report.table("nonsense"))
"#;
    let ran = python(&sandbox, program);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "`nowhere` does not exist");
    assert!(lines[1].starts_with("`program.py` is not a file that `analyze` can read"), "{}", lines[1]);
    assert!(lines.last().unwrap().starts_with("hint: it has calls, copies, findings,"), "{}", ran.stdout);
}

/// A block of a program that runs already: its kernels, and nobody else's.
#[test]
fn a_block_is_profiled() {
    let sandbox = Sandbox::new();
    let program = r#"
import ctypes, os, rangefinder

cupti = ctypes.CDLL(os.environ["RANGEFINDER_CUPTI"])
cupti.fake_launch(9)
with rangefinder.profile() as first:
    with rangefinder.stage("inside"):
        cupti.fake_launch(50)
cupti.fake_launch(30)

@rangefinder.profile()
def work():
    cupti.fake_launch(7)

work()
assert sum(first.report.kernels["calls"]) == 50, first.report.kernels.rows()
assert sum(work.profile.report.kernels["calls"]) == 7
inside = [row for row in first.report.regions if row["path"].endswith("inside")]
assert [row["kernels_inclusive"] for row in inside] == [50], first.report.regions.rows()
assert "CUDA_INJECTION64_PATH" not in os.environ
print(first.note)

# A child has a recording of its own, and leaves its parent's alone.
child = os.fork()
if child == 0:
    with rangefinder.profile() as own:
        cupti.fake_launch(3)
    os._exit(0 if sum(own.report.kernels["calls"]) == 3 else 1)
assert os.waitpid(child, 0)[1] == 0
with rangefinder.profile() as last:
    cupti.fake_launch(11)
assert sum(last.report.kernels["calls"]) == 11

import asyncio

@rangefinder.profile()
async def later():
    await asyncio.sleep(0.01)
    cupti.fake_launch(5)

asyncio.run(later())
assert sum(later.profile.report.kernels["calls"]) == 5
try:
    rangefinder.profile()(x for x in ())
except TypeError:
    pass
else:
    raise AssertionError("it is no function")
"#;
    let ran = python(&sandbox, program);
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.trim(), "None");
    // Under a tool, it is the tool's to record.
    let mut command = sandbox.rangefinder(&["run", "-p", "quick", "--", "python3", "program.py"]);
    command.env("RANGEFINDER_CUPTI", fake_cupti("package")).env("PYTHONPATH", package());
    command.env("RANGEFINDER", env!("CARGO_BIN_EXE_rangefinder"));
    let ran = Ran::from(command.output().unwrap());
    assert!(ran.stderr.contains("another tool is in this process already"), "{}", ran.stderr);
}

/// PyPI's `rangefinder` is another project.
#[test]
fn a_package_of_the_same_name() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("packages/rangefinder")).unwrap();
    sandbox.write("packages/rangefinder/__init__.py", "def find(): pass\n");
    sandbox.write("program.py", "import rangefinder; print(rangefinder.find)\n");
    let mut command = sandbox.rangefinder(&["run", "-p", "quick", "--", "python3", "program.py"]);
    let ran = Ran::from(command.env("PYTHONPATH", sandbox.path("packages")).output().unwrap());
    assert_eq!(ran.code, 0, "the program's own package is still its own: {}", ran.stderr);
    assert!(ran.stderr.contains("another package is called rangefinder, too: "), "{}", ran.stderr);
}

/// An agent's questions about recordings, answered by the package's server.
#[test]
fn an_agent_asks() {
    const TEST: &str = "an_agent_asks";
    let (Some(python), Some(mcp)) = (tool(TEST, "bin/python3"), tool(TEST, "python/mcp-2.3.0")) else {
        return;
    };
    let sandbox = Sandbox::new();
    let mut command = Command::new(python);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ask.py"));
    command.env("PYTHONPATH", std::env::join_paths([package(), mcp]).unwrap());
    command.env("RANGEFINDER", env!("CARGO_BIN_EXE_rangefinder")).env("COPY", sandbox.path(""));
    command.env("DATA", Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data"));
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let longest = ran.stdout.strip_prefix("20 questions, the longest answer has ").unwrap();
    let longest: usize = longest.split(' ').next().unwrap().parse().unwrap();

    assert!(longest <= 4800, "{longest} characters");
}

/// The notebook of the docs, executed.
#[test]
fn a_notebook() {
    const TEST: &str = "a_notebook";
    let (Some(python), Some(jupyter)) = (tool(TEST, "bin/python3"), tool(TEST, "python/nbclient-0.10.2"))
    else {
        return;
    };
    let sandbox = Sandbox::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/data");
    std::fs::copy(data.join("demo-2025.3.1.sqlite"), sandbox.path("trace.sqlite")).unwrap();
    std::fs::copy(data.join("toy-2025.3.1.sqlite"), sandbox.path("faster.sqlite")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(python);
    command.arg(root.join("tests/programs/notebook.py"));
    command.arg(root.join("../../docs/examples/report.ipynb")).arg("page.html");
    command.current_dir(sandbox.path("")).env_remove("RANGEFINDER_CUPTI");
    command.env("PYTHONPATH", std::env::join_paths([package(), jupyter]).unwrap());
    command.env("RANGEFINDER", env!("CARGO_BIN_EXE_rangefinder")).env("IPYTHONDIR", sandbox.path("ipython"));
    command.env("JUPYTER_RUNTIME_DIR", sandbox.path("jupyter")).env("PYDEVD_DISABLE_FILE_VALIDATION", "1");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    let cells: Vec<Vec<Value>> = serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
    let text = |cell: usize| cells[cell].iter().map(|row| row["text"].as_str().unwrap()).collect::<String>();
    assert!(text(0).contains("what limits it"), "{}", text(0));
    assert!(text(1).contains("x as fast without it"), "{}", text(1));
    assert!(text(3).contains("demo_fma") && text(3).contains("335200"), "{}", text(3));
    assert!(cells[4][0]["html"].as_str().unwrap().contains("<th>path</th>"), "{}", cells[4][0]);
    for frame in [5, 8] {
        let page = cells[frame].last().unwrap()["html"].as_str().unwrap();
        assert!(page.starts_with("<iframe sandbox=\"allow-scripts allow-downloads\""), "{}", &page[..100]);
    }
    assert!(text(6).contains(":step', 20)"), "{}", text(6));
    assert!(text(7).contains("before"), "{}", text(7));
    if let Some(kept) = std::env::var_os("RANGEFINDER_TEST_KEEP") {
        std::fs::copy(sandbox.path("page.html"), PathBuf::from(kept).join("notebook.html")).unwrap();
    }
}

/// Installed in an environment of its own, without Rust and without anything else.
#[test]
fn the_wheel() {
    const TEST: &str = "the_wheel";
    let Some(wheels) = std::env::var_os("RANGEFINDER_TEST_WHEELS") else {
        return skip(TEST, "no wheel was made (cargo xtask test)");
    };
    let sandbox = Sandbox::new();
    let done = |command: &mut Command| {
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, 0, "{command:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    };
    let wheel = std::fs::read_dir(wheels).unwrap().next().unwrap().unwrap().path();
    assert!(
        wheel.to_string_lossy().ends_with("rangefinder_gpu-0.1.0-py3-none-linux_x86_64.whl"),
        "{wheel:?}"
    );
    let venv = sandbox.path("venv");
    done(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let offline = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"];
    done(Command::new(venv.join("bin/python")).args(offline).arg(&wheel));
    let clean = |program: &str| {
        let mut command = Command::new(venv.join("bin").join(program));
        command.current_dir(sandbox.path("")).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("HOME", sandbox.path("")).env("TMPDIR", std::env::temp_dir());
        command
    };
    let version = done(clean("rangefinder").arg("--version"));
    assert_eq!(done(clean("python").args(["-m", "rangefinder", "--version"])), version);
    done(clean("rangefinder").args(["demo", "--quiet"]));
    let ask = "import rangefinder, glob\nrun = rangefinder.load(glob.glob('runs/*')[0])\nprint([row['path'] for row in run.regions])";
    let regions = done(clean("python").args(["-c", ask]));
    assert!(regions.contains("':decode'"), "{regions}");
    // The same files as those that the program brings along.
    let installed = done(clean("python").args(["-c", "import rangefinder; print(rangefinder.__path__[0])"]));
    let modules = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let names = entries.map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".py")).collect();
        names.sort();
        names
    };
    assert_eq!(modules(Path::new(installed.trim())), modules(&package().join("rangefinder")));
}
