//! The schema: tables and the names of their columns.

use super::columns::Selection;
use super::damage::Damage;
use super::pages::Pages;
use super::table::Table;

pub(super) const UNREADABLE: &str = "the list of its tables cannot be read";

/// `sqlite_schema` is itself a table, and the one that describes itself nowhere.
pub(super) fn contents() -> Table {
    Table {
        name: "sqlite_schema".to_owned(),
        root: 1,
        columns: ["type", "name", "tbl_name", "rootpage", "sql"].map(str::to_owned).to_vec(),
        texts: Vec::new(),
        rowid_column: None,
    }
}

/// The tables, and what cannot be read of their list: each of its rows is a table.
pub(super) fn tables(pages: &Pages) -> Result<(Vec<Table>, Damage), String> {
    let contents = contents();
    let selection = Selection::new(pages, &contents, |find| {
        (find.text("type"), find.text("name"), find.integer("rootpage"), find.text("sql"))
    });
    let leaves = selection.leaves();
    let mut tables = Vec::new();
    let mut damage = selection.scan(&leaves.pages, |row, (kind, name, root, sql)| {
        if row.text(*kind) != Some(b"table") {
            return;
        }
        let root = row.integer(*root).and_then(|root| u32::try_from(root).ok());
        if let (Some(name), Some(root), Some(sql)) = (row.string(*name), root, row.string(*sql))
            && let Some((columns, rowid_column, texts)) = columns_of(&sql)
        {
            tables.push(Table { name, root, columns, texts, rowid_column });
        }
    });
    damage.add(leaves.damage);
    if tables.is_empty() && !damage.is_none() {
        return Err(UNREADABLE.to_owned());
    }
    Ok((tables, damage))
}

/// The names between the outer parentheses of `CREATE TABLE`, and which of them is the
/// row's number, and which may hold texts. None if it is not a plain table.
fn columns_of(sql: &str) -> Option<(Vec<String>, Option<usize>, Vec<usize>)> {
    let tokens = tokens(sql);
    let open = tokens.iter().position(|token| token == "(")?;
    let (mut columns, mut rowid, mut depth) = (Vec::new(), None, 1);
    let mut definition: Vec<&str> = Vec::new();
    let (mut integers, mut texts) = (Vec::new(), Vec::new());
    let mut rest = tokens[open + 1..].iter();
    for token in rest.by_ref() {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            "," if depth == 1 => {
                add_column(&mut definition, &mut columns, &mut integers, &mut texts, &mut rowid);
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
        definition.push(token);
    }
    add_column(&mut definition, &mut columns, &mut integers, &mut texts, &mut rowid);
    // Such a table is kept in another kind of tree.
    let without_rowid = rest.any(|token| token.eq_ignore_ascii_case("without"));
    (!without_rowid && !columns.is_empty()).then_some((columns, rowid, texts))
}

/// One column, unless it is a rule for the whole table.
fn add_column(
    definition: &mut Vec<&str>,
    columns: &mut Vec<String>,
    integers: &mut Vec<usize>,
    texts: &mut Vec<usize>,
    rowid: &mut Option<usize>,
) {
    let words = std::mem::take(definition);
    let Some(first) = words.first() else { return };
    let rules = ["constraint", "primary", "unique", "check", "foreign"];
    let is = |at: usize, word: &str| words.get(at).is_some_and(|other| other.eq_ignore_ascii_case(word));
    if rules.iter().any(|rule| first.eq_ignore_ascii_case(rule)) {
        // `PRIMARY KEY (id)` on its own says the same of an INTEGER column.
        if let [_, _, "(", name, ")"] = words.as_slice()
            && is(0, "primary")
        {
            let named = columns.iter().position(|column| column.eq_ignore_ascii_case(name));
            *rowid = named.filter(|at| integers.contains(at)).or(*rowid);
        }
        return;
    }
    if is(1, "integer") {
        integers.push(columns.len());
    }
    if !["integer", "int", "real", "double", "float", "blob"].iter().any(|number| is(1, number)) {
        texts.push(columns.len());
    }
    let primary = (2..words.len()).any(|at| is(at, "primary") && is(at + 1, "key") && !is(at + 2, "desc"));
    if is(1, "integer") && primary {
        *rowid = Some(columns.len());
    }
    columns.push((*first).to_owned());
}

/// Words, quoted names without their quotes, and punctuation; comments are left out.
fn tokens(sql: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if let Some(close) = match first {
            '"' | '`' | '\'' => Some(first),
            '[' => Some(']'),
            _ => None,
        } {
            let inner = &rest[first.len_utf8()..];
            let (name, after) = inner.split_once(close).unwrap_or((inner, ""));
            tokens.push(name.to_owned());
            rest = after;
        } else if first.is_alphanumeric() || first == '_' {
            let end =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            rest = &rest[end..];
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_the_row_number() {
        let sql = "CREATE TABLE StringIds (\n  -- Texts, once (each).\n  id INTEGER NOT NULL PRIMARY KEY, -- a, b\n  \
                   value TEXT NOT NULL DEFAULT ('a,b'), \"odd name\" REAL, CHECK (id > 0)\n)";
        let (columns, rowid, _) = columns_of(sql).unwrap();
        assert_eq!(columns, ["id", "value", "odd name"]);
        assert_eq!(rowid, Some(0));
        assert_eq!(columns_of("CREATE TABLE t (a INT PRIMARY KEY, b)").unwrap().1, None);
        assert_eq!(columns_of("CREATE TABLE t (a, id INTEGER, PRIMARY KEY(id))").unwrap().1, Some(1));
        assert_eq!(columns_of("CREATE TABLE t (a INTEGER, b TEXT, c, d REAL)").unwrap().2, [1, 2]);
        assert!(columns_of("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID").is_none());
        assert!(columns_of("CREATE VIRTUAL TABLE t USING fts5").is_none());
    }
}
