//! `dns01.webhook`.

use crate::resource::SOLVER_GROUP;

use super::settings::settings;

settings! {
    /// A provider that cert-manager lacks, or your own program; see certctl-hooks(7).
    Webhook {
        required {
            /// certctl, or a folder of solvers.d.
            group_name "groupName": FileName, example "certctl";
            /// For certctl: exec, http or a provider's name. Otherwise a program in that folder.
            solver_name "solverName": FileName, example "exec";
        }
        optional {
            /// Settings of the solver.
            config "config": Any;
        }
        rules []
    }
}

impl Webhook {
    /// The provider that it names: one of cert-manager's, or one that only some builds have.
    pub fn provider(&self) -> Option<&str> {
        let is_named = self.group_name == SOLVER_GROUP
            && !["exec", "http"].contains(&self.solver_name.as_str());
        is_named.then_some(self.solver_name.as_str())
    }
}
