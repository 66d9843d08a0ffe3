//! Converts an answer into a result or an error that names server, zone and name.

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{RData, RecordType};

use super::super::ProviderError;
use super::message::{Answer, Fault};
use super::tsig::{FUDGE, Key, bare};
use crate::resource::response_code;

/// The subject of a request: server, key, zone and name.
pub(super) struct Place<'a> {
    /// The server, as messages call it.
    pub(super) service: &'a str,
    pub(super) key: Option<&'a Key>,
    pub(super) zone: &'a str,
    pub(super) name: &'a str,
}

impl Place<'_> {
    /// Checks the answer to an update.
    pub(super) fn changed(&self, answer: &Answer) -> Result<(), ProviderError> {
        self.signature(answer.fault)?;
        let code = answer.message.metadata.response_code;
        if code == ResponseCode::NoError {
            return Ok(());
        }
        let (zone, name) = (self.zone, self.name);
        Err(if code == ResponseCode::NotAuth {
            self.no_zone(format!("NOTAUTH: it is not authoritative for the zone {zone}"))
        } else if code == ResponseCode::NotZone {
            self.no_zone(format!("NOTZONE: that is not in the zone {zone}"))
        } else if code == ResponseCode::Refused {
            let who = self.key.map_or_else(
                || "requests without a key".to_owned(),
                |key| format!("the key {}", key.shown()),
            );
            self.refused(code, format!("{who} may not change {name} in the zone {zone}"))
        } else if code == ResponseCode::NotImp {
            self.refused(
                code,
                format!("it does not implement updates, such as of {name} in the zone {zone}"),
            )
        } else {
            self.refused(code, format!("it does not change {name} in the zone {zone}"))
        })
    }

    /// Checks the answer to an SOA query for the zone.
    pub(super) fn found(&self, answer: &Answer) -> Result<String, ProviderError> {
        self.signature(answer.fault)?;
        let Self { service, zone, .. } = self;
        let message = &answer.message;
        let code = message.metadata.response_code;
        if code == ResponseCode::Refused {
            return Err(self.refused(code, format!("it does not answer for the zone {zone}")));
        }
        if code != ResponseCode::NoError && code != ResponseCode::NXDomain {
            return Err(self.refused(code, format!("it does not show the zone {zone}")));
        }
        let serial = message.answers.iter().find_map(|record| {
            let RData::SOA(soa) = &record.data else { return None };
            (bare(&record.name) == *zone).then_some(soa.serial)
        });
        let Some(serial) = serial else {
            let above = message.authorities.iter();
            let mut above = above.filter(|it| it.record_type() == RecordType::SOA);
            let above = above.next().map(|it| format!("; {} is above it", it.name));
            let above = above.unwrap_or_default();
            return Err(self.no_zone(format!("it has no zone {zone}{above}")));
        };
        if !message.metadata.authoritative {
            return Err(self.no_zone(format!("it is not authoritative for the zone {zone}")));
        }
        let key = self.key.map_or_else(
            || "no key is used".to_owned(),
            |key| format!("it knows the key {}", key.shown()),
        );
        Ok(format!("{service} is authoritative for the zone {zone} (serial {serial}); {key}"))
    }

    /// Converts a TSIG error.
    fn signature(&self, fault: Option<Fault>) -> Result<(), ProviderError> {
        let Some(fault) = fault else { return Ok(()) };
        let Self { service, zone, name, .. } = self;
        let key = self.key.map(Key::shown).unwrap_or_default();
        let place = format!("record {name} in the zone {zone}");
        let unauthorized =
            |reason| ProviderError::Unauthorized { service: (*service).to_owned(), reason };
        Err(match fault {
            Fault::BadSig => {
                unauthorized(format!("BADSIG: wrong TSIG secret for the key {key}; {place}"))
            }
            Fault::BadKey => unauthorized(format!("BADKEY: it has no key {key}; {place}")),
            Fault::BadTime(ahead) => {
                let clock = match ahead {
                    Some(ahead) if ahead < 0 => {
                        format!("its clock is {} s behind this machine's", ahead.unsigned_abs())
                    }
                    Some(ahead) => format!("its clock is {ahead} s ahead of this machine's"),
                    None => "its clock and this machine's differ".to_owned(),
                };
                ProviderError::Refused {
                    service: (*service).to_owned(),
                    status: "BADTIME".to_owned(),
                    reason: format!("{clock}, and signatures hold for {FUDGE} s; {place}"),
                }
            }
            Fault::Other(22) => unauthorized(format!("BADTRUNC for the key {key}; {place}")),
            Fault::Other(code) => {
                unauthorized(format!("TSIG error {code} for the key {key}; {place}"))
            }
        })
    }

    fn no_zone(&self, reason: String) -> ProviderError {
        let (service, name) = (self.service.to_owned(), self.name.to_owned());
        ProviderError::NoZone { service, name, reason }
    }

    fn refused(&self, code: ResponseCode, reason: String) -> ProviderError {
        ProviderError::Refused {
            service: self.service.to_owned(),
            status: response_code(code.into()),
            reason,
        }
    }
}
