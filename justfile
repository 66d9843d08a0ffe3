# Everything that must be green before a commit.
check: fmt clippy test deny generated words

fmt:
    cargo fmt --check
    # Modules that a macro declares are not found by cargo fmt.
    rustfmt --edition 2024 --check src/resource/dns01/*.rs src/solver/dns01/*.rs

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

# Takes over what the binary says now as what it should say; read the difference before it is
# committed.
golden:
    CERTCTL_REGENERATE=1 cargo test --locked --test golden

# Wall time beside the bare protocol.
bench:
    tests/bench
