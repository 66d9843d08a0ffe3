//! A DNS-01 self-check in text: the verdict, the CNAMEs, and a table of the name servers.

use std::fmt;

use super::report::{AnswerReport, Dns01Report, Said};
use crate::probe::Verdict;

impl fmt::Display for Dns01Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Passed => write!(f, "TXT {}: passed", self.name)?,
            Verdict::Failed { reason } => write!(f, "TXT {}: {reason}", self.name)?,
        }
        for target in &self.aliases.chain {
            write!(f, "\n  CNAME to {target}")?;
        }
        if let Some(zone) = &self.zone {
            write!(f, "\n  zone {zone}")?;
        }
        let table = self.table();
        if table.is_empty() { Ok(()) } else { write!(f, "\n{table}") }
    }
}

/// Server, address, answer, TTL, error.
type Row = [String; 5];

impl Dns01Report {
    /// The name servers, a line for each address that was asked, below a line of headings; empty
    /// when there are none.
    pub fn table(&self) -> String {
        let rows = self.rows();
        if rows.is_empty() {
            return String::new();
        }
        let head = HEAD.map(ToOwned::to_owned);
        let rows: Vec<&Row> = std::iter::once(&head).chain(&rows).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let line = |row: &&Row| {
            let pad = |(column, cell)| format!("  {cell:<width$}", width = width(column));
            let cells: Vec<String> = row.iter().enumerate().map(pad).collect();
            cells.concat().trim_end().to_owned()
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        lines.join("\n")
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for report in &self.servers {
            let nothing = AnswerReport::nowhere(Said::NoAddress { why: "no address".to_owned() });
            let answers = if report.answers.is_empty() {
                std::slice::from_ref(&nothing)
            } else {
                &report.answers
            };
            for AnswerReport { address, said } in answers {
                let address = address.as_deref().unwrap_or("-").to_owned();
                let (answer, ttl, error) = cells(said);
                rows.push([report.server.clone(), address, answer, ttl, error]);
            }
        }
        rows
    }
}

fn cells(said: &Said) -> (String, String, String) {
    let dash = || "-".to_owned();
    match said {
        Said::Records { has_value, other_count, others, ttl, is_authoritative } => {
            let mut values: Vec<String> = Vec::new();
            if *has_value {
                values.push("the value".to_owned());
            }
            values.extend(others.iter().map(|other| format!("\"{other}\"")));
            let more = other_count.saturating_sub(others.len());
            if more > 0 {
                values.push(format!("{more} more"));
            }
            let answer = if values.is_empty() { "no TXT".to_owned() } else { values.join(", ") };
            let ttl = ttl.map_or_else(dash, |ttl| ttl.to_string());
            let error = if *is_authoritative { "" } else { "not authoritative" };
            (answer, ttl, error.to_owned())
        }
        Said::NxDomain => ("no such name".to_owned(), dash(), String::new()),
        Said::Code { code } => (dash(), dash(), code.clone()),
        Said::Lame => (dash(), dash(), "not authoritative".to_owned()),
        Said::Silent { why }
        | Said::NoRoute { why }
        | Said::NoAddress { why }
        | Said::LookupFailed { why } => (dash(), dash(), why.clone()),
    }
}

const HEAD: [&str; 5] = ["NAME SERVER", "ADDRESS", "ANSWER", "TTL", "ERROR"];
