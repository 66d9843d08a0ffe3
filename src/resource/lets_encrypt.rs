//! Let's Encrypt's addresses: the CA that most users name.

/// The directory of the production environment, whose certificates browsers trust.
pub const PRODUCTION: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// The directory of the staging environment, for tests.
pub const STAGING: &str = "https://acme-staging-v02.api.letsencrypt.org/directory";

/// The host of [`PRODUCTION`].
pub const PRODUCTION_HOST: &str = "acme-v02.api.letsencrypt.org";
/// The host of [`STAGING`].
pub const STAGING_HOST: &str = "acme-staging-v02.api.letsencrypt.org";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::host_of;

    #[test]
    fn each_directory_is_at_its_host() {
        let hosts = [PRODUCTION, STAGING].map(host_of);
        assert_eq!(hosts, [PRODUCTION_HOST, STAGING_HOST]);
    }
}
