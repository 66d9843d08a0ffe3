//! What to do about something that is wrong, as an intent.
//!
//! Contract: facts alone, such as paths and the names of users. The program makes a command or a
//! sentence of an intent where it prints it, and nothing reads that again.

use std::path::PathBuf;

use super::NamespacedName;

/// An intent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fix {
    /// A run of what is due, of one certificate or of all.
    Issue(Option<NamespacedName>),
    /// An issuance now.
    Renew {
        certificate: NamespacedName,
        how: Reissue,
    },
    /// The outputs and hooks that are pending, of one certificate or of all.
    Deploy(Option<NamespacedName>),
    /// A manifest that is missing.
    Create(Creation),
    Check(Check),
    Explain(Page),
    Set(Setting),
    /// Of two files with one object, this one is not used; to use it, the other goes.
    RemoveOne {
        unused: PathBuf,
    },
    Permit(Permit),
    /// The port of a listener, which this user may not open, or another program has.
    FreePort {
        /// As the CA connects to it.
        port: u16,
        is_denied: bool,
    },
    /// A trusted certificate is replaced by one of a staging CA.
    AllowUntrusted,
    /// A program that is not in its folder.
    PutProgram {
        path: PathBuf,
        example: Option<PathBuf>,
        similar: Option<String>,
        by_root: bool,
    },
    /// A revocation that is pending is taken back.
    CancelRevocation(NamespacedName),
    /// A certificate without a manifest is no longer managed.
    Forget(NamespacedName),
    /// The deactivation of this Issuer's account is sent again.
    Deactivate(String),
    /// What starts the runs, and the clock that they read.
    Schedule(Schedule),
    /// The same call as root, or as the user of this number.
    Again(Option<u32>),
}

/// What is to be made.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Creation {
    Certificate,
    Issuer,
    /// One with a solver for wildcards, of this server unless its name says which.
    Dns01Issuer {
        name: String,
        server: Option<String>,
        has_bundle: bool,
    },
}

/// How an issuance is forced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reissue {
    Plain,
    NewOrder,
}

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    Http(String),
    TlsAlpn(String),
    Dns(String),
    /// The CA of an Issuer.
    Acme(String),
    /// The account of an Issuer.
    Account(String),
    Accounts,
    /// Those in the config directory, or one.
    Manifests(Option<PathBuf>),
    Host,
    /// The folders in use.
    Version,
    Status(Option<NamespacedName>),
    /// What a server presents, by host and port.
    Served(String),
}

/// A page of the manual, or a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Page {
    Failures,
    Hooks,
    Solvers,
    CaBundle,
}

/// Something in a manifest or in the configuration that is to be another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// The value that was probably meant.
    Value(String),
    /// A folder that is not certctl's own, in the annotation that names this one.
    Folder,
    /// A folder below one of these, in the same annotation.
    FolderBelow(Vec<PathBuf>),
    OutputDir(Elsewhere),
    /// Files are given to a group, not to another user.
    OutputGroup,
    /// The owner of the folder, as an alternative to a new one.
    OutputOwner(Permit),
    /// The document root; the permission is for where it is this one.
    DocumentRoot(Box<Permit>),
    /// A web server that serves the webroot, or none.
    Webroot,
    /// A manifest that only root can change.
    RootsManifest,
    CaBundle,
    /// The successor of a root, beside it.
    NextRoot,
    Resolver,
}

/// Why a folder of outputs is to be another, and which.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Elsewhere {
    /// Users other than root can change where it leads.
    Changeable(PathBuf),
    /// A web server serves what is in it.
    Served(PathBuf),
    /// This user has it, and may be the one whose runs write there.
    OfAnother { folder: PathBuf, user: String },
    /// Others use it; the permission is for another one below it.
    Shared(Box<Permit>),
    /// A user may not enter the first; the permission is for another one beside it.
    Closed { folder: PathBuf, user: String, other: Box<Permit> },
    /// Nothing is known of what is in it; the permission is for where it is certctl's alone.
    Perhaps(Box<Permit>),
    /// Several Certificates write there; or the link of one that no longer does is to go.
    Own { link: PathBuf, certificate: NamespacedName },
}

/// What the user of a run is to be allowed to do with a path, or what others are not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permit {
    pub path: PathBuf,
    pub what: Right,
}

/// See [`Permit`]. A user and a group are named, or their number is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Root makes the folder, or gives one that holds nothing of others, with these permissions.
    Folder { user: String, group: String, mode: u32 },
    /// Root lets the user in beside those who use it, as an ACL.
    Shared { user: String, letters: Letters, has_program: bool },
    /// The same by the group, which no user but root has.
    Group { group: String, letters: Letters, is_secret: bool },
    /// The owner of the folder lets the user in.
    ByOwner { user: String, letters: Letters },
    /// Root gives it to the user, perhaps after a look, and closes it to all others where it is open.
    Own { user: String, is_whole: bool, look: Option<Look>, is_open: bool },
    /// It is closed to all but its owner.
    Private { is_whole: bool },
    /// The owner, who is shut out, gets these permissions.
    OfOwner { mode: Option<u32> },
    /// No other user may write, nor read where it is a secret.
    Closed { is_secret: bool, look: Option<Look> },
    /// It is put there anew, as another user could have written anything.
    Anew { owner: u32, is_folder: bool },
    /// Every user may run it.
    Run,
    /// The folder is made.
    Folders,
    /// A secret, from standard input; readable by a group where root has its folder.
    Secret { group: Option<String> },
    /// Without the ACL that new files inherit.
    WithoutDefaultAcl,
    /// What is there is moved.
    Away { to: PathBuf },
}

/// The permissions of a file or a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Letters {
    Read,
    Enter,
    List,
    Write,
}

/// What is to be looked at before something of another user is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Look {
    File,
    Folder,
}

/// What is to be done to what starts the runs; of one user's where `of_user`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Schedule {
    Unmask {
        unit: String,
        of_user: bool,
    },
    Start {
        of_user: bool,
    },
    Enable {
        of_user: bool,
    },
    Log {
        of_user: bool,
    },
    Socket,
    PrintSystemd,
    PrintLaunchd,
    /// A line of cron, for another state than the usual one.
    PrintCron {
        of_user: bool,
        state: Option<PathBuf>,
    },
    LookAtCron,
    SetClock,
}

impl From<Permit> for Fix {
    fn from(permit: Permit) -> Self {
        Self::Permit(permit)
    }
}

impl Fix {
    /// An issuance now.
    pub fn renew(certificate: &NamespacedName, how: Reissue) -> Self {
        Self::Renew { certificate: certificate.clone(), how }
    }

    pub fn status(certificate: &NamespacedName) -> Self {
        Self::Check(Check::Status(Some(certificate.clone())))
    }
}

impl Permit {
    pub fn new(path: impl Into<PathBuf>, what: Right) -> Self {
        Self { path: path.into(), what }
    }

    /// Whether something is to be looked at first.
    pub fn needs_look(&self) -> bool {
        matches!(self.what, Right::Own { look: Some(_), .. } | Right::Closed { look: Some(_), .. })
    }
}
