//! Aligned columns for people.

use crate::cli::output::{Paint, escape};

/// One entry of a table; foreign text is escaped.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    paint: Option<Paint>,
}

impl Cell {
    /// A word in a colour.
    pub(crate) fn painted(text: &str, paint: Paint) -> Self {
        Self { paint: Some(paint), ..Self::from(text) }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        let text = escape(text.as_ref()).into_owned();
        Self { text: if text.is_empty() { "-".to_owned() } else { text }, paint: None }
    }
}

/// A heading and rows, columns three spaces apart, nothing behind the last one.
pub(crate) fn render(heading: &[&str], rows: &[Vec<Cell>], color: bool) -> String {
    let mut widths: Vec<usize> = heading.iter().map(|word| word.len()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.chars().count());
        }
    }
    let heading = heading.iter().map(|word| Cell { text: (*word).to_owned(), paint: None });
    let mut text = line(&heading.collect::<Vec<_>>(), &widths, false);
    for row in rows {
        text.push_str(&line(row, &widths, color));
    }
    text
}

fn line(cells: &[Cell], widths: &[usize], color: bool) -> String {
    let mut line = String::new();
    let mut gap = 0;
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(&" ".repeat(gap));
        match cell.paint {
            Some(paint) => line.push_str(&paint.on(&cell.text, color)),
            None => line.push_str(&cell.text),
        }
        gap = width.saturating_sub(cell.text.chars().count()) + 3;
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let rows = [
            vec![Cell::from("web"), Cell::painted("READY", Paint::Good), Cell::from("")],
            vec![
                Cell::from("a\u{1b}b"),
                Cell::painted("NO MANIFEST", Paint::Warn),
                Cell::from("x"),
            ],
        ];
        let heading = ["NAME", "READY", "LAST"];
        assert_eq!(
            render(&heading, &rows, false),
            "NAME       READY         LAST\n\
             web        READY         -\n\
             a\\u{1b}b   NO MANIFEST   x\n"
        );
        assert_eq!(
            render(&heading, &rows[..1], true),
            "NAME   READY   LAST\nweb    \u{1b}[32mREADY\u{1b}[0m   -\n"
        );
    }
}
