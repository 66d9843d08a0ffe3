//! The flags that every verb knows.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::cli::value_parser::{self, HostPort};
use crate::resource::GoDuration;
use crate::workspace::selector::LabelSelector;

/// The global flags.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Manifest or folder of manifests in addition to the config directory, `-` for standard input (repeatable)
    /// [env: CERTCTL_FILES]
    #[arg(short, long = "filename", value_name = "FILE|DIR", global = true)]
    pub filename: Vec<PathBuf>,
    /// Only objects of this namespace
    #[arg(short, long, env = "CERTCTL_NAMESPACE", hide_env_values = true, global = true,
          value_parser = value_parser::namespace)]
    pub namespace: Option<String>,
    /// Format of the data on stdout
    #[arg(short, long, value_enum, env = "CERTCTL_OUTPUT", hide_env_values = true, global = true)]
    pub output: Option<Format>,
    /// Print more messages on stderr (repeatable; -vvv shows each ACME exchange) [env: CERTCTL_LOG]
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,
    /// Print fewer messages on stderr (repeated: errors only)
    #[arg(short, long, action = ArgAction::Count, global = true, conflicts_with = "verbose")]
    pub quiet: u8,
    /// All namespaces (default); overrides -n
    #[arg(short = 'A', long, global = true)]
    pub all_namespaces: bool,
    /// Only objects with these labels: k=v,k!=v,k,!k
    #[arg(short = 'l', long, global = true)]
    pub selector: Option<LabelSelector>,
    /// Folder of manifests, secrets and hooks [env: CERTCTL_CONFIG_DIR]
    #[arg(long, value_name = "DIR", global = true)]
    pub config_dir: Option<PathBuf>,
    /// Folder of accounts, orders and issued secrets [env: CERTCTL_STATE_DIR]
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// Format of messages on stderr
    #[arg(long, value_enum, default_value_t, global = true)]
    pub log_format: LogFormat,
    /// Use colours [env: NO_COLOR, CLICOLOR_FORCE]
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    pub color: When,
    /// Show progress bars
    #[arg(long, value_enum, default_value_t, global = true, value_name = "WHEN")]
    pub progress: When,
    /// Certificates processed in parallel
    #[arg(long, value_name = "N", default_value = "256", global = true)]
    pub parallel: NonZeroUsize,
    /// Concurrent challenges, across all certctl processes
    #[arg(long, help_heading = TUNING, value_name = "N", default_value = "60", global = true)]
    pub max_concurrent_challenges: NonZeroUsize,
    /// Time limit of a certificate from its first challenge on, and of a request to the CA
    #[arg(long, value_name = "DURATION", default_value = "10m", global = true, value_parser = value_parser::positive_duration)]
    pub timeout: GoDuration,
    /// Time to wait for another running certctl; 0 does not wait
    #[arg(long, help_heading = TUNING, value_name = "DURATION", default_value = "30s", global = true, value_parser = value_parser::duration)]
    pub lock_timeout: GoDuration,
    /// Time between two self-checks of a challenge
    #[arg(long, help_heading = TUNING, value_name = "DURATION", default_value = "10s", global = true, value_parser = value_parser::positive_duration)]
    pub self_check_interval: GoDuration,
    /// Time limit of a hook
    #[arg(long, help_heading = TUNING, value_name = "DURATION", default_value = "60s", global = true, value_parser = value_parser::positive_duration)]
    pub hook_timeout: GoDuration,
    /// Run hooks and reloads in this run (now), in the next `certctl deploy` (later), or now as root
    #[arg(
        long,
        help_heading = TUNING,
        value_enum,
        default_value_t,
        env = "CERTCTL_HOOKS",
        hide_env_values = true,
        global = true,
        value_name = "WHEN"
    )]
    pub hooks: HookTime,
    // A given address must be available, but the default falls back to IPv4, so clap has no default.
    #[arg(help = format!("Address of the HTTP-01 listener (repeatable) [default: `{HTTP01_LISTEN}`]"), long, value_name = "ADDR", env = "CERTCTL_HTTP01_LISTEN", hide_env_values = true,
          value_delimiter = ',', global = true,
          value_parser = value_parser::listen_address)]
    pub http01_listen: Vec<SocketAddr>,
    /// Port that the HTTP-01 self-check connects to
    #[arg(long, help_heading = TUNING, value_name = "PORT", default_value_t = 80, global = true,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub http01_check_port: u16,
    #[arg(help = format!("Address of the TLS-ALPN-01 listener (repeatable) [default: `{TLSALPN01_LISTEN}`]"), long, value_name = "ADDR", env = "CERTCTL_TLSALPN01_LISTEN", hide_env_values = true,
          value_delimiter = ',', global = true,
          value_parser = value_parser::listen_address)]
    pub tlsalpn01_listen: Vec<SocketAddr>,
    /// Port that the TLS-ALPN-01 self-check connects to
    #[arg(long, help_heading = TUNING, value_name = "PORT", env = "CERTCTL_TLSALPN01_CHECK_PORT", hide_env_values = true,
          default_value_t = 443, global = true,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub tlsalpn01_check_port: u16,
    #[arg(
        help = format!("DNS server for all lookups of challenges (repeatable); the system resolves CAs and DNS providers [default: {RESOLVERS}]"),
        long,
        value_name = "HOST:PORT",
        env = "CERTCTL_RESOLVERS",
        hide_env_values = true,
        value_delimiter = ',',
        global = true
    )]
    pub resolver: Vec<HostPort>,
    /// Let the DNS-01 self-check query only the resolvers, not each authoritative server
    #[arg(long, help_heading = TUNING, global = true)]
    pub dns01_recursive_nameservers_only: bool,
    /// Port of authoritative servers, for labs
    #[arg(long, value_name = "PORT", default_value_t = 53, global = true, hide = true,
          env = "CERTCTL_DNS01_AUTHORITATIVE_PORT", hide_env_values = true,
          value_parser = clap::value_parser!(u16).range(1..))]
    pub dns01_authoritative_port: u16,
    /// Namespace of the secrets of ClusterIssuers
    #[arg(long, help_heading = TUNING, value_name = "NAMESPACE", default_value = "cert-manager", global = true, value_parser = value_parser::namespace)]
    pub cluster_resource_namespace: String,
    /// Folder below which outputs and webroots must be (repeatable) [default: anywhere]
    #[arg(long, value_name = "DIR", global = true)]
    pub output_roots: Vec<PathBuf>,
    /// File for the output of `status -o prometheus`, written after each run
    #[arg(
        long,
        help_heading = TUNING,
        value_name = "FILE",
        env = "CERTCTL_METRICS_FILE",
        hide_env_values = true,
        global = true
    )]
    pub metrics_file: Option<PathBuf>,
    /// URL that `issue` and `renew` request: URL/start before the run, URL or URL/fail after it
    #[arg(
        long,
        help_heading = TUNING,
        value_name = "URL",
        env = "CERTCTL_PING",
        hide_env_values = true,
        global = true,
        value_parser = value_parser::web_url
    )]
    pub ping: Option<reqwest::Url>,
    /// Exit with 10 if anything changed or `plan` has an action, and with 8 if `status`, `inspect` or `doctor` finds a problem
    #[arg(long, env = "CERTCTL_EXIT_CODE", hide_env_values = true, global = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub exit_code: bool,
}

impl GlobalArgs {
    /// The selected namespace; `None` for all.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|_| !self.all_namespaces)
    }

    /// The format of data on stdout.
    pub fn format(&self) -> Format {
        self.output.unwrap_or_default()
    }
}

/// `--log-format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text, without times on a terminal.
    #[default]
    Auto,
    /// Text lines that begin with the time.
    Text,
    /// JSON objects, one per line.
    Json,
    /// Text, with mistakes in manifests as annotations for GitHub workflows.
    Github,
}

/// `auto`, `always` or `never`: for colours and progress bars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Only if the stream is a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// `--hooks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HookTime {
    /// In this run, as its user.
    #[default]
    Now,
    /// In the next `certctl deploy`; until then the certificate is PENDING DEPLOY.
    Later,
    /// In this run, as root, which needs CAP_SETUID and CAP_SETGID.
    AsRoot,
}

/// `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people, which is the default.
    #[default]
    #[value(skip)]
    Text,
    /// Text with more columns.
    Wide,
    /// A JSON object.
    Json,
    /// YAML documents.
    Yaml,
    /// `kind/name` lines.
    Name,
    /// Metrics under cert-manager's names (`status` only).
    Prometheus,
}

/// The default address of the HTTP-01 listener.
pub(super) const HTTP01_LISTEN: &str = "[::]:80";
pub(super) const TLSALPN01_LISTEN: &str = "[::]:443";

/// The default of the DNS servers.
pub(super) const RESOLVERS: &str = "those of resolv.conf";

/// The heading in certctl(1) of the options that `certctl help flags` leaves out.
pub(super) const TUNING: &str = "Tuning options";
