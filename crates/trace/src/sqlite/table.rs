//! A table, as its `CREATE TABLE` describes it.

#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) root: u32,
    pub(super) columns: Vec<String>,
    /// Columns that may hold texts.
    pub(crate) texts: Vec<usize>,
    /// `INTEGER PRIMARY KEY`: not stored, it is the row's own number.
    pub(crate) rowid_column: Option<usize>,
}

impl Table {
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }
}
