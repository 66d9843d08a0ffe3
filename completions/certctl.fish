# Completion for fish: what may stand at the cursor is asked of certctl itself. Printed by
# `certctl completion fish`.

function __certctl_complete
    set -l before (commandline --current-process --tokenize --cut-at-cursor)
    set -l current (commandline --current-token --cut-at-cursor)
    env CERTCTL_COMPLETE=fish CERTCTL_COMPLETE_INDEX=(count $before) \
        certctl -- $before "$current" 2>/dev/null
end

complete --command certctl --no-files --keep-order --arguments '(__certctl_complete)'
