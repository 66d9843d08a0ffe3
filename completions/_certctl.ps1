
using namespace System.Management.Automation
using namespace System.Management.Automation.Language

Register-ArgumentCompleter -Native -CommandName 'certctl' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commandElements = $commandAst.CommandElements
    $command = @(
        'certctl'
        for ($i = 1; $i -lt $commandElements.Count; $i++) {
            $element = $commandElements[$i]
            if ($element -isnot [StringConstantExpressionAst] -or
                $element.StringConstantType -ne [StringConstantType]::BareWord -or
                $element.Value.StartsWith('-') -or
                $element.Value -eq $wordToComplete) {
                break
        }
        $element.Value
    }) -join ';'

    $completions = @(switch ($command) {
        'certctl' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-V', '-V ', [CompletionResultType]::ParameterName, 'Print the version')
            [CompletionResult]::new('--version', '--version', [CompletionResultType]::ParameterName, 'Print the version')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('issue', 'issue', [CompletionResultType]::ParameterValue, 'Make these certificates true now; safe to repeat, the verb for cron')
            [CompletionResult]::new('renew', 'renew', [CompletionResultType]::ParameterValue, 'Issue certificates now, due or not; bypasses the backoff')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Check manifests, offline')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show all certificates, or one in detail')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Look at one certificate: from the state, a file, standard input or a server')
            [CompletionResult]::new('rehearse', 'rehearse', [CompletionResultType]::ParameterValue, 'Run the whole flow against a built-in throw-away CA; touches no real state')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Stop managing a certificate; its files stay unless --secret')
            [CompletionResult]::new('version', 'version', [CompletionResultType]::ParameterValue, 'Print the version; with -v every directory and where it comes from')
            [CompletionResult]::new('completion', 'completion', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'certctl;issue' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;renew' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('--all', '--all', [CompletionResultType]::ParameterName, 'All certificates')
            [CompletionResult]::new('--new-key', '--new-key', [CompletionResultType]::ParameterName, 'Make a new private key, whatever rotationPolicy says')
            [CompletionResult]::new('--new-order', '--new-order', [CompletionResultType]::ParameterName, 'Give up an order that is under way, and order anew')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;validate' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;status' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;inspect' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('--offline', '--offline', [CompletionResultType]::ParameterName, 'Ask nobody about revocation')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;rehearse' {
            [CompletionResult]::new('--resolve', '--resolve', [CompletionResultType]::ParameterName, 'Where a name leads to during the rehearsal (repeat)')
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;forget' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('--secret', '--secret', [CompletionResultType]::ParameterName, 'Delete the issued key and certificate, too')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;version' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('--short', '--short', [CompletionResultType]::ParameterName, 'Print the number alone')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;completion' {
            [CompletionResult]::new('-f', '-f', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('--filename', '--filename', [CompletionResultType]::ParameterName, 'Manifest or folder of manifests, `-` for standard input (repeat) [env: CERTCTL_FILES]')
            [CompletionResult]::new('-n', '-n', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('--namespace', '--namespace', [CompletionResultType]::ParameterName, 'Only objects of this namespace')
            [CompletionResult]::new('-o', '-o', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('--output', '--output', [CompletionResultType]::ParameterName, 'Format of the data on stdout')
            [CompletionResult]::new('-l', '-l', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--selector', '--selector', [CompletionResultType]::ParameterName, 'Only objects with these labels: k=v,k!=v,k,!k')
            [CompletionResult]::new('--config-dir', '--config-dir', [CompletionResultType]::ParameterName, 'Where manifests, secrets and hooks are [env: CERTCTL_CONFIG_DIR]')
            [CompletionResult]::new('--state-dir', '--state-dir', [CompletionResultType]::ParameterName, 'Where accounts, orders and issued secrets are kept [env: CERTCTL_STATE_DIR]')
            [CompletionResult]::new('--log-format', '--log-format', [CompletionResultType]::ParameterName, 'How lines on stderr look')
            [CompletionResult]::new('--color', '--color', [CompletionResultType]::ParameterName, 'When to use colours [env: NO_COLOR, CLICOLOR_FORCE]')
            [CompletionResult]::new('--progress', '--progress', [CompletionResultType]::ParameterName, 'When to show progress bars')
            [CompletionResult]::new('--parallel', '--parallel', [CompletionResultType]::ParameterName, 'Certificates worked on at once')
            [CompletionResult]::new('--max-concurrent-challenges', '--max-concurrent-challenges', [CompletionResultType]::ParameterName, 'Challenges under way at once, over all certctl processes')
            [CompletionResult]::new('--timeout', '--timeout', [CompletionResultType]::ParameterName, 'Time for one certificate, from its first challenge on')
            [CompletionResult]::new('--lock-timeout', '--lock-timeout', [CompletionResultType]::ParameterName, 'Wait this long for another certctl to give back a lock; 0 for not at all')
            [CompletionResult]::new('--self-check-interval', '--self-check-interval', [CompletionResultType]::ParameterName, 'Time between two self-checks of a challenge')
            [CompletionResult]::new('--http01-listen', '--http01-listen', [CompletionResultType]::ParameterName, 'Address the HTTP-01 listener binds (repeat) [default: `[::]:80`]')
            [CompletionResult]::new('--http01-check-port', '--http01-check-port', [CompletionResultType]::ParameterName, 'Port the HTTP-01 self-check asks [default: 80]')
            [CompletionResult]::new('--resolver', '--resolver', [CompletionResultType]::ParameterName, 'DNS server for all lookups (repeat) [default: those of resolv.conf]')
            [CompletionResult]::new('--cluster-resource-namespace', '--cluster-resource-namespace', [CompletionResultType]::ParameterName, 'Namespace of the secrets that ClusterIssuers refer to')
            [CompletionResult]::new('--metrics-file', '--metrics-file', [CompletionResultType]::ParameterName, 'After a run, write what `status -o prometheus` prints to this file')
            [CompletionResult]::new('-v', '-v', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('--verbose', '--verbose', [CompletionResultType]::ParameterName, 'Say more on stderr (repeat; -vvv shows each ACME exchange) [env: CERTCTL_LOG]')
            [CompletionResult]::new('-q', '-q', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('--quiet', '--quiet', [CompletionResultType]::ParameterName, 'Say less on stderr (repeat: errors only)')
            [CompletionResult]::new('-A', '-A ', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--all-namespaces', '--all-namespaces', [CompletionResultType]::ParameterName, 'All namespaces, which is the default; beats -n')
            [CompletionResult]::new('--exit-code', '--exit-code', [CompletionResultType]::ParameterName, 'End in 10 when something was issued or written again, `status` and `inspect` in 8 when something needs attention')
            [CompletionResult]::new('-h', '-h', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            [CompletionResult]::new('--help', '--help', [CompletionResultType]::ParameterName, 'Print help (see more with ''--help'')')
            break
        }
        'certctl;help' {
            [CompletionResult]::new('issue', 'issue', [CompletionResultType]::ParameterValue, 'Make these certificates true now; safe to repeat, the verb for cron')
            [CompletionResult]::new('renew', 'renew', [CompletionResultType]::ParameterValue, 'Issue certificates now, due or not; bypasses the backoff')
            [CompletionResult]::new('validate', 'validate', [CompletionResultType]::ParameterValue, 'Check manifests, offline')
            [CompletionResult]::new('status', 'status', [CompletionResultType]::ParameterValue, 'Show all certificates, or one in detail')
            [CompletionResult]::new('inspect', 'inspect', [CompletionResultType]::ParameterValue, 'Look at one certificate: from the state, a file, standard input or a server')
            [CompletionResult]::new('rehearse', 'rehearse', [CompletionResultType]::ParameterValue, 'Run the whole flow against a built-in throw-away CA; touches no real state')
            [CompletionResult]::new('forget', 'forget', [CompletionResultType]::ParameterValue, 'Stop managing a certificate; its files stay unless --secret')
            [CompletionResult]::new('version', 'version', [CompletionResultType]::ParameterValue, 'Print the version; with -v every directory and where it comes from')
            [CompletionResult]::new('completion', 'completion', [CompletionResultType]::ParameterValue, 'Print a completion script for a shell')
            [CompletionResult]::new('help', 'help', [CompletionResultType]::ParameterValue, 'Print this message or the help of the given subcommand(s)')
            break
        }
        'certctl;help;issue' {
            break
        }
        'certctl;help;renew' {
            break
        }
        'certctl;help;validate' {
            break
        }
        'certctl;help;status' {
            break
        }
        'certctl;help;inspect' {
            break
        }
        'certctl;help;rehearse' {
            break
        }
        'certctl;help;forget' {
            break
        }
        'certctl;help;version' {
            break
        }
        'certctl;help;completion' {
            break
        }
        'certctl;help;help' {
            break
        }
    })

    $completions.Where{ $_.CompletionText -like "$wordToComplete*" } |
        Sort-Object -Property ListItemText
}
