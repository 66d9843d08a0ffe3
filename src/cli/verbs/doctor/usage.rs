//! A Certificate with its Issuer, as the checks see it.

use crate::engine::Task;
use crate::engine::inputs::{names_of, solver_for};
use crate::manifest::Loaded;
use crate::resource::{Certificate, Identifier, Issuer, Settings};
use crate::workspace::issuer_of;

/// See the module.
pub(in crate::cli) struct Use<'a> {
    pub(in crate::cli) certificate: &'a Certificate,
    pub(in crate::cli) issuer: &'a Issuer,
    /// Settings of the Certificate, with the Issuer's as defaults.
    pub(in crate::cli) settings: Settings,
}

impl<'a> Use<'a> {
    fn new(certificate: &'a Certificate, issuer: &'a Issuer) -> Self {
        let settings = certificate.settings.or(&issuer.settings);
        Self { certificate, issuer, settings }
    }

    /// Uses in some tasks.
    pub(in crate::cli) fn of_tasks(tasks: impl IntoIterator<Item = &'a Task>) -> Vec<Self> {
        let tasks = tasks.into_iter();
        tasks.map(|task| Self::new(&task.certificate, &task.issuers.first)).collect()
    }

    /// Uses in some manifests.
    pub(in crate::cli) fn of_manifests(loaded: &'a Loaded) -> Vec<Self> {
        let certificates = loaded.certificates.iter();
        let found = certificates.filter_map(|one| Some(Self::new(one, issuer_of(one, loaded)?)));
        found.collect()
    }

    /// Returns whether a challenge of it is answered by the HTTP-01 listener at its usual address.
    pub(in crate::cli) fn needs_usual_port(&self) -> bool {
        self.settings.uses_usual_port() && !self.over_http().is_empty()
    }

    /// The names that are proven by HTTP-01.
    pub(in crate::cli) fn over_http(&self) -> Vec<Identifier> {
        let is_http = |name: &Identifier| {
            let chosen = solver_for(self.issuer, self.certificate, name);
            chosen.is_some_and(|chosen| chosen.kind.is_over_http())
        };
        names_of(self.certificate).into_iter().filter(is_http).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::manifest::{Loaded, Options, Source, load};

    /// Certificates of one Issuer with both solvers, which differ in what is before `.example.com`; each
    /// with an annotation. Wildcards are proven over DNS.
    pub(in crate::cli::verbs::doctor) fn loaded(certificates: &[(&str, &str)]) -> Loaded {
        let dns01 = "dns01: {cloudflare: {apiTokenSecretRef: {name: cloudflare, key: token}}}";
        let issuer = format!(
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: ca}}\nspec: {{acme: \
             {{server: 'https://ca.example/dir', privateKeySecretRef: {{name: ca}}, solvers: \
             [{{http01: {{ingress: {{}}}}}}, {{{dns01}}}]}}}}\n"
        );
        let certificates = certificates.iter().enumerate().map(|(at, (name, annotation))| {
            format!(
                "---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{name: c{at}, \
                 annotations: {{{annotation}}}}}\nspec: {{secretName: c{at}, dnsNames: \
                 ['{name}.example.com'], issuerRef: {{name: ca}}}}\n"
            )
        });
        let text = issuer + &certificates.collect::<String>();
        let loaded = load(&[Source::Stdin(text.into_bytes())], &Options::default());
        assert!(!loaded.has_errors(), "{:?}", loaded.diagnostics);
        loaded
    }
}
