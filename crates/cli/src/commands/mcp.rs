//! `cuebook mcp`: a browser as tools for somebody else's agent.

use std::time::Duration;

use cuebook::Agent;
use cuebook::executor::{ExecutorOptions, ScreenshotMode};
use cuebook::page_modeler::{ModelerOptions, Settling};
use cuebook_mcp::{Opener, serve_stdio};
use cuebook_session::{Asker, Handle, ToolSet};

use crate::args::{McpArgs, SessionOptions, Tools};
use crate::browser::open_contained;
use crate::compose::{budgets, secrets};
use crate::exit::{Exit, Output, Refusal};
use crate::ground;
use crate::progress;
use crate::text::{plain, with_sources};

/// The wait before a page is shown: a page that goes on changing is shown as it is.
const SETTLING: Settling = Settling { quiet: Duration::from_millis(100), limit: Duration::from_secs(3) };

/// Opens the sessions of a server by the flags of the command.
pub(crate) struct Opening {
    pub(crate) options: SessionOptions,
    /// A picture is taken before and after each step.
    pub(crate) takes_pictures: bool,
}

pub(crate) async fn run(args: McpArgs, output: Output) -> Exit {
    let tools = match args.tools {
        Tools::Core => ToolSet::Core,
        Tools::Slim => ToolSet::Slim,
        Tools::Dom => ToolSet::Dom,
        Tools::All => ToolSet::All,
    };
    let opening = Opening { options: args.session, takes_pictures: false };
    // What cannot work later is said now, where a person reads it.
    if let Err(refusal) = opening.policy() {
        return refusal.print(output);
    }
    match serve_stdio(opening, tools).await {
        Ok(kept) => {
            if let Some(dir) = kept.filter(|_| !output.quiet) {
                progress::say(&format!("log: {dir}"));
            }
            Exit::OK
        }
        Err(why) => {
            progress::say(&format!("error: the client did not connect: {}", plain(&why)));
            Exit::FAILED
        }
    }
}

impl Opening {
    /// The policy, and whether addresses of this machine may be opened without being named: both are open unless flags or
    /// a file say where the session may act.
    fn policy(&self) -> Result<(cuebook_grammar::policy::Policy, bool), Refusal> {
        let policy = ground::policy(&self.options.policy, &self.options.grant, None)?;
        let is_open = self.options.policy.allow.is_empty() && self.options.policy.policy.is_none();
        Ok(if is_open { (policy.opening_public(), true) } else { (policy, false) })
    }

    pub(crate) async fn session(&self) -> Result<Handle, Refusal> {
        let options = &self.options;
        let (policy, opens_loopback) = self.policy()?;
        let secrets = secrets(options, None)?;
        let tab = open_contained(options, policy.clone()).await?;
        let (asker, questions) = Asker::new();
        let screenshots = if self.takes_pictures { ScreenshotMode::Every } else { ScreenshotMode::default() };
        let upload_roots = cuebook::upload_roots(&policy);
        let executor = ExecutorOptions { screenshots, upload_roots, ..ExecutorOptions::default() };
        let unusable = |error: &dyn std::error::Error| {
            Refusal::unusable(cuebook_grammar::report::ErrorCode::NoBrowser, error.to_string())
        };
        let agent = Agent::builder()
            .browser(tab)
            .budgets(budgets(options))
            .modeler_options(ModelerOptions { settling: SETTLING, ..ModelerOptions::default() })
            .executor_options(executor)
            .policy(policy)
            .runs_in(&options.out)
            .confirm(asker)
            .secrets(secrets)
            .build()
            .await
            .map_err(|error| unusable(&error))?;
        let session = agent.begin().await.map_err(|error| unusable(&error))?;
        Ok(Handle::start(session, questions, opens_loopback))
    }
}

impl Opener for Opening {
    async fn open(&self) -> Result<Handle, String> {
        self.session().await.map_err(|refusal| with_sources(&refusal.error))
    }
}
