# Completion for fish: certctl itself answers what may stand at the cursor. Printed by
# `certctl completion fish`.

function __certctl_complete
    set -l before (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    for line in (env CERTCTL_COMPLETE=fish certctl -- $before "$current" 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            printf '%s\n' $line
        end
    end
end

complete --command certctl --no-files --keep-order --arguments '(__certctl_complete)'
