//! Long columns of numbers as text: base-64 digits of five bits, the lowest first; the sixth
//! bit says that more follow. `timeline_data.js` reads them back.

/// Without `/ _ - .`, `A` and spaces, one of which every secret of a known shape has: a page is
/// masked after it is made, and its numbers must come through.
const DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzXYZWV!#$%()*+,:;=?@[]^{|}~>`";

/// Small numbers take one digit, a millisecond in nanoseconds takes four.
#[derive(Debug, Default)]
pub(super) struct Column(String);

impl Column {
    pub(super) fn push(&mut self, mut number: u64) {
        loop {
            let more = u64::from(number >= 32) << 5;
            self.0.push(char::from(DIGITS[(number & 31 | more) as usize]));
            number >>= 5;
            if more == 0 {
                return;
            }
        }
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        let mut column = Column::default();
        [0, 31, 32, 1_000_000].into_iter().for_each(|number| column.push(number));
        assert_eq!(column.into_text(), "0vw1w:+u");
    }
}
