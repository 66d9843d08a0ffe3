//! The keys of `config.toml`: the long names of the global flags.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{Arg, ArgAction, Args as _, Command};

use crate::cli::GlobalArgs;

/// The value of one key, as it would stand behind its flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Value of the key: one word, several for a flag that may be repeated, `true` for a flag
    /// without a value.
    pub words: Vec<OsString>,
    /// Its line in the file, counted from 1.
    pub line: usize,
}

/// The global flags alone, without their variables.
pub fn globals() -> Command {
    let command = Command::new(FILE).no_binary_name(true).disable_help_flag(true);
    GlobalArgs::augment_args(command).mut_args(|arg| arg.env(Resettable::Reset))
}

/// The keys that there are, in the order of the flags; those for labs only are left out.
pub fn keys() -> Vec<String> {
    shown(&globals()).map(|(key, _)| key.to_owned()).collect()
}

/// The same with their flags.
pub(super) fn shown(globals: &Command) -> impl Iterator<Item = (&str, &Arg)> {
    let shown = globals.get_arguments().filter(|arg| !arg.is_hide_set());
    let keys = shown.filter_map(|arg| Some((arg.get_long()?, arg)));
    keys.filter(|(key, _)| *key != CONFIG_DIR)
}

/// Returns whether the flag takes no value.
pub(super) fn is_switch(action: &ArgAction) -> bool {
    matches!(action, ArgAction::SetTrue | ArgAction::SetFalse)
}

/// The file's name.
pub const FILE: &str = "config.toml";

pub(in crate::cli) const CONFIG_DIR: &str = "config-dir";
pub(in crate::cli) const STATE_DIR: &str = "state-dir";
