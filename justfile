# Everything that must be green before a commit.
check: fmt clippy test deny generated words

fmt:
    cargo fmt --check

clippy:
    cargo clippy --locked --all-targets --all-features -- -D warnings

# All tests, the ones against real servers too.
test:
    tests/run

# Licences, sources, duplicates, advisories (cargo install --locked cargo-deny).
deny:
    cargo deny check

# Completions and manual are what the binary would print.
generated:
    cargo test --locked --lib cli

words:
    .ci/words

# Writes the generated files anew.
regenerate:
    CERTCTL_REGENERATE=1 cargo test --locked --lib cli

# Wall time beside the bare protocol.
bench:
    tests/bench
