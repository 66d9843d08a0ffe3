//! `certctl status`: a row for each certificate, a second one where a person has to act, and totals.

use std::collections::HashMap;

use crate::cli::render::table::{BELOW, Cell, Row, table};
use crate::cli::render::text::wrap;
use crate::cli::words::next::{self, date_and_distance};
use crate::cli::words::state::totals;
use crate::cli::{Format, Scene, Text, fix, short};
use crate::workspace::outlook::State;
use crate::workspace::view::CertificateView;

/// The table of all certificates: of each, no more than its cells is kept.
#[derive(Debug, Default)]
pub(in crate::cli) struct Overview {
    rows: Vec<Known>,
}

/// A certificate in the table.
#[derive(Debug)]
struct Known {
    state: State,
    /// Name as a command accepts it; empty for a document that has none.
    name: String,
    cells: Vec<Cell>,
    /// Problem, and the command that helps, where a person has to act.
    problem: Option<(String, Option<String>)>,
}

impl Overview {
    pub(in crate::cli) fn add(&mut self, view: &CertificateView, scene: &Scene) {
        let state = view.outlook.state;
        let name = if view.has_name() { short(&view.key) } else { String::new() };
        let mut cells = vec![
            Cell::painted(state.word(), state.paint()),
            Cell::from(&name),
            expires(view, scene),
            Cell::from(next::cell(view, scene)),
        ];
        if scene.format == Format::Wide {
            cells.extend(wide_cells(view));
        }
        let problem = state.needs_a_person(view).then(|| {
            let helps = fix::of_certificate(view).first().map(|(fix, _)| fix::worded(fix));
            (state.fact(view, scene), helps)
        });
        self.rows.push(Known { state, name, cells, problem });
    }

    /// Returns whether it shows a command to paste.
    pub(in crate::cli) fn has_commands(&self) -> bool {
        let helps = |row: &Known| row.problem.as_ref().is_some_and(|(_, helps)| helps.is_some());
        self.rows.iter().any(helps)
    }

    /// The states of all.
    pub(in crate::cli) fn states(&self) -> Vec<State> {
        self.rows.iter().map(|row| row.state).collect()
    }

    /// The name of the one that is worst off; empty for a document that has none.
    pub(in crate::cli) fn worst(&self) -> Option<&str> {
        let worst = self.rows.iter().filter(|row| row.problem.is_some());
        worst.min_by_key(|row| row.state).map(|row| row.name.as_str())
    }

    /// The table; of more than `most` certificates, those that are worst off.
    pub(in crate::cli) fn end(mut self, most: usize, scene: &Scene) -> String {
        let states = self.states();
        if self.rows.len() > most {
            self.rows.sort_by_key(|row| row.state);
            self.rows.truncate(most);
        }
        let mut heading = vec!["STATUS", "NAME", "EXPIRES", "NEXT"];
        if scene.format == Format::Wide {
            heading.extend(WIDE);
        }
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows.len());
        // What is wrong with many is below the first.
        let mut met: HashMap<String, (usize, Option<String>, usize)> = HashMap::new();
        for Known { cells, problem, .. } in self.rows {
            if let Some((what, helps)) = problem {
                let (_, _, count) = met.entry(what).or_insert((rows.len(), helps, 0));
                *count += 1;
            }
            rows.push(cells.into());
        }
        for (what, (at, helps, count)) in met {
            let others = count.saturating_sub(1);
            let same = if others > 0 { format!(" (and {others} more)") } else { String::new() };
            let mut below = Text::from(format!("{}{what}{same}", " ".repeat(BELOW)));
            if let Some(command) = helps {
                below.push("; ");
                below.whole(&format!("try: {command}"));
            }
            if let Some(row) = rows.get_mut(at) {
                row.below = below.with("\n");
            }
        }
        let text = table(&heading, &rows, scene.color, scene.columns());
        match states.len() {
            0 | 1 => text,
            all => {
                let end = if all > most { "; all: certctl status" } else { "" };
                text + "\n" + &wrap(&(totals(&states) + end), "", scene.columns())
            }
        }
    }
}

fn expires(view: &CertificateView, scene: &Scene) -> Cell {
    match &view.leaf {
        None => Cell::from(""),
        Some(Err(_)) => Cell::from("unreadable"),
        Some(Ok(_)) if view.is_temporary() => Cell::from("temporary"),
        Some(Ok(leaf)) => Cell::from(date_and_distance(leaf.not_after, scene)),
    }
}

const WIDE: [&str; 8] =
    ["NAMES", "ISSUER", "REVISION", "KEY", "SERIAL", "ORDER", "SECRET", "MANIFEST"];

fn wide_cells(view: &CertificateView) -> [Cell; WIDE.len()] {
    let leaf = view.readable_leaf();
    let revision = view.record.as_ref().and_then(|record| record.status.revision);
    let manifest = view.certificate.as_ref().map(|certificate| certificate.origin.path.as_path());
    let recorded = view.record.as_ref().and_then(|record| record.manifest.as_deref());
    [
        Cell::from(view.names().join(",")),
        Cell::from(view.issuer_ref().map_or("", |issuer| issuer.name.as_str())),
        Cell::from(revision.map(|number| number.to_string()).unwrap_or_default()),
        Cell::from(leaf.map_or("", |leaf| &leaf.key_description)),
        Cell::from(leaf.map_or("", |leaf| &leaf.serial)),
        Cell::from(view.order().map_or("", |order| &order.name)),
        Cell::from(view.secret_path.to_string_lossy()),
        Cell::from(manifest.or(recorded).map(|path| path.to_string_lossy()).unwrap_or_default()),
    ]
}
