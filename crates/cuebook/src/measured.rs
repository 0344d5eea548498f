//! Agents for [`cuebook_eval`]: each in a browser context of its own, in one browser for each worker.
//!
//! ```no_run
//! use cuebook::measured::Agents;
//! use cuebook::prelude::*;
//! use cuebook_eval::{Options, Quiet, Suite, run};
//!
//! # async fn measure() -> Result<(), Box<dyn std::error::Error>> {
//! let agents = Agents::new(|builder, _| Ok(builder.planner(cuebook::planner::Lexical)))?;
//! let results = run(&agents, &[Suite::built_in("site")?], &Options::default(), &Quiet).await?;
//! agents.close().await;
//! println!("{}", results.summary().to_markdown());
//! # Ok(())
//! # }
//! ```

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cuebook_cdp::{Browser, GotoError, LaunchOptions, SearchPlaces, TargetId, WaitUntil, find_chrome};
use cuebook_eval::{Assignment, BoxError, Subject, Subjects};
use cuebook_grammar::plan::PlanDraft;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::RunReport;
use cuebook_network::drift::{DISABLED_FEATURES, Drifter, Drifts};
use tokio::sync::Mutex;

use crate::agent::Agent;
use crate::browser::BrowserSource;
use crate::builder::AgentBuilder;
use crate::environment::{self, FromEnv as _};
use crate::error::AgentError;

/// Time limit for starting a browser, opening a page and closing it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes the agents of an evaluation: `layers` sets what is special about them.
///
/// Its builder has the browser and the policy of the episode already.
pub struct Agents<F> {
    options: LaunchOptions,
    layers: F,
    drifts: Option<Drifts>,
    /// By worker, with the viewport that each was launched with.
    browsers: Mutex<HashMap<usize, Running>>,
}

type Running = ((u32, u32), Arc<Browser>);

impl<F> std::fmt::Debug for Agents<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<F> Agents<F>
where
    F: Fn(AgentBuilder, &Assignment) -> Result<AgentBuilder, BoxError> + Send + Sync,
{
    /// In the installed browser.
    ///
    /// # Errors
    /// [`AgentError::NoBrowser`]
    pub fn new(layers: F) -> Result<Self, AgentError> {
        let binary = find_chrome(&SearchPlaces::from_env()).map_err(AgentError::NoBrowser)?;
        Ok(Self::launching(LaunchOptions::new(binary, environment::profile_root()), layers))
    }

    /// In browsers that are launched with `options`, and the viewport of the suite.
    pub fn launching(mut options: LaunchOptions, layers: F) -> Self {
        options.withheld_variables.extend(environment::confidential());
        Self { options, layers, drifts: None, browsers: Mutex::default() }
    }

    /// Changes what the pages of an episode get, by its task and seed.
    #[must_use]
    pub fn under(mut self, drifts: Option<Drifts>) -> Self {
        let features = drifts.iter().flat_map(|_| DISABLED_FEATURES);
        self.options.disabled_features.extend(features.map(ToOwned::to_owned));
        Self { drifts, ..self }
    }

    async fn browser(&self, assignment: &Assignment) -> Result<Arc<Browser>, BoxError> {
        let mut browsers = self.browsers.lock().await;
        let (worker, viewport) = (assignment.worker, assignment.suite.viewport);
        if let Some((own, browser)) = browsers.get(&worker) {
            if *own == viewport {
                return Ok(browser.clone());
            }
            browser.close(Instant::now() + PATIENCE).await.ok();
        }
        let options = LaunchOptions { viewport, ..self.options.clone() };
        let browser = Arc::new(Browser::launch(&options, Instant::now() + PATIENCE).await?);
        browsers.insert(worker, (viewport, browser.clone()));
        Ok(browser)
    }

    /// Closes the browsers of all workers; errors in closing are ignored.
    pub async fn close(self) {
        for (_, browser) in self.browsers.into_inner().into_values() {
            browser.close(Instant::now() + PATIENCE).await.ok();
        }
    }
}

impl<F> Subjects for Agents<F>
where
    F: Fn(AgentBuilder, &Assignment) -> Result<AgentBuilder, BoxError> + Send + Sync,
{
    type Subject = Measured;

    async fn subject(&self, assignment: &Assignment) -> Result<Measured, BoxError> {
        let browser = self.browser(assignment).await?;
        let mut policy = Policy::new(assignment.suite.profile).starting_at(&assignment.url)?;
        for origin in &assignment.allow {
            policy = policy.allowing(origin)?;
        }
        for grant in &assignment.grants {
            policy = policy.granting(grant)?;
        }
        let drifter = match &self.drifts {
            Some(drifts) => {
                let drift = drifts.seeded(assignment.mixed_seed());
                Some(Drifter::begin(&browser, drift, Instant::now() + PATIENCE).await?)
            }
            None => None,
        };
        let builder = Agent::builder().browser(BrowserSource::Isolated(browser)).policy(policy);
        let agent = (self.layers)(builder, assignment)?.build().await?;
        Ok(Measured { agent, _drifter: drifter })
    }

    /// The worker's browser may be what broke.
    async fn distrust(&self, worker: usize) {
        if let Some((_, browser)) = self.browsers.lock().await.remove(&worker) {
            browser.close(Instant::now() + PATIENCE).await.ok();
        }
    }
}

/// An agent, and what changes its pages.
#[derive(Debug)]
pub struct Measured {
    agent: Agent,
    _drifter: Option<Drifter>,
}

/// Failure to open the page of an agent.
#[derive(Debug, thiserror::Error)]
enum OpeningError {
    #[error("every layer that needs a browser was replaced: there is no page to open")]
    NoPage,
    #[error("{0} cannot be opened")]
    Goto(String, #[source] GotoError),
}

impl Subject for Measured {
    async fn open(&mut self, url: &str) -> Result<(), BoxError> {
        let target = TargetId::from(self.agent.page().as_str());
        let page = self.agent.browser().and_then(|browser| browser.page(&target)).ok_or(OpeningError::NoPage)?;
        let opened = page.goto(url, WaitUntil::Load, Instant::now() + PATIENCE).await;
        opened.map_err(|error| OpeningError::Goto(url.to_owned(), error))?;
        Ok(())
    }

    async fn run(&mut self, instruction: &str) -> RunReport {
        RunReport::from_result(self.agent.run(instruction).await)
    }

    async fn follow(&mut self, plan: PlanDraft) -> RunReport {
        RunReport::from_result(self.agent.follow(plan).await)
    }

    async fn close(self) -> Result<(), BoxError> {
        Ok(self.agent.close().await?)
    }
}
