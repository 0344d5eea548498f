//! A person at a browser: finds things by what they are called, closes what lies over them, and uses mouse and keys.
//!
//! It knows nothing of drift. What it cannot do within its patience, a person could not do.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use cuebook_cdp::protocol::Command;
use cuebook_cdp::protocol::browser_protocol::dom::DescribeNodeParams;
use cuebook_cdp::protocol::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType, MouseButton,
};
use cuebook_cdp::protocol::browser_protocol::page::{CreateIsolatedWorldParams, NavigateParams};
use cuebook_cdp::protocol::js_protocol::runtime::{EvaluateParams, ExecutionContextId};
use cuebook_cdp::{Frame, FrameId, Page, Session};
use serde_json::{Value, json};

mod gestures;

const PATIENCE: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_millis(60);

/// Somebody who uses a tab.
#[derive(Clone, Debug)]
pub struct Person {
    tab: Page,
    /// The frame that is looked into, by its title, and who looks at what is around it.
    within: Option<(Box<Person>, String)>,
}

impl Person {
    /// Puts the person in front of this tab.
    #[must_use]
    pub const fn at(tab: Page) -> Self {
        Self { tab, within: None }
    }

    /// This person, who looks into a frame with the title.
    #[must_use]
    pub fn inside(&self, title: &str) -> Self {
        Self { tab: self.tab.clone(), within: Some((Box::new(self.clone()), title.to_owned())) }
    }

    /// Opens a page.
    ///
    /// # Errors
    /// If the browser does not.
    pub async fn opens(&self, url: &str) -> Result<()> {
        self.call(NavigateParams::new(url)).await.map(drop)
    }

    /// Clicks a `button`, `link`, `field` or `item` whose plain name fits the pattern.
    ///
    /// # Errors
    /// If there is none within its patience.
    pub async fn clicks(&self, kind: &str, name: &str) -> Result<()> {
        self.clicks_near(kind, name, "").await
    }

    /// Like [`Self::clicks`], in the row, card, section or dialog with the text `near`.
    ///
    /// # Errors
    /// If there is none within its patience.
    pub async fn clicks_near(&self, kind: &str, name: &str, near: &str) -> Result<()> {
        self.clicks_with(MouseButton::Left, 1, [kind, name, near]).await
    }

    async fn clicks_with(&self, button: MouseButton, times: u32, [kind, name, near]: [&str; 3]) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut steady: Option<Value> = None;
        loop {
            let seen = self.looks(&json!([kind, name, near])).await.unwrap_or_default();
            if !seen["at"].is_null() && steady.as_ref() == Some(&seen["at"]) {
                // Some things move away from the pointer.
                self.points(&seen["at"]).await?;
                if self.looks(&json!([kind, name, near])).await.unwrap_or_default()["at"] == seen["at"] {
                    self.presses(&seen["at"], button.clone(), times).await?;
                    // Nothing is known of the press in a new document: it led there.
                    if self.reads("globalThis.landed?.() ?? true").await.ok() != Some(Value::Bool(false)) {
                        return Ok(());
                    }
                }
            }
            if !seen["close"].is_null() {
                self.presses(&seen["close"], MouseButton::Left, 1).await?;
            }
            if Instant::now() >= until {
                let page = self.reads("`${location.href} ${document.body?.innerText}`").await?;
                bail!("a person finds no {kind} {name} [{near}]: {seen} on {page}");
            }
            // What moves is waited for.
            steady = seen.get("at").cloned();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Replaces what is in a field, key by key.
    ///
    /// # Errors
    /// If there is no such field within its patience.
    pub async fn enters(&self, field: &str, text: &str) -> Result<()> {
        self.clicks_with(MouseButton::Left, 3, ["field", field, ""]).await?;
        self.types(text).await
    }

    /// Types into what has the focus, key by key.
    ///
    /// # Errors
    /// If the browser does not take the keys.
    pub async fn types(&self, text: &str) -> Result<()> {
        for key in text.chars() {
            let key = key.to_string();
            let event = |kind: DispatchKeyEventType, text| DispatchKeyEventParams {
                key: Some(key.clone()),
                text,
                ..DispatchKeyEventParams::new(kind)
            };
            self.call(event(DispatchKeyEventType::KeyDown, Some(key.clone()))).await?;
            self.call(event(DispatchKeyEventType::KeyUp, None)).await?;
        }
        Ok(())
    }

    /// Moves the pointer over something and leaves it there.
    ///
    /// # Errors
    /// If there is none within its patience.
    pub async fn points_to(&self, kind: &str, name: &str) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.looks(&json!([kind, name, ""])).await.unwrap_or_default();
            if !seen["at"].is_null() {
                return self.points(&seen["at"]).await;
            }
            if Instant::now() >= until {
                bail!("a person finds no {kind} {name}: {seen}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Presses a key, with its number in Windows. Only the space enters a character.
    ///
    /// # Errors
    /// If the browser does not take it.
    pub async fn presses_key(&self, key: &str, number: i64) -> Result<()> {
        for kind in [DispatchKeyEventType::KeyDown, DispatchKeyEventType::KeyUp] {
            let text = [("Enter", "\r"), (" ", " ")].into_iter().find(|(named, _)| *named == key);
            let text = text.filter(|_| kind == DispatchKeyEventType::KeyDown).map(|(_, text)| text.to_owned());
            let event = DispatchKeyEventParams {
                key: Some(key.to_owned()),
                code: Some(if key == " " { "Space" } else { key }.to_owned()),
                windows_virtual_key_code: Some(number),
                text,
                ..DispatchKeyEventParams::new(kind)
            };
            self.call(event).await?;
        }
        Ok(())
    }

    /// Chooses the next options of a list, given by a selector, by the arrow key.
    ///
    /// # Errors
    /// If the browser does not take the keys.
    pub async fn chooses_by_arrows(&self, selector: &str, times: usize) -> Result<()> {
        self.reads(&format!("document.querySelector({}).focus()", json!(selector))).await?;
        for _ in 0..times {
            self.presses_key("ArrowDown", 40).await?;
        }
        Ok(())
    }

    /// Picks a date, as the calendar of a date field would.
    ///
    /// # Errors
    /// If there is no such field within its patience.
    pub async fn enters_date(&self, field: &str, date: &str) -> Result<()> {
        self.clicks("field", field).await?;
        let pick = format!(
            "(() => {{ const field = document.activeElement; field.value = '{date}'; for (const type of ['input', 'change']) \
             field.dispatchEvent(new Event(type, {{ bubbles: true }})); }})()"
        );
        self.reads(&pick).await.map(drop)
    }

    /// Reads a document as it is, without what this program's own scripts would find another way.
    ///
    /// # Errors
    /// If there is none.
    pub async fn reads(&self, expression: &str) -> Result<Value> {
        Ok(self.evaluates(expression, true).await?["value"].clone())
    }

    async fn evaluates(&self, expression: &str, by_value: bool) -> Result<Value> {
        let frame = Box::pin(self.frame()).await?;
        let world = CreateIsolatedWorldParams {
            world_name: Some("person".to_owned()),
            ..CreateIsolatedWorldParams::new(frame.id.as_str().to_owned())
        };
        let world = call(&frame.session, world).await?;
        let context = world["executionContextId"].as_i64().context("expected a world")?;
        let params = EvaluateParams {
            context_id: Some(ExecutionContextId::new(context)),
            return_by_value: Some(by_value),
            ..EvaluateParams::new(expression)
        };
        let reply = call(&frame.session, params).await?;
        Ok(reply["result"].clone())
    }

    /// The frame that is looked into.
    async fn frame(&self) -> Result<Frame> {
        let Some((around, title)) = &self.within else { return Ok(self.tab.main_frame()) };
        let element = around.evaluates(&owner(title), false).await?;
        let object = element["objectId"].as_str().with_context(|| format!("expected a frame {title}"))?;
        let session = Box::pin(around.frame()).await?.session;
        let node =
            call(&session, DescribeNodeParams { object_id: Some(object.to_owned().into()), ..Default::default() });
        let id = node.await?["node"]["frameId"].as_str().context("expected a frame")?.to_owned();
        self.tab.frame(&FrameId::from(id.as_str())).with_context(|| format!("expected the frame {title} in the page"))
    }

    async fn looks(&self, wanted: &Value) -> Result<Value> {
        let mut seen = self.reads(&format!("({})(...{wanted})", include_str!("person.js").trim_end())).await?;
        // The frames around it may have scrolled only now.
        let mut within = self.within.as_ref();
        while let Some((around, title)) = within {
            let corner = "({ left, top }, of) => [left + of.clientLeft, top + of.clientTop]";
            let of = owner(title);
            let corner = around.reads(&format!("(({corner}))({of}.getBoundingClientRect(), {of})")).await?;
            for side in ["at", "close"] {
                for axis in 0..2 {
                    if let Some(at) = seen[side][axis].as_f64() {
                        seen[side][axis] = json!(at + corner[axis].as_f64().context("expected a corner")?);
                    }
                }
            }
            within = around.within.as_ref();
        }
        Ok(seen)
    }

    async fn presses(&self, at: &Value, button: MouseButton, times: u32) -> Result<()> {
        self.points(at).await?;
        for count in 1..=times {
            for kind in [DispatchMouseEventType::MousePressed, DispatchMouseEventType::MouseReleased] {
                let event = DispatchMouseEventParams {
                    button: Some(button.clone()),
                    click_count: Some(count.into()),
                    ..mouse(kind, at)?
                };
                self.call(event).await?;
            }
        }
        Ok(())
    }

    async fn points(&self, at: &Value) -> Result<()> {
        self.call(mouse(DispatchMouseEventType::MouseMoved, at)?).await.map(drop)
    }

    async fn call(&self, command: impl Command) -> Result<Value> {
        call(self.tab.session(), command).await
    }
}

async fn call(session: &Session, command: impl Command) -> Result<Value> {
    Ok(session.request(command, Instant::now() + PATIENCE).await?.parse()?)
}

/// The element of a frame.
fn owner(title: &str) -> String {
    format!("document.querySelector('iframe[title=' + CSS.escape({}) + ']')", json!(title))
}

fn mouse(kind: DispatchMouseEventType, at: &Value) -> Result<DispatchMouseEventParams> {
    let (x, y) = at[0].as_f64().zip(at[1].as_f64()).context("expected a point")?;
    Ok(DispatchMouseEventParams::new(kind, x, y))
}
