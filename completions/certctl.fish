# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_certctl_global_optspecs
    string join \n f/filename= n/namespace= o/output= v/verbose q/quiet A/all-namespaces l/selector= config-dir= state-dir= log-format= color= progress= parallel= max-concurrent-challenges= timeout= lock-timeout= self-check-interval= hook-timeout= http01-listen= http01-check-port= resolver= dns01-recursive-nameservers-only dns01-authoritative-port= cluster-resource-namespace= metrics-file= exit-code V/version h/help
end

function __fish_certctl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_certctl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_certctl_using_subcommand
    set -l cmd (__fish_certctl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c certctl -n "__fish_certctl_needs_command" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_needs_command" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_needs_command" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_needs_command" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_needs_command" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_needs_command" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_needs_command" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_needs_command" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_needs_command" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_needs_command" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_needs_command" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_needs_command" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_needs_command" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_needs_command" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_needs_command" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_needs_command" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_needs_command" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_needs_command" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_needs_command" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_needs_command" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_needs_command" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_needs_command" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_needs_command" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_needs_command" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_needs_command" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_needs_command" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_needs_command" -s V -l version -d 'Print the version'
complete -c certctl -n "__fish_certctl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "issue" -d 'Make these certificates true now; safe to repeat, the verb for cron'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "renew" -d 'Issue certificates now, due or not; bypasses the backoff'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "plan" -d 'Say what `issue` would do, and why; changes nothing'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "validate" -d 'Check manifests, offline'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "status" -d 'Show all certificates, or one in detail'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "inspect" -d 'Look at one certificate: from the state, a file, standard input or a server'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "check" -d 'Look at what issuing needs from the network; changes nothing'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "rehearse" -d 'Run the whole flow against a built-in throw-away CA; touches no real state'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "deploy" -d 'Write pending outputs and run pending hooks again, without issuing'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "revoke" -d 'Take a certificate back before its end, and issue another in its place'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "account" -d 'Look at the accounts at CAs, register, tell contacts, or give one up'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "forget" -d 'Stop managing a certificate; its files stay unless --secret'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "timer" -d 'Let the system\'s scheduler run `certctl issue`'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "explain" -d 'Say what a field of a manifest means: `certctl explain certificate.spec.renewBefore`'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "schema" -d 'Print the JSON Schema of the manifests, for editors'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "version" -d 'Print the version; with -v every directory and where it comes from'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "completion" -d 'Print a completion script for a shell'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "man" -d 'Write the manual into a folder, or print certctl(1)'
complete -c certctl -n "__fish_certctl_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l splay -d 'Wait first, for a part of this time that is this host\'s own' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand issue" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand issue" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l all -d 'All certificates'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l new-key -d 'Make a new private key, whatever rotationPolicy says'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l new-order -d 'Give up an order that is under way, and order anew'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand renew" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand plan" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand validate" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand status" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand status" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand status" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand status" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand status" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand status" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand status" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand status" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand status" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand status" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand status" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand status" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand status" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand status" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l offline -d 'Ask nobody about revocation'
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -f -a "acme" -d 'Show what the CA of an issuer says of itself, and whether the Issuer fits'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -f -a "dns" -d 'Show where the TXT record of a DNS-01 challenge belongs, what is there, and the CAA records'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -f -a "http" -d 'Show where a name leads, whether the HTTP-01 listener could listen, and what answers'
complete -c certctl -n "__fish_certctl_using_subcommand check; and not __fish_seen_subcommand_from acme dns http help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from acme" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from dns" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from http" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from help" -f -a "acme" -d 'Show what the CA of an issuer says of itself, and whether the Issuer fits'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from help" -f -a "dns" -d 'Show where the TXT record of a DNS-01 challenge belongs, what is there, and the CAA records'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from help" -f -a "http" -d 'Show where a name leads, whether the HTTP-01 listener could listen, and what answers'
complete -c certctl -n "__fish_certctl_using_subcommand check; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l resolve -d 'Where a name leads to during the rehearsal (repeat)' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand rehearse" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand deploy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l reason -d 'Why: unspecified, keyCompromise, affiliationChanged, superseded, cessationOfOperation, or another of RFC 5280 that the CA takes' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l key -d 'The private key of the certificate in FILE, to sign with instead of an account\'s' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l now -d 'Revoke before the new one is there: servers have a revoked certificate until then'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l no-issue -d 'Issue nothing in its place until `certctl renew NAME` is asked for; implies --now'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand revoke" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -f -a "show" -d 'Show the accounts that the state knows'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -f -a "register" -d 'Register as the first issuance would; with an account already, nothing happens'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -f -a "update" -d 'Tell the CA the contacts of the Issuer'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -f -a "deactivate" -d 'Give an account up for good; the next issuance registers another'
complete -c certctl -n "__fish_certctl_using_subcommand account; and not __fish_seen_subcommand_from show register update deactivate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from register" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l yes -d 'Yes, for good: a CA never activates an account again'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from deactivate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show the accounts that the state knows'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from help" -f -a "register" -d 'Register as the first issuance would; with an account already, nothing happens'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from help" -f -a "update" -d 'Tell the CA the contacts of the Issuer'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from help" -f -a "deactivate" -d 'Give an account up for good; the next issuance registers another'
complete -c certctl -n "__fish_certctl_using_subcommand account; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l secret -d 'Delete the issued key and certificate, too'
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand forget" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand forget" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -f -a "print" -d 'Print the files of a scheduler; installs nothing'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and not __fish_seen_subcommand_from print help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l user -d 'Whom it runs as [default: certctl for systemd, root for the others]' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l dir -d 'Write the files into this folder instead' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l systemd -d 'Units of systemd'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l cron -d 'A file for /etc/cron.d'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l launchd -d 'A property list for launchd'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from print" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from help" -f -a "print" -d 'Print the files of a scheduler; installs nothing'
complete -c certctl -n "__fish_certctl_using_subcommand timer; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand explain" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand schema" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand schema" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand version" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand version" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand version" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand version" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand version" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand version" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand version" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand version" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand version" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand version" -l short -d 'Print the number alone'
complete -c certctl -n "__fish_certctl_using_subcommand version" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand version" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand version" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand version" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand version" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand version" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand completion" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand completion" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand man" -s f -l filename -d 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand man" -s n -l namespace -d 'Only objects of this namespace' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -s o -l output -d 'Format of the data on stdout' -r -f -a "wide\t'For people, with everything'
json\t'One JSON object'
yaml\t'YAML documents'
name\t'`kind/name` lines'
prometheus\t'Metrics under cert-manager\'s names (`status` only)'"
complete -c certctl -n "__fish_certctl_using_subcommand man" -s l -l selector -d 'Only objects with these labels: k=v,k!=v,k,!k' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l config-dir -d 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand man" -l state-dir -d 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand man" -l log-format -d 'How lines on stderr look' -r -f -a "auto\t'Text; without times on a terminal'
text\t'Text lines that begin with the time'
json\t'One JSON object per line'
github\t'Text; what is wrong in a manifest as annotations of GitHub\'s workflows'"
complete -c certctl -n "__fish_certctl_using_subcommand man" -l color -d 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand man" -l progress -d 'When to show progress bars' -r -f -a "auto\t'When the stream is a terminal'
always\t'Always'
never\t'Never'"
complete -c certctl -n "__fish_certctl_using_subcommand man" -l parallel -d 'Certificates worked on at once' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l max-concurrent-challenges -d 'Challenges under way at once, over all certctl processes' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l timeout -d 'Time for one certificate, from its first challenge on' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l lock-timeout -d 'Wait this long for another certctl to give back a lock; 0 for not at all' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l self-check-interval -d 'Time between two self-checks of a challenge' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l hook-timeout -d 'Time for one run of a hook, then it is stopped' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l http01-listen -d 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l http01-check-port -d 'Port the HTTP-01 self-check asks [default: 80]' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l resolver -d 'DNS server for all lookups (repeat) [default: those of resolv.conf]' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l dns01-authoritative-port -d 'Port of authoritative servers, for labs' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l cluster-resource-namespace -d 'Namespace of the secrets that ClusterIssuers refer to' -r
complete -c certctl -n "__fish_certctl_using_subcommand man" -l metrics-file -d 'After a run, write what `status -o prometheus` prints to this file' -r -F
complete -c certctl -n "__fish_certctl_using_subcommand man" -s v -l verbose -d 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]'
complete -c certctl -n "__fish_certctl_using_subcommand man" -s q -l quiet -d 'Say less on stderr (repeat: errors only)'
complete -c certctl -n "__fish_certctl_using_subcommand man" -s A -l all-namespaces -d 'All namespaces, which is the default; beats -n'
complete -c certctl -n "__fish_certctl_using_subcommand man" -l dns01-recursive-nameservers-only -d 'Have the DNS-01 self-check ask those servers, not each authoritative one'
complete -c certctl -n "__fish_certctl_using_subcommand man" -l exit-code -d 'End in 10 when something was issued or written again (`plan`: would be), `status` and `inspect` in 8 when something needs attention'
complete -c certctl -n "__fish_certctl_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "issue" -d 'Make these certificates true now; safe to repeat, the verb for cron'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "renew" -d 'Issue certificates now, due or not; bypasses the backoff'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "plan" -d 'Say what `issue` would do, and why; changes nothing'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "validate" -d 'Check manifests, offline'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "status" -d 'Show all certificates, or one in detail'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "inspect" -d 'Look at one certificate: from the state, a file, standard input or a server'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "check" -d 'Look at what issuing needs from the network; changes nothing'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "rehearse" -d 'Run the whole flow against a built-in throw-away CA; touches no real state'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "deploy" -d 'Write pending outputs and run pending hooks again, without issuing'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "revoke" -d 'Take a certificate back before its end, and issue another in its place'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "account" -d 'Look at the accounts at CAs, register, tell contacts, or give one up'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "forget" -d 'Stop managing a certificate; its files stay unless --secret'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "timer" -d 'Let the system\'s scheduler run `certctl issue`'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "explain" -d 'Say what a field of a manifest means: `certctl explain certificate.spec.renewBefore`'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "schema" -d 'Print the JSON Schema of the manifests, for editors'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "version" -d 'Print the version; with -v every directory and where it comes from'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "completion" -d 'Print a completion script for a shell'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "man" -d 'Write the manual into a folder, or print certctl(1)'
complete -c certctl -n "__fish_certctl_using_subcommand help; and not __fish_seen_subcommand_from issue renew plan validate status inspect check rehearse deploy revoke account forget timer explain schema version completion man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from check" -f -a "acme" -d 'Show what the CA of an issuer says of itself, and whether the Issuer fits'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from check" -f -a "dns" -d 'Show where the TXT record of a DNS-01 challenge belongs, what is there, and the CAA records'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from check" -f -a "http" -d 'Show where a name leads, whether the HTTP-01 listener could listen, and what answers'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from account" -f -a "show" -d 'Show the accounts that the state knows'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from account" -f -a "register" -d 'Register as the first issuance would; with an account already, nothing happens'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from account" -f -a "update" -d 'Tell the CA the contacts of the Issuer'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from account" -f -a "deactivate" -d 'Give an account up for good; the next issuance registers another'
complete -c certctl -n "__fish_certctl_using_subcommand help; and __fish_seen_subcommand_from timer" -f -a "print" -d 'Print the files of a scheduler; installs nothing'
