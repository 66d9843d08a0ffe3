//! Types whose form in JSON is a text: `FromStr` reads it, and `Display` writes it.

use std::str::FromStr;

use super::{Cron, DnsName, GoDuration, Zone};

/// What serde's `try_from = "String"` and `into = "String"` need.
macro_rules! text_form {
    ($($name:ident),+) => {$(
        impl TryFrom<String> for $name {
            type Error = <Self as FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    )+};
}

text_form!(Cron, DnsName, GoDuration, Zone);
