//! The server: the calls of tools on its sessions.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_grammar::render::quoted;
use cuebook_grammar::seam::ConfirmReply;
use cuebook_session::{Answer, Events, Hint, Order, Progress, Question, Request, RunningCall, Tool, ToolSet};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
    ToolAnnotations, ToolsCapability,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use crate::consent::{Asking, PATIENCE, asked_through, in_response, input_required};
use crate::live::LiveIds;
use crate::progress::{BEAT, Report};
use crate::roots::{names_files, of_client};
use crate::sessions::{Held, Key, Sessions, Waiting};

/// The largest picture that is sent, in bytes: clients refuse answers above some 25,000 tokens.
const PICTURE: usize = 1_000_000;
/// The argument that names the session of a call.
const SESSION: &str = "session";

const INSTRUCTIONS: &str = "A browser in which every step is checked before and after it runs. Open a page with \
    browser_navigate; name elements by the ids of its snapshot (c3). The first line of an answer is the verdict: `ok` means \
    that the effect was seen. After a step you get what changed; browser_snapshot shows the whole page. An id that is gone is \
    refused: look again. Several steps at once go into browser_run_plan. What needs consent is for the person to decide. \
    Agents that work at the same time each name a `session`: a browser of its own, with its own tabs and cookies.";

/// An MCP server for one connection of a client.
pub(crate) struct Server {
    sessions: Arc<Sessions>,
    tools: Vec<&'static Tool>,
    /// Id of the client's session in the transport, once known. What it opened ends with it.
    client: OnceLock<String>,
    /// Ids of the client's own session, where the tools have them in their schemas.
    live: Option<LiveIds>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(|spec| spec.name).collect();
        f.debug_struct("Server").field("tools", &tools).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.client.take(), tokio::runtime::Handle::try_current()) {
            let sessions = self.sessions.clone();
            runtime.spawn(async move { sessions.leave(&Key::Client(id)).await });
        }
    }
}

impl Server {
    pub(crate) fn new(sessions: Arc<Sessions>, tools: ToolSet, live: Option<LiveIds>) -> Self {
        Self { sessions, tools: tools.tools(), client: OnceLock::new(), live }
    }

    /// The session of a call: the one that it names, else that of its client.
    fn key(&self, sent: &mut CallToolRequestParams, context: &RequestContext<RoleServer>) -> Result<Key, String> {
        match sent.arguments.as_mut().and_then(|arguments| arguments.remove(SESSION)) {
            Some(serde_json::Value::String(name)) => return Key::named(&name),
            None | Some(serde_json::Value::Null) => {}
            Some(other) => return Err(format!("session must be a text, not {}", quoted(&other.to_string(), 60))),
        }
        let Some(request) = context.extensions.get::<http::request::Parts>() else {
            return Ok(Key::Client("stdio".to_owned()));
        };
        // Without sessions in the protocol, clients cannot be told apart.
        let has_sessions = context.protocol_version().as_ref().is_none_or(ProtocolVersion::has_initialize);
        let id = request.headers.get("mcp-session-id").filter(|_| has_sessions).and_then(|id| id.to_str().ok());
        let Some(id) = id else { return Ok(Key::Main) };
        self.client.get_or_init(|| id.to_owned());
        Ok(Key::Client(id.to_owned()))
    }

    async fn carry_out(
        &self,
        name: &str,
        mut sent: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, String> {
        let Some(spec) = self.tools.iter().find(|spec| spec.name == name) else {
            let known: Vec<&str> = self.tools.iter().map(|spec| spec.name).collect();
            return Err(format!("there is no tool {}; there are {}", quoted(name, 60), known.join(", ")));
        };
        let key = self.key(&mut sent, context)?;
        let held = self.sessions.of(&key)?;
        if let Some(id) = &sent.request_state {
            let reply = in_response(sent.input_responses.as_ref());
            return self.confirm(&key, &held, id, reply, context).await;
        }
        let mut arguments = sent.arguments.unwrap_or_default();
        let mut order = spec.order(arguments.clone())?;
        if let Order::Call(request) = &order
            && names_files(&arguments, request)
            && let Some(roots) = of_client(context).await?
        {
            roots.check_arguments(&mut arguments)?;
            order = spec.order(arguments)?;
            if let Order::Call(request) = &mut order {
                roots.check_request(request)?;
            }
        }
        let request = match order {
            Order::Call(request) => Request { is_confined: true, ..request },
            Order::Confirm { id, is_agreed } => {
                let reply = if is_agreed { ConfirmReply::Yes(None) } else { ConfirmReply::No };
                return self.confirm(&key, &held, &id, reply, context).await;
            }
            Order::Close => {
                let kept = self.sessions.close(&key).await;
                let said = kept.map_or_else(
                    || "ok: no browser was open".to_owned(),
                    |dir| format!("ok: the browser is closed\nlog: {dir}"),
                );
                return Ok(CallToolResult::success(vec![ContentBlock::text(format!("### Result\n{said}\n"))]).into());
            }
            _ => return Err(format!("{} is not served here", spec.name)),
        };
        without_question(&held).await?;
        let handle = self.sessions.handle(&key, &held).await?;
        let events = handle.events();
        match handle.begin(request).await {
            Ok(running) => self.attend(&key, &held, running, events, context).await,
            Err(gone) => {
                held.forget().await;
                Err(format!("{gone}; call again to start a new one"))
            }
        }
    }

    async fn confirm(
        &self,
        key: &Key,
        held: &Held,
        id: &str,
        reply: ConfirmReply,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, String> {
        let mut waiting = held.waiting.lock().await;
        match waiting.take() {
            Some(open) if open.id == id => {
                drop(waiting);
                open.question.answer(reply);
                self.attend(key, held, open.running, open.events, context).await
            }
            other => {
                let why = match &other {
                    Some(open) => format!("the open question is {}", open.id),
                    None => "no question is open; one that is not answered in 60 s is denied".to_owned(),
                };
                *waiting = other;
                Err(format!("there is no question {}: {why}", quoted(id, 40)))
            }
        }
    }

    /// Follows a call to its end, or to a question that the client cannot pass on.
    async fn attend(
        &self,
        key: &Key,
        held: &Held,
        mut running: RunningCall,
        mut events: Events,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, String> {
        let mut report = Report::of(context);
        let mut is_cancelled = false;
        loop {
            let next = tokio::select! {
                next = running.next() => next,
                () = context.ct.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    running.cancel();
                    continue;
                }
                Some(event) = events.next(), if report.is_some() => {
                    let of_call = (event.call() == Some(running.number())).then_some(event);
                    let due = report.as_mut().zip(of_call).and_then(|(report, event)| report.event(&event, Instant::now()));
                    notify(due, context).await;
                    continue;
                }
                () = tokio::time::sleep(BEAT), if report.is_some() => {
                    notify(report.as_mut().and_then(|report| report.beat(Instant::now())), context).await;
                    continue;
                }
            };
            match next {
                Ok(Progress::Done(answer)) => {
                    if let Some(report) = &mut report {
                        // What came with the answer is not told after it.
                        while let Some(event) = events.waiting() {
                            if event.call() == Some(running.number()) {
                                notify(report.event(&event, Instant::now()), context).await;
                            }
                        }
                        notify(report.last(Instant::now()), context).await;
                    }
                    self.follow_ids(key, &answer, context).await;
                    return Ok(result(held, *answer).await.into());
                }
                Ok(Progress::Asks(mut question)) => match Asking::of(context) {
                    Asking::Elicits => {
                        let text = question.text.clone();
                        tokio::select! {
                            reply = asked_through(context, &text) => question.answer(reply),
                            // It may be answered in the page of the session too.
                            () = question.taken_back() => {}
                        }
                    }
                    asking => return self.put_off(held, question, (running, events), asking).await,
                },
                Err(gone) => {
                    held.forget().await;
                    return Err(format!("{gone}; call again to start a new one"));
                }
            }
        }
    }

    /// Keeps the ids of the tools' schemas to what an answer shows of the client's own session.
    async fn follow_ids(&self, key: &Key, answer: &Answer, context: &RequestContext<RoleServer>) {
        let Some(live) = self.live.as_ref().filter(|_| !matches!(key, Key::Named(_))) else { return };
        if answer.snapshot.is_some() && live.take(answer.ids.clone()) {
            // A client that is gone needs no tools.
            context.peer.notify_tool_list_changed().await.ok();
        }
    }

    /// Keeps a call until its question is answered: by the client's next request, or by a tool.
    async fn put_off(
        &self,
        held: &Held,
        question: Question,
        (running, events): (RunningCall, Events),
        asking: Asking,
    ) -> Result<CallToolResponse, String> {
        let id = self.sessions.question();
        let answered = match asking {
            Asking::ByInput => input_required(&question.text, &id).map(CallToolResponse::from),
            _ => None,
        };
        let answered = match answered {
            Some(answered) => answered,
            None => self.by_tool(&question, &id)?,
        };
        *held.waiting.lock().await = Some(Waiting { id, question, running, events, since: Instant::now() });
        Ok(answered)
    }

    /// Says what a step needs, and which tool answers it.
    fn by_tool(&self, question: &Question, id: &str) -> Result<CallToolResponse, String> {
        let grant = question.grant.as_ref().map_or_else(String::new, |grant| {
            format!("\nThe server asks no more if it is started with --grant {grant}")
        });
        if !self.tools.iter().any(|spec| spec.name == "browser_confirm") {
            return Err(format!(
                "needs consent, and this set of tools has no browser_confirm: {}{grant}",
                question.text
            ));
        }
        let said = format!(
            "### Result\nneeds consent, and nothing was sent yet: {}\nAsk the person, then answer question {id} with \
             browser_confirm within 60 s; it is denied otherwise{grant}\n",
            question.text
        );
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }
}

async fn notify(progress: Option<ProgressNotificationParam>, context: &RequestContext<RoleServer>) {
    if let Some(progress) = progress {
        // A client that does not listen gets the answer all the same.
        context.peer.notify_progress(progress).await.ok();
    }
}

/// Refuses further calls while a person is asked; forgets a question that was not answered in time.
async fn without_question(held: &Held) -> Result<(), String> {
    let mut waiting = held.waiting.lock().await;
    match &*waiting {
        Some(open) if !open.question.is_open() && open.since.elapsed() < PATIENCE => Err(format!(
            "question {} was answered elsewhere: browser_confirm with its id gives what came of its call",
            open.id
        )),
        Some(open) if open.since.elapsed() < PATIENCE => {
            Err(format!("a step waits for consent: answer question {} with browser_confirm first", open.id))
        }
        _ => {
            waiting.take();
            Ok(())
        }
    }
}

async fn result(held: &Held, answer: Answer) -> CallToolResult {
    let mut text = answer.to_string();
    if answer.is_last() {
        held.forget().await;
        text.push_str("\nThe browser is gone and the session has ended; the next call starts a new one.\n");
    }
    if text.is_empty() {
        text.push_str("### Result\nok\n");
    }
    let mut content = vec![ContentBlock::text(text)];
    for picture in &answer.pictures {
        match tokio::fs::read(&picture.path).await {
            Ok(bytes) if bytes.len() <= PICTURE => {
                content.push(ContentBlock::image(STANDARD.encode(bytes), picture.media_type.clone()));
            }
            // The path of the file is in the text.
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "a picture cannot be read"),
        }
    }
    match &answer.error {
        Some(_) => CallToolResult::error(content),
        None => CallToolResult::success(content),
    }
}

/// A tool as clients see it.
fn shown(tool: &Tool, live: Option<&LiveIds>) -> rmcp::model::Tool {
    let hints = ToolAnnotations::with_title(tool.title).open_world(true);
    let hints = match tool.hint {
        Hint::Reads => hints.read_only(true),
        Hint::Moves => hints.read_only(false).destructive(false),
        Hint::Acts => hints.read_only(false).destructive(true),
    };
    let mut schema = tool.schema();
    if let Some(live) = live {
        live.write(&mut schema);
    }
    if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
        let session = json!({ "type": "string", "description": "Session to work in; by default your own" });
        properties.insert(SESSION.to_owned(), session);
    }
    rmcp::model::Tool::new(tool.name, tool.about, schema).with_title(tool.title).with_annotations(hints)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if self.live.is_some() {
            let mut tools = ToolsCapability::default();
            tools.list_changed = Some(true);
            capabilities.tools = Some(tools);
        }
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("cuebook", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult {
            tools: self.tools.iter().map(|tool| shown(tool, self.live.as_ref())).collect(),
            ..ListToolsResult::default()
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        let result = self.carry_out(&name, request, &context).await;
        let failed = |why| CallToolResult::error(vec![ContentBlock::text(Answer::failed(why).to_string())]);
        Ok(result.unwrap_or_else(|why| failed(why).into()))
    }
}
