//! Scrolling: a target into view, a container, or the page.

use cuebook_grammar::action::{Direction, Scroll};
use cuebook_grammar::outcome::Stage;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::actions::ActResult;
use crate::run::StepRun;
use crate::script::Need;
use crate::seen::Event;
use crate::stop::Part;

#[derive(Deserialize)]
struct Scrolled {
    moved: bool,
}

impl StepRun<'_> {
    /// Scrolls the target into view, or by a direction or a distance.
    pub(crate) async fn scroll(&mut self, action: &Scroll) -> Part<ActResult> {
        if let Some(point) = action.point {
            let [x, y] = [action.delta_x, action.delta_y].map(|by| by.map_or(0.0, |by| f64::from(by.get())));
            return self.wheel(point, x, y).await;
        }
        let moves = action.direction.is_some() || action.delta_x.is_some() || action.delta_y.is_some();
        let by = self.ready_by();
        let (world, id) = if action.target_ref.is_some() {
            let main = self.resolve_main(by).await?;
            self.watch().await?;
            if !moves {
                self.about_to_send()?;
                let ready = self.ready_main(Need { visible: true, scroll: true, ..Need::default() }).await?;
                return Ok(ActResult::nothing(ready.target()));
            }
            (self.world_of(&main.key, Stage::Act).await?, Value::from(main.key.node))
        } else {
            self.watch().await?;
            let world = self.main_world(Stage::Act).await?;
            (world, Value::Null)
        };
        self.about_to_send()?;
        let how = json!({
            "direction": action.direction.map(name),
            "x": action.delta_x.map(cuebook_grammar::wire::Pixels::get),
            "y": action.delta_y.map(cuebook_grammar::wire::Pixels::get),
        });
        let scrolled: Option<Scrolled> =
            self.ask(&world, "(cb, id, how) => cb.act.scrollBy(id, how)", &[id, how], Stage::Act).await?;
        match scrolled {
            Some(scrolled) => {
                if scrolled.moved {
                    self.saw(Event::Effect);
                }
                Ok(self.untargeted())
            }
            None => Err(self.removed()),
        }
    }
}

const fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
        Direction::Left => "left",
        Direction::Right => "right",
        Direction::Top => "top",
        Direction::Bottom => "bottom",
    }
}
