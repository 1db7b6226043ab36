//! What stands for a secret in a name: as long as it, the same for the same secret and
//! another for another, so that names that differed still differ.

/// Stands where a secret was.
pub const MASK: &str = "***";

const SHOWN: usize = 8;

/// Made anew for every process and never written down: without it a mark says nothing,
/// not even to someone who guesses the secret.
#[derive(Clone, Copy)]
pub(super) struct MarkKey([u8; 32]);

impl std::fmt::Debug for MarkKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MarkKey")
    }
}

impl MarkKey {
    pub(super) fn new() -> Self {
        use std::hash::{BuildHasher, Hasher};
        let mut key = [0; 32];
        for part in key.chunks_exact_mut(8) {
            // The standard library seeds each from the system's randomness.
            let seeded = std::collections::hash_map::RandomState::new().build_hasher().finish();
            part.copy_from_slice(&seeded.to_le_bytes());
        }
        let random = std::fs::File::open("/dev/urandom").and_then(|mut file| {
            let mut bytes = [0; 32];
            std::io::Read::read_exact(&mut file, &mut bytes).map(|()| bytes)
        });
        Self(random.unwrap_or(key))
    }

    /// `***`, letters, and stars to the length of the secret.
    pub(super) fn mark(&self, secret: &[u8]) -> Vec<u8> {
        let mut mark = vec![b'*'; secret.len()];
        let digest = blake3::keyed_hash(&self.0, secret);
        let letters = digest.as_bytes().iter().take(SHOWN).map(|byte| b'a' + byte % 26);
        for (place, letter) in mark.iter_mut().skip(MASK.len()).zip(letters) {
            *place = letter;
        }
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_long_and_different() {
        let key = MarkKey::new();
        let mark = key.mark(b"hunter2-hunter2");
        assert_eq!(mark.len(), 15);
        assert!(mark.starts_with(b"***") && mark.ends_with(b"****"));
        assert_eq!(mark, key.mark(b"hunter2-hunter2"));
        assert_ne!(mark, key.mark(b"hunter2-hunter3"));
        assert_ne!(mark, MarkKey::new().mark(b"hunter2-hunter2"));
        assert_eq!(key.mark(b"ab"), b"**");
    }
}
