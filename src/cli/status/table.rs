//! Aligned columns for people.

use crate::cli::output::{Paint, escape};
use crate::cli::wrap::wrap;

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

    fn cut(&self, width: usize, utf8: bool) -> Self {
        if self.text.chars().count() <= width {
            return self.clone();
        }
        let mark = if utf8 { "…" } else { "..." };
        let kept = width.saturating_sub(mark.chars().count());
        let text: String = self.text.chars().take(kept).chain(mark.chars()).collect();
        Self { text, paint: self.paint }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        let text = escape(text.as_ref()).into_owned();
        Self { text: if text.is_empty() { NOTHING.to_owned() } else { text }, paint: None }
    }
}

/// The width that a table has on a terminal, in columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// How many.
    pub columns: usize,
    /// Whether more than ASCII can be shown.
    pub utf8: bool,
}

impl Width {
    /// That of the terminal on stdout; `None` when it is none.
    pub(crate) fn of_stdout(utf8: bool) -> Option<Self> {
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        (size.ws_col > 0).then(|| Self { columns: size.ws_col.into(), utf8 })
    }

    /// The columns of the terminal on stderr; `None` when it is none.
    pub(crate) fn of_stderr() -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }
}

/// A heading and rows, columns three spaces apart, nothing behind the last one. On a terminal where
/// not all fit, columns are left out: what a reader misses least goes first. Why it is so stays: where
/// that does not fit beside the others, it is a line below its row. What is still too wide is cut in
/// its widest columns, but for the first, names, dates and coloured words.
pub(crate) fn render(
    heading: &[&str],
    rows: &[Vec<Cell>],
    color: bool,
    width: Option<Width>,
) -> String {
    let all: Vec<usize> = (0..heading.len()).collect();
    let Some(columns) = width.map(|width| width.columns) else {
        return Shown { columns: all, below: None }.render(heading, rows, color, None);
    };
    let widths = widths_of(heading, rows);
    let fits = |shown: &[usize]| {
        let wide = shown.iter().filter_map(|at| widths.get(*at)).sum::<usize>();
        wide + GAP * shown.len().saturating_sub(1) <= columns
    };
    let shown = those_that_fit(heading, all.clone(), fits);
    let why = heading.iter().position(|word| WHY.contains(word)).filter(|_| !fits(&shown));
    let shown = match why {
        None => Shown { columns: shown, below: None },
        Some(why) => {
            let others = all.into_iter().filter(|at| *at != why).collect();
            Shown { columns: those_that_fit(heading, others, fits), below: Some(why) }
        }
    };
    shown.render(heading, rows, color, width)
}

/// What of a table is shown.
struct Shown {
    /// The places of the columns.
    columns: Vec<usize>,
    /// The place of the one that is shown below each row.
    below: Option<usize>,
}

impl Shown {
    fn render(
        &self,
        heading: &[&str],
        rows: &[Vec<Cell>],
        color: bool,
        width: Option<Width>,
    ) -> String {
        let heading: Vec<&str> =
            self.columns.iter().filter_map(|at| heading.get(*at).copied()).collect();
        let of = |row: &Vec<Cell>| -> Vec<Cell> {
            self.columns.iter().filter_map(|at| row.get(*at).cloned()).collect()
        };
        let mut cells: Vec<Vec<Cell>> = rows.iter().map(of).collect();
        let mut widths = widths_of(&heading, &cells);
        if let Some(width) = width {
            fit(&mut widths, &heading, &cells, width.columns);
            for row in &mut cells {
                let cut = row.iter().zip(&widths).map(|(cell, most)| cell.cut(*most, width.utf8));
                *row = cut.collect();
            }
        }
        let words = heading.iter().map(|word| Cell { text: (*word).to_owned(), paint: None });
        let mut text = line(&words.collect::<Vec<_>>(), &widths, false);
        for (shown, row) in cells.iter().zip(rows) {
            text.push_str(&line(shown, &widths, color));
            let below = self.below.and_then(|at| row.get(at)).filter(|cell| cell.text != NOTHING);
            if let (Some(below), Some(width)) = (below, width) {
                text.push_str(&wrap(&below.text, BELOW, width.columns));
            }
        }
        text
    }
}

fn widths_of(heading: &[&str], rows: &[Vec<Cell>]) -> Vec<usize> {
    let mut widths: Vec<usize> = heading.iter().map(|word| word.len()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.text.chars().count());
        }
    }
    widths
}

/// Those of these columns that are shown, so that they fit.
fn those_that_fit(
    heading: &[&str],
    mut shown: Vec<usize>,
    fits: impl Fn(&[usize]) -> bool,
) -> Vec<usize> {
    for word in DROPPED {
        if fits(&shown) {
            break;
        }
        shown.retain(|at| heading.get(*at) != Some(word));
    }
    shown
}

/// Takes width from the widest of the columns that may be cut, until all fit or none has any left.
fn fit(widths: &mut [usize], heading: &[&str], rows: &[Vec<Cell>], columns: usize) {
    let least = |column: usize| {
        let word = heading.get(column).copied().unwrap_or_default();
        let of_column = |row: &Vec<Cell>| row.get(column).is_some_and(|cell| cell.paint.is_some());
        let is_whole = column == 0 || WHOLE.contains(&word) || rows.iter().any(of_column);
        if is_whole { usize::MAX } else { word.len().max(NARROWEST) }
    };
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > columns {
        let may_shrink = |(column, width): &(usize, &mut usize)| **width > least(*column);
        let columns = widths.iter_mut().enumerate().filter(may_shrink);
        let Some((_, width)) = columns.max_by_key(|(_, width)| **width) else { return };
        *width -= 1;
    }
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
        gap = width.saturating_sub(cell.text.chars().count()) + GAP;
    }
    line.push('\n');
    line
}

/// The columns that a narrow terminal lacks, the first of them first. Who is it, how it is and why
/// always stay.
const DROPPED: &[&str] = &[
    "MANIFEST", "SECRET", "ORDER", "SERIAL", "URL", "KEY", "REVISION", "ISSUER", "NAMES",
    "EXPIRES", "COST", "AGE", "RENEWS",
];
/// Why a row is as it is: never cut, and never left out.
const WHY: &[&str] = &["LAST", "REASON"];
/// Before what stands below its row.
const BELOW: &str = "    ";
/// What an empty cell says.
const NOTHING: &str = "-";
/// Between two columns.
const GAP: usize = 3;
/// Names, dates and counts are never cut.
const WHOLE: &[&str] = &["NAME", "ACTION", "EXPIRES", "RENEWS", "AGE", "REVISION", "STATE", "COST"];
/// What a column that is cut keeps.
const NARROWEST: usize = 8;

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
            render(&heading, &rows, false, None),
            "NAME       READY         LAST\n\
             web        READY         -\n\
             a\\u{1b}b   NO MANIFEST   x\n"
        );
        assert_eq!(
            render(&heading, &rows[..1], true, None),
            "NAME   READY   LAST\nweb    \u{1b}[32mREADY\u{1b}[0m   -\n"
        );
    }

    #[test]
    fn a_terminal_that_is_too_narrow_gets_fewer_columns_and_then_the_reason_below() {
        let rows = [
            vec![
                Cell::from("a-long-name"),
                Cell::painted("PENDING DEPLOY", Paint::Warn),
                Cell::from("www.example.com +4"),
                Cell::from("issued 2m ago"),
            ],
            vec![
                Cell::from("b"),
                Cell::painted("READY", Paint::Good),
                Cell::from("b"),
                Cell::from("x"),
            ],
        ];
        let heading = ["NAME", "READY", "NAMES", "LAST"];
        let at = |columns, utf8| render(&heading, &rows, false, Some(Width { columns, utf8 }));
        assert_eq!(at(200, true), render(&heading, &rows, false, None));
        assert_eq!(
            at(55, true),
            "NAME          READY            LAST\n\
             a-long-name   PENDING DEPLOY   issued 2m ago\n\
             b             READY            x\n"
        );
        assert_eq!(
            at(30, true),
            "NAME          READY\n\
             a-long-name   PENDING DEPLOY\n    issued 2m ago\n\
             b             READY\n    x\n"
        );
        assert_eq!(
            at(10, false),
            "NAME          READY\n\
             a-long-name   PENDING DEPLOY\n    issued\n    2m ago\n\
             b             READY\n    x\n"
        );
        let states = [vec![Cell::from("web"), Cell::from("a long state"), Cell::from("-")]];
        let narrow = Some(Width { columns: 14, utf8: false });
        let text = render(&["NAME", "STATE-X", "REASON"], &states, false, narrow);
        assert_eq!(text, "NAME   STATE-X\nweb    a lon...\n");
    }
}
