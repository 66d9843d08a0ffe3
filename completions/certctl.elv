# Completion for elvish: certctl itself answers what may stand at the cursor. Printed by
# `certctl completion elvish`.

use str

set edit:completion:arg-completer[certctl] = {|@words|
  try {
    env CERTCTL_COMPLETE=elvish certctl -- $@words 2>/dev/null | from-lines | each {|line|
      var parts = [(str:split "\t" $line)]
      var value = $parts[0]
      if (eq $value ':files') {
        edit:complete-filename $@words
      } else {
        # A word that goes on gets no space behind it.
        var space = ' '
        if (or (str:has-suffix $value '.') (str:has-suffix $value '=')) {
          set space = ''
        }
        edit:complex-candidate $value &display=(str:join '  ' $parts) &code-suffix=$space
      }
    }
  } catch error {
    # Without an answer there is nothing to offer.
  }
}
