# All checks that must pass before a commit.
check:
    .ci/run

fmt:
    cargo fmt --all --check
    # Modules that a macro declares are not found by cargo fmt.
    rustfmt --edition 2024 --check src/resource/dns01/*.rs src/solver/dns01/*.rs

clippy:
    cargo clippy --locked --all-targets --all-features -- -D warnings

# All tests, including those against real servers.
test:
    tests/run

# Licences, sources, duplicates, advisories (cargo install --locked cargo-deny).
deny:
    cargo deny check

# Completions and manual match the output of the binary.
generated:
    cargo test --locked --lib cli

words:
    .ci/words

# Regenerates completions and manual.
regenerate:
    CERTCTL_REGENERATE=1 cargo test --locked --lib cli

# Replaces the expected output of the golden tests with the current output; review the difference
# before it is committed.
golden:
    CERTCTL_REGENERATE=1 cargo test --locked --features real-servers --test golden

# Wall time compared with the bare protocol.
bench:
    tests/bench
