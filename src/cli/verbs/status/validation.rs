//! Ways of validation of a certificate's names, in words.

use crate::cli::first_names;
use crate::engine::inputs::{names_of, solver_for};
use crate::resource::{ChallengeType, Chosen, Settings};
use crate::workspace::view::CertificateView;

/// Each way, with the names that are validated so where there are several; nothing of a certificate whose
/// manifest or Issuer is gone.
pub(super) fn ways(view: &CertificateView, most: usize) -> Vec<String> {
    let Some((certificate, issuer)) = view.certificate.as_ref().zip(view.issuer.as_ref()) else {
        return Vec::new();
    };
    let settings = certificate.settings.or(&issuer.settings);
    let mut ways: Vec<(String, Vec<String>)> = Vec::new();
    for name in names_of(certificate) {
        let way = match solver_for(issuer, certificate, &name) {
            None => "no solver of the Issuer".to_owned(),
            Some(Chosen { solver, kind }) => {
                let how = match solver.dns01() {
                    Some(dns01) => dns01.provider.name().to_owned(),
                    None => how_served(&kind, &settings),
                };
                format!("{}, {how}", kind.in_capitals())
            }
        };
        let name = name.to_string();
        match ways.iter_mut().find(|(other, _)| *other == way) {
            Some((_, names)) => names.push(name),
            None => ways.push((way, vec![name])),
        }
    }
    match ways.as_slice() {
        [(way, _)] => vec![way.clone()],
        several => several
            .iter()
            .map(|(way, names)| format!("{way}: {}", first_names(names, most)))
            .collect(),
    }
}

fn how_served(kind: &ChallengeType, settings: &Settings) -> String {
    let listen = &settings.http01_listen;
    match &settings.http01_webroot {
        _ if !kind.is_over_http() => "certctl answers".to_owned(),
        _ if settings.http01_stateless => "your server answers without a token".to_owned(),
        Some(folder) => format!("by the webroot {folder}"),
        None if listen.is_empty() => "certctl answers".to_owned(),
        None => format!("certctl answers on {}", listen.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Options, Source, load};
    use crate::resource::{Certificate, NamespacedName};

    fn ways_of(names: &str, annotation: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: cert-manager.io/v1\nkind: Issuer\nmetadata: {{name: ca}}\nspec: {{acme: {{server: \
             'https://ca.example/dir', privateKeySecretRef: {{name: ca}}, solvers: [{{http01: {{ingress: \
             {{}}}}}}, {{dns01: {{cloudflare: {{apiTokenSecretRef: {{name: cloudflare, key: token}}}}}}}}]}}}}\n\
             ---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {{name: web, annotations: \
             {{{annotation}}}}}\nspec: {{secretName: web, dnsNames: [{names}], issuerRef: {{name: ca}}}}\n"
        );
        let loaded = load(&[Source::Stdin(text.into_bytes())], &Options::default());
        let certificate = loaded.certificates.first().map(|one| Certificate::clone(one));
        let issuer = loaded.issuers.first().cloned();
        assert!(certificate.is_some() && issuer.is_some(), "{:?}", loaded.diagnostics);
        let key = NamespacedName::new("default", "web");
        ways(&CertificateView { certificate, issuer, ..CertificateView::unknown(key) }, 3)
    }

    #[test]
    fn each_way_has_its_names_where_there_are_several() {
        let webroot = "certctl/http01-webroot: /srv/www";
        let listen = "certctl/http01-listen: '127.0.0.1:402'";
        let http = "HTTP-01, certctl answers";
        for (names, annotation, expected) in [
            ("a.example.com", "", &[http][..]),
            ("a.example.com", webroot, &["HTTP-01, by the webroot /srv/www"]),
            ("a.example.com", listen, &["HTTP-01, certctl answers on 127.0.0.1:402"]),
            ("'*.example.com'", webroot, &["DNS-01, cloudflare"]),
            (
                "'*.e.com', a.e.com, b.e.com, c.e.com, d.e.com",
                "",
                &[
                    "DNS-01, cloudflare: *.e.com",
                    "HTTP-01, certctl answers: a.e.com, b.e.com, c.e.com and 1 more",
                ],
            ),
        ] {
            assert_eq!(ways_of(names, annotation), expected, "{names}");
        }
    }
}
