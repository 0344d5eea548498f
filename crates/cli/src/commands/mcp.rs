//! `cuebook mcp`: a browser as tools for somebody else's agent.

use std::time::{Duration, Instant};

use cuebook::executor::{ExecutorOptions, ScreenshotMode};
use cuebook::page_modeler::{ModelerOptions, Settling};
use cuebook::repair::{RunRequest, Work};
use cuebook::{Agent, Tab, fresh};
use cuebook_grammar::policy::Policy;
use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::BoxFuture;
use cuebook_mcp::{HttpOptions, Offer, Opener, serve_http, serve_stdio};
use cuebook_session::{Asker, Handle, ToolSet};
use cuebook_view::Questions;
use serde_json::json;
use tokio::net::TcpListener;

use crate::args::{McpArgs, SessionOptions, Tools};
use crate::browser::open_contained;
use crate::compose::{budgets, secrets};
use crate::exit::{Exit, Output, Refusal, print_json};
use crate::ground;
use crate::interrupt::Signals;
use crate::kept::{KeptBrowser, Turns};
use crate::progress;
use crate::text::{plain, with_sources};

/// The wait before a page is shown: a page that goes on changing is shown as it is.
const SETTLING: Settling = Settling { quiet: Duration::from_millis(100), limit: Duration::from_secs(3) };
/// Time for the browser to accept downloads.
const ACCEPTING: Duration = Duration::from_secs(5);

pub(crate) async fn run(args: McpArgs, output: Output) -> Exit {
    match served(args, output).await {
        Ok(logs) => {
            for dir in logs.iter().filter(|_| !output.quiet) {
                progress::say(&format!("log: {dir}"));
            }
            Exit::OK
        }
        Err(refusal) => refusal.print(output),
    }
}

async fn served(args: McpArgs, output: Output) -> Result<Vec<String>, Refusal> {
    let tools = match args.tools {
        Tools::Core => ToolSet::Core,
        Tools::Slim => ToolSet::Slim,
        Tools::Dom => ToolSet::Dom,
        Tools::All => ToolSet::All,
    };
    let offer = Offer { tools, has_live_ids: args.live_schema };
    if let Some(name) = &args.of_session {
        let opener = super::attached::Attached::to(name.clone()).await?;
        return serve(Box::new(opener), offer, &args, true, output).await;
    }
    let is_kept = args.session.browser.headed || args.session.browser.cdp.is_some();
    let opening = Opening { options: args.session.clone(), page_asks: None };
    // What cannot work later is said now, where a person reads it.
    opening.policy()?;
    let opener = SharedOpening { opening, browser: KeptBrowser::new(Turns::AtOnce) };
    serve(Box::new(opener), offer, &args, is_kept, output).await
}

async fn serve(
    opener: Box<dyn Opener>,
    offer: Offer,
    args: &McpArgs,
    is_kept: bool,
    output: Output,
) -> Result<Vec<String>, Refusal> {
    let Some(address) = args.http else {
        return serve_stdio(opener, offer).await.map_err(|why| {
            Refusal::unusable(ErrorCode::Usage, format!("the client did not connect: {}", plain(&why)))
        });
    };
    let unusable = |error: std::io::Error| Refusal::unusable(ErrorCode::Usage, format!("--http {address}: {error}"));
    let token = match &args.token {
        Some(token) => token.clone(),
        None => fresh::token().map_err(Refusal::no_randomness)?,
    };
    let listener = TcpListener::bind(address).await.map_err(unusable)?;
    let url = format!("http://{}/mcp", listener.local_addr().map_err(unusable)?);
    if output.json {
        print_json(&json!({ "url": url, "token": token }));
    } else {
        progress::say(&format!("serving {url}; clients send the header `Authorization: Bearer {token}`"));
    }
    let options = HttpOptions { offer, token, hosts: args.host.clone(), idle: (!is_kept).then_some(args.idle) };
    let mut signals = Signals::listen();
    serve_http(opener, listener, options, async move { signals.next().await }).await.map_err(unusable)
}

/// Opens sessions by the flags of the command.
pub(crate) struct Opening {
    pub(crate) options: SessionOptions,
    /// Questions of a page that shows the session, for which a picture is taken before and after each step.
    pub(crate) page_asks: Option<Questions>,
}

impl Opening {
    /// The policy, and whether addresses of this machine may be opened without being named: both are open unless flags or
    /// a file say where the session may act.
    fn policy(&self) -> Result<(Policy, bool), Refusal> {
        let policy = ground::policy(&self.options.policy, &self.options.grant, None)?;
        let is_open = self.options.policy.allow.is_empty() && self.options.policy.policy.is_none();
        Ok(if is_open { (policy.opening_public(), true) } else { (policy, false) })
    }

    /// A session in a browser of its own, with its name for the log.
    pub(crate) async fn session(&self, name: Option<&str>) -> Result<Handle, Refusal> {
        let (policy, opens_loopback) = self.policy()?;
        let tab = open_contained(&self.options, policy.clone()).await?;
        self.session_in(tab, policy, opens_loopback, name).await
    }

    async fn session_in(
        &self,
        tab: Tab,
        policy: Policy,
        opens_loopback: bool,
        name: Option<&str>,
    ) -> Result<Handle, Refusal> {
        let options = &self.options;
        let secrets = secrets(options, None)?;
        let policy = secrets.bind(policy);
        let unusable =
            |error: &(dyn std::error::Error + 'static)| Refusal::unusable(ErrorCode::NoBrowser, with_sources(error));
        let run_id = fresh::run_id().map_err(Refusal::no_randomness)?;
        let downloads = std::path::absolute(options.out.join(run_id.as_str()).join("downloads")).ok();
        if let Some(folder) = &downloads {
            tab.accept_downloads(folder, Instant::now() + ACCEPTING).await.map_err(|error| unusable(&error))?;
        }
        let (asker, questions) = Asker::new();
        let screenshots = if self.page_asks.is_some() { ScreenshotMode::Every } else { ScreenshotMode::default() };
        let executor = ExecutorOptions {
            screenshots,
            upload_roots: cuebook::upload_roots(&policy),
            download_dir: downloads,
            ..ExecutorOptions::default()
        };
        let mut agent = Agent::builder().browser(tab).journal(true);
        if let Some(storage) = &options.storage {
            agent = agent.storage(storage);
        }
        agent = match &self.page_asks {
            Some(questions) => agent.confirm(questions.beside(asker)),
            None => agent.confirm(asker),
        };
        let agent = agent
            .budgets(budgets(options))
            .modeler_options(ModelerOptions { settling: SETTLING, ..ModelerOptions::default() })
            .executor_options(executor)
            .policy(policy)
            .runs_in(&options.out)
            .secrets(secrets)
            .build()
            .await
            .map_err(|error| unusable(&error))?;
        let request = agent.request(Work::Session).map_err(|error| unusable(&error))?;
        let session = agent
            .begin_as(RunRequest { run_id, session: name.map(str::to_owned), ..request })
            .await
            .map_err(|error| unusable(&error))?;
        Ok(Handle::start(session, questions, opens_loopback))
    }
}

/// Opens the sessions of a server in one browser, which is started with the first of them. A browser that runs anyway is
/// attached to by each.
struct SharedOpening {
    opening: Opening,
    browser: KeptBrowser,
}

impl SharedOpening {
    async fn session(&self, name: Option<&str>) -> Result<Handle, Refusal> {
        let (policy, opens_loopback) = self.opening.policy()?;
        let tab = self.browser.open(&self.opening.options, policy.clone()).await?;
        self.opening.session_in(tab, policy, opens_loopback, name).await
    }
}

impl Opener for SharedOpening {
    fn open<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<Handle, String>> {
        Box::pin(async move { self.session(name).await.map_err(|refusal| with_sources(&refusal.error)) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.browser.close())
    }
}
