//! Reports as files: only what is needed of them is read, and they may change meanwhile.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use counters::{CountersError, Report, open, read_ncu_report, read_ncu_report_bytes, rows};

use crate::support::data;

fn said(report: Result<Report, CountersError>) -> String {
    match report {
        Ok(report) => format!("{} {:?}", serde_json::to_string(&rows(&report)).unwrap(), report.notes),
        Err(error) => error.to_string(),
    }
}

/// Modules are stepped over in a file; nothing else may be missing, however broken it is.
#[test]
fn a_file_says_what_its_bytes_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.ncu-rep");
    for capture in ["toy-range", "toy-kernel"] {
        let bytes = data(&format!("{capture}.ncu-rep"));
        let mut variants = vec![bytes.clone(), bytes[..100].to_vec()];
        variants.extend((1..8).map(|part| bytes[..bytes.len() * part / 8].to_vec()));
        variants.extend((0..24).map(|number| {
            let mut turned = bytes.clone();
            let at = 4 + number * number * 37 % (bytes.len() - 4);
            turned[at] ^= 0x10;
            turned
        }));
        for (number, bytes) in variants.iter().enumerate() {
            std::fs::write(&path, bytes).unwrap();
            let (of_file, of_bytes) = (read_ncu_report(&path), read_ncu_report_bytes(bytes, &path));
            assert!(said(of_file) == said(of_bytes), "{capture}: {number}");
        }
    }
}

/// A report that is cut short while it is mapped would end the program.
#[test]
fn a_report_that_changes_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.ncu-rep");
    let bytes = data("toy-kernel.ncu-rep");
    std::fs::write(&path, &bytes).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            while !done.load(Ordering::Relaxed) {
                file.set_len(4096).unwrap();
                file.write_all_at(&bytes, 0).unwrap();
            }
        });
        // On a busy machine most attempts find it whole, or cut.
        let noted = (0..5_000).any(|_| match read_ncu_report(&path) {
            Ok(report) => report.notes.iter().any(|note| note.contains("changed while it was being read")),
            Err(_) => false,
        });
        done.store(true, Ordering::Relaxed);
        assert!(noted, "nobody noticed");
    });
}

#[test]
fn a_terabyte_with_a_report_at_its_beginning() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.ncu-rep");
    let file = File::create(&path).unwrap();
    file.write_all_at(&data("toy-range.ncu-rep"), 0).unwrap();
    file.set_len(1 << 40).unwrap();
    let report = open(&path).unwrap();
    assert_eq!(report.results.len(), 12);
    file.write_all_at(b"x", 1 << 39).unwrap();
    let error = open(&path).unwrap_err().to_string();
    assert!(error.ends_with("is too large: 512 GB (the limit is 16 GB)"), "{error}");
}
