//! Replaces names everywhere in a trace.

use crate::model::Trace;

impl Trace {
    /// Every text that the recording has: names of ranges, domains, kernels, processes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let processes = self.processes.iter().flat_map(|process| [&process.name, &process.label]);
        let threads = self.threads.iter().filter_map(|thread| thread.name.as_ref());
        self.strings.iter().chain(processes.chain(threads).map(String::as_str))
    }

    /// `renamed` says what to call a text from now on; none leaves it as it is. Texts that
    /// differed should differ afterwards.
    pub fn rename(&mut self, mut renamed: impl FnMut(&str) -> Option<String>) {
        self.strings.rename(&mut renamed);
        let processes = self.processes.iter_mut().flat_map(|process| [&mut process.name, &mut process.label]);
        let threads = self.threads.iter_mut().filter_map(|thread| thread.name.as_mut());
        let devices =
            self.devices.iter_mut().flat_map(|device| [&mut device.name, &mut device.identity]).flatten();
        let diagnostics = self.diagnostics.iter_mut().map(|diagnostic| &mut diagnostic.text);
        for text in processes.chain(threads).chain(devices).chain(diagnostics) {
            if let Some(other) = renamed(text) {
                *text = other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Process;

    #[test]
    fn numbers_stay() {
        let mut trace = Trace::default();
        let (one, other) = (trace.strings.intern("a secret"), trace.strings.intern("b"));
        trace.processes.push(Process { name: "secret".to_owned(), ..Process::default() });
        trace.rename(|text| text.contains("secret").then(|| text.replace("secret", "***")));
        assert_eq!((trace.strings.text(one), trace.strings.text(other)), ("a ***", "b"));
        assert_eq!(trace.strings.intern("a ***"), one);
        assert_ne!(trace.strings.intern("a secret"), one);
        assert_eq!(trace.processes[0].name, "***");
    }
}
