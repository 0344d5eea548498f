//! The executor: one per browser, for all of its tabs.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, Page, TargetId};
use cuebook_grammar::action::Action;
use cuebook_grammar::deadline::{Deadline, millis};
use cuebook_grammar::facts::ElementFacts;
use cuebook_grammar::id::PageId;
use cuebook_grammar::ledger::Ledger;
use cuebook_grammar::ledger::downloads::Download;
use cuebook_grammar::ledger::requests::{Refused, Requests};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::outcome::{Cause, Evidence, Judged, Stage, StepFailure, StepOutcome};
use cuebook_grammar::plan::{BoundStep, BoundTarget};
use cuebook_grammar::seam::boxed::{BoxedArtifactSink, BoxedSecretSource};
use cuebook_grammar::seam::{ArtifactSink, Denials, EffectGate, Executor, Finished, NoDenials, Redactor, SecretSource};
use cuebook_grammar::secret::DigestKey;
use cuebook_probe::{ARIA, Ask, Probe, ProbeError};
use tracing::Instrument as _;
use url::{Host, Url};

use crate::downloads::keep;
use crate::error::ExecutorError;
use crate::facts::Gathered;
use crate::gate::Holder;
use crate::input::devices::Flight;
use crate::lanes::Lanes;
use crate::late::Watch;
use crate::ledger::Readings;
use crate::network::Network;
use crate::options::{ExecutorOptions, PeopleInput};
use crate::run::StepRun;
use crate::script::{ACT, guard_for};
use crate::seen::Seen;
use crate::stage::Looking;
use crate::step::IsFirst;
use crate::stop::{Part, Stop, probe_stop};
use crate::tape::{Tape, TraceSink};
use crate::trace::Line;

/// How long a page may put off what it does about an input, such as saving once nothing more is typed.
const PUT_OFF: Duration = Duration::from_millis(500);
/// How often the requests of a run are looked at before its end.
const POLL: Duration = Duration::from_millis(20);
/// How long after its documents a crash may be reported.
const CRASH: Duration = Duration::from_millis(500);

/// Runs bound steps on the tabs of one browser. A [`PageId`] is the name of a tab's target.
pub struct LiveExecutor {
    browser: Arc<Browser>,
    digest: DigestKey,
    secrets: Box<dyn BoxedSecretSource>,
    artifacts: Box<dyn BoxedArtifactSink>,
    options: ExecutorOptions,
    redactor: Option<Arc<dyn Redactor>>,
    has_entered_secret: AtomicBool,
    denials: Arc<dyn Denials>,
    trace: Option<TraceSink>,
    probes: HashMap<TargetId, Probe>,
    traffic: HashMap<TargetId, Network>,
    flights: HashMap<TargetId, Flight>,
    holder: Option<Holder>,
    watch: Option<Watch>,
    ledger: Ledger,
    has_run: bool,
    /// When the last input ended, if no stated condition has shown what it led to.
    unproven_at: Option<Instant>,
}

impl fmt::Debug for LiveExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveExecutor").field("options", &self.options).finish_non_exhaustive()
    }
}

impl LiveExecutor {
    /// An executor on `browser`. Pages that open from now on carry its guard from their first document on.
    ///
    /// ```no_run
    /// # use std::sync::Arc;
    /// # use cuebook_cdp::Browser;
    /// # use cuebook_executor::{ExecutorOptions, LiveExecutor};
    /// # use cuebook_grammar::seam::{ArtifactSink, SecretSource};
    /// # use cuebook_grammar::secret::DigestKey;
    /// # fn example(
    /// #     browser: Arc<Browser>,
    /// #     secrets: impl SecretSource + 'static,
    /// #     artifacts: impl ArtifactSink + 'static,
    /// #     random: [u8; 32],
    /// # ) {
    /// // Text that is typed into password-like fields becomes a digest under this key.
    /// let key = DigestKey::new(random);
    /// let executor = LiveExecutor::new(browser, key, secrets, artifacts, ExecutorOptions::default());
    /// # }
    /// ```
    pub fn new(
        browser: impl Into<Arc<Browser>>,
        digest: DigestKey,
        secrets: impl SecretSource + 'static,
        artifacts: impl ArtifactSink + 'static,
        options: ExecutorOptions,
    ) -> Self {
        let browser = browser.into();
        browser.add_world_script(&guard_for(options.people));
        Self {
            browser,
            digest,
            secrets: Box::new(secrets),
            artifacts: Box::new(artifacts),
            options,
            redactor: None,
            has_entered_secret: AtomicBool::new(false),
            denials: Arc::new(NoDenials),
            trace: None,
            probes: HashMap::new(),
            traffic: HashMap::new(),
            flights: HashMap::new(),
            holder: None,
            watch: None,
            ledger: Ledger::default(),
            has_run: false,
            unproven_at: None,
        }
    }

    /// Sets a redactor, which learns each secret before it is entered, and whose findings are painted over in pictures.
    /// Without one, only fields that received secrets are painted over.
    #[must_use]
    pub fn with_redactor(self, redactor: Arc<dyn Redactor>) -> Self {
        Self { redactor: Some(redactor), ..self }
    }

    /// Joins what a proxy denied to the steps that caused it. A step whose document was denied fails.
    #[must_use]
    pub fn with_denials(mut self, denials: Arc<dyn Denials>) -> Self {
        self.denials = denials;
        self
    }

    /// For tests: hands over what each step comes to know, secrets included.
    #[doc(hidden)]
    #[must_use]
    pub fn traced(self, sink: TraceSink) -> Self {
        Self { trace: Some(sink), ..self }
    }

    /// Options that the executor was created with.
    #[must_use]
    pub const fn options(&self) -> &ExecutorOptions {
        &self.options
    }

    /// Waits for the downloads of the run, as long as bytes of them keep coming, and keeps their files. Returns one that is
    /// not complete, in words.
    async fn finish_downloads(&mut self, page: &Page, deadline: Deadline) -> Result<Option<String>, ExecutorError> {
        let Some(watch) = &mut self.watch else { return Ok(None) };
        watch.catch_up(&self.browser, page);
        let patience = self.options.step_timeout;
        while let Some(by) = watch.downloads.all().filter_map(|one| one.awaited_until(patience)).max() {
            let by = by.min(deadline.instant());
            match tokio::time::timeout_at(by.into(), watch.lane.next()).await {
                Ok(Some(event)) => watch.note(&self.browser, page, event),
                Ok(None) | Err(_) => break,
            }
        }
        keep(&mut watch.downloads, self.options.download_dir.as_deref(), &*self.artifacts).await?;
        Ok(watch.downloads.all().find(|one| one.fact.end.is_none()).map(Download::in_words))
    }

    /// Takes the focus from the field that the run entered last, as a page may read it only then; and gives a page that
    /// saves by itself, or whose control says that it is at work, the time for it.
    async fn leave_field(&self, target: &TargetId, until: Instant) {
        let probe = self.probes.get(target).filter(|probe| !probe.page().closed() && probe.page().dialog().is_none());
        let Some(probe) = probe else { return };
        let page = target.as_str();
        for document in self.ledger.documents(page) {
            let Ok(world) = probe.world_of(document, until).await else { continue };
            // A page that cannot be asked is judged below.
            let _ = world.call::<bool>("(cb) => cb.act.leave()", &[], until).await;
            let span = self.options.post_timeout.min(until.saturating_duration_since(Instant::now()));
            let _ = world.call::<bool>("(cb, ms) => cb.act.saved(ms)", &[millis(span).into()], until).await;
        }
        let span = self.options.post_timeout;
        let by = until.min(Instant::now() + span);
        let Ok(world) = probe.world(&probe.page().main_frame().id, by).await else { return };
        let _ = world.call::<bool>("(cb, ms) => cb.act.worked(ms)", &[millis(span).into()], by).await;
    }

    async fn probe(&mut self, page: &PageId, until: Instant) -> Part<Probe> {
        let target = TargetId::from(page.as_str());
        let Some(tab) = self.browser.page(&target) else {
            self.probes.remove(&target);
            self.traffic.remove(&target);
            self.flights.remove(&target);
            let reason = if self.browser.is_alive() {
                cuebook_cdp::GoneReason::Detached
            } else {
                cuebook_cdp::GoneReason::BrowserGone
            };
            return Err(crate::stop::gone_stop(reason, Stage::Resolve));
        };
        if let Some(probe) = self.probes.get(&target)
            && *probe.page() == tab
        {
            return Ok(probe.clone());
        }
        let page = tab.clone();
        let attach = async {
            let probe = Probe::attach(tab, self.digest.clone(), until).await?;
            probe.extend(ACT, until).await?;
            probe.extend(ARIA, until).await?;
            if self.options.people == PeopleInput::Never {
                // The tab may have been open before this executor was made.
                probe.page().add_world_script(&guard_for(PeopleInput::Never), until).await?;
            }
            Ok::<_, ProbeError>(probe)
        };
        let probe = match attach.await {
            Ok(probe) => probe,
            Err(ProbeError::Gone) if crashes(&page).await => {
                return Err(crate::stop::gone_stop(cuebook_cdp::GoneReason::Crashed, Stage::Resolve));
            }
            Err(error) => return Err(probe_stop(error, Stage::Resolve)),
        };
        self.traffic.insert(target.clone(), Network::watch(probe.page()));
        self.probes.insert(target, probe.clone());
        Ok(probe)
    }
}

/// Returns `true` if a page whose document went away has crashed, which is reported a moment later.
async fn crashes(page: &Page) -> bool {
    let until = Instant::now() + CRASH;
    while !page.crashed() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    page.crashed()
}

/// Returns `true` if a target may still come, or become visible and enabled.
async fn is_awaited(probe: &Probe, target: &BoundTarget, until: Instant) -> bool {
    let is_ready = |facts: &ElementFacts| facts.visible != Some(false) && !facts.states.disabled;
    match target {
        BoundTarget::Declared(locator) => {
            let located = probe.locate(locator, &Ask::default(), until).await;
            located.is_ok_and(|located| !located.unique().is_some_and(|found| is_ready(&found.facts)))
        }
        BoundTarget::Observed(candidate) => {
            let Some(key) = &candidate.node else { return false };
            let facts = probe.facts_of(key, &Ask::default(), until).await;
            facts.is_ok_and(|facts| facts.is_some_and(|facts| !is_ready(&facts)))
        }
    }
}

/// Returns `true` if both addresses are of one host, or of hosts below the same two last labels. A server elsewhere that
/// cannot be reached, such as one that counts visits, speaks against no run.
fn is_of_site(url: &str, page: &str) -> bool {
    let domain = |url: &str| {
        let host = Url::parse(url).ok()?.host()?.to_owned();
        Some(match host {
            Host::Domain(name) => {
                let labels: Vec<&str> = name.rsplit('.').take(2).collect();
                labels.join(".")
            }
            address => address.to_string(),
        })
    };
    domain(url) == domain(page)
}

impl Executor for LiveExecutor {
    type Error = ExecutorError;

    async fn run_step(
        &mut self,
        page: &PageId,
        step: &BoundStep,
        ground: &Observation,
        gate: &mut dyn EffectGate,
        deadline: Deadline,
    ) -> Result<StepOutcome, ExecutorError> {
        let now = Instant::now();
        let span = step.timeout().unwrap_or(self.options.step_timeout);
        let until = deadline.within(now, span).instant();
        let browser = self.browser.clone();
        self.watch.get_or_insert_with(|| Watch::new(browser.events()));
        let own = (&*self.secrets, self.redactor.as_deref());
        let ready = match Holder::begin(&mut self.holder, &browser, step, own, Deadline::at(until)).await {
            Ok(()) => self.probe(page, until).await,
            Err(stop) => Err(stop),
        };
        let probe = match ready {
            Ok(probe) => probe,
            Err(Stop::Failed(failure)) => return Ok(StepOutcome::Failed(failure)),
            Err(Stop::Broken(error)) => return Err(error),
            Err(Stop::Dialog | Stop::Closed) => {
                return Ok(StepOutcome::Failed(Box::new(StepFailure::dialog_open())));
            }
        };
        let tab = probe.page().clone();
        let network = self.traffic.entry(tab.target_id().clone()).or_insert_with(|| Network::watch(&tab));
        network.settle();
        let flight = || Flight::new(tokio::runtime::Handle::current());
        let flight = self.flights.entry(tab.target_id().clone()).or_insert_with(flight).clone();
        let watch = self.watch.get_or_insert_with(|| Watch::new(browser.events()));
        watch.catch_up(&browser, &tab);
        watch.downloads.begin();
        let gathered = Gathered::new(Vec::new(), self.digest.clone(), tab.url());
        let waits = matches!(step.action(), Action::WaitFor(_));
        let denied_from = self.denials.position();
        let mut seen = Seen::new(gathered, &mut network.traffic, &mut watch.downloads, denied_from, waits, now);
        seen.late_tabs = std::mem::take(&mut watch.new_tabs);
        seen.tape = self.trace.clone().map(|sink| Tape::new(sink, now));
        let main_frame = tab.target_id().as_str().to_owned();
        seen.record(Line::Step { main_frame, url: tab.url(), waits }, now);
        let lanes =
            Lanes { tab: tab.events(), browser: &mut watch.lane, wire: &mut network.wire, worlds: BTreeMap::new() };
        let run = StepRun {
            options: &self.options,
            redactor: self.redactor.as_deref(),
            has_entered_secret: &self.has_entered_secret,
            browser: &self.browser,
            lanes,
            tabs: self.browser.pages_beside(&tab),
            page: tab,
            probe,
            step,
            ground,
            until,
            evidence: Evidence::default(),
            portrait: None,
            seen,
            ledger: &mut self.ledger,
            denials: &*self.denials,
            main: None,
            looking: Looking::begin(),
            flight,
            gate,
            holder: &mut self.holder,
        };
        let is_first = if self.has_run { IsFirst::No } else { IsFirst::Yes };
        self.has_run = true;
        let verb = step.action().kind().meta().name;
        let span = tracing::debug_span!("step", step_index = step.plan_index(), action = verb);
        let outcome = run.run(&*self.secrets, &*self.artifacts, is_first).instrument(span).await;
        if let Ok(StepOutcome::Succeeded(success)) = &outcome
            && success.evidence.input_sent
        {
            let proves = |one: &Judged| !one.default && !one.vacuous && one.verdict.holds();
            self.unproven_at = (!success.evidence.post.iter().any(proves)).then(Instant::now);
        }
        outcome
    }

    async fn prepare(&mut self, page: &PageId, step: &BoundStep, deadline: Deadline) -> Result<(), ExecutorError> {
        let until = deadline.within(Instant::now(), self.options.ready_timeout).instant();
        let probe = match self.probe(page, until).await {
            Ok(probe) => probe,
            Err(Stop::Broken(error)) => return Err(error),
            Err(_) => return Ok(()),
        };
        for target in step.targets().values() {
            while probe.page().dialog().is_none() && Instant::now() < until && is_awaited(&probe, target, until).await {
                tokio::time::sleep(POLL).await;
            }
        }
        Ok(())
    }

    async fn finish(&mut self, page: &PageId, goes_on: bool, deadline: Deadline) -> Result<Finished, ExecutorError> {
        let until = deadline.within(Instant::now(), self.options.step_timeout).instant();
        let target = TargetId::from(page.as_str());
        let mut finished = Finished::default();
        if !goes_on {
            self.leave_field(&target, until).await;
            if let Some(acted) = self.unproven_at.take() {
                tokio::time::sleep_until((acted + PUT_OFF).min(until).into()).await;
            }
        }
        if let Some((network, page)) = self.traffic.get_mut(&target).zip(self.browser.page(&target)) {
            let mut open = network.of_run(&page).open();
            while open.is_some() && Instant::now() < until {
                tokio::time::sleep(POLL).await;
                open = network.of_run(&page).open();
            }
            let unfinished = self.finish_downloads(&page, deadline).await?;
            finished.late = self.watch.as_mut().map(Watch::take_late).unwrap_or_default();
            let requests = self.traffic.get_mut(&target).map(|network| network.of_run(&page));
            let url = page.url();
            let speaks_against = |one: &&Refused| one.fact.status.is_some() || is_of_site(&one.fact.url, &url);
            let refused =
                requests.as_ref().and_then(|requests| requests.refused().iter().find(speaks_against).cloned());
            finished.late.requests = requests.map(Requests::take_late).unwrap_or_default();
            finished.against =
                if let Some(pending) = open.map(|open| open + "; it may still take effect").or(unfinished) {
                    Some(StepFailure::new(Stage::Postcondition, Cause::EffectPending, pending))
                } else {
                    refused.map(|refused| {
                        let mut failure = StepFailure::new(Stage::Postcondition, Cause::HttpError, refused.in_words());
                        failure.facts.status = refused.fact.status;
                        failure
                    })
                }
                .map(Box::new);
        }
        let probe = self.probes.get(&target).filter(|probe| !probe.page().closed() && probe.page().dialog().is_none());
        if let Some(probe) = probe.filter(|_| finished.against.is_none()) {
            let readings = Readings::take(&mut self.ledger, probe, until).await;
            finished.against = readings.lost(&self.ledger, None).map(Box::new);
        }
        Ok(finished)
    }
}
