//! Aligned columns for people.

use std::borrow::Cow;

use crate::cli::render::output::{Paint, escape};
use crate::cli::render::text::wrap;
use crate::cli::terminal::Width;

/// One entry of a table; foreign text is escaped.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    paint: Option<Paint>,
    /// What is shown where the whole does not fit.
    shorter: Option<String>,
    /// Whether it is left out, rather than shown below its row.
    is_minor: bool,
}

impl Cell {
    /// A word in a colour.
    pub(crate) fn painted(text: &str, paint: Paint) -> Self {
        Self { paint: Some(paint), ..Self::from(text) }
    }

    /// The same, with a shorter form for a narrow terminal.
    #[must_use]
    pub(crate) fn or_shorter(self, text: String) -> Self {
        Self { shorter: Some(text), ..self }
    }

    /// The same, which need not be seen.
    #[must_use]
    pub(crate) fn minor(self) -> Self {
        Self { is_minor: true, ..self }
    }

    /// The same, and something else that must be seen.
    #[must_use]
    pub(crate) fn and(self, addition: &str) -> Self {
        let text =
            if self.text.is_empty() { addition.to_owned() } else { self.text + "; " + addition };
        Self { text, is_minor: false, ..self }
    }

    fn shortened(&self) -> Self {
        match &self.shorter {
            Some(text) => Self { text: text.clone(), ..self.clone() },
            None => self.clone(),
        }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    /// Nothing, where what belongs there is shown elsewhere.
    fn blank() -> Self {
        Self { text: String::new(), paint: None, shorter: None, is_minor: false }
    }

    fn cut(&self, width: usize, utf8: bool) -> Self {
        if self.text.chars().count() <= width {
            return self.clone();
        }
        let mark = if utf8 { "…" } else { "..." };
        let shown_width = width.saturating_sub(mark.chars().count());
        let text: String = self.text.chars().take(shown_width).chain(mark.chars()).collect();
        Self { text, ..self.clone() }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        let text = escape(text.as_ref()).into_owned();
        let text = if text.is_empty() { NOTHING.to_owned() } else { text };
        Self { text, ..Self::blank() }
    }
}

/// The table of [`listed`] alone.
#[cfg(test)]
fn render(heading: &[&str], rows: &[Vec<Cell>], color: bool, width: Option<Width>) -> String {
    let (shown, rows) = arrange(heading, rows, width);
    shown.render(heading, &rows, color, width)
}

/// A heading and rows, columns three spaces apart, nothing behind the last one. On a terminal where
/// not all fit, columns are left out: what a reader misses least goes first. Why it is so stays: what
/// of it does not fit beside the others is below its row. Then dates become shorter, and then they
/// go. What is still too wide is cut in its widest columns, but for the first, names, dates and
/// coloured words. A line below names the columns that were left out.
pub(crate) fn listed(
    heading: &[&str],
    rows: &[Vec<Cell>],
    color: bool,
    width: Option<Width>,
) -> String {
    let (shown, rows) = arrange(heading, rows, width);
    let mut text = shown.render(heading, &rows, color, width);
    let left_out = shown.left_out(heading, &rows);
    if let Some(width) = width.filter(|_| !left_out.is_empty()) {
        let line = format!("not shown: {}; all columns: -o wide", left_out.join(", "));
        text.push_str(&wrap(&line, "", width.columns));
    }
    text
}

/// Which columns are shown, and the rows, whose cells may be shorter.
fn arrange<'r>(
    heading: &[&str],
    rows: &'r [Vec<Cell>],
    width: Option<Width>,
) -> (Shown, Cow<'r, [Vec<Cell>]>) {
    let all: Vec<usize> = (0..heading.len()).collect();
    let Some(Width { columns, .. }) = width else {
        return (Shown { columns: all, why: None }, Cow::Borrowed(rows));
    };
    let fits = |shown: &[usize], widths: &[usize]| {
        let wide = shown.iter().filter_map(|at| widths.get(*at)).sum::<usize>();
        wide + GAP * shown.len().saturating_sub(1) <= columns
    };
    let mut widths = widths_of(heading, rows);
    let shown = those_that_fit(heading, all.clone(), EXTRA, |shown| fits(shown, &widths));
    let why = heading.iter().position(|word| WHY.contains(word));
    let Some(why) = why.filter(|_| !fits(&shown, &widths)) else {
        let columns = those_that_fit(heading, shown, DATES, |shown| fits(shown, &widths));
        return (Shown { columns, why: None }, Cow::Borrowed(rows));
    };
    // A reason or two that are long are no loss of all others.
    let reasons = rows.iter().filter_map(|row| row.get(why)).map(Cell::width);
    let brief = reasons.filter(|width| *width <= BRIEF).max().filter(|width| *width > 1);
    if let Some(brief) = brief {
        let least = heading.get(why).map_or(0, |word| word.len());
        let mut reserved = widths.clone();
        if let Some(width) = reserved.get_mut(why) {
            *width = brief.max(least);
        }
        let shown = those_that_fit(heading, all.clone(), EXTRA, |shown| fits(shown, &reserved));
        if fits(&shown, &reserved) {
            let others = shown.iter().filter(|at| **at != why).filter_map(|at| widths.get(*at));
            let taken = others.sum::<usize>() + GAP * shown.len().saturating_sub(1);
            let available = columns.saturating_sub(taken);
            let why = Some(Why { column: why, available });
            return (Shown { columns: shown, why }, Cow::Borrowed(rows));
        }
    }
    let others: Vec<usize> = all.into_iter().filter(|at| *at != why).collect();
    let shown = those_that_fit(heading, others.clone(), EXTRA, |shown| fits(shown, &widths));
    let why = Some(Why { column: why, available: 0 });
    if fits(&shown, &widths) {
        return (Shown { columns: shown, why }, Cow::Borrowed(rows));
    }
    let rows: Vec<Vec<Cell>> =
        rows.iter().map(|row| row.iter().map(Cell::shortened).collect()).collect();
    widths = widths_of(heading, &rows);
    let shown = those_that_fit(heading, others, EXTRA, |shown| fits(shown, &widths));
    let columns = those_that_fit(heading, shown, DATES, |shown| fits(shown, &widths));
    (Shown { columns, why }, Cow::Owned(rows))
}

/// What of a table is shown.
struct Shown {
    /// The places of the columns.
    columns: Vec<usize>,
    why: Option<Why>,
}

/// The column of reasons, of which some are below their rows.
#[derive(Clone, Copy)]
struct Why {
    column: usize,
    /// How wide one is at most that is in its column.
    available: usize,
}

impl Shown {
    /// The headings of the columns that are not there, or not in each row; reasons are below their
    /// rows, unless they are minor.
    fn left_out<'h>(&self, heading: &[&'h str], rows: &[Vec<Cell>]) -> Vec<&'h str> {
        let is_below = |at: usize| {
            let why = self.why.filter(|why| why.column == at)?;
            let mut cells = rows.iter().filter_map(|row| row.get(at));
            let is_lost =
                |cell: &Cell| cell.width() > why.available && cell.is_minor && cell.text != NOTHING;
            Some(!cells.any(is_lost))
        };
        let is_shown = |at: usize| is_below(at).unwrap_or_else(|| self.columns.contains(&at));
        let all = heading.iter().enumerate();
        all.filter(|(at, _)| !is_shown(*at)).map(|(_, word)| *word).collect()
    }

    fn render(
        &self,
        heading: &[&str],
        rows: &[Vec<Cell>],
        color: bool,
        width: Option<Width>,
    ) -> String {
        let heading: Vec<&str> =
            self.columns.iter().filter_map(|at| heading.get(*at).copied()).collect();
        let is_below = |at: usize, cell: &Cell| {
            self.why.is_some_and(|why| why.column == at && cell.width() > why.available)
        };
        let of = |row: &Vec<Cell>| -> Vec<Cell> {
            let cells = self.columns.iter().filter_map(|at| Some((*at, row.get(*at)?)));
            let shown = |(at, cell)| if is_below(at, cell) { Cell::blank() } else { cell.clone() };
            cells.map(shown).collect()
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
        let words = heading.iter().map(|word| Cell::from(*word));
        let mut text = line(&words.collect::<Vec<_>>(), &widths, false);
        for (shown, row) in cells.iter().zip(rows) {
            text.push_str(&line(shown, &widths, color));
            let why = self.why.and_then(|why| Some((why, row.get(why.column)?)));
            let below = why.filter(|(why, cell)| is_below(why.column, cell) && !cell.is_minor);
            let below = below.map(|(_, cell)| cell).filter(|cell| cell.text != NOTHING);
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

/// Those of these columns that are shown, so that they fit: the first of `dropped` goes first.
fn those_that_fit(
    heading: &[&str],
    mut shown: Vec<usize>,
    dropped: &[&str],
    fits: impl Fn(&[usize]) -> bool,
) -> Vec<usize> {
    for word in dropped {
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
        if !cell.text.is_empty() {
            line.push_str(&" ".repeat(gap));
            gap = 0;
        }
        match cell.paint {
            Some(paint) => line.push_str(&paint.on(&cell.text, color)),
            None => line.push_str(&cell.text),
        }
        gap += width.saturating_sub(cell.width()) + GAP;
    }
    line.push('\n');
    line
}

/// The columns that a narrow terminal lacks, the first of them first.
const EXTRA: &[&str] =
    &["MANIFEST", "SECRET", "ORDER", "SERIAL", "URL", "KEY", "REVISION", "ISSUER", "NAMES"];
/// Those that a very narrow one lacks too, once they are short and no reason is beside them. Who is
/// it and how it is always stay.
const DATES: &[&str] = &["COST", "AGE", "RENEWS", "EXPIRES"];
/// So many columns are few for a reason.
const BRIEF: usize = 24;
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
        let states = [vec![Cell::from("web"), Cell::from("a long state"), Cell::from("-")]];
        let narrow = Some(Width { columns: 14, utf8: false });
        let text = render(&["NAME", "STATE-X", "REASON"], &states, false, narrow);
        assert_eq!(text, "NAME   STATE-X\nweb    a lon...\n");
    }

    #[test]
    fn a_reason_that_is_long_is_below_its_row_and_the_others_stay_where_they_are() {
        let row = |name: &str, state: &str, why: &str| {
            let date = Cell::from("2027-02-18 90d").or_shorter("90d".to_owned());
            let renewal = Cell::from("2027-01-19 59d").or_shorter("59d".to_owned());
            let why = Cell::from(why);
            let why = if state == "READY" { why.minor() } else { why };
            vec![Cell::from(name), Cell::from(state), Cell::from("a +1"), date, renewal, why]
        };
        let rows = [
            row("web", "READY", "issued 2m ago"),
            row("api", "FAILED", "validation failed: unauthorized, 3 failures"),
            row("shop", "READY", "issued 59m ago"),
        ];
        let heading = ["NAME", "READY", "NAMES", "EXPIRES", "RENEWS", "LAST"];
        let at = |columns| render(&heading, &rows, false, Some(Width { columns, utf8: true }));
        assert_eq!(
            at(80),
            "NAME   READY    NAMES   EXPIRES          RENEWS           LAST\n\
             web    READY    a +1    2027-02-18 90d   2027-01-19 59d   issued 2m ago\n\
             api    FAILED   a +1    2027-02-18 90d   2027-01-19 59d\n    validation failed: \
             unauthorized, 3 failures\n\
             shop   READY    a +1    2027-02-18 90d   2027-01-19 59d   issued 59m ago\n"
        );
        assert_eq!(
            at(40),
            "NAME   READY    NAMES   EXPIRES   RENEWS\n\
             web    READY    a +1    90d       59d\n\
             api    FAILED   a +1    90d       59d\n    validation failed: unauthorized, 3\n    \
             failures\n\
             shop   READY    a +1    90d       59d\n"
        );
        // What of a column is neither beside nor below its row is named.
        let width = |columns| Some(Width { columns, utf8: true });
        let narrow = listed(&heading, &rows, false, width(40));
        assert!(narrow.ends_with("not shown: LAST; all columns: -o wide\n"), "{narrow}");
        let wide = listed(&heading, &rows, false, width(80));
        assert!(!wide.contains("not shown"), "{wide}");
        assert_eq!(
            at(26),
            "NAME   READY    EXPIRES\n\
             web    READY    90d\n\
             api    FAILED   90d\n    validation failed:\n    unauthorized, 3\n    failures\n\
             shop   READY    90d\n"
        );
    }
}
