//! Reports that are cut short, turned over and made to hurt.

use std::path::Path;

use counters::{CountersError, Report, read_ncu_csv_bytes, read_ncu_report_bytes};

use crate::support::data;
use crate::support::writer::{
    Block, Message, Stored, beginning, kernel, metric, range, report, sized, source,
};

fn read(bytes: &[u8]) -> Result<Report, CountersError> {
    read_ncu_report_bytes(bytes, Path::new("broken.ncu-rep"))
}

/// Where blocks end, and how many results are whole by then.
fn blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 8 + word(4);
    let mut ends = vec![(at, 0)];
    while at < bytes.len() {
        let header = &bytes[at + 4..at + 4 + word(at)];
        // The size of what follows is field 5; one result stands in a block, or none.
        let (mut rest, mut payload, mut results) = (header, 0, 0);
        while let [tag, value @ ..] = rest {
            let mut number = 0;
            let length = value.iter().position(|byte| *byte < 0x80).unwrap() + 1;
            for (place, byte) in value[..length].iter().enumerate() {
                number |= usize::from(byte & 0x7f) << (7 * place);
            }
            let skipped = if tag & 7 == 2 { number } else { 0 };
            match tag >> 3 {
                2 | 7 => results += number,
                5 => payload = number,
                _ => {}
            }
            rest = &value[length + skipped..];
        }
        at += 4 + header.len() + payload;
        ends.push((at, ends.last().unwrap().1 + results));
    }
    assert_eq!(at, bytes.len());
    ends
}

#[test]
fn cut_short() {
    for (capture, step) in [("toy-range", 997), ("toy-kernel", 9_973)] {
        let bytes = data(&format!("{capture}.ncu-rep"));
        let ends = blocks(&bytes);
        let (mut cuts, mut kept) = (0, 0);
        for cut in (0..bytes.len()).step_by(step).chain(ends.iter().map(|(end, _)| *end)) {
            let whole = ends.iter().rev().find(|(end, _)| *end <= cut).map_or(0, |(_, results)| *results);
            let boundary = ends.iter().any(|(end, _)| *end == cut);
            match read(&bytes[..cut]) {
                Ok(report) => {
                    assert_eq!(report.results.len(), whole, "{cut}");
                    assert_eq!(report.damage.is_some(), !boundary, "{cut}: {:?}", report.notes);
                    if let Some(damage) = report.damage {
                        let said = format!("the file is truncated at byte {cut}; {whole} result");
                        assert!(damage.what.starts_with(&said), "{cut}: {damage}");
                    }
                    assert_eq!(report.notes, Vec::<String>::new(), "{cut}");
                    kept += usize::from(whole > 0);
                }
                Err(error) => {
                    assert_eq!(whole, 0, "{cut}: {error}");
                    assert!(error.to_string().contains("broken.ncu-rep"), "{error}");
                }
            }
            cuts += 1;
        }
        assert!(cuts > 200 && kept * 10 > cuts * 6, "{capture}: {kept} of {cuts}");
    }
}

/// Names that come later than what they name are missed.
#[test]
fn names_that_were_cut_off() {
    let bytes = data("toy-app-range.ncu-rep");
    let last_block = blocks(&bytes).iter().rev().nth(1).unwrap().0;
    let report = read(&bytes[..last_block]).unwrap();
    assert_eq!(report.results.len(), 11);
    assert_eq!(
        report.notes,
        ["metrics left out because the part of the file with their names is missing: 55"]
    );
    assert_eq!(report.results[0].metrics.len(), 493);
}

#[test]
fn turned_bits() {
    // The first four results are enough, and soon read.
    let bytes = data("toy-range.ncu-rep");
    let (end, _) = blocks(&bytes).into_iter().find(|(_, results)| *results == 4).unwrap();
    let bytes = bytes[..end].to_vec();
    let whole = read(&bytes).unwrap();
    let ends = blocks(&bytes);
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let (mut errors, mut notes, mut silent) = (0, 0, 0);
    for round in 0..4_000 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Half of them where it hurts: in the headers of blocks and sizes of messages.
        let at = match round % 2 {
            0 => random as usize % bytes.len(),
            _ => {
                let (start, _) = ends[random as usize % (ends.len() - 1)];
                (start + (random >> 32) as usize % 64).min(bytes.len() - 1)
            }
        };
        let mut turned = bytes.clone();
        turned[at] ^= 1 << (random >> 58 & 7);
        let before = ends.iter().rev().find(|(end, _)| *end <= at).map_or(0, |(_, results)| *results);
        match read(&turned) {
            Ok(report) => {
                assert!(report.results.len() >= before, "byte {at}: {:?}", report.notes);
                // A count whose field became another looks like a kind of result we do not know.
                let lost = report.results.len() < whole.results.len();
                silent += usize::from(lost && report.damage.is_none());
                for (kept, result) in report.results.iter().zip(&whole.results).take(before) {
                    assert_eq!(kept.nvtx, result.nvtx, "byte {at}");
                }
                notes += usize::from(report.damage.is_some() || !report.notes.is_empty());
            }
            Err(_) => {
                assert_eq!(before, 0, "byte {at}: whole results came before");
                errors += 1;
            }
        }
    }
    assert!(errors > 20 && notes > 500, "{errors} errors and {notes} reports with notes");
    assert!(silent <= 8, "{silent} reports lost a result and did not say so");
}

#[test]
fn what_is_no_report() {
    for (bytes, says) in [
        (Vec::new(), "is empty"),
        (vec![0; 4096], "is not an ncu report"),
        (b"SQLite format 3\0".to_vec(), "is not an ncu report"),
        (b"NVR\0".to_vec(), "the header of the file is broken"),
        ([b"NVR\0".as_slice(), &[0xff; 400]].concat(), "the header of the file is broken"),
        ([beginning(), vec![0; 64]].concat(), "the block at byte 10 has no header"),
        ([beginning(), vec![0xff; 64]].concat(), "the file is truncated at byte 74"),
    ] {
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains("`broken.ncu-rep`") && error.contains(says), "{error}");
    }
    let nothing = read(&beginning()).unwrap();
    assert!(nothing.results.is_empty() && nothing.notes.is_empty());
}

/// A result that makes no sense is left out; those around it are not.
#[test]
fn a_broken_result_among_others() {
    let good = || kernel("k", 7, [1; 3], &[metric(0, Some(Stored::Large(1)), &[])]);
    let mut block = Block::of(1, &["a"]);
    block.kernels = vec![good(), Message(vec![0x6a, 0x7f, 0x01]), Message::default(), good()];
    let report = read(&report(&[block])).unwrap();
    assert_eq!(report.results.len(), 2);
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    for said in [&report.damage.unwrap().what, &report.notes[0]] {
        assert!(
            said.starts_with("the result at byte ") && said.ends_with(" is broken and was left out"),
            "{said}"
        );
    }
}

/// Counts and sizes of gigabytes in a small file.
#[test]
fn sizes_that_cannot_be() {
    for field in [1, 2, 5, 7, 8, 9] {
        let mut block = Block::of(1, &["a"]);
        block.kernels = vec![kernel("k", 7, [1; 3], &[])];
        block.header = Message::default().number(field, u64::from(u32::MAX));
        let read = read(&report(&[block]));
        match field {
            // More sources than there are: the kernel is taken for one.
            1 => assert!(matches!(read, Err(CountersError::Broken { .. }))),
            _ => {
                let report = read.unwrap();
                assert_eq!(report.results.len(), 1, "{field}");
                assert!(report.damage.is_some(), "{field}");
            }
        }
    }
}

/// A few bytes that stand for a lot of memory: the name of a domain for each of its stacks.
#[test]
fn what_unfolds_to_too_much() {
    let domain = Message::default().number(1, 3).bytes(2, &vec![b'x'; 1 << 20]);
    let stack = Message::default().number(1, 3).message(3, &Message::default().text(1, "r"));
    let mut thread = Message::default().number(1, 7);
    for _ in 0..200_000 {
        thread = thread.message(2, &stack);
    }
    let nvtx = Message::default().message(1, &domain).message(2, &thread);
    let mut block = Block::of(1, &["a"]);
    block.sources = vec![source(&[1; 100])];
    block.ranges = vec![range(7, &[]), range(7, &[]).message(10, &nvtx)];
    let report = read(&report(&[block])).unwrap();
    assert_eq!(report.results.len(), 1);
    let damage = report.damage.unwrap();
    assert!(damage.what.contains("expands to far more"), "{damage}");
}

/// Groups within groups, and messages within messages, without end.
#[test]
fn nesting() {
    let mut file = beginning();
    sized(&Message([[0x0b; 100_000].as_slice(), &[0x0c; 100_000]].concat()), &mut file);
    assert!(read(&file).unwrap().results.is_empty());
    let mut file = beginning();
    sized(&Message(vec![0x0b; 100_000]), &mut file);
    assert!(read(&file).is_err());
}

#[test]
fn a_csv_cut_short() {
    let text = data("toy-kernel.raw.csv");
    let line_ends: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').collect();
    for cut in (1..text.len()).step_by(997) {
        let whole = line_ends.iter().filter(|end| **end <= cut).count().saturating_sub(2);
        match read_ncu_csv_bytes(&text[..cut], Path::new("cut.csv")) {
            Ok(report) => {
                assert_eq!(report.results.len(), whole, "{cut}");
                assert!(report.damage.is_some(), "{cut}");
            }
            Err(error) => assert!(whole == 0 && cut < line_ends[1], "{cut}: {error}"),
        }
    }
}
