//! Faults of the server are retried, and nothing else; on paused time.

use std::time::Duration;

use cuebook_grammar::planning::CallEnd;

use super::super::*;
use super::fake::{Fake, GOOD, Happens, Play, Sink, login, plan, request, soon, text};

fn busy(retry_after: Option<Duration>) -> Play {
    Play::Fails(EngineError::RateLimited { status: 429, retry_after, message: String::new() })
}

fn broken() -> Play {
    Play::Fails(EngineError::Server { status: 500, retry_after: None, message: String::new() })
}

fn nobody() -> Play {
    Play::Fails(EngineError::Unreachable { address: "http://a.test".to_owned(), source: "refused".into() })
}

/// When the requests were sent, in milliseconds.
fn times(planner: &ModelPlanner<Fake>) -> Vec<u128> {
    planner.engine().seen.lock().unwrap().asked.iter().map(|(.., at)| at.as_millis()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_breaks_is_asked_three_times_more_with_longer_waits() {
    let planner = ModelPlanner::new(Fake::planning([broken(), broken(), broken(), text(GOOD)]));
    let (reply, told) = plan(&planner).await;
    reply.unwrap();
    assert_eq!(times(&planner), [0, 500, 1_500, 3_500]);
    assert_eq!((told.calls.len(), told.calls[0].attempts), (1, 4));
}

#[tokio::test(start_paused = true)]
async fn after_three_retries_the_fault_stands() {
    let planner = ModelPlanner::new(Fake::planning([broken(), broken(), broken(), broken()]));
    let (reply, told) = plan(&planner).await;
    assert!(matches!(
        reply,
        Err(ModelError::Engine { attempts: 4, source: EngineError::Server { status: 500, .. }, .. })
    ));
    assert!(matches!(&told.calls[0].end, CallEnd::Failed { code, .. } if code == "serverError"));
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_server_names_is_kept() {
    let wait = Some(Duration::from_secs(7));
    let planner = ModelPlanner::new(Fake::planning([busy(wait), busy(None), text(GOOD)]));
    plan(&planner).await.0.unwrap();
    assert_eq!(times(&planner), [0, 7_000, 8_000]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_deadline_is_not_begun() {
    let planner = ModelPlanner::new(Fake::planning([busy(Some(Duration::from_secs(3_600)))]));
    let (reply, _) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Engine { attempts: 1, source: EngineError::RateLimited { .. }, .. })));
    assert_eq!(planner.engine().begun_for(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_not_asked_again() {
    let rejected = || EngineError::Rejected { status: 404, message: "model `x` not found".to_owned() };
    let format = || EngineError::BadFormat { expected: "JSON", seen: "<html>".to_owned() };
    for error in [rejected(), format(), EngineError::TooLong { bound: 1 }, EngineError::Inside("broken".into())] {
        let planner = ModelPlanner::new(Fake::planning([Play::Fails(error)]));
        assert!(matches!(plan(&planner).await.0, Err(ModelError::Engine { attempts: 1, .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_never_answered_is_not_there_and_one_that_did_is_coming_back() {
    let planner = ModelPlanner::new(Fake::planning([nobody(), text(GOOD), nobody(), text(GOOD)]));
    let (reply, _) = plan(&planner).await;
    let error = reply.unwrap_err();
    assert_eq!(error.to_string(), "fake gave no answer after 1 request");
    assert_eq!(error.code(), "unreachable");
    plan(&planner).await.0.unwrap();
    plan(&planner).await.0.unwrap();
    assert_eq!(times(&planner).len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_stall_before_the_first_byte_is_retried_and_one_within_the_answer_is_not() {
    let hour = || Happens::Wait(Duration::from_secs(3_600));
    let limits = Limits { first_byte: Duration::from_secs(5), stall: Duration::from_secs(2), ..Limits::default() };
    let silent = Play::Says(vec![hour()]);
    let stuck = Play::Says(vec![Happens::Event(ChatEvent::Text(GOOD[..60].to_owned())), hour()]);
    let planner = ModelPlanner::new(Fake::planning([silent, stuck])).with_limits(limits);
    let (reply, _) = plan(&planner).await;
    let Err(ModelError::Engine { attempts: 2, source: EngineError::Stalled { after }, .. }) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(after, Duration::from_secs(2));
    assert_eq!(times(&planner), [0, 5_500]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_says_that_it_lives_is_waited_for_until_the_deadline() {
    let alive = |_| [Happens::Wait(Duration::from_secs(1)), Happens::Event(ChatEvent::Alive)];
    let planner = ModelPlanner::new(Fake::planning([Play::Says((0..1_000).flat_map(alive).collect())]));
    let (reply, told) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Deadline { after, .. }) if after == Duration::from_secs(60)));
    assert!(matches!(&told.calls[0].end, CallEnd::Failed { code, .. } if code == "deadlineExceeded"));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_is_retried_only_while_nothing_was_said() {
    let lost = || Happens::Error(EngineError::Lost("reset".into()));
    let begun = || Happens::Event(ChatEvent::Text(GOOD[..60].to_owned()));
    let plays = [Play::Says(vec![lost()]), Play::Says(vec![]), Play::Says(vec![begun(), lost()])];
    let planner = ModelPlanner::new(Fake::planning(plays));
    let (reply, _) = plan(&planner).await;
    assert!(matches!(reply, Err(ModelError::Engine { attempts: 3, source: EngineError::Lost(_), .. })), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn the_time_for_a_plan_is_a_limit_beside_the_deadline() {
    let limits = Limits { plan_time: Duration::from_secs(3), ..Limits::default() };
    let planner = ModelPlanner::new(Fake::planning([Play::Says(vec![Happens::Wait(Duration::from_secs(3_600))])]));
    let planner = planner.with_limits(limits);
    let (page, policy) = login();
    let mut told = Sink::default();
    let reply = planner.plan(&request(&page, &policy), &mut told, soon(Duration::from_secs(60))).await;
    assert!(matches!(reply, Err(ModelError::Deadline { after, .. }) if after == Duration::from_secs(3)), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn a_whole_plan_is_a_plan_however_its_connection_ends() {
    for ending in [Happens::Error(EngineError::Lost("reset".into())), Happens::Wait(Duration::from_secs(3_600))] {
        let plays = [Play::Says(vec![Happens::Event(ChatEvent::Text(GOOD.to_owned())), ending])];
        let planner = ModelPlanner::new(Fake::planning(plays));
        assert_eq!(plan(&planner).await.0.unwrap().drafts.len(), 1);
    }
}
