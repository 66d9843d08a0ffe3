//! Aligned columns for people: the one printer of tables.
//!
//! Contract: columns of a terminal are counted, not letters. No column is left out and nothing is cut; what
//! does not fit of the last column is continued below it.

use textwrap::core::display_width;

use crate::cli::render::text::behind;
use crate::cli::{Paint, Text, escape};

/// Entry of a table; foreign text is escaped.
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
        let text = if text.is_empty() { NOTHING.to_owned() } else { text };
        Self { text, paint: None }
    }
}

/// A row, and what is below it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) below: Text,
}

impl From<Vec<Cell>> for Row {
    fn from(cells: Vec<Cell>) -> Self {
        Self { cells, below: Text::default() }
    }
}

/// A heading and rows, in so many columns.
pub(crate) fn table(heading: &[&str], rows: &[Row], color: bool, columns: usize) -> String {
    let heading: Vec<Cell> = heading.iter().map(Cell::from).collect();
    let mut widths = vec![0; heading.len()];
    for cells in rows.iter().map(|row| &row.cells).chain([&heading]) {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = display_width(&cell.text).max(*width);
        }
    }
    let mut text = line(&heading, &widths, false, columns);
    for Row { cells, below } in rows {
        text += &line(cells, &widths, color, columns);
        text += &below.lines(color, columns);
    }
    text
}

fn line(cells: &[Cell], widths: &[usize], color: bool, columns: usize) -> String {
    let Some((last, others)) = cells.split_last() else { return String::new() };
    let shown = |Cell { text, paint }: &Cell| match paint {
        Some(paint) => paint.on(text, color),
        None => text.clone(),
    };
    let mut begin = String::new();
    for (cell, width) in others.iter().zip(widths) {
        let gap = width.saturating_sub(display_width(&cell.text)) + GAP;
        begin += &[shown(cell), " ".repeat(gap)].concat();
    }
    let start = display_width(&begin);
    let indent = if start.saturating_mul(2) <= columns { start } else { BELOW };
    behind(&begin, &shown(last), indent, columns) + "\n"
}

/// Before what is below a row, or continues one that begins far to the right.
pub(crate) const BELOW: usize = 4;
/// Text of an empty cell.
const NOTHING: &str = "-";
/// Between two columns.
const GAP: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Row {
        cells.iter().map(Cell::from).collect::<Vec<_>>().into()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let states = [("READY", Paint::Good), ("NO MANIFEST", Paint::Warn)];
        let [ready, gone] = states.map(|(word, paint)| Cell::painted(word, paint));
        let rows = [
            vec![ready, Cell::from("web"), Cell::from("")].into(),
            vec![gone, Cell::from("a\u{1b}b"), Cell::from("x")].into(),
        ];
        let heading = ["STATUS", "NAME", "NEXT"];
        assert_eq!(
            table(&heading, &rows, false, usize::MAX),
            "STATUS        NAME       NEXT\n\
             READY         web        -\n\
             NO MANIFEST   a\\u{1b}b   x\n"
        );
        assert_eq!(
            table(&heading, &rows[..1], true, usize::MAX),
            "STATUS   NAME   NEXT\n\u{1b}[32mREADY\u{1b}[0m    web    -\n"
        );
    }

    #[test]
    fn a_wide_letter_counts_as_the_columns_it_takes() {
        let rows = [row(&["证书", "1"]), row(&["web", "2"])];
        let expected = "NAME   N\n证书   1\nweb    2\n";
        assert_eq!(table(&["NAME", "N"], &rows, false, usize::MAX), expected);
    }

    #[test]
    fn what_does_not_fit_is_continued_below_and_no_column_is_left_out() {
        let mut rows = [row(&["a-long-name", "one and two and three"]), row(&["b", "x"])];
        rows[1].below = Text::from("    this is wrong with it\n");
        let at = |columns| table(&["NAME", "REASON"], &rows, false, columns);
        assert_eq!(
            at(28),
            "NAME          REASON\n\
             a-long-name   one and two\n              and three\n\
             b             x\n    this is wrong with it\n"
        );
        assert_eq!(
            at(20),
            "NAME          REASON\n\
             a-long-name   one\n    and two and\n    three\n\
             b             x\n    this is wrong\n      with it\n"
        );
    }
}
