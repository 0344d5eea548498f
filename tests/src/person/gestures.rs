//! Actions of a person besides clicks and typing: dialogs, files, drags, the wheel, and going back.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use cuebook_cdp::protocol::browser_protocol::input::MouseButton;
use cuebook_cdp::{Delivery, DialogAnswer, EventQueue};
use serde_json::{Value, json};

use super::{PATIENCE, PAUSE, Person};

/// A person reads a dialog, or looks where they drag something.
const GLANCE: Duration = Duration::from_millis(400);
/// Moves of the pointer of one drag.
const MOVES: i32 = 8;

impl Person {
    /// Clicks twice.
    ///
    /// # Errors
    /// If there is nothing of that name within its patience.
    pub async fn double_clicks(&self, kind: &str, name: &str) -> Result<()> {
        self.clicks_with(MouseButton::Left, 2, [kind, name, ""]).await
    }

    /// Clicks with the right button.
    ///
    /// # Errors
    /// If there is nothing of that name within its patience.
    pub async fn right_clicks(&self, kind: &str, name: &str) -> Result<()> {
        // Its click is none, so where it went is not seen.
        let at = self.finds(kind, name).await?;
        self.presses(&at, MouseButton::Right, 1).await
    }

    /// Clicks what opens dialogs, and answers them one after another.
    ///
    /// # Errors
    /// If nothing of that name is found, or a dialog does not come.
    pub async fn clicks_and_answers(&self, [kind, name, near]: [&str; 3], answers: &[DialogAnswer]) -> Result<()> {
        // The browser acknowledges the press when the last dialog is closed.
        let clicks = self.clicks_near(kind, name, near);
        let answers = async {
            for answer in answers {
                let until = Instant::now() + PATIENCE;
                while self.tab.dialog().is_none() {
                    ensure!(Instant::now() < until, "no dialog opens after {kind} {name}");
                    tokio::time::sleep(PAUSE).await;
                }
                tokio::time::sleep(GLANCE).await;
                self.tab.answer_dialog(answer, until).await?;
            }
            Ok(())
        };
        tokio::try_join!(clicks, answers).map(drop)
    }

    /// Opens the chooser of a file field and chooses these.
    ///
    /// # Errors
    /// If no chooser opens.
    pub async fn chooses_files(&self, field: &str, files: &[&Path]) -> Result<()> {
        let mut opened = self.tab.session_events(&["Page.fileChooserOpened"], 4);
        self.sends("Page.setInterceptFileChooserDialog", json!({ "enabled": true })).await?;
        self.clicks("field", field).await?;
        let chooser = next(&mut opened).await?;
        let params = json!({ "backendNodeId": chooser["backendNodeId"], "files": files });
        self.sends("DOM.setFileInputFiles", params).await?;
        self.sends("Page.setInterceptFileChooserDialog", json!({ "enabled": false })).await.map(drop)
    }

    /// Drags from the middle of the one element to that of the other, each by a selector.
    ///
    /// # Errors
    /// If there are no such elements.
    pub async fn drags(&self, from: &str, to: &str) -> Result<()> {
        // Bringing the one into view may move the other.
        self.middle_of(from).await?;
        let (to, from) = (self.middle_of(to).await?, self.middle_of(from).await?);
        let mut begun = self.tab.session_events(&["Input.dragIntercepted"], 4);
        // A browser without a window has no drags of its own.
        self.sends("Input.setInterceptDrags", json!({ "enabled": true })).await?;
        self.points(&json!(from)).await?;
        let button = |kind: &str, [x, y]: [f64; 2]| json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1 });
        self.sends("Input.dispatchMouseEvent", button("mousePressed", from)).await?;
        let mut data = None;
        for step in 1..=MOVES {
            let part = f64::from(step) / f64::from(MOVES);
            let at = [from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part];
            match &data {
                None => self.sends("Input.dispatchMouseEvent", button("mouseMoved", at)).await?,
                Some(data) => self.sends("Input.dispatchDragEvent", dragged("dragOver", at, data)).await?,
            };
            if data.is_none()
                && let Some(Delivery::Event(event)) = begun.try_next()
            {
                let found: Value = event.parse()?;
                self.sends("Input.dispatchDragEvent", dragged("dragEnter", at, &found["data"])).await?;
                data = Some(found["data"].clone());
            }
            tokio::time::sleep(PAUSE).await;
        }
        if let Some(data) = &data {
            self.sends("Input.dispatchDragEvent", dragged("drop", to, data)).await?;
        }
        self.sends("Input.dispatchMouseEvent", button("mouseReleased", to)).await?;
        self.sends("Input.setInterceptDrags", json!({ "enabled": false })).await.map(drop)
    }

    /// Turns the wheel over an element, given by a selector, until something is seen.
    ///
    /// # Errors
    /// If it is not seen within its patience.
    pub async fn scrolls(&self, over: &str, kind: &str, name: &str) -> Result<()> {
        let [x, y] = self.middle_of(over).await?;
        let until = Instant::now() + PATIENCE;
        while self.looks(&json!([kind, name, ""])).await.unwrap_or_default()["at"].is_null() {
            ensure!(Instant::now() < until, "no {kind} {name} comes into view");
            let turn = json!({ "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": 240 });
            self.sends("Input.dispatchMouseEvent", turn).await?;
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Goes back by the button of the browser.
    ///
    /// # Errors
    /// If there is nothing to go back to.
    pub async fn goes_back(&self) -> Result<()> {
        let history = self.sends("Page.getNavigationHistory", json!({})).await?;
        let now = history["currentIndex"].as_u64().context("expected a place in the history")?;
        let before = now.checked_sub(1).and_then(|before| usize::try_from(before).ok());
        let entry = &history["entries"][before.context("nothing to go back to")?]["id"];
        self.sends("Page.navigateToHistoryEntry", json!({ "entryId": entry })).await.map(drop)
    }

    async fn finds(&self, kind: &str, name: &str) -> Result<Value> {
        let until = Instant::now() + PATIENCE;
        loop {
            let seen = self.looks(&json!([kind, name, ""])).await.unwrap_or_default();
            if !seen["at"].is_null() {
                return Ok(seen["at"].clone());
            }
            ensure!(Instant::now() < until, "a person finds no {kind} {name}: {seen}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The middle of an element of the page, which is scrolled there first.
    async fn middle_of(&self, selector: &str) -> Result<[f64; 2]> {
        let middle = "(element) => {
            element.scrollIntoView({ block: 'nearest', behavior: 'instant' });
            const { left, top, width, height } = element.getBoundingClientRect();
            return [left + width / 2, top + height / 2];
        }";
        let at = self.reads(&format!("({middle})(document.querySelector({}))", json!(selector))).await?;
        serde_json::from_value(at).with_context(|| format!("expected {selector} in the page"))
    }

    async fn sends(&self, method: &'static str, params: Value) -> Result<Value> {
        Ok(self.tab.session().call_raw(method, params, Instant::now() + PATIENCE).await?.parse()?)
    }
}

async fn next(events: &mut EventQueue) -> Result<Value> {
    match tokio::time::timeout(PATIENCE, events.next()).await?.context("the tab is gone")? {
        Delivery::Event(event) => Ok(event.parse()?),
        Delivery::Lagged(_) => anyhow::bail!("events were lost"),
    }
}

fn dragged(kind: &str, [x, y]: [f64; 2], data: &Value) -> Value {
    json!({ "type": kind, "x": x, "y": y, "data": data })
}
