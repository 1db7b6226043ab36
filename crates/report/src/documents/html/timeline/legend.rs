//! What the events of a timeline are: names, details and colors, each kind once.

use std::collections::HashMap;

use trace::{ActivityKind, Launch, Trace, Transfer};

use crate::form::texts::Texts;
use crate::units::{bytes, count};

/// Colors, in the order of `timeline_draw.js`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// The families with the most time, and the last for all others.
    Family(u8),
    Copy,
    Fill,
    Graph,
    Region(u8),
    Operator,
    Launch,
    Sync,
    CopyCall,
    Call,
}

/// Families that have their own color.
pub(super) const FAMILIES: usize = 6;
const OTHER_FAMILY: u8 = FAMILIES as u8;
const REGION_SHADES: u32 = 4;

impl Colour {
    fn number(self) -> u8 {
        match self {
            Self::Family(family) => family,
            Self::Copy => 7,
            Self::Fill => 8,
            Self::Graph => 9,
            Self::Region(shade) => 10 + shade,
            Self::Operator => 14,
            Self::Launch => 15,
            Self::Sync => 16,
            Self::CopyCall => 17,
            Self::Call => 18,
        }
    }

    /// The CUDA runtime and driver name their calls, not the program.
    fn of_call(name: &str) -> Self {
        match name {
            name if name.contains("Launch") => Self::Launch,
            name if name.contains("Synchronize") || name.contains("Wait") => Self::Sync,
            name if name.contains("Memcpy") || name.contains("Memset") => Self::CopyCall,
            _ => Self::Call,
        }
    }
}

/// Columns of what events are.
#[derive(Debug, Default)]
pub(super) struct Legend {
    pub(super) label: Vec<u32>,
    pub(super) full: Vec<u32>,
    pub(super) detail: Vec<u32>,
    pub(super) colour: Vec<u8>,
    /// Families that have their own color, the most time first.
    pub(super) families: Vec<u32>,
    /// Whether kernels of other families occur.
    pub(super) others: bool,
    known: HashMap<(u32, u32, u32, u8), u32>,
}

impl Legend {
    fn add(&mut self, label: u32, full: u32, detail: u32, colour: Colour) -> u32 {
        let key = (label, full, detail, colour.number());
        let next = self.label.len() as u32;
        let id = *self.known.entry(key).or_insert(next);
        if id == next {
            self.label.push(label);
            self.full.push(full);
            self.detail.push(detail);
            self.colour.push(colour.number());
        }
        id
    }

    pub(super) fn region(&mut self, texts: &mut Texts, name: &str, path: &str, detail: &str) -> u32 {
        let (name, path, detail) = (texts.id(name), texts.id(path), texts.id(detail));
        self.add(name, path, detail, Colour::Region((name % REGION_SHADES) as u8))
    }

    pub(super) fn operator(&mut self, texts: &mut Texts, name: &str) -> u32 {
        let name = texts.id(name);
        self.add(name, name, 0, Colour::Operator)
    }

    pub(super) fn call(&mut self, texts: &mut Texts, name: &str) -> u32 {
        let label = trace::names::call(name);
        let colour = Colour::of_call(label);
        let (label, full) = (texts.id(label), texts.id(name));
        self.add(label, full, 0, colour)
    }

    pub(super) fn kernel(&mut self, texts: &mut Texts, trace: &Trace, launch: &Launch, family: &str) -> u32 {
        let three = |numbers: [u32; 3]| numbers.map(|number| number.to_string()).join(" x ");
        let shared = u64::from(launch.static_shared) + u64::from(launch.dynamic_shared);
        let detail = format!(
            "{family}; grid {}, block {}, {} registers, {} shared",
            three(launch.grid),
            three(launch.block),
            count(u64::from(launch.registers)),
            bytes(shared as f64)
        );
        let (short, full) = (trace.strings.text(launch.short_name), trace.strings.text(launch.name));
        let (label, full) = (texts.id(if short.is_empty() { full } else { short }), texts.id(full));
        let family = texts.id(family);
        let place = self.families.iter().position(|other| *other == family);
        self.others |= place.is_none();
        let colour = Colour::Family(place.map_or(OTHER_FAMILY, |place| place as u8));
        let detail = texts.id(&detail);
        self.add(label, full, detail, colour)
    }

    pub(super) fn transfer(&mut self, texts: &mut Texts, transfer: &Transfer, kind: ActivityKind) -> u32 {
        let colour = if kind == ActivityKind::Fill { Colour::Fill } else { Colour::Copy };
        let label = texts.id(transfer.direction.as_str());
        let detail = texts.id(&bytes(transfer.bytes as f64));
        self.add(label, label, detail, colour)
    }

    pub(super) fn graph(&mut self, texts: &mut Texts, name: &str) -> u32 {
        let label = texts.id(name);
        let detail = texts.id("recorded as a whole");
        self.add(label, label, detail, Colour::Graph)
    }
}

pub(super) fn graph_name(id: u32) -> String {
    format!("CUDA graph {id}")
}
