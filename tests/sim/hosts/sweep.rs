//! Two hosts, one certificate: each is disturbed at each moment of its run.

use super::{is_whole, judge, one_name};
use crate::fuse::{Disturbance, Fuse, Pause};
use crate::stage::host::{LATER, Run};
use crate::stage::world::EFFECT;
use crate::weak::Fault;

/// What disturbs both hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The first stands still, and goes on when the second has reached its moment.
    Pause,
    /// Both are killed.
    Kill,
    /// Both lose the reply to a request. The first stands still then, as above.
    LostReply,
    /// Neither knows whether its write was done. The first stands still then, as above.
    UnknownPut,
}

impl Kind {
    /// Whether the first host, or the second, can be disturbed at a moment of this label. Between two
    /// of those nothing changes outside of the host.
    fn is_at(self, label: &str, is_first: bool) -> bool {
        let is_write = label.starts_with("before put") || label.starts_with("before create");
        let is_sent = [
            "FindAccount",
            "Register",
            "CreateOrder",
            "Read",
            "Present",
            "Accept",
            "Finalize",
            "Download",
            "CleanUp",
        ];
        let effect = label.strip_prefix(EFFECT);
        match self {
            Self::Pause if is_first => {
                label.starts_with("before") || label.starts_with("after put")
            }
            Self::Pause | Self::Kill => label.starts_with("before"),
            Self::LostReply => {
                effect.is_some_and(|effect| is_sent.iter().any(|one| effect.starts_with(one)))
            }
            Self::UnknownPut => is_write,
        }
    }

    /// The runs of the two.
    fn runs(self, first: usize, second: usize) -> Vec<Run> {
        let fault = [Fault::AnswerLost, Fault::RequestLost, Fault::Late];
        let write = |number: usize| Disturbance::Write(fault[(first + number) % fault.len()]);
        let endless = Fuse::endless;
        let other = match self {
            Self::Pause => endless(),
            Self::Kill => Fuse::at(second),
            Self::LostReply => endless().with(second, Disturbance::LostReply),
            Self::UnknownPut => endless().with(second, write(second)),
        };
        let pause = Disturbance::Pause(Pause::Until { run: 1, moment: second });
        let fuse = match self {
            Self::Pause => endless().with(first, pause),
            Self::Kill => Fuse::at(first),
            Self::LostReply => endless().with(first, Disturbance::LostReply).with(first + 1, pause),
            Self::UnknownPut => endless().with(first, write(0)).with(first + 1, pause),
        };
        let [mut one, mut two] = [0, 1].map(Run::of);
        (one.fuse, two.fuse, two.after) = (fuse, other, LATER);
        vec![one, two]
    }
}

/// Two hosts that were disturbed at these moments, and then were not.
fn disturbed(kind: Kind, first: usize, second: usize) -> Result<(), String> {
    let hosts = one_name(2);
    hosts.run_together(kind.runs(first, second));
    let is_settled = hosts.settle();
    judge(&hosts, is_settled, false)
}

/// All pairs of moments of some kinds of disturbance; a tenth of them, in which each moment is, unless all
/// are asked for.
fn sweep(kinds: &[Kind], at_least: usize) {
    let labels = one_name(1).run(Run::of(0)).labels;
    let stride = if is_whole() { 1 } else { 10 };
    let (mut all, mut found) = (0, Vec::new());
    for kind in kinds {
        let moments = |is_first: bool| -> Vec<(usize, usize)> {
            let is_at = |moment: &usize| kind.is_at(&labels[*moment], is_first);
            (0..labels.len()).filter(is_at).enumerate().collect()
        };
        let (firsts, seconds) = (moments(true), moments(false));
        for (i, first) in &firsts {
            for (j, second) in &seconds {
                all += 1;
                if (i + 3 * j) % stride == 0
                    && let Err(why) = disturbed(*kind, *first, *second)
                {
                    let [one, two] = [first, second].map(|moment| &labels[*moment]);
                    found.push(format!("{kind:?} {first} {one:.40}, {second} {two:.40}: {why}"));
                }
            }
        }
    }
    assert!(all >= at_least, "{all} pairs");
    assert!(found.is_empty(), "{} of {all}: {:#?}", found.len(), &found[..found.len().min(5)]);
}

#[test]
fn one_that_stood_still_goes_on_at_each_moment_of_the_other() {
    sweep(&[Kind::Pause], 2000);
}

#[test]
fn both_are_killed() {
    sweep(&[Kind::Kill], 1500);
}

#[test]
fn both_lose_a_reply_or_do_not_know_what_became_of_a_write() {
    sweep(&[Kind::LostReply, Kind::UnknownPut], 500);
}
