//! A person at a browser: finds things by what they are called, closes what lies over them, and uses mouse and keys.
//!
//! It knows nothing of drift. What it cannot do within its patience, a person could not do.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use cuebook_cdp::Page;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(12);
const PAUSE: Duration = Duration::from_millis(60);

/// Somebody who uses a tab.
#[derive(Debug)]
pub struct Person {
    tab: Page,
}

impl Person {
    /// Puts the person in front of this tab.
    #[must_use]
    pub const fn at(tab: Page) -> Self {
        Self { tab }
    }

    /// Opens a page.
    ///
    /// # Errors
    /// If the browser does not.
    pub async fn opens(&self, url: &str) -> Result<()> {
        self.call("Page.navigate", json!({ "url": url })).await.map(drop)
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
        self.clicks_times(kind, name, near, 1).await
    }

    async fn clicks_times(&self, kind: &str, name: &str, near: &str, times: u32) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        let mut steady: Option<Value> = None;
        loop {
            let seen = self.looks(&json!([kind, name, near])).await.unwrap_or_default();
            if !seen["at"].is_null() && steady.as_ref() == Some(&seen["at"]) {
                // Some things move away from the pointer.
                self.points(&seen["at"]).await?;
                if self.looks(&json!([kind, name, near])).await.unwrap_or_default()["at"] == seen["at"] {
                    self.presses(&seen["at"], times).await?;
                    // Nothing is known of the press in a new document: it led there.
                    if self.reads("globalThis.landed?.() ?? true").await.ok() != Some(Value::Bool(false)) {
                        return Ok(());
                    }
                }
            }
            if !seen["close"].is_null() {
                self.presses(&seen["close"], 1).await?;
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
        self.clicks_times("field", field, "", 3).await?;
        for key in text.chars() {
            let key = key.to_string();
            self.call("Input.dispatchKeyEvent", json!({ "type": "keyDown", "key": key, "text": key })).await?;
            self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key })).await?;
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
        let tree = self.call("Page.getFrameTree", json!({})).await?;
        let frame = tree["frameTree"]["frame"]["id"].clone();
        let world = self.call("Page.createIsolatedWorld", json!({ "frameId": frame, "worldName": "person" })).await?;
        let params =
            json!({ "expression": expression, "contextId": world["executionContextId"], "returnByValue": true });
        let reply = self.call("Runtime.evaluate", params).await?;
        Ok(reply["result"]["value"].clone())
    }

    async fn looks(&self, wanted: &Value) -> Result<Value> {
        self.reads(&format!("({})(...{wanted})", include_str!("person.js").trim_end())).await
    }

    async fn presses(&self, at: &Value, times: u32) -> Result<()> {
        let mouse = |kind: &str, count: u32| json!({ "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": count });
        self.points(at).await?;
        for count in 1..=times {
            self.call("Input.dispatchMouseEvent", mouse("mousePressed", count)).await?;
            self.call("Input.dispatchMouseEvent", mouse("mouseReleased", count)).await?;
        }
        Ok(())
    }

    async fn points(&self, at: &Value) -> Result<()> {
        let moved = json!({ "type": "mouseMoved", "x": at[0], "y": at[1] });
        self.call("Input.dispatchMouseEvent", moved).await.map(drop)
    }

    async fn call(&self, method: &'static str, params: Value) -> Result<Value> {
        let until = Instant::now() + PATIENCE;
        Ok(self.tab.session().call_raw(method, params, until).await?.parse()?)
    }
}
