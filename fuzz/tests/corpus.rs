//! The committed corpus, as it is, cut short and with bits turned.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

/// Replays one target's corpus and returns how many inputs that were.
fn replay(name: &str, target: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let input = std::fs::read(entry.unwrap().path()).unwrap();
        target(&input);
        for part in 1..8 {
            target(&input[..input.len() * part / 8]);
        }
        for (at, bit) in [(3, 0), (5, 3), (7, 7), (11, 5), (13, 1)] {
            let mut turned = input.clone();
            if let Some(byte) = turned.get_mut(input.len() * at / 17) {
                *byte ^= 1 << bit;
            }
            target(&turned);
        }
        inputs += 1;
    }
    inputs
}

#[test]
fn every_target_bears_its_corpus() {
    for (name, target) in fuzz::TARGETS {
        assert!(replay(name, target) > 10, "{name} has hardly a corpus");
    }
}
