//! An open session beside its commands: `mcp -s`, `events`, `pause` and `resume`.

use std::time::Duration;

use cuebook_grammar::report::ErrorCode;
use cuebook_grammar::seam::BoxFuture;
use cuebook_mcp::Opener;
use cuebook_session::{Client, Event, Handle, Registry};
use serde_json::json;

use super::place::{not_open, place, registry};
use crate::args::SessionName;
use crate::exit::{Exit, Output, Refusal, print_json, print_text};
use crate::interrupt::Signals;
use crate::progress::{counted, say};
use crate::text::{json_plain, plain_lines};

/// Serves sessions that shells started.
pub(crate) struct Attached {
    registry: Registry,
    name: String,
}

impl Attached {
    /// To the session of this name, which has to be open.
    pub(crate) async fn to(name: String) -> Result<Self, Refusal> {
        let attached = Self { registry: registry()?, name };
        client(&attached.registry, &attached.name).await?;
        Ok(attached)
    }
}

impl Opener for Attached {
    fn has_open(&self) -> bool {
        true
    }

    fn open<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<Handle, String>> {
        Box::pin(async move {
            let name = name.unwrap_or(&self.name);
            client(&self.registry, name).await.map_err(|refusal| refusal.error.message)?;
            let socket = self.registry.socket(name).map_err(|error| error.to_string())?;
            Ok(Handle::of_other_process(socket))
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Connects to an open session.
async fn client(registry: &Registry, name: &str) -> Result<Client, Refusal> {
    let socket = registry.socket(name).map_err(|error| Refusal::invalid(ErrorCode::Usage, error.to_string()))?;
    if let Ok(client) = Client::connect(&socket).await {
        return Ok(client);
    }
    Err(not_open(registry, name)?)
}

async fn named(name: &SessionName) -> Result<(Client, String), Refusal> {
    let (registry, name) = place(name)?;
    Ok((client(&registry, &name).await?, name))
}

fn refused(name: &str, error: &std::io::Error) -> Refusal {
    Refusal::unusable(ErrorCode::BrowserGone, format!("the session {name}: {error}"))
}

/// Prints the events of a session, until it ends or a signal comes.
pub(crate) async fn events(name: &SessionName, output: Output) -> Exit {
    match told(name, output).await {
        Ok(()) => Exit::OK,
        Err(refusal) => refusal.print(output),
    }
}

async fn told(name: &SessionName, output: Output) -> Result<(), Refusal> {
    let (mut client, name) = named(name).await?;
    client.watch().await.map_err(|error| refused(&name, &error))?;
    let mut signals = Signals::listen();
    loop {
        let event = tokio::select! {
            event = client.event() => event.map_err(|error| refused(&name, &error))?,
            () = signals.next() => return Ok(()),
        };
        let Some(event) = event else { return Ok(()) };
        if output.json {
            let line = serde_json::to_string(&event).unwrap_or_default();
            print_text(&format!("{}\n", json_plain(&line)));
        } else {
            print_text(&plain_lines(&format!("{}\n", event.in_words())));
        }
        if matches!(event, Event::Ended { .. }) {
            return Ok(());
        }
    }
}

/// Takes a session over.
pub(crate) async fn pause(name: &SessionName, output: Output) -> Exit {
    let paused = async {
        let (mut client, name) = named(name).await?;
        let since_ms = client.pause().await.map_err(|error| refused(&name, &error))?;
        Ok((name, since_ms))
    };
    match paused.await {
        Ok((name, since_ms)) if output.json => print_json(&json!({ "session": name, "sinceMs": since_ms })),
        Ok((name, _)) => say(&format!("the browser of {name} is yours; `cuebook resume -s {name}` hands it back")),
        Err(refusal) => return Refusal::print(refusal, output),
    }
    Exit::OK
}

/// Hands a session back.
pub(crate) async fn resume(name: &SessionName, output: Output) -> Exit {
    let resumed = async {
        let (mut client, name) = named(name).await?;
        let back = client.resume().await.map_err(|error| refused(&name, &error))?;
        let nobody = || Refusal::invalid(ErrorCode::Usage, format!("nobody has taken the session {name} over"));
        Ok((back.ok_or_else(nobody)?, name))
    };
    match resumed.await {
        Ok((back, _)) if output.json => print_json(&back),
        Ok((back, name)) => {
            let time = Duration::from_millis(back.duration_ms).as_secs();
            say(&format!("{name} goes on after {time} s, in which you did {}", counted(back.steps, "step")));
            for note in &back.notes {
                say(&format!("  {}", cuebook_grammar::render::one_line(note, 300)));
            }
        }
        Err(refusal) => return Refusal::print(refusal, output),
    }
    Exit::OK
}
