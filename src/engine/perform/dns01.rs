//! Effects of DNS-01 challenges: find the zone, add the TXT record, query it, remove it.

use std::fs::File;
use std::rc::Rc;

use super::error;
use super::issuer::ProviderAccess;
use super::world::World;
use crate::controller::{EffectError, Outcome};
use crate::engine::inputs::digest_of;
use crate::engine::ports::{Clock, Store};
use crate::probe::{self, Dns01Request, Resolver};
use crate::resource::dns01::record_name;
use crate::resource::{
    ChallengeSpec, CheckReport, CnameStrategy, Dns01, Dns01Provider, Dns01Target, Identifier,
    Issuer, Solver,
};
use crate::solver::dns01::{Action, DnsProvider, TxtRecord, txt_value};

impl<C: Clock, S: Store> World<'_, C, S> {
    /// The provider of a solver, with validated settings and its credentials.
    pub(super) fn provider(
        &self,
        issuer: &Issuer,
        settings: &Dns01Provider,
    ) -> Result<Rc<dyn DnsProvider>, EffectError> {
        let access = self.access(issuer);
        let key = (access.namespace().to_owned(), digest_of_provider(settings));
        if let Some(provider) = self.providers.borrow().get(&key) {
            return Ok(Rc::clone(provider));
        }
        let reached = ProviderAccess {
            environment: &|name| (self.options.environment)(name),
            solvers_dir: &self.options.dns01.solvers_dir,
            api: Rc::clone(&self.api),
            resolver: Rc::clone(&self.resolver),
        };
        let opened = access.provider(settings, &reached);
        let opened: Rc<dyn DnsProvider> =
            Rc::from(opened.map_err(|error| error::provider(&error))?);
        let stand_in = self.options.dns01.stand_in.as_ref();
        let provider = stand_in.map_or(opened, |stand_in| Rc::clone(&stand_in.provider));
        self.providers.borrow_mut().insert(key, Rc::clone(&provider));
        Ok(provider)
    }

    /// Looks up the challenge and its solver.
    pub(super) fn zone_resolver(&self) -> &Resolver {
        let stand_in = self.options.dns01.stand_in.as_ref();
        stand_in.map_or(&self.resolver, |stand_in| &stand_in.resolver)
    }

    /// Finds the zone and name of the TXT record. Nothing is written.
    pub(super) async fn locate(
        &self,
        issuer: &Issuer,
        spec: &ChallengeSpec,
    ) -> Result<Outcome, EffectError> {
        let (dns01, domain) = (settings_of(spec)?, domain_of(spec)?);
        // Its settings may have become unusable since the order was made.
        let provider = self.provider(issuer, &dns01.provider)?;
        let strategy = dns01.cname_strategy.unwrap_or(CnameStrategy::None);
        let (name, zone) = if provider.needs_zone() || strategy == CnameStrategy::Follow {
            let is_recursive_only = self.options.dns01.recursive_nameservers_only;
            let resolver = self.zone_resolver();
            let found = probe::locate(resolver, &domain, strategy, is_recursive_only).await;
            let found = found.map_err(error::local)?;
            (found.name, found.zone)
        } else {
            (record_name(&domain), String::new())
        };
        let provider = match self.options.dns01.stand_in {
            Some(_) => format!("the built-in name server, not {}", dns01.provider.name()),
            None => dns01.provider.name().to_owned(),
        };
        Ok(Outcome::Located(Dns01Target {
            provider,
            solver_digest: digest_of_provider(&dns01.provider),
            zone,
            name,
            value: txt_value(&spec.key),
        }))
    }

    pub(super) async fn query_record(
        &self,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<Outcome, EffectError> {
        let dns01 = settings_of(challenge)?;
        let mut request = Dns01Request::new(&domain_of(challenge)?, &txt_value(&challenge.key));
        request.nameservers.clone_from(&dns01.nameservers);
        request.is_recursive_only = self.options.dns01.recursive_nameservers_only;
        // A provider without zones writes where it says, not where the CNAMEs point to.
        let target = target.filter(|target| !target.zone.is_empty());
        request.written = target.map(|target| target.name.clone());
        let report = probe::check_dns01(self.zone_resolver(), &request).await;
        Ok(Outcome::Checked(Box::new(CheckReport::Dns01(report))))
    }

    /// Adds the value at the place that was found.
    pub(super) async fn present_record(
        &self,
        issuer: &Issuer,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<(), EffectError> {
        let target = target.ok_or_else(|| error::local("the place of the record is not known"))?;
        let record = record_of(challenge, target)?;
        let provider = &settings_of(challenge)?.provider;
        self.write_record(issuer, provider, Action::Present, &record).await
    }

    /// Removes the value, with the solver of the issuer that has the settings it was written
    /// with: credentials are never sent to a server that only the state names.
    pub(super) async fn take_record_back(
        &self,
        issuer: &Issuer,
        challenge: &ChallengeSpec,
        target: Option<&Dns01Target>,
    ) -> Result<(), EffectError> {
        let Some(target) = target else { return Ok(()) };
        let solvers = &issuer.acme.solvers;
        let mut providers = solvers.iter().filter_map(Solver::dns01).map(|dns01| &dns01.provider);
        let settings = providers.find(|one| digest_of_provider(one) == target.solver_digest);
        let Some(settings) = settings else {
            let issuer = &issuer.metadata.name;
            return Err(error::precondition(format!(
                "issuer \"{issuer}\" no longer has the solver settings that created it; certctl \
                 removes it once they are restored"
            )));
        };
        let record = record_of(challenge, target)?;
        self.write_record(issuer, settings, Action::CleanUp, &record).await
    }

    /// Adds the value to those at its name, or removes it. A program that does it may be left from a
    /// run that was killed.
    async fn write_record(
        &self,
        issuer: &Issuer,
        settings: &Dns01Provider,
        action: Action,
        record: &TxtRecord,
    ) -> Result<(), EffectError> {
        let provider = self.provider(issuer, settings)?;
        let written = async |lock: Option<&File>| match (provider.as_program(), action) {
            (Some(solver), _) => solver.run(action, record, lock).await,
            (None, Action::Present) => provider.present(record).await,
            (None, Action::CleanUp) => provider.clean_up(record).await,
        };
        let written = async |lock: Option<&File>| {
            written(lock).await.map_err(|error| error::provider(&error))
        };
        let Some(solver) = provider.as_program() else { return written(None).await };
        let of = format!("solver {} {}", record.name, record.value);
        self.in_turn(solver, &of, solver.limit(), written).await
    }
}

fn record_of(spec: &ChallengeSpec, target: &Dns01Target) -> Result<TxtRecord, EffectError> {
    Ok(TxtRecord {
        domain: domain_of(spec)?,
        name: target.name.clone(),
        zone: target.zone.clone(),
        value: target.value.clone(),
    })
}

fn settings_of(spec: &ChallengeSpec) -> Result<&Dns01, EffectError> {
    spec.solver.dns01().ok_or_else(|| error::local("the challenge's solver is not dns01"))
}

fn domain_of(spec: &ChallengeSpec) -> Result<String, EffectError> {
    match &spec.identifier {
        Identifier::Dns(name) => Ok(name.base().to_owned()),
        Identifier::Ip(ip) => Err(error::local(format!("{ip}: dns-01 is for names"))),
    }
}

fn digest_of_provider(settings: &Dns01Provider) -> String {
    digest_of(&serde_json::to_vec(settings).unwrap_or_default())
}
