//! A column: what it is called, what kind of value it has, and where in a row that is.

use std::borrow::Cow;

use super::cell::Cell;

/// What a value is; every form decides from it how to show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Count,
    /// Nanoseconds.
    Time,
    /// A part of one, with a bar where one can be drawn.
    Share,
    /// A part of one.
    Part,
    /// Of a hundred.
    Percent,
    Bytes,
    /// Bytes per second.
    Rate,
    /// Floating-point operations.
    Operations,
    /// Operations per second.
    Speed,
    /// Any other number, with this many decimals.
    Number(usize),
    /// A factor.
    Times,
    /// An identifier, mostly a number: a process, a GPU, a result.
    Id,
    Text,
    /// A name chosen by the program.
    Name,
    /// One of our sentences; text between backticks is code.
    Prose,
    /// JSON.
    List,
    /// Busy time and idle causes.
    Stack,
}

impl Kind {
    /// Text reads from the left, numbers line up on the right.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Name | Self::Prose | Self::List | Self::Stack)
    }
}

/// Everything about a column but its values.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    /// What programs call it.
    pub(crate) key: Cow<'static, str>,
    /// What people call it.
    pub(crate) title: Cow<'static, str>,
    /// The same on a terminal, where there is little room.
    pub(crate) short: Option<&'static str>,
    pub(crate) kind: Kind,
    /// What it is, if the title alone does not say it.
    pub(crate) help: Cow<'static, str>,
    /// Shown to people if there is no value.
    pub(crate) absent: Option<&'static str>,
    /// Whether programs get it; columns derived from others are for people only.
    pub(crate) for_programs: bool,
    /// Whether what it names may be in the page's timeline.
    pub(crate) found: bool,
}

impl Head {
    pub(crate) fn short_title(&self) -> &str {
        self.short.unwrap_or(&self.title)
    }
}

type Get<'p, R> = Box<dyn for<'r> Fn(&'r R) -> Cell<'r> + 'p>;

pub(crate) struct Column<'p, R> {
    pub(crate) head: Head,
    pub(crate) get: Get<'p, R>,
}

impl<R> std::fmt::Debug for Column<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.head.fmt(f)
    }
}

impl<'p, R> Column<'p, R> {
    /// For programs by its key, for people by its title.
    pub(crate) fn new(
        kind: Kind,
        key: impl Into<Cow<'static, str>>,
        title: impl Into<Cow<'static, str>>,
        get: impl for<'r> Fn(&'r R) -> Cell<'r> + 'p,
    ) -> Self {
        let head = Head {
            key: key.into(),
            title: title.into(),
            short: None,
            kind,
            help: Cow::Borrowed(""),
            absent: None,
            for_programs: true,
            found: false,
        };
        Self { head, get: Box::new(get) }
    }

    pub(crate) fn short(mut self, title: &'static str) -> Self {
        self.head.short = Some(title);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.head.help = help.into();
        self
    }

    pub(crate) fn absent(mut self, text: &'static str) -> Self {
        self.head.absent = Some(text);
        self
    }

    pub(crate) fn for_people(mut self) -> Self {
        self.head.for_programs = false;
        self
    }

    pub(crate) fn found(mut self) -> Self {
        self.head.found = true;
        self
    }
}
