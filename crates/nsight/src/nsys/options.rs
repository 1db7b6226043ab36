//! What a version of nsys can do, from what it says of itself.

use crate::help::options_in;

/// Options of `nsys profile`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Options {
    /// Every option by its long name, as `--help` lists them.
    pub names: Vec<String>,
    /// `--cuda-graph-trace` takes `node`.
    pub graph_nodes: bool,
}

impl Options {
    /// From the text of `nsys profile --help`: lines that begin with an option, and what
    /// stands below them.
    pub fn parse(help: &str) -> Self {
        let mut options = Self::default();
        for (name, text) in options_in(help) {
            options.add(&name);
            let nodes = text[1..].iter().any(|line| line.contains("node"));
            options.graph_nodes |= name == "cuda-graph-trace" && nodes;
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

    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_help() {
        let help = "\t-c, --capture-range=\n\n\t   Possible values are 'none'.\n\t--cuda-graph-trace=\n\n\t   'graph' or 'node'.\n\t--nvtx-domain-[include|exclude]=\n\t--kill=\n";
        let options = Options::parse(help);
        assert!(options.graph_nodes && options.has("capture-range") && options.has("nvtx-domain-exclude"));
        assert!(!options.has("wait") && Options::parse("") == Options::default());
    }
}
