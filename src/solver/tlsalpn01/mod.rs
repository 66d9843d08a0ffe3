//! TLS-ALPN-01 (RFC 8737): a certificate with the digest of the key authorization, on port 443.

mod server;
mod solver;

pub(super) use server::{Certificates, serve};
pub(super) use solver::TlsAlpn01Solver;
