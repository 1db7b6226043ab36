//! Processes of a rehearsal that the tracer could not record, so that we never say "no ranges were opened"
//! about a program we could not see into. There are two ways to find them. The tracer, loaded into a
//! process that it cannot record, sends a datagram to an abstract socket, which needs no file and no
//! permission. And a process that changed its root directory before its first range, so that the tracer
//! cannot even be loaded, is noticed from here while it runs. All other processes are looked at, too: who started whom,
//! and how each ended.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tracefile::layout::note;
use tracefile::{Halted, Note};

use process::{ProcessTree, descendants_with_parents, with_own_root};
use record::SeenProcess;

/// By which the tracer gets into a process.
const TRACER_VARIABLE: &str = "NVTX_INJECTION64_PATH";
/// More notes than this are not kept.
const MOST: usize = 10_000;
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// What was seen of the processes of a workload.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Those that the tracer could not record, and why.
    pub(crate) notes: Vec<Note>,
    pub(crate) processes: Vec<SeenProcess>,
}

/// Listens and watches until it is dropped or queried.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The socket that the tracer sends to.
    pub(crate) socket: String,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<Seen>>,
}

impl Watch {
    /// None if the socket or thread cannot be created: then less is known, but nothing fails.
    pub(crate) fn begin(library: &Path) -> Option<Self> {
        let name = format!("rangefinder-{}", random_name()?);
        let address = SocketAddr::from_abstract_name(&name).ok()?;
        let socket = UnixDatagram::bind_addr(&address).ok()?;
        let done = Arc::new(AtomicBool::new(false));
        let library = library.to_owned();
        let seen = done.clone();
        let watch = move || watch(&socket, &library, &seen);
        let thread = std::thread::Builder::new().name("unseen".to_owned()).spawn(watch).ok()?;
        Some(Self { socket: name, done, thread: Some(thread) })
    }

    /// All that were found.
    pub(crate) fn end(mut self) -> Seen {
        self.done.store(true, Ordering::Release);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
    }
}

fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom").ok()?, &mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn watch(socket: &UnixDatagram, library: &Path, done: &AtomicBool) -> Seen {
    let mut notes = Vec::new();
    let mut tree = ProcessTree::new(&format!("{TRACER_VARIABLE}={}", library.display()));
    let mut pause = FIRST_LOOK;
    loop {
        let last = done.load(Ordering::Acquire);
        // A program that never changes its root is checked less and less often.
        let _ = socket.set_read_timeout(Some(if last { Duration::from_millis(1) } else { pause }));
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        let mut message = [0; note::LONGEST];
        while let Ok(length) = socket.recv(&mut message) {
            notes.extend(Note::parse(&message[..length]).filter(|_| notes.len() < MOST));
            let _ = socket.set_read_timeout(Some(Duration::from_millis(1)));
        }
        let processes = descendants_with_parents();
        for (pid, name) in with_own_root(&processes) {
            let why = Halted { why: note::OTHER_ROOT, errno: 0 };
            let found = Note { pid, why, name };
            if notes.len() < MOST && !notes.contains(&found) && !reaches(pid, library) {
                notes.push(found);
            }
        }
        tree.look(&processes);
        if last {
            return Seen { notes, processes: tree.end() };
        }
    }
}

/// Whether a process finds the library under its path.
fn reaches(pid: u32, library: &Path) -> bool {
    let mut theirs = PathBuf::from(format!("/proc/{pid}/root"));
    theirs.push(library.strip_prefix("/").unwrap_or(library));
    match (std::fs::metadata(&theirs), std::fs::metadata(library)) {
        (Ok(theirs), Ok(ours)) => (theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()),
        // It has ended, or we may not inspect it: nothing is known.
        (Err(error), _) => error.kind() != std::io::ErrorKind::NotFound || !exists(pid),
        _ => true,
    }
}

fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/root")).read_link().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(pid: u32, why: u32, name: &str) -> Vec<u8> {
        let numbers = [note::MAGIC, pid, why, 13u32];
        numbers.iter().flat_map(|number| number.to_le_bytes()).chain(name.bytes()).collect()
    }

    #[test]
    fn what_is_sent_is_kept_and_what_is_not_ours_is_not() {
        let watch = Watch::begin(Path::new("/nowhere.so")).unwrap();
        let address = SocketAddr::from_abstract_name(&watch.socket).unwrap();
        let sender = UnixDatagram::unbound().unwrap();
        for message in [message(7, 8, "worker"), b"RFNO".to_vec(), vec![0; 16], message(9, 100, "")] {
            sender.send_to_addr(&message, &address).unwrap();
        }
        let notes = watch.end().notes;
        let told: Vec<(u32, u32, i32, &str)> =
            notes.iter().map(|note| (note.pid, note.why.why, note.why.errno, note.name.as_str())).collect();
        assert_eq!(told, [(7, 8, 13, "worker"), (9, 100, 13, "")]);
    }
}
