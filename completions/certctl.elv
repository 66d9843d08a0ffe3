# Completion for elvish: what may stand at the cursor is asked of certctl itself. Printed by
# `certctl completion elvish`.

use str

set edit:completion:arg-completer[certctl] = {|@words|
  var index = (to-string (- (count $words) 1))
  try {
    env CERTCTL_COMPLETE=elvish CERTCTL_COMPLETE_INDEX=$index certctl -- $@words 2>/dev/null |
      from-lines | each {|line|
        var parts = [(str:split "\t" $line)]
        var value = $parts[0]
        # A word that goes on gets no space behind it.
        var space = ' '
        for end ['/' '=' '.' ','] {
          if (str:has-suffix $value $end) {
            set space = ''
          }
        }
        var shown = $value
        if (> (count $parts) 1) {
          set shown = $value'  '$parts[1]
        }
        edit:complex-candidate $value &display=$shown &code-suffix=$space
      }
  } catch error {
    # Without an answer there is nothing to offer.
  }
}
