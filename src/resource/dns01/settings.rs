//! The table of a provider's fields: its struct with serde, the decoder of manifests, `explain`, the
//! schema and the manual are made from it.

use serde::Deserialize as _;
use serde_json::Value;
use thiserror::Error;

use crate::resource::SecretKeySelector;

/// What a provider's settings are made of.
#[derive(Debug)]
pub struct SettingsTable {
    /// What the mapping is for.
    pub meaning: &'static str,
    /// The fields, in the order of the struct's.
    pub fields: &'static [SettingsField],
    /// What holds between the fields.
    pub rules: &'static [Rule],
}

/// One row.
#[derive(Debug)]
pub struct SettingsField {
    /// As in a manifest.
    pub name: &'static str,
    /// What may stand there.
    pub kind: FieldKind,
    /// Whether it must be there.
    pub is_required: bool,
    /// What it means, and what may be written.
    pub meaning: &'static str,
    /// What holds when it is absent; empty when nothing does.
    pub default: &'static str,
    /// A value, as YAML; empty where there is none to show.
    pub example: &'static str,
}

/// What may stand at a field.
#[derive(Debug)]
pub enum FieldKind {
    /// Text in one line.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The same, in upper or lower case.
    WordInAnyCase(&'static [&'static str]),
    /// A host with an optional port.
    Server,
    /// The name of a file in one of the operator's folders.
    FileName,
    /// A reference to an entry of a Secret.
    Secret,
    /// A mapping with fields of its own.
    Object(&'static SettingsTable),
    /// Anything, kept as written.
    Any,
    /// The same, which only a cluster uses.
    ClusterOnly,
}

/// What holds between fields, as cert-manager's admission has it.
#[derive(Debug)]
pub enum Rule {
    /// At most one of the two.
    NotBoth(&'static str, &'static str),
    /// One of the two.
    ExactlyOne(&'static str, &'static str),
    /// The first one requires the second.
    Needs(&'static str, &'static str),
    /// The one, or all of the others, or nothing.
    OneOrAll(&'static str, &'static [&'static str]),
}

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A field must be there.
    #[error("{field}: {message}")]
    Missing { field: &'static str, message: String },
    /// None of several fields is there.
    #[error("{message}")]
    NoneOf { message: String },
    /// A field must not be there beside another one.
    #[error("{message}")]
    Excluded { field: &'static str, message: String },
}

impl SettingsTable {
    /// The rules that are broken. `is_set`: whether a field is there and not empty.
    pub fn faults(&self, is_set: &dyn Fn(&str) -> bool) -> Vec<Fault> {
        self.rules.iter().flat_map(|rule| rule.faults(is_set)).collect()
    }
}

impl Rule {
    fn faults(&self, is_set: &dyn Fn(&str) -> bool) -> Vec<Fault> {
        match *self {
            Self::NotBoth(one, other) | Self::ExactlyOne(one, other)
                if is_set(one) && is_set(other) =>
            {
                let message = format!("{one} and {other} cannot both be specified");
                vec![Fault::Excluded { field: other, message }]
            }
            Self::ExactlyOne(one, other) if !is_set(one) && !is_set(other) => {
                vec![Fault::NoneOf { message: format!("{one} or {other} is required") }]
            }
            Self::Needs(one, other) if is_set(one) && !is_set(other) => {
                vec![Fault::Missing { field: other, message: format!("required with {one}") }]
            }
            Self::OneOrAll(one, others) if others.iter().any(|other| is_set(other)) => {
                if is_set(one) {
                    let message = format!("{one} cannot be used together with {}", any_of(others));
                    return vec![Fault::Excluded { field: one, message }];
                }
                let missing = others.iter().filter(|other| !is_set(other));
                let fault = |other: &&'static str| Fault::Missing {
                    field: other,
                    message: "must be specified".to_owned(),
                };
                missing.map(fault).collect()
            }
            Self::NotBoth(..) | Self::ExactlyOne(..) | Self::Needs(..) | Self::OneOrAll(..) => {
                Vec::new()
            }
        }
    }
}

/// `a, b or c`.
fn any_of(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        names => names.concat(),
    }
}

/// Settings that a table describes.
pub trait Settings {
    /// Whether the field of this name is there and not empty.
    fn is_set(&self, name: &str) -> bool;

    /// The entries of Secrets that it refers to.
    fn references(&self, found: &mut Vec<SecretKeySelector>);

    /// The rules between its fields that are broken.
    fn faults(&self) -> Vec<Fault>;
}

/// A field's value.
pub(super) trait Setting {
    fn is_absent(&self) -> bool;

    fn references(&self, _found: &mut Vec<SecretKeySelector>) {}
}

impl Setting for String {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl Setting for SecretKeySelector {
    fn is_absent(&self) -> bool {
        false
    }

    fn references(&self, found: &mut Vec<SecretKeySelector>) {
        found.push(self.clone());
    }
}

/// In settings that have a shape of their own, a reference is each object of just a `name` and a
/// `key`.
impl Setting for Value {
    fn is_absent(&self) -> bool {
        self.is_null()
    }

    fn references(&self, found: &mut Vec<SecretKeySelector>) {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => {}
            Self::Array(items) => items.iter().for_each(|item| item.references(found)),
            Self::Object(fields) => match SecretKeySelector::deserialize(self) {
                Ok(reference) if fields.len() == 2 => found.push(reference),
                Ok(_) | Err(_) => fields.values().for_each(|field| field.references(found)),
            },
        }
    }
}

impl<T: Setting> Setting for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn references(&self, found: &mut Vec<SecretKeySelector>) {
        if let Some(value) = self {
            value.references(found);
        }
    }
}

/// Makes settings out of their table: the struct with serde, and the table as a value.
///
/// A row is the field with its name in a manifest and its kind, then `default` and `example` where
/// there are any; its comment is its meaning wherever it is explained.
macro_rules! settings {
    (
        #[doc = $about:literal]
        $settings:ident {
            required {$(
                #[doc = $needed_meaning:literal]
                $needed:ident $needed_name:literal: $needed_kind:ident $(($($needed_of:tt)*))?
                    $(, example $needed_example:literal)?;
            )*}
            optional {$(
                #[doc = $meaning:literal]
                $field:ident $name:literal: $kind:ident $(($($of:tt)*))?
                    $(, default $default:literal)? $(, example $example:literal)?;
            )*}
            rules [$($rule:expr),* $(,)?]
        }
    ) => {
        #[doc = $about]
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[derive(schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $settings {
            $(
                #[doc = $needed_meaning]
                #[serde(rename = $needed_name)]
                pub $needed: $crate::resource::dns01::settings::rust_type!(required $needed_kind),
            )*
            $(
                #[doc = $meaning]
                #[serde(
                    rename = $name,
                    default,
                    skip_serializing_if = "crate::resource::dns01::settings::Setting::is_absent"
                )]
                pub $field: $crate::resource::dns01::settings::rust_type!(optional $kind $($($of)*)?),
            )*
        }

        impl $settings {
            /// The table of its fields.
            pub const TABLE: &'static $crate::resource::dns01::settings::SettingsTable =
                &$crate::resource::dns01::settings::SettingsTable {
                    meaning: $about.trim_ascii(),
                    fields: &[
                        $($crate::resource::dns01::settings::SettingsField {
                            name: $needed_name,
                            kind: $crate::resource::dns01::settings::field_kind!(
                                $needed_kind $($($needed_of)*)?
                            ),
                            is_required: true,
                            meaning: $needed_meaning.trim_ascii(),
                            default: "",
                            example: concat!($($needed_example)?),
                        },)*
                        $($crate::resource::dns01::settings::SettingsField {
                            name: $name,
                            kind: $crate::resource::dns01::settings::field_kind!(
                                $kind $($($of)*)?
                            ),
                            is_required: false,
                            meaning: $meaning.trim_ascii(),
                            default: concat!($($default)?),
                            example: concat!($($example)?),
                        },)*
                    ],
                    rules: &[$($rule),*],
                };
        }

        impl $crate::resource::dns01::settings::Settings for $settings {
            fn is_set(&self, name: &str) -> bool {
                use $crate::resource::dns01::settings::Setting as _;
                match name {
                    $($needed_name => !self.$needed.is_absent(),)*
                    $($name => !self.$field.is_absent(),)*
                    _ => false,
                }
            }

            fn references(&self, found: &mut Vec<$crate::resource::SecretKeySelector>) {
                use $crate::resource::dns01::settings::Setting as _;
                $(self.$needed.references(found);)*
                $(self.$field.references(found);)*
            }

            fn faults(&self) -> Vec<$crate::resource::dns01::settings::Fault> {
                Self::TABLE.faults(&|name| self.is_set(name))
            }
        }
    };
}
pub(super) use settings;

macro_rules! rust_type {
    (required Secret) => { $crate::resource::SecretKeySelector };
    (optional Secret) => { Option<$crate::resource::SecretKeySelector> };
    (optional Any) => { Option<serde_json::Value> };
    (optional ClusterOnly) => { Option<serde_json::Value> };
    (optional Object $object:ident) => { Option<$object> };
    ($need:ident $text:ident $($of:tt)*) => { String };
}
pub(super) use rust_type;

macro_rules! field_kind {
    (Word $($word:literal),*) => {
        $crate::resource::dns01::settings::FieldKind::Word(&[$($word),*])
    };
    (WordInAnyCase $($word:literal),*) => {
        $crate::resource::dns01::settings::FieldKind::WordInAnyCase(&[$($word),*])
    };
    (Object $object:ident) => {
        $crate::resource::dns01::settings::FieldKind::Object(
            $object::TABLE
        )
    };
    ($kind:ident) => { $crate::resource::dns01::settings::FieldKind::$kind };
}
pub(super) use field_kind;
