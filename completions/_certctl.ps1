# Completion for PowerShell: certctl itself answers what may stand at the cursor. Printed by
# `certctl completion powershell`. Without an answer, PowerShell offers files.

Register-ArgumentCompleter -Native -CommandName certctl -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # The words before the one at the cursor; nothing on the line is evaluated.
    $before = @($commandAst.CommandElements |
        Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
        ForEach-Object { if ($null -ne $_.Value) { "$($_.Value)" } else { $_.Extent.Text } })
    $given = $before
    if ($wordToComplete) { $given += "$wordToComplete" }
    $kept = $env:CERTCTL_COMPLETE
    try {
        $env:CERTCTL_COMPLETE = 'powershell'
        $env:CERTCTL_COMPLETE_INDEX = "$($before.Count)"
        certctl -- @given 2>$null | Where-Object { $_ -ne ':files' } | ForEach-Object {
            $value, $about = $_ -split "`t", 2
            if (-not $about) { $about = $value }
            [System.Management.Automation.CompletionResult]::new(
                $value, $value, 'ParameterValue', $about)
        }
    } catch {
        # Nothing to offer.
    } finally {
        $env:CERTCTL_COMPLETE = $kept
        $env:CERTCTL_COMPLETE_INDEX = $null
    }
}
