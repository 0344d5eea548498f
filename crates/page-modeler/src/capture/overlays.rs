//! Finds elements of the frames above a child frame that cover its candidates.

use std::time::Instant;

use cuebook_grammar::candidate::Occlusion;
use cuebook_probe::{ProbeError, ProbeWorld};
use futures_util::future::join_all;
use serde_json::json;

use super::captured::CapturedFrame;

/// One question to a frame: which of these points something else covers.
struct Question<'a> {
    world: &'a ProbeWorld,
    owner: u64,
    points: Vec<(f64, f64)>,
    frame: usize,
    rows: Vec<usize>,
}

/// Asks every frame above a child whether one of its elements covers the child's candidates in view.
pub(super) async fn mark(frames: &mut [CapturedFrame], until: Instant) -> Result<(), ProbeError> {
    let mut questions = Vec::new();
    for (position, frame) in frames.iter().enumerate() {
        let rows: Vec<usize> =
            frame.rows.iter().enumerate().filter(|(_, placed)| placed.in_view).map(|(index, _)| index).collect();
        if rows.is_empty() {
            continue;
        }
        let mut current = frame;
        for _ in 0..64 {
            let Some((owner, parent)) = &current.owner else { break };
            let Some(above) = frames.iter().find(|other| other.index == *parent) else { break };
            let points = rows
                .iter()
                .filter_map(|index| frame.rows.get(*index))
                .map(|placed| {
                    let local = above.placement.to_local(frame.placement.visible_center(placed.rect));
                    (local.x, local.y)
                })
                .collect();
            questions.push(Question {
                world: &above.world,
                owner: *owner,
                points,
                frame: position,
                rows: rows.clone(),
            });
            current = above;
        }
    }
    let answers = join_all(questions.iter().map(|question| async {
        let args = [json!(question.owner), json!(question.points)];
        let covered: Result<Vec<Option<String>>, ProbeError> =
            question.world.call("(cb, owner, points) => cb.walk.covered(owner, points)", &args, until).await;
        covered.unwrap_or_default()
    }))
    .await;
    let found: Vec<(usize, usize, String)> = questions
        .iter()
        .zip(answers)
        .flat_map(|(question, answer)| {
            let frame = question.frame;
            question.rows.iter().zip(answer).filter_map(move |(row, by)| by.map(|by| (frame, *row, by)))
        })
        .collect();
    drop(questions);
    for (frame, row, by) in found {
        if let Some(placed) = frames.get_mut(frame).and_then(|frame| frame.rows.get_mut(row)) {
            placed.occlusion = Some(Occlusion { ratio: 1.0, by });
        }
    }
    Ok(())
}
