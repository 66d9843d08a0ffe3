//! Who runs the operator's hooks.

/// Who runs deploy hooks and reloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hooks {
    /// This run, as its own user.
    #[default]
    Now,
    /// A later run: they stay owed, which is no failure of this one.
    Later,
    /// This run, as root, which needs the capabilities to become root.
    AsRoot,
}
