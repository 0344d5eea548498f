//! Messages to one page, as server-sent events: `update`, `question`, `over`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::Event;
use cuebook_datalayer::html::{self, Shown};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::consent::Question;
use crate::state::{Shared, ends, off};

struct Feed {
    shared: Arc<Shared>,
    shown: Shown,
    news: watch::Receiver<u64>,
    asked: watch::Receiver<Option<Arc<Question>>>,
    over: watch::Receiver<bool>,
    has_said_over: bool,
    /// Held while the page listens.
    _place: OwnedSemaphorePermit,
}

/// Events for a page that shows this much, beginning with what it lacks now.
pub(crate) fn feed(
    shared: Arc<Shared>,
    shown: Shown,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let (mut news, mut asked, over) = (shared.news(), shared.questions.watch(), shared.over.subscribe());
    news.mark_changed();
    asked.mark_changed();
    let feed = Feed { shared, shown, news, asked, over, has_said_over: false, _place: place };
    unfold(feed, |mut feed| async { feed.next().await.map(|event| (Ok(event), feed)) })
}

impl Feed {
    async fn next(&mut self) -> Option<Event> {
        if self.has_said_over {
            return None;
        }
        tokio::select! {
            biased;
            Ok(()) = self.news.changed() => {
                self.news.borrow_and_update();
                let shown = self.shown;
                let update = off(&self.shared, move |shared| shared.update(shown)).await?;
                self.shown = update.shown;
                Some(event("update", &update))
            }
            Ok(()) = self.asked.changed() => {
                let question = self.asked.borrow_and_update().clone();
                let form = question.map(|it| html::question(it.number, &it.text, it.takes_text));
                Some(event("question", &form.unwrap_or_default()))
            }
            () = ends(&mut self.over) => {
                self.has_said_over = true;
                Some(event("over", &()))
            }
        }
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    Event::default().event(name).data(serde_json::to_string(data).unwrap_or_default())
}
