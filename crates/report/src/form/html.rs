//! Static tables in the page, also for readers without JavaScript.

use super::escape::{prose, text};
use super::shown::{Digits, shown};
use crate::tables::{Cell, Head, Kind, Tabular, View};

/// Makes something else of the cells of a column.
pub(crate) type Decorate<'d> = &'d dyn Fn(&Head, &Cell<'_>) -> Option<String>;

/// The first `rows` of a table, of this class; the first cell of each names it.
pub(crate) fn html_table(table: &dyn Tabular, class: &str, rows: usize, decorate: Decorate<'_>) -> String {
    let (columns, heads) = (table.columns(View::Page), table.heads());
    let mut html = format!("<table class=\"plain{class}\">\n");
    if columns.iter().any(|at| !heads[*at].title.is_empty()) {
        let title = |at: &usize| {
            format!("<th scope=\"col\"{}>{}</th>", class_of(heads[*at]), text(&heads[*at].title))
        };
        html.push_str(&format!(
            "<thead><tr>{}</tr></thead>\n",
            columns.iter().map(title).collect::<String>()
        ));
    }
    html.push_str("<tbody>\n");
    for row in 0..rows.min(table.len()) {
        html.push_str("<tr>");
        for (place, at) in columns.iter().enumerate() {
            let (head, cell) = (heads[*at], table.cell(row, *at));
            let absent = head.absent.unwrap_or(table.about().absent);
            let inner = decorate(head, &cell).or_else(|| value(head, &cell)).unwrap_or_else(|| text(absent));
            html.push_str(&match place {
                0 => format!("<th scope=\"row\">{inner}</th>"),
                _ => format!("<td{}>{inner}</td>", class_of(head)),
            });
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n");
    html
}

fn class_of(head: &Head) -> &'static str {
    if head.kind.is_text() { "" } else { " class=\"num\"" }
}

fn value(head: &Head, cell: &Cell<'_>) -> Option<String> {
    let shown = shown(head.kind, cell, Digits::Grouped)?;
    Some(if head.kind == Kind::Prose { prose(&shown) } else { text(&shown) })
}
