//! The messages: an update of one value (RFC 2136), a query, and their answers.
//!
//! An answer counts only when it belongs to the request and, with a key, is signed with that key.
//! The exception is errors: a server that rejects the signature, or fails before it verifies it,
//! cannot sign (RFC 8945 section 5.3.2).

use hickory_proto::ProtoError;
use hickory_proto::op::{Header, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable as _, BinDecoder, DecodeError};

use super::tsig::{FUDGE, Found, Key, Signed};

/// The change of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Add it with this TTL, in seconds.
    Add {
        ttl: u32,
    },
    Remove,
}

/// A request before it is signed; each has a random id.
pub(super) struct Request {
    message: Message,
}

impl Request {
    /// A change of one value among those at a name (RFC 2136 sections 2.5.1 and 2.5.4).
    pub(super) fn change(change: Change, zone: Name, name: Name, value: &str) -> Self {
        let mut message = Message::query();
        message.metadata.op_code = OpCode::Update;
        message.add_query(Query::query(zone, RecordType::SOA));
        let (class, ttl) = match change {
            Change::Add { ttl } => (DNSClass::IN, ttl),
            Change::Remove => (DNSClass::NONE, 0),
        };
        let data = RData::TXT(TXT::new(vec![value.to_owned()]));
        let mut record = Record::from_rdata(name, ttl, data);
        record.dns_class = class;
        message.add_authority(record);
        Self { message }
    }

    /// A query without recursion.
    pub(super) fn question(name: Name, kind: RecordType) -> Self {
        let mut message = Message::query();
        message.add_query(Query::query(name, kind));
        Self { message }
    }

    /// The bytes to send, signed when there is a key; `time` is in seconds since 1970.
    pub(super) fn sign(&self, key: Option<&Key>, time: u64) -> Result<Signed, ProtoError> {
        let bytes = self.message.to_vec()?;
        Ok(match key {
            Some(key) => key.sign(&bytes, time),
            None => Signed { bytes, mac: Vec::new(), time },
        })
    }

    /// Classifies bytes from the server as an answer to this request.
    pub(super) fn hear(&self, key: Option<&Key>, sent: &Signed, bytes: &[u8]) -> Heard {
        let (message, found) = match read(bytes) {
            Ok(read) => read,
            Err(error) => return Heard::Noise(format!("it cannot be read: {error}")),
        };
        if message.metadata.message_type != MessageType::Response
            || message.metadata.id != self.message.metadata.id
            || message.metadata.op_code != self.message.metadata.op_code
            || (!message.queries.is_empty() && message.queries != self.message.queries)
        {
            return Heard::Noise("it is the answer to something else".to_owned());
        }
        if message.metadata.truncation {
            return Heard::Truncated;
        }
        let fault = match key {
            Some(key) => match fault(key, sent, bytes, &message, found.as_ref()) {
                Ok(fault) => fault,
                Err(reason) => return Heard::Noise(reason.to_owned()),
            },
            None => None,
        };
        Heard::Answer(Box::new(Answer { message, fault }))
    }
}

/// The classification of bytes from the server.
pub(super) enum Heard {
    Answer(Box<Answer>),
    /// The answer is too large for UDP.
    Truncated,
    /// Not an answer to this request, with the reason.
    Noise(String),
}

/// An answer.
pub(super) struct Answer {
    pub(super) message: Message,
    /// The server's TSIG error.
    pub(super) fault: Option<Fault>,
}

/// TSIG errors (RFC 8945 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    BadSig,
    BadKey,
    /// With the seconds by which the server's clock is ahead, when the server sent its time.
    BadTime(Option<i64>),
    Other(u16),
}

/// Why an answer to a signed request is rejected, or the TSIG error that it reports.
fn fault(
    key: &Key,
    sent: &Signed,
    bytes: &[u8],
    message: &Message,
    found: Option<&Found>,
) -> Result<Option<Fault>, &'static str> {
    let succeeded = message.metadata.response_code == ResponseCode::NoError;
    let Some(found) = found else {
        return if succeeded { Err("it is not signed") } else { Ok(None) };
    };
    let error = found.record.error.map_or(0, u16::from);
    if found.record.mac.is_empty() {
        if succeeded || error == 0 {
            return Err("it is not signed");
        }
    } else {
        key.verify(sent, bytes, found)?;
    }
    let ahead = |time: u64| i64::try_from(time).ok()?.checked_sub_unsigned(sent.time);
    Ok(match error {
        0 if found.record.time.abs_diff(sent.time) > u64::from(FUDGE) => {
            Some(Fault::BadTime(ahead(found.record.time)))
        }
        0 => None,
        16 => Some(Fault::BadSig),
        17 => Some(Fault::BadKey),
        18 => Some(Fault::BadTime(server_time(&found.record.other).and_then(ahead))),
        other => Some(Fault::Other(other)),
    })
}

/// The server's clock, which comes with BADTIME: 48 bits.
fn server_time(other: &[u8]) -> Option<u64> {
    let clock: [u8; 6] = other.try_into().ok()?;
    Some(clock.into_iter().fold(0, |time, byte| (time << 8) | u64::from(byte)))
}

/// The message and its TSIG record, which must be the last one.
pub(super) fn read(bytes: &[u8]) -> Result<(Message, Option<Found>), DecodeError> {
    let message = Message::from_vec(bytes)?;
    let mut decoder = BinDecoder::new(bytes);
    let counts = Header::read(&mut decoder)?.counts;
    for _ in 0..counts.queries {
        Query::read(&mut decoder)?;
    }
    let records = [counts.answers, counts.authorities, counts.additionals];
    let mut records: u32 = records.into_iter().map(u32::from).sum();
    if counts.additionals == 0 {
        records = 0;
    }
    let mut last = None;
    for _ in 0..records {
        let start = decoder.index();
        last = Some((start, Record::read(&mut decoder)?));
    }
    let found = last.and_then(|(start, record)| {
        let RData::TSIG(tsig) = record.data else { return None };
        Some(Found { start, key: record.name, record: tsig })
    });
    Ok((message, found))
}
