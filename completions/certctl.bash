# Completion for bash: what may stand at the cursor is asked of certctl itself. Printed by
# `certctl completion bash`.

_certctl() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <(
        CERTCTL_COMPLETE=bash CERTCTL_COMPLETE_POINT=$COMP_POINT \
            CERTCTL_COMPLETE_BREAKS=$COMP_WORDBREAKS command certctl -- "$COMP_LINE" 2>/dev/null
    )
}

# The order is certctl's where bash lets it be (4.4), and a space comes with the word.
complete -o nospace -o nosort -F _certctl certctl 2>/dev/null ||
    complete -o nospace -F _certctl certctl
