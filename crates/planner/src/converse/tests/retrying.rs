//! Only errors of the server are retried. The clock is paused.

use std::time::Duration;

use cuebook_grammar::planning::CallEnd;
use cuebook_grammar::seam::{PlanSink, Planner as _};
use cuebook_grammar::step::Step;

use super::super::*;
use super::fake::{Fake, GOOD, Part, Play, Sink, login, plan, request, soon, text};

fn busy(retry_after: Option<Duration>) -> Play {
    Play::Fails(EngineError::RateLimited { status: 429, retry_after, message: String::new() })
}

fn broken() -> Play {
    Play::Fails(EngineError::Server { status: 500, retry_after: None, message: String::new() })
}

fn unreachable() -> Play {
    Play::Fails(EngineError::Unreachable { address: "http://a.test".to_owned(), source: "refused".into() })
}

/// The times of the requests in milliseconds.
fn times(planner: &ModelPlanner<Fake>) -> Vec<u128> {
    planner.engine().seen.lock().unwrap().asked.iter().map(|(.., at)| at.as_millis()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_error_is_retried_three_times_with_longer_waits() {
    let planner = ModelPlanner::new(Fake::planning([broken(), broken(), broken(), text(GOOD)]));
    let (reply, sink) = plan(&planner).await;
    reply.unwrap();
    assert_eq!(times(&planner), [0, 500, 1_500, 3_500]);
    assert_eq!((sink.calls.len(), sink.calls[0].attempts), (1, 4));
}

#[tokio::test(start_paused = true)]
async fn after_three_retries_the_error_is_returned() {
    let planner = ModelPlanner::new(Fake::planning([broken(), broken(), broken(), broken()]));
    let (reply, sink) = plan(&planner).await;
    assert!(matches!(
        reply,
        Err(ModelError::Engine { attempts: 4, source: EngineError::Server { status: 500, .. }, .. })
    ));
    assert!(matches!(&sink.calls[0].end, CallEnd::Failed { code, .. } if code == "serverError"));
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_server_states_is_respected() {
    let wait = Some(Duration::from_secs(7));
    let planner = ModelPlanner::new(Fake::planning([busy(wait), busy(None), text(GOOD)]));
    plan(&planner).await.0.unwrap();
    assert_eq!(times(&planner), [0, 7_000, 8_000]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_deadline_is_not_started() {
    let planner = ModelPlanner::new(Fake::planning([busy(Some(Duration::from_secs(3_600)))]));
    let (reply, _) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Engine { attempts: 1, source: EngineError::RateLimited { .. }, .. })));
    assert_eq!(planner.engine().begun_for(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_request_is_not_retried() {
    let rejected = || EngineError::Rejected { status: 404, message: "model `x` not found".to_owned() };
    let format = || EngineError::BadFormat { expected: "JSON", seen: "<html>".to_owned() };
    for error in [rejected(), format(), EngineError::TooLong { bound: 1 }, EngineError::Inside("broken".into())] {
        let planner = ModelPlanner::new(Fake::planning([Play::Fails(error)]));
        assert!(matches!(plan(&planner).await.0, Err(ModelError::Engine { attempts: 1, .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_retried_only_if_it_answered_before() {
    let planner = ModelPlanner::new(Fake::planning([unreachable(), text(GOOD), unreachable(), text(GOOD)]));
    let (reply, _) = plan(&planner).await;
    let error = reply.unwrap_err();
    assert_eq!(error.to_string(), "fake gave no answer after 1 request");
    assert_eq!(error.code(), "unreachable");
    plan(&planner).await.0.unwrap();
    plan(&planner).await.0.unwrap();
    assert_eq!(times(&planner).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_stall_is_retried_before_the_first_byte_and_not_within_the_answer() {
    let hour = || Part::Wait(Duration::from_secs(3_600));
    let limits = Limits { first_byte: Duration::from_secs(5), stall: Duration::from_secs(2), ..Limits::default() };
    let silent = Play::Says(vec![hour()]);
    let stuck = Play::Says(vec![Part::Event(ChatEvent::Text(GOOD[..60].to_owned())), hour()]);
    let planner = ModelPlanner::new(Fake::planning([silent, stuck])).with_limits(limits);
    let (reply, _) = plan(&planner).await;
    let Err(ModelError::Engine { attempts: 2, source: EngineError::Stalled { after }, .. }) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(after, Duration::from_secs(2));
    assert_eq!(times(&planner), [0, 5_500]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_keeps_alive_is_awaited_until_the_deadline() {
    let alive = |_| [Part::Wait(Duration::from_secs(1)), Part::Event(ChatEvent::Alive)];
    let planner = ModelPlanner::new(Fake::planning([Play::Says((0..1_000).flat_map(alive).collect())]));
    let (reply, sink) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Deadline { after, .. }) if after == Duration::from_secs(60)));
    assert!(matches!(&sink.calls[0].end, CallEnd::Failed { code, .. } if code == "deadlineExceeded"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_broke_off_is_asked_for_again_unless_some_of_it_ran() {
    let lost = || Part::Error(EngineError::Lost("reset".into()));
    let begun = || Part::Event(ChatEvent::Text(GOOD[..60].to_owned()));
    let whole = || Part::Event(ChatEvent::Text(GOOD.to_owned()));
    let plays = || [vec![lost()], vec![], vec![begun(), lost()], vec![whole()]].map(Play::Says);
    let (reply, _) = plan(&ModelPlanner::new(Fake::planning(plays()))).await;
    assert_eq!(reply.unwrap().drafts.len(), 1);

    struct Ran;
    impl PlanSink for Ran {
        fn step_ready(&mut self, _: usize, _: usize, _: &Step) {}
        fn restart(&mut self) -> bool {
            false
        }
    }
    let (page, policy) = login();
    let planner = ModelPlanner::new(Fake::planning(plays()));
    let reply = planner.plan(&request(&page, &policy), &mut Ran, soon(Duration::from_secs(60))).await;
    assert!(matches!(reply, Err(ModelError::Engine { attempts: 3, source: EngineError::Lost(_), .. })), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn the_time_for_a_plan_limits_it_before_the_deadline() {
    let limits = Limits { plan_time: Duration::from_secs(3), ..Limits::default() };
    let planner = ModelPlanner::new(Fake::planning([Play::Says(vec![Part::Wait(Duration::from_secs(3_600))])]));
    let planner = planner.with_limits(limits);
    let (page, policy) = login();
    let mut sink = Sink::default();
    let reply = planner.plan(&request(&page, &policy), &mut sink, soon(Duration::from_secs(60))).await;
    assert!(matches!(reply, Err(ModelError::Deadline { after, .. }) if after == Duration::from_secs(3)), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn a_complete_plan_counts_however_its_connection_ends() {
    for ending in [Part::Error(EngineError::Lost("reset".into())), Part::Wait(Duration::from_secs(3_600))] {
        let plays = [Play::Says(vec![Part::Event(ChatEvent::Text(GOOD.to_owned())), ending])];
        let planner = ModelPlanner::new(Fake::planning(plays));
        assert_eq!(plan(&planner).await.0.unwrap().drafts.len(), 1);
    }
}
