//! The codes of what certctl finds in manifests and in config.toml: what each means, and what to do.
//!
//! Contract: every code that the program can print has a row, and every row is of such a code. The
//! book's page is made of the same table.

/// A code.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    pub code: &'static str,
    /// What was found.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Code {
    /// The code of this name, in any case.
    pub fn parse(word: &str) -> Option<&'static Self> {
        CODES.iter().find(|row| row.code.eq_ignore_ascii_case(word))
    }

    /// As it is explained on a page.
    pub(super) fn page(&self) -> String {
        let Self { code, meaning, remedy } = self;
        let kind = if code.starts_with('W') { "warning" } else { "error" };
        format!("CODE:      {code} ({kind})\nMEANING:   {meaning}\nREMEDY:    {remedy}\n")
    }
}

const fn row(code: &'static str, meaning: &'static str, remedy: &'static str) -> Code {
    Code { code, meaning, remedy }
}

/// All of them, in the order of their names: E00 of a file, E01 of one object, E02 of objects that
/// refer to each other, E03 of config.toml, E04 of this host; W is a warning.
pub const CODES: &[Code] = &[
    row("E0001", "a file or a folder cannot be read", "correct the path or the permissions"),
    row("E0002", "the file is too large for a manifest", "split it into several files"),
    row("E0003", "the file is not UTF-8", "save it as UTF-8"),
    row(
        "E0004",
        "the text is not YAML: indentation, a colon, quotes, or a missing line ---",
        "correct the line that the error shows",
    ),
    row("E0005", "too many documents in one file", "split it into several files"),
    row("E0006", "the YAML is nested too deeply", "remove levels"),
    row("E0007", "the YAML has too many values or aliases", "split the file; write aliases out"),
    row(
        "E0008",
        "the text is a template or a placeholder that was not rendered",
        "render it first: helm template, flux build, kustomize build or envsubst",
    ),
    row("E0009", "control characters are not allowed in YAML", "remove them"),
    row("E0010", "YAML tags (!name) are not supported", "remove the tag"),
    row(
        "E0011",
        "another user could change the file, or others may read its Secret",
        "run the chown or chmod that the error shows",
    ),
    row(
        "E0101",
        "a required field is missing or empty",
        "add it: certctl explain certificate.spec",
    ),
    row(
        "E0102",
        "the field is unknown there: a spelling mistake, or wrong indentation",
        "correct it: certctl explain certificate --recursive lists all fields",
    ),
    row("E0103", "the value has the wrong type", "write it as certctl explain FIELD says"),
    row("E0104", "the key is in the mapping twice", "remove one of them"),
    row("E0105", "the value is not allowed", "choose a value that certctl explain FIELD lists"),
    row("E0106", "the apiVersion is not supported", "apiVersion: cert-manager.io/v1"),
    row("E0107", "the kind is unknown", "kind: Certificate, Issuer, ClusterIssuer or Secret"),
    row("E0108", "fields exclude or require each other", "remove or add the field it names"),
    row(
        "E0109",
        "the name or the key is not valid in Kubernetes",
        "use lower-case letters, digits, - and . only",
    ),
    row(
        "E0111",
        "an annotation of certctl is unknown, or its value is invalid",
        "correct it: certctl explain certificate.metadata.annotations",
    ),
    row(
        "E0201",
        "the Issuer that issuerRef names is in no manifest that was read",
        "correct issuerRef, or create the Issuer: certctl create issuer NAME",
    ),
    row("E0202", "the Issuer has an error of its own", "fix that error first"),
    row(
        "E0203",
        "the issuer is not of a type that certctl serves",
        "use an Issuer or ClusterIssuer with spec.acme",
    ),
    row("E0204", "the object is defined twice", "remove or rename one of the two"),
    row(
        "E0205",
        "two Certificates have the same secretName",
        "give one of them another spec.secretName",
    ),
    row(
        "E0206",
        "the certificate has no name that an ACME CA can validate",
        "add dnsNames or ipAddresses; the common name has to be one of them",
    ),
    row(
        "E0207",
        "no solver of the Issuer matches the name",
        "add a solver, or correct its selector: certctl explain issuer.spec.acme.solvers",
    ),
    row(
        "E0208",
        "the name needs a dns01 solver: only DNS-01 validates a wildcard",
        "certctl create issuer NAME --dns01 PROVIDER --print prints one",
    ),
    row(
        "E0209",
        "the name needs an http01 solver: DNS-01 cannot validate an IP address",
        "add http01 to spec.acme.solvers of the Issuer",
    ),
    row("E0301", "the key in config.toml is unknown", "keys are the long flags: certctl --help"),
    row("E0302", "the value in config.toml has the wrong type", "write it as the error says"),
    row("E0303", "the value in config.toml is not allowed", "write it as the error says"),
    row("E0304", "config.toml is not TOML", "correct the line that the error shows"),
    row("E0305", "config.toml cannot be read", "correct its permissions or its encoding"),
    row(
        "E0306",
        "another user could change config.toml",
        "run the chown or chmod that the error shows",
    ),
    row(
        "E0401",
        "what a field names is not on this host: a secret, a hook, a folder",
        "put it there, as the error shows",
    ),
    row("W0301", "a cluster reads the value as something other than text", "write it in quotes"),
    row("W0302", "the name is listed twice", "remove one"),
    row(
        "W0303",
        "public ACME CAs do not certify such names",
        "remove them, or use a CA of your own",
    ),
    row(
        "W0304",
        "the field has no effect here, or the CA does not grant it",
        "remove it, or use another CA",
    ),
    row(
        "W0305",
        "the URL is the CA's home page, not its ACME directory",
        "use the URL that the warning proposes",
    ),
    row("W0306", "credentials would be sent unencrypted", "use https://"),
    row(
        "W0307",
        "renewBefore renews the certificate soon after it is issued",
        "choose a shorter time, or remove the field",
    ),
    row(
        "W0308",
        "two Certificates have one output folder, to which only one of them can write",
        "give each a certctl/output-dir of its own",
    ),
    row(
        "W0309",
        "the output folder is below a webroot, from which a web server could serve the private key",
        "choose a folder outside of it; if tls.key is in the first one, delete it there",
    ),
    row(
        "W0310",
        "skipTLSVerify: another server could answer as this CA",
        "remove it, and give the CA's certificate in caBundle",
    ),
    row("W0401", "the file has nothing that certctl reads", "remove it, or move it elsewhere"),
    row(
        "W0402",
        "what a field names is not on this host yet; it is needed at the next issuance",
        "put it there, as the warning shows",
    ),
    row("W0403", "the value is a placeholder", "put your value in its place"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The codes in the sources of a folder, as literals.
    fn printed(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                printed(&entry, found);
                continue;
            }
            let text = fs::read_to_string(&entry).unwrap_or_default();
            let literals = text.split('"').filter(|word| {
                let digits = word.strip_prefix(['E', 'W']).unwrap_or_default();
                digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit())
            });
            found.extend(literals.map(str::to_owned));
        }
    }

    #[test]
    fn every_code_that_is_printed_has_a_row_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeSet::new();
        for folder in ["manifest", "workspace", "cli/config", "cli/verbs/plan", "cli/verbs/status"]
        {
            printed(&root.join(folder), &mut found);
        }
        let rows: Vec<&str> = CODES.iter().map(|row| row.code).collect();
        assert_eq!(rows, found.iter().map(String::as_str).collect::<Vec<_>>());
    }

    #[test]
    fn a_code_is_found_in_any_case() {
        assert!(Code::parse("e0201").unwrap().page().starts_with("CODE:      E0201 (error)\n"));
        assert!(Code::parse("W0301").unwrap().page().contains("(warning)"));
        assert!(Code::parse("E9999").is_none());
    }
}
