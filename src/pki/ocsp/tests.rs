use rcgen::ExtendedKeyUsagePurpose;

use super::answer::{CertStatus, answer};
use super::*;
use crate::pki::test_ca::{Ca, leaf};
use crate::pki::{Bundle, PrivateKey};
use crate::resource::KeyAlgorithm;

fn der(pem: &str) -> Vec<u8> {
    Bundle::from_pem(pem).unwrap().leaf().to_vec()
}

fn at(day: &str) -> Timestamp {
    format!("{day}T00:00:00Z").parse().unwrap()
}

fn ec() -> PrivateKey {
    PrivateKey::generate(KeyAlgorithm::Ecdsa, 256).unwrap()
}

#[test]
fn only_a_fresh_answer_of_the_issuer_about_this_certificate_is_believed() {
    let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
    let issuer = der(&ca.above);
    let mine = der(&ca.sign(&leaf("", &["a.example"]), &ec()));
    let mut params = leaf("", &["b.example"]);
    params.serial_number = Some(vec![7].into());
    let other = der(&ca.sign(&params, &ec()));
    let foreign = ec();
    let this_update = at("2031-01-01");
    let next_update = Some(at("2031-01-08"));
    let good = Ok(Revocation::Good { this_update, next_update });
    let revoked_at = at("2030-12-01");
    let revoked = Ok(Revocation::Revoked { at: revoked_at, reason: Some("keyCompromise") });
    let expired = Err(RevocationDoubt::Expired { next_update: at("2031-01-08") });
    let early = Err(RevocationDoubt::NotYetValid { this_update });
    let undated = Err(RevocationDoubt::Undated { this_update });
    let wrong = Err(RevocationDoubt::WrongSigner);
    let about_other = Err(RevocationDoubt::Scope { why: "it is about another one" });
    for (what, about, says, next, signer, now, expected) in [
        ("good", &mine, CertStatus::Good, next_update, &ca.key, "2031-01-02", good),
        (
            "revoked",
            &mine,
            CertStatus::Revoked(revoked_at),
            next_update,
            &ca.key,
            "2031-01-02",
            revoked,
        ),
        (
            "not known",
            &mine,
            CertStatus::Unknown,
            next_update,
            &ca.key,
            "2031-01-02",
            Err(RevocationDoubt::NotKnown),
        ),
        ("expired", &mine, CertStatus::Good, next_update, &ca.key, "2031-01-08", expired),
        ("too early", &mine, CertStatus::Good, next_update, &ca.key, "2030-12-31", early),
        ("old, without an end", &mine, CertStatus::Good, None, &ca.key, "2031-01-03", undated),
        ("wrong signer", &mine, CertStatus::Good, next_update, &foreign, "2031-01-02", wrong),
        ("another one", &other, CertStatus::Good, next_update, &ca.key, "2031-01-02", about_other),
    ] {
        let made = answer((about, &issuer), says, this_update, next, (signer, &[]));
        assert_eq!(check_ocsp(&made, &mine, &issuer, at(now)), expected, "{what}");
    }
}

#[test]
fn a_delegate_needs_a_certificate_of_the_issuer_for_this_purpose() {
    let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
    let impostor = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
    let issuer = der(&ca.above);
    let mine = der(&ca.sign(&leaf("", &["a.example"]), &ec()));
    let delegate = ec();
    let mut params = leaf("Responder", &[]);
    let plain = der(&ca.sign(&params, &delegate));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::OcspSigning];
    let proper = der(&ca.sign(&params, &delegate));
    let forged = der(&impostor.sign(&params, &delegate));
    params.not_after = rcgen::date_time_ymd(2031, 1, 1);
    let over = der(&ca.sign(&params, &delegate));
    let (this_update, next_update) = (at("2031-01-01"), Some(at("2031-01-08")));
    let good = Ok(Revocation::Good { this_update, next_update });
    for (what, sent, expected) in [
        ("proper", &proper, good),
        ("without the purpose", &plain, Err(RevocationDoubt::WrongSigner)),
        ("of another responder", &forged, Err(RevocationDoubt::WrongSigner)),
        ("expired", &over, Err(RevocationDoubt::WrongSigner)),
    ] {
        let signer: (&PrivateKey, &[&[u8]]) = (&delegate, &[sent]);
        let made = answer((&mine, &issuer), CertStatus::Good, this_update, next_update, signer);
        assert_eq!(check_ocsp(&made, &mine, &issuer, at("2031-01-02")), expected, "{what}");
    }
}

#[test]
fn refusals_and_damage_are_reported() {
    let ca = Ca::root("Root", KeyAlgorithm::Ecdsa, 256);
    let issuer = der(&ca.above);
    let mine = der(&ca.sign(&leaf("", &["a.example"]), &ec()));
    let now = at("2031-01-02");
    let refused = check_ocsp(&[0x30, 3, 10, 1, 6], &mine, &issuer, now);
    assert_eq!(refused, Err(RevocationDoubt::Refused { status: "unauthorized" }));
    let whole = answer((&mine, &issuer), CertStatus::Good, at("2031-01-01"), None, (&ca.key, &[]));
    for length in [0, 1, 5, whole.len() / 2, whole.len() - 1] {
        let found = check_ocsp(&whole[..length], &mine, &issuer, now);
        assert!(matches!(found, Err(RevocationDoubt::Damaged { .. })), "{length}: {found:?}");
    }
}
