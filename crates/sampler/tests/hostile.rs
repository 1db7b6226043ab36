//! Memory that makes no sense: every walk ends, and says so.

use sampler::host::{Fault, Found, Memory, Names, Python, Version};

/// Memory made by a rule, from an address to its byte.
struct Made<F>(F);

impl<F: Fn(u64) -> Option<u8>> Memory for Made<F> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        for (at, byte) in into.iter_mut().enumerate() {
            let address = address.checked_add(at as u64).ok_or(Fault::Unmapped)?;
            *byte = (self.0)(address).ok_or(Fault::Unmapped)?;
        }
        Ok(())
    }
}

/// Reads everything there is, in all versions, from all places.
fn read_all(byte: impl Fn(u64) -> Option<u8>) {
    for minor in 8..=12 {
        for runtime in [8, 4096, 4097, u64::MAX - 4096] {
            let found = Found { runtime, version: Some(Version::new(3, minor)), version_at: None };
            let Ok(mut python) = Python::open(Made(&byte), &found) else { continue };
            let mut names = Names::default();
            let mut threads = match python.list(|_| true) {
                Ok(runtime) => runtime.threads.clone(),
                Err(_) => python.runtime().threads.clone(),
            };
            threads.truncate(4);
            for thread in threads {
                if let Ok(stack) = python.stack(&mut names, &thread) {
                    assert!(names.frames_of(stack).count() <= 512);
                }
            }
        }
    }
}

#[test]
fn all_the_same_byte() {
    for byte in [0, 1, 8, 0x10, 0x7f, 0xff] {
        read_all(|_| Some(byte));
    }
}

#[test]
fn every_word_points_to_itself_or_near() {
    for further in [0u64, 8, 64, 4096, u64::MAX - 7] {
        read_all(|address| {
            let word = (address & !7).wrapping_add(further);
            Some(word.to_le_bytes()[(address & 7) as usize])
        });
    }
}

#[test]
fn a_circle_of_frames() {
    // Everything points to the same structure, which is its own interpreter, thread, frame and caller.
    for place in [4096u64, 4096 + 64, 8000] {
        read_all(|address| Some(place.to_le_bytes()[(address & 7) as usize]));
        read_all(|address| (address < 1 << 20).then(|| place.to_le_bytes()[(address & 7) as usize]));
    }
}

#[test]
fn noise() {
    for seed in 1..12u64 {
        read_all(|address| {
            let mixed = (address / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            // Mostly small numbers, which lead to memory that is there.
            let word = if mixed & 3 == 0 { mixed } else { mixed >> 48 };
            Some(word.to_le_bytes()[(address & 7) as usize])
        });
    }
}

#[test]
fn nothing_at_all() {
    read_all(|_| None);
    read_all(|address| (address < 4096).then_some(0));
}
