//! The model of ncu's gates against what ncu 2025.3.1 did on a machine with a GPU.
//! The rows are run there by `crates/rangefinder/tests/programs/record_gates.py`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use nvtx::{NcuGate, OpenRanges};

const RECORDED: &str = include_str!("data/recorded-ncu-2025.3.1.tsv");
const ROWS: &str = include_str!("data/ncu-rows.txt");

/// The options of a row.
#[derive(Default)]
struct Options {
    includes: Vec<String>,
    excludes: Vec<String>,
    process_scope: bool,
}

fn unblank(word: &str) -> String {
    word.replace('~', " ")
}

fn options(text: &str) -> Options {
    let mut options = Options::default();
    for word in text.split_whitespace() {
        match word.chars().next() {
            Some('!') => options.excludes.push(unblank(&word[1..])),
            Some('%') => options.process_scope |= word == "%process",
            _ => options.includes.push(unblank(word)),
        }
    }
    options
}

/// Domain and name of each.
type Ranges = Vec<(String, String)>;

/// What `emit.c` has open at each launch.
#[derive(Default)]
struct Program {
    /// A stack for each thread that waits for the next one.
    threads: Vec<Ranges>,
    started: Ranges,
    launches: Vec<Launch>,
    exit_code: i32,
}

struct Launch {
    blocks: u32,
    threads: Vec<Ranges>,
    started: Ranges,
}

impl Program {
    fn of(script: &str) -> Self {
        let mut program = Self { threads: vec![Vec::new()], ..Self::default() };
        let mut outside = Vec::new();
        for word in script.split_whitespace() {
            let (verb, value) = word.split_once('=').unwrap_or((word, ""));
            let value = unblank(value);
            let in_domain = || {
                let (domain, name) = value.split_once(':').unwrap();
                (domain.to_owned(), name.to_owned())
            };
            let plain = (String::new(), value.clone());
            let stack = program.threads.last_mut().unwrap();
            match verb {
                "push" | "rpush" | "wrpush" => stack.push(plain),
                // Never seen: a wide string that is not registered.
                "wpush" => {}
                "dpush" => stack.push(in_domain()),
                "pop" | "dpop" => {
                    let domain = if verb == "pop" { "" } else { &value };
                    if let Some(last) = stack.iter().rposition(|(of, _)| of == domain) {
                        stack.remove(last);
                    }
                }
                "start" => program.started.push(plain),
                "dstart" => program.started.push(in_domain()),
                "end" => drop(program.started.pop()),
                "thread" => program.threads.push(Vec::new()),
                "join" => drop(program.threads.pop()),
                // A process of its own, with nothing open.
                "exec" | "fork" => {
                    outside
                        .push((std::mem::take(&mut program.threads), std::mem::take(&mut program.started)));
                    program.threads.push(Vec::new());
                }
                "wait" => (program.threads, program.started) = outside.pop().unwrap(),
                "launch" => program.launches.push(Launch {
                    blocks: value.parse().unwrap(),
                    threads: program.threads.clone(),
                    started: program.started.clone(),
                }),
                "exit" => program.exit_code = value.parse().unwrap(),
                "mark" => {}
                other => panic!("what is `{other}`?"),
            }
        }
        program
    }
}

/// Exit code and the launches that are profiled, told by their number of blocks.
fn foresee(options: &Options, script: &str) -> (i32, Vec<u32>) {
    let parse = |texts: &[String]| -> Result<Vec<NcuGate>, _> {
        texts.iter().map(|text| NcuGate::parse(text)).collect()
    };
    let (Ok(includes), Ok(excludes)) = (parse(&options.includes), parse(&options.excludes)) else {
        // An expression of slashes alone is taken, and ncu breaks on it.
        return (if options.includes[0] == "/" { 9 } else { 1 }, Vec::new());
    };
    let program = Program::of(script);
    let mut profiled = Vec::new();
    for Launch { blocks, threads, started } in program.launches {
        let seen = if options.process_scope {
            threads
        } else {
            threads.into_iter().next_back().into_iter().collect()
        };
        let matches = |gate: &NcuGate| {
            let mut stacks = seen.iter();
            stacks.any(|stack| gate.includes(&OpenRanges { stack: stack.clone(), started: started.clone() }))
        };
        if (includes.is_empty() || includes.iter().any(matches)) && !excludes.iter().any(matches) {
            profiled.push(blocks);
        }
    }
    (program.exit_code, profiled)
}

#[test]
fn every_recorded_row_is_foreseen() {
    let (mut rows, mut hanging, mut wrong) = (0, 0, String::new());
    for line in RECORDED.lines().skip(1) {
        let [text, script, code, blocks] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        rows += 1;
        if code == "hangs" {
            hanging += 1;
            continue;
        }
        let blocks: Vec<u32> = blocks.split(',').filter_map(|blocks| blocks.parse().ok()).collect();
        let (observed, foreseen) = ((code.parse().unwrap(), blocks), foresee(&options(text), script));
        if observed != foreseen {
            wrong.push_str(&format!("{text} | {script}\n  observed {observed:?}\n  foreseen {foreseen:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // A fork while a range is open, and a launch in the child.
    assert_eq!((rows, hanging), (203, 1));
    assert_eq!(
        ROWS.lines().filter(|line| !line.starts_with('#')).count(),
        rows,
        "rows that were not recorded"
    );
}
