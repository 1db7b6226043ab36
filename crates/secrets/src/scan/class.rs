//! Kinds of bytes, looked up.

#[derive(Debug)]
pub(super) struct Class([bool; 256]);

impl Class {
    /// The bytes of `members`, and letters and digits, or white space, if they are wanted.
    pub(super) const fn new(members: &[u8], alphanumeric: bool, blank: bool) -> Self {
        let mut table = [false; 256];
        let mut at = 0;
        while at < 256 {
            let byte = at as u8;
            table[at] = alphanumeric && byte.is_ascii_alphanumeric() || blank && byte.is_ascii_whitespace();
            at += 1;
        }
        let mut at = 0;
        while at < members.len() {
            table[members[at] as usize] = true;
            at += 1;
        }
        Self(table)
    }

    pub(super) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}
