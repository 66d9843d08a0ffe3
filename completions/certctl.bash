# Completion for bash: certctl itself answers what may stand at the cursor. Printed by
# `certctl completion bash`.

_certctl() {
    local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} files='' candidate word
    local -a words
    read -ra words <<<"$line"
    if [[ $line == *[[:space:]] ]]; then
        words+=('')
    fi
    word=${words[${#words[@]} - 1]}
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        case $candidate in
            :files) files=1; continue ;;
            # A word that goes on gets no space behind it.
            *[.=]) ;;
            *) candidate+=' ' ;;
        esac
        # bash replaces only what follows the last `=`.
        COMPREPLY+=("${candidate#"${word%"${2-}"}"}")
    done < <(CERTCTL_COMPLETE=bash command certctl -- "${words[@]}" 2>/dev/null)
    # Files are bash's own, in its quotes.
    if [[ $files && ${#COMPREPLY[@]} == 0 ]]; then
        compopt -o default +o nospace 2>/dev/null
    fi
}

# The order is certctl's where bash lets it be (4.4), and a space comes with the word.
complete -o nospace -o nosort -F _certctl certctl 2>/dev/null ||
    complete -o nospace -F _certctl certctl
