//! The server: the calls of tools on one session.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cuebook_grammar::render::quoted;
use cuebook_grammar::seam::ConfirmReply;
use cuebook_session::{Answer, Handle, Hint, Order, Progress, Question, RunningCall, Tool, ToolSet};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequestParams, ElicitationAction,
    ElicitationSchema, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, ServiceExt as _};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::Mutex;

/// Time for a person to answer through the client. A question that waits longer is denied.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for closing a browser.
const CLOSING: Duration = Duration::from_secs(5);
/// The largest picture that is sent, in bytes: clients refuse answers above some 25,000 tokens.
const PICTURE: usize = 1_000_000;

const INSTRUCTIONS: &str = "A browser in which every step is checked before and after it runs. Open a page with \
    browser_navigate; name elements by the ids of its snapshot (c3). The first line of an answer is the verdict: `ok` means \
    that the effect was seen. After a step you get what changed; browser_snapshot shows the whole page. An id that is gone is \
    refused: look again. Several steps at once go into browser_run_plan. What needs consent is for the person to decide.";

/// Opens a session, when the first tool is called.
pub trait Opener: Send + Sync + 'static {
    /// A new session, or why there is none.
    fn open(&self) -> impl Future<Output = Result<Handle, String>> + Send;
}

/// An MCP server over one session at a time.
pub struct Server<O> {
    opens: O,
    tools: Vec<&'static Tool>,
    session: Mutex<Option<Handle>>,
    waiting: Mutex<Option<Waiting>>,
    questions: AtomicU32,
}

/// A call that waits for a person.
struct Waiting {
    id: String,
    question: Question,
    running: RunningCall,
    since: Instant,
}

impl<O> fmt::Debug for Server<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(|spec| spec.name).collect();
        f.debug_struct("Server").field("tools", &tools).finish_non_exhaustive()
    }
}

impl<O: Opener> Server<O> {
    /// A server with these tools. It opens its session at the first call.
    #[must_use]
    pub fn new(opens: O, tools: ToolSet) -> Self {
        Self {
            opens,
            tools: tools.tools(),
            session: Mutex::new(None),
            waiting: Mutex::new(None),
            questions: AtomicU32::new(0),
        }
    }

    /// Ends the session and closes its browser, if one is open. Returns the folder of its log.
    pub async fn close(&self) -> Option<String> {
        self.waiting.lock().await.take();
        let handle = self.session.lock().await.take()?;
        let (agent, report) = handle.end().await.ok()?;
        if tokio::time::timeout(CLOSING, agent.close()).await.is_err() {
            tracing::warn!("the browser did not close in time");
        }
        report.run_dir
    }

    async fn handle(&self) -> Result<Handle, String> {
        let mut session = self.session.lock().await;
        match &*session {
            Some(handle) => Ok(handle.clone()),
            None => Ok(session.insert(self.opens.open().await?).clone()),
        }
    }

    async fn carry_out(
        &self,
        name: &str,
        sent: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, String> {
        let Some(spec) = self.tools.iter().find(|spec| spec.name == name) else {
            let known: Vec<&str> = self.tools.iter().map(|spec| spec.name).collect();
            return Err(format!("there is no tool {}; there are {}", quoted(name, 60), known.join(", ")));
        };
        let request = match spec.order(sent.arguments.unwrap_or_default())? {
            Order::Call(request) => request,
            Order::Confirm { id, is_agreed } => return self.confirm(&id, is_agreed, context).await,
            Order::Close => {
                let kept = self.close().await;
                let said = kept.map_or_else(
                    || "ok: no browser was open".to_owned(),
                    |dir| format!("ok: the browser is closed\nlog: {dir}"),
                );
                return Ok(CallToolResult::success(vec![ContentBlock::text(format!("### Result\n{said}\n"))]));
            }
            _ => return Err(format!("{} is not served here", spec.name)),
        };
        self.without_question().await?;
        let running = self.handle().await?.begin(request).await;
        match running {
            Ok(running) => self.attend(running, context).await,
            Err(gone) => {
                self.session.lock().await.take();
                Err(format!("{gone}; call again to start a new one"))
            }
        }
    }

    /// Refuses further calls while a person is asked; forgets a question that was not answered in time.
    async fn without_question(&self) -> Result<(), String> {
        let mut waiting = self.waiting.lock().await;
        match &*waiting {
            Some(open) if open.since.elapsed() < PATIENCE => {
                Err(format!("a step waits for consent: answer question {} with browser_confirm first", open.id))
            }
            _ => {
                waiting.take();
                Ok(())
            }
        }
    }

    async fn confirm(
        &self,
        id: &str,
        is_agreed: bool,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, String> {
        let mut waiting = self.waiting.lock().await;
        match waiting.take() {
            Some(open) if open.id == id => {
                drop(waiting);
                open.question.answer(if is_agreed { ConfirmReply::Yes(None) } else { ConfirmReply::No });
                self.attend(open.running, context).await
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
        mut running: RunningCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, String> {
        loop {
            let next = tokio::select! {
                next = running.next() => next,
                () = context.ct.cancelled() => {
                    running.cancel();
                    running.next().await
                }
            };
            match next {
                Ok(Progress::Done(answer)) => return Ok(self.result(*answer).await),
                Ok(Progress::Asks(question)) if can_elicit(context) => {
                    let reply = asked_through(context, &question.text).await;
                    question.answer(reply);
                }
                Ok(Progress::Asks(question)) => return self.put_off(question, running).await,
                Err(gone) => {
                    self.session.lock().await.take();
                    return Err(format!("{gone}; call again to start a new one"));
                }
            }
        }
    }

    /// Keeps a call until its question is answered by a tool.
    async fn put_off(&self, question: Question, running: RunningCall) -> Result<CallToolResult, String> {
        let grant = question.grant.as_ref().map_or_else(String::new, |grant| {
            format!("\nThe server asks no more if it is started with --grant {grant}")
        });
        if !self.tools.iter().any(|spec| spec.name == "browser_confirm") {
            return Err(format!(
                "needs consent, and this set of tools has no browser_confirm: {}{grant}",
                question.text
            ));
        }
        let id = format!("q{}", self.questions.fetch_add(1, Ordering::Relaxed) + 1);
        let said = format!(
            "### Result\nneeds consent, and nothing was sent yet: {}\nAsk the person, then answer question {id} with \
             browser_confirm within 60 s; it is denied otherwise{grant}\n",
            question.text
        );
        *self.waiting.lock().await = Some(Waiting { id, question, running, since: Instant::now() });
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]))
    }

    async fn result(&self, answer: Answer) -> CallToolResult {
        let mut text = answer.to_string();
        if answer.is_last() {
            self.session.lock().await.take();
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
}

/// A tool as clients see it.
fn shown(tool: &Tool) -> rmcp::model::Tool {
    let hints = ToolAnnotations::with_title(tool.title).open_world(true);
    let hints = match tool.hint {
        Hint::Reads => hints.read_only(true),
        Hint::Moves => hints.read_only(false).destructive(false),
        Hint::Acts => hints.read_only(false).destructive(true),
    };
    rmcp::model::Tool::new(tool.name, tool.about, tool.schema()).with_title(tool.title).with_annotations(hints)
}

fn can_elicit(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.elicitation.is_some())
}

/// Asks the person through the client.
async fn asked_through(context: &RequestContext<RoleServer>, question: &str) -> ConfirmReply {
    let Ok(requested_schema) = ElicitationSchema::builder().build() else { return ConfirmReply::Unanswered };
    let asked =
        ElicitRequestParams::FormElicitationParams { meta: None, message: question.to_owned(), requested_schema };
    match context.peer.create_elicitation_with_timeout(asked, Some(PATIENCE)).await {
        Ok(reply) => match reply.action {
            ElicitationAction::Accept => ConfirmReply::Yes(None),
            ElicitationAction::Decline => ConfirmReply::No,
            _ => ConfirmReply::Unanswered,
        },
        Err(error) => {
            tracing::debug!(%error, "the client does not pass the question on");
            ConfirmReply::Unanswered
        }
    }
}

impl<O: Opener> ServerHandler for Server<O> {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("cuebook", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult { tools: self.tools.iter().map(|tool| shown(tool)).collect(), ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        let result = self
            .carry_out(&name, request, &context)
            .await
            .unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(Answer::failed(why).to_string())]));
        Ok(result.into())
    }
}

/// Serves over standard input and output until the client closes its end. Returns the folder of the last session's log,
/// if one was open.
///
/// # Errors
/// Why the connection did not come about.
pub async fn serve_stdio<O: Opener>(opens: O, tools: ToolSet) -> Result<Option<String>, String> {
    let server = std::sync::Arc::new(Server::new(opens, tools));
    let running = server.clone().serve(rmcp::transport::stdio()).await.map_err(|error| error.to_string())?;
    running.waiting().await.map_err(|error| error.to_string())?;
    Ok(server.close().await)
}
