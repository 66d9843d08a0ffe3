//! Deeds in flight: what makes two effects the same deed.
//!
//! The effects and outcomes themselves are `controller::Effect` and `controller::Outcome`, so
//! that the rooms need nothing of the engine. The identity of a deed is (certificate, noun,
//! deed); one engine loop serves one certificate, and an [`Effect`] names noun and deed.

use std::collections::HashSet;

use crate::controller::Effect;

/// The deeds of one certificate that are under way.
#[derive(Debug, Default)]
pub(crate) struct InFlight(HashSet<Effect>);

impl InFlight {
    /// Notes a deed as under way; false when it is already.
    pub(crate) fn start(&mut self, effect: &Effect) -> bool {
        self.0.insert(effect.clone())
    }

    /// Notes a deed as done.
    pub(crate) fn end(&mut self, effect: &Effect) {
        self.0.remove(effect);
    }
}
