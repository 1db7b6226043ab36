//! What a version of nsys can do, from its own help.

use nvtx::NsysDialect;

use crate::help::options_in;

/// Options of `nsys profile`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Every option by its long name, as `--help` lists them.
    pub names: Vec<String>,
    /// `--cuda-graph-trace` takes `node`.
    pub graph_nodes: bool,
    /// `--nvtx-capture` accepts a backslash before an `@` in the name.
    pub escaped_gates: bool,
}

impl Options {
    /// From the text of `nsys profile --help`: lines that begin with an option, and what
    /// stands below them.
    pub fn parse(help: &str) -> Self {
        let mut options = Self::default();
        for (name, text) in options_in(help) {
            options.add(&name);
            let says = |word: &str| text[1..].iter().any(|line| line.contains(word));
            options.graph_nodes |= name == "cuda-graph-trace" && says("node");
            options.escaped_gates |= name == "nvtx-capture" && says("can be escaped with backslash");
        }
        options
    }

    /// `nvtx-domain-[include|exclude]` are two.
    fn add(&mut self, name: &str) {
        match name.split_once('[').and_then(|(start, rest)| Some((start, rest.split_once(']')?.0))) {
            Some((start, choices)) => {
                self.names.extend(choices.split('|').map(|choice| format!("{start}{choice}")));
            }
            None => self.names.push(name.to_owned()),
        }
    }

    /// How this version reads a gate.
    pub fn dialect(&self) -> NsysDialect {
        NsysDialect { escapes: self.escaped_gates }
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_help() {
        let help = "\t-c, --capture-range=\n\n\t   Possible values are \
        'none'.\n\t--cuda-graph-trace=\n\n\t   'graph' or \
        'node'.\n\t--nvtx-domain-[include|exclude]=\n\t--kill=\n";
        let options = Options::parse(help);
        assert!(options.graph_nodes && options.has("capture-range") && options.has("nvtx-domain-exclude"));
        assert!(!options.has("wait") && Options::parse("") == Options::default());
    }

    /// As 2022.4.2 and 2023.4.4 say it.
    #[test]
    fn dialects() {
        let old = "\t-p, --nvtx-capture=\n\n\t   Possible values are: `range@domain'.\n";
        let new = format!("{old}\t   '@' can be escaped with backslash '\\'.\n");
        assert!(!Options::parse(old).dialect().escapes && Options::parse(&new).dialect().escapes);
    }
}
