//! Before each `issue` of a scene: what `plan`, `status` and the start page say of each certificate is
//! of one outlook, and `issue` then does it. Only where `CERTCTL_ALL_OUTLOOKS` is set, as `tests/run
//! --all` does: it is three more runs a scene.

use std::collections::BTreeMap;

use serde_json::Value;

use super::World;
use super::process::Run;
use certctl::rehearsal::RequestKind;

/// What was said before a run.
pub(crate) struct Outlooks {
    /// The new orders that the plan has.
    orders: usize,
    /// How many requests the CA had before.
    requests: usize,
    /// Whether each certificate is said to need nothing.
    is_idle: bool,
    said: String,
}

impl Outlooks {
    /// What is said now; `None` where nothing is compared, or something cannot be read.
    pub(crate) fn of(world: &World) -> Option<Self> {
        std::env::var_os("CERTCTL_ALL_OUTLOOKS")?;
        let plan = world.run(&["plan", "-o", "json"]);
        let status = world.run(&["status", "-o", "json"]);
        let page = world.run(&[]);
        let document = |run: &Run| serde_json::from_str::<Value>(&run.stdout).ok();
        let (plan, status) = (document(&plan)?, document(&status)?);
        let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
        let items = plan["items"].as_array()?;
        let actions: BTreeMap<(String, String), String> = items
            .iter()
            .map(|item| ((text(&item["namespace"]), text(&item["name"])), text(&item["action"])))
            .collect();
        for item in status["items"].as_array()? {
            let metadata = &item["metadata"];
            let name = (text(&metadata["namespace"]), text(&metadata["name"]));
            let verdict = text(&metadata["annotations"]["status.certctl/verdict"]);
            let Some(action) = actions.get(&name) else { continue };
            assert!(is_of_one(action, &verdict), "{name:?}: plan {action}, status {verdict}");
        }
        let is_idle = actions.values().all(|action| action == "nothing");
        let asks_for_issue = page.stdout.lines().any(|line| line.trim() == "certctl issue");
        assert!(!(is_idle && asks_for_issue), "nothing is planned, but: {}", page.stdout);
        let server = world.ca.directory_url();
        let of_this_ca = items.iter().filter(|item| item["issuer"]["server"] == server);
        let orders = of_this_ca.filter_map(|item| item["orders"].as_u64()).sum::<u64>();
        Some(Self {
            orders: usize::try_from(orders).unwrap(),
            requests: world.ca.log().len(),
            is_idle,
            said: format!("{plan:#}"),
        })
    }

    /// `issue` did what was said. What it has learned from the CA before an order, nobody could say.
    pub(crate) fn are_of(&self, world: &World, run: &Run) {
        let kinds: Vec<_> =
            world.ca.log().split_off(self.requests).into_iter().map(|entry| entry.kind).collect();
        let is_order = |kind: &RequestKind| *kind == RequestKind::NewOrder;
        let learns =
            |kind: &RequestKind| matches!(kind, RequestKind::RenewalInfo | RequestKind::Crl);
        let first = kinds.iter().find(|kind| is_order(kind) || learns(kind));
        let has_learned = first.is_some_and(learns);
        let requested = kinds.iter().filter(|kind| is_order(kind)).count();
        let said = &self.said;
        let is_planned = self.orders > 0 || !self.is_idle || has_learned;
        assert!(is_planned || requested == 0, "{requested} orders were not planned: {said}");
        if run.code == Some(0) {
            assert!(requested >= self.orders, "{requested} of {} orders: {said}", self.orders);
        }
    }
}

/// Whether the action of a plan and the state of a status can be of one outlook.
fn is_of_one(action: &str, verdict: &str) -> bool {
    match verdict {
        "READY" => action != "relink" && action != "restore",
        "WAITING" | "DEFERRED" => matches!(action, "wait" | "issue" | "renew" | "adopt"),
        "LINKS MISSING" => matches!(action, "relink" | "restore" | "issue" | "adopt"),
        "FILES DAMAGED" => matches!(action, "restore" | "issue"),
        _ => action != "rewrite",
    }
}
