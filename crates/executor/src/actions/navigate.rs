//! Opening URLs and moving through the tab's history.

use std::time::{Duration, Instant};

use cuebook_cdp::protocol::browser_protocol::page::{
    GetNavigationHistoryParams, NavigateParams, NavigateToHistoryEntryParams, ReloadParams, StopLoadingParams,
};
use cuebook_cdp::{CallError, PageEvent};
use cuebook_grammar::action::{Navigate, Statuses};
use cuebook_grammar::deadline::millis;
use cuebook_grammar::outcome::{Cause, Stage, StepFailure};
use cuebook_grammar::render::cut;
use cuebook_probe::ProbeError;
use serde::Deserialize;

use crate::denied::in_words;
use crate::gate::Holder;
use crate::run::StepRun;
use crate::script::Loaded;
use crate::seen::Event;
use crate::stop::{Part, Stop, call_stop, failed, out_of_time};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigated {
    #[serde(default)]
    loader_id: Option<String>,
    #[serde(default)]
    error_text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct History {
    current_index: i64,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: i64,
    url: String,
}

/// How long a step waits until a document is loaded that it led to indirectly.
/// More than a person may take to decide about a request.
const DECIDING: Duration = Duration::from_secs(3_600);
const READING_ON: Duration = Duration::from_secs(2);

impl StepRun<'_> {
    /// Opens a URL, and waits until its document is loaded, within limits: a page that never finishes loading is open once
    /// it is committed.
    pub(crate) async fn navigate(&mut self, action: &Navigate) -> Part<()> {
        let url = action.url.as_str();
        let begun = Instant::now();
        self.arm_if_alive().await?;
        self.about_to_send()?;
        // The deadline of the step moves while a person decides about a request.
        let call = self.page.session().request(NavigateParams::new(url), self.until + DECIDING);
        let reply =
            self.race(Stage::Act, call).await.and_then(|reply| reply.map_err(|error| call_stop(error, Stage::Act)));
        let reply = match reply {
            Ok(reply) => reply,
            Err(stop) => {
                self.stop_loading();
                return Err(self.without_response(stop, url, begun));
            }
        };
        let navigated: Navigated = reply.parse().map_err(|error| call_stop(error, Stage::Act))?;
        if let Some(reason) = navigated.error_text.filter(|text| !text.is_empty()) {
            return self.refused(url, &reason, action.status.as_ref()).await;
        }
        // Without a loader the document stays: only the fragment is another one.
        if let Some(document) = navigated.loader_id {
            self.committed(Some(&document)).await?;
            self.loaded(self.options.load_timeout, action.status.as_ref()).await?;
        }
        Ok(())
    }

    /// Chrome replies to a navigation once the response began: an earlier timeout is the server's.
    fn without_response(&self, stop: Stop, url: &str, begun: Instant) -> Stop {
        match stop {
            Stop::Failed(mut failure) if failure.cause == Cause::DeadlineExceeded => {
                let url = cut(url, 200);
                failure.message = format!("no response from {url} within {:.1} s", begun.elapsed().as_secs_f64());
                Stop::Failed(failure)
            }
            other => other,
        }
    }

    /// Moves through the history by `by` entries.
    pub(crate) async fn travel(&mut self, by: i64) -> Part<()> {
        self.arm_if_alive().await?;
        let call = self.page.session().request(GetNavigationHistoryParams {}, self.until);
        let reply = self.race(Stage::Act, call).await?.map_err(|error| call_stop(error, Stage::Act))?;
        let history: History = reply.parse().map_err(|error| call_stop(error, Stage::Act))?;
        let wanted = history.current_index.checked_add(by).and_then(|index| usize::try_from(index).ok());
        let Some(entry) = wanted.and_then(|index| history.entries.get(index)) else {
            let way = if by < 0 { "earlier" } else { "later" };
            return failed(Stage::Act, Cause::NavigationFailed, format!("the tab's history has no {way} entry"));
        };
        self.about_to_send()?;
        let from = self.page.main_frame().document;
        let call = self.page.session().request(NavigateToHistoryEntryParams::new(entry.id), self.until);
        self.race(Stage::Act, call).await?.map_err(|error| call_stop(error, Stage::Act))?;
        let target = entry.url.clone();
        self.left(from.as_str(), Some(&target)).await?;
        self.loaded(self.options.load_timeout, None).await
    }

    /// Loads the page again.
    pub(crate) async fn reload(&mut self) -> Part<()> {
        self.arm_if_alive().await?;
        self.about_to_send()?;
        let from = self.page.main_frame().document;
        let call = self.page.session().request(ReloadParams::default(), self.until);
        self.race(Stage::Act, call).await?.map_err(|error| call_stop(error, Stage::Act))?;
        self.left(from.as_str(), None).await?;
        self.loaded(self.options.load_timeout, None).await
    }

    /// A crashed page has nothing to watch, but can be navigated.
    async fn arm_if_alive(&mut self) -> Part<()> {
        if self.page.crashed() {
            self.begin_watching();
            return Ok(());
        }
        // The page that is left may hang: its state is not worth failing the step.
        let until = self.until;
        self.until = self.within(Duration::from_secs(1));
        let watched = self.watch().await;
        self.until = until;
        match watched {
            Err(Stop::Failed(failure)) if matches!(failure.cause, Cause::DeadlineExceeded | Cause::TargetStale) => {
                if Instant::now() >= until {
                    return Err(out_of_time(Stage::Act));
                }
                self.begin_watching();
                Ok(())
            }
            other => other.map(drop),
        }
    }

    async fn refused(&mut self, url: &str, reason: &str, accepted: Option<&Statuses>) -> Part<()> {
        let reason: String = reason.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(200).collect();
        if reason == "net::ERR_ABORTED" && self.download_begins().await? {
            return Ok(());
        }
        // Chrome shows its own page for an error without a body, and reports a failure.
        if reason == "net::ERR_HTTP_RESPONSE_CODE_FAILURE" {
            self.hear();
            let document = self.seen.traffic.documents().pop();
            judge_status(document.as_ref().and_then(|document| document.status).unwrap_or(500), accepted)?;
            if let Some(document) = document {
                self.saw(Event::AskedFor { url: document.url });
            }
            return Ok(());
        }
        self.hear();
        let reached = self.seen.traffic.documents().pop().map_or_else(|| url.to_owned(), |document| document.url);
        let reason = self.reason(&reached, &reason).map_or(reason, str::to_owned);
        let why = in_words(&reason).map_or_else(String::new, |why| format!(" ({why}: {})", cut(&reached, 200)));
        let message = format!("the page did not load: {reason}{why}");
        let mut failure = StepFailure::new(Stage::Act, Cause::NavigationFailed, message);
        failure.facts.seen = Some(reason);
        Err(failure.into())
    }

    /// Waits until the main frame has this document.
    async fn committed(&mut self, document: Option<&str>) -> Part<()> {
        while document.is_some_and(|document| self.page.main_frame().document.as_str() != document) {
            self.next_event().await?;
        }
        Ok(())
    }

    /// Waits until the main frame has another document than `from`, or is at `url` within the same one.
    async fn left(&mut self, from: &str, url: Option<&str>) -> Part<()> {
        loop {
            let main = self.page.main_frame();
            if main.document.as_str() != from || url.is_some_and(|url| main.url == url) {
                return Ok(());
            }
            self.next_event().await?;
        }
    }

    async fn next_event(&mut self) -> Part<()> {
        let event: Option<PageEvent> = tokio::select! {
            event = self.lanes.tab.next() => event,
            held = Holder::next(self.holder) => return self.judge(held).await.map(drop),
            () = tokio::time::sleep_until(self.until.into()) => {
                self.stop_loading();
                return Err(out_of_time(Stage::Act));
            }
        };
        self.note(event, Stage::Act)
    }

    /// Waits, for a while, until a document that the step led to is loaded. Its status is not the step's failure.
    pub(crate) async fn read_on(&mut self) -> Part<()> {
        self.loaded(READING_ON, Some(&Statuses::Any)).await
    }

    /// Waits, for a while, until the document is loaded, and checks its status.
    async fn loaded(&mut self, patience: Duration, accepted: Option<&Statuses>) -> Part<()> {
        let by = self.within(patience).min(self.answer_by());
        let (probe, frame) = (self.probe.clone(), self.page.main_frame().id);
        let until = self.until;
        let loaded = async move {
            loop {
                let left = by.saturating_duration_since(Instant::now());
                let asked: Result<Loaded, ProbeError> = async {
                    let args = [millis(left).into()];
                    let world = probe.world(&frame, until).await?;
                    world.call("(cb, ms) => cb.act.loaded(ms)", &args, until).await
                }
                .await;
                match asked {
                    // The page redirected itself to another document.
                    Err(ProbeError::Gone) if Instant::now() < by => {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    other => return other,
                }
            }
        };
        let grace = by + Duration::from_millis(500);
        let Ok(loaded) = self.race(Stage::Act, tokio::time::timeout_at(grace.into(), loaded)).await? else {
            // The document is there, but too busy to answer.
            return Ok(());
        };
        match loaded {
            Ok(Loaded { status }) => judge_status(status, accepted),
            Err(ProbeError::Gone) | Err(ProbeError::Wire(CallError::DeadlineExceeded { .. })) => Ok(()),
            Err(error) => Err(crate::stop::probe_stop(error, Stage::Act)),
        }
    }

    /// Stops a navigation whose step has failed.
    pub(crate) fn stop_loading(&self) {
        drop(self.page.session().request(StopLoadingParams {}, self.within(Duration::from_secs(1))));
    }
}

/// Fails unless a step accepts a page with this status; 0 means that the status is unknown.
fn judge_status(status: u16, accepted: Option<&Statuses>) -> Part<()> {
    let (is_accepted, expected) = match accepted {
        None => (status < 400, "below 400".to_owned()),
        Some(statuses @ Statuses::Any) => (statuses.accept(status), "any".to_owned()),
        Some(statuses @ Statuses::Of(list)) => {
            let list: Vec<String> = list.iter().map(u16::to_string).collect();
            (status == 0 || statuses.accept(status), list.join(" or "))
        }
    };
    if is_accepted {
        return Ok(());
    }
    let message = format!("the server answered with status {status}, not {expected}");
    let mut failure = StepFailure::new(Stage::Act, Cause::HttpError, message);
    failure.facts.status = Some(status);
    failure.facts.seen = Some(format!("status {status}"));
    Err(failure.into())
}
