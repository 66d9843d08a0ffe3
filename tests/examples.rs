//! The manifests that users copy are right as they stand.

use std::path::PathBuf;

use certctl::manifest::{Diagnostic, Options, Source, check_references, load};

#[test]
fn every_example_is_valid_and_complete_by_itself() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"));
    let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut sources: Vec<(Source, PathBuf)> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| (Source::File(path.clone()), path))
        .collect();
    assert!(sources.len() >= 3, "{sources:?}");
    let quickstart = folder.join("quickstart");
    sources.push((Source::Directory(quickstart.clone()), quickstart));
    for (source, path) in sources {
        let mut loaded = load(&[source], &Options::default());
        check_references(&mut loaded);
        let findings: Vec<String> = loaded.diagnostics.iter().map(Diagnostic::render).collect();
        assert_eq!((findings, loaded.skipped.len()), (vec![], 0), "{}", path.display());
        assert_eq!(loaded.issuers.len(), 1, "{}", path.display());
        assert!(!loaded.certificates.is_empty(), "{}", path.display());
    }
}
