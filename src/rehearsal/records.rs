//! The records of the name server, and the log of its queries.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use hickory_proto::op::{Message, MessageType};

use super::answer::{PAYLOAD, answer};
use super::lock;
use super::zones::{Zones, normal};

/// A received query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// In lower case, without a trailing dot.
    pub name: String,
    /// The type, such as `TXT`.
    pub record: String,
    /// Whether it came over TCP.
    pub over_tcp: bool,
}

/// The records and the log, shared with the thread that serves them.
#[derive(Clone, Debug, Default)]
pub(super) struct Records(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    zones: Mutex<Zones>,
    questions: Mutex<VecDeque<Question>>,
}

impl Records {
    /// The latest queries, oldest first.
    pub(super) fn questions(&self) -> Vec<Question> {
        lock(&self.0.questions).iter().cloned().collect()
    }

    pub(super) fn add_txt(&self, name: &str, strings: Vec<String>) {
        self.zones(|zones| {
            zones.change(name, |node| {
                if !node.txt.contains(&strings) {
                    node.txt.push(strings);
                }
            });
        });
    }

    pub(super) fn remove_txt(&self, name: &str, value: &str) {
        self.zones(|zones| {
            zones.change(name, |node| node.txt.retain(|strings| strings.concat() != value));
        });
    }

    pub(super) fn set(&self, name: &str, addresses: Vec<IpAddr>) {
        self.zones(|zones| zones.change(name, |node| node.addresses = Some(addresses)));
    }

    pub(super) fn zones<T>(&self, edit: impl FnOnce(&mut Zones) -> T) -> T {
        edit(&mut lock(&self.0.zones))
    }

    /// The answer to a message, up to the size that the client accepts; `None` for a message that is
    /// not a query.
    pub(super) fn reply(&self, bytes: &[u8], over_tcp: bool) -> Option<Vec<u8>> {
        let query = Message::from_vec(bytes).ok()?;
        if query.metadata.message_type != MessageType::Query {
            return None;
        }
        for question in &query.queries {
            let mut questions = lock(&self.0.questions);
            if questions.len() >= QUESTIONS {
                questions.pop_front();
            }
            questions.push_back(Question {
                name: normal(&question.name().to_ascii()),
                record: question.query_type().to_string(),
                over_tcp,
            });
        }
        let answer = self.zones(|zones| answer(&query, zones));
        let whole = answer.to_vec().ok()?;
        let limit = if over_tcp { u16::MAX } else { query.max_payload().min(PAYLOAD) };
        if whole.len() > usize::from(limit) { answer.truncate().to_vec().ok() } else { Some(whole) }
    }
}

const QUESTIONS: usize = 10_000;
