//! Forty questions with schemas on twenty pages: what labels find, and what becomes of a model's inventions.

use anyhow::Result;
use cuebook::prelude::*;
use cuebook_datalayer::MemoryLog;
use cuebook_planner::{ModelPlanner, Ollama};
use cuebook_repair::Budgets;
use cuebook_tests::extraction::{Counts, Judged, Questions, Way};
use serde_json::{Value, json};

use super::engines::prompt;
use super::engines::servers::{Dialect, Request, ScriptedReply, Server};

/// Members that labels filled rightly when it was measured last.
const RIGHT: usize = 243;

/// Asks all questions of one agent in a browser that tests share.
async fn ask(builder: AgentBuilder, way: Way) -> Result<(Counts, Vec<Judged>)> {
    let profiles = tempfile::tempdir()?;
    let browser = cuebook_testkit::shared_browser(profiles.path()).await;
    let source = BrowserSource::Shared(std::sync::Arc::new(browser));
    let mut agent = builder.browser(source).log(MemoryLog::default()).build().await?;
    let questions = Questions::read()?;
    let origin = questions.serve();
    let mut sum = Counts::default();
    let mut judged = Vec::new();
    for question in &questions.all {
        let one = questions.ask(&mut agent, &origin, question, way).await?;
        sum.add(&one.counts);
        judged.push(one);
    }
    agent.close().await?;
    Ok((sum, judged))
}

fn faults(judged: &[Judged]) -> Vec<&String> {
    judged.iter().flat_map(|one| &one.faults).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_give_no_wrong_value_and_as_many_right_ones_as_measured() -> Result<()> {
    let (sum, judged) = ask(Agent::builder(), Way::Labels).await?;
    assert_eq!(judged.len(), 40);
    assert_eq!((sum.wrong, sum.invented), (0, 0), "{:#?}", faults(&judged));
    assert!(sum.right >= RIGHT, "{} right: {:#?}", sum.right, faults(&judged));
    Ok(())
}

/// Answers each key that is asked for, and each member of a list, with something that no page says.
fn liar(request: &Request) -> String {
    const LIES: [&str; 5] =
        ["Zebulon Quux", "77777.77", "1 January 1905", "liar@invented.example", "https://invented.example/"];
    let prompt = prompt(request);
    let lie = |at: usize| LIES.get(at % LIES.len()).copied().unwrap_or_default();
    let mut answer = serde_json::Map::new();
    let mut list: Option<String> = None;
    let asked = prompt.lines().skip_while(|line| !line.starts_with("The keys"));
    for (at, line) in asked.enumerate() {
        let Some((key, about)) = line.trim_start().strip_prefix("- ").and_then(|line| line.split_once(':')) else {
            continue;
        };
        if line.starts_with(' ') {
            let inner = list.as_ref().and_then(|list| answer.get_mut(list)?.get_mut(0)?.as_object_mut());
            inner.into_iter().for_each(|item| drop(item.insert(key.to_owned(), lie(at).into())));
            continue;
        }
        let value = if about.ends_with("a list of objects with") {
            list = Some(key.to_owned());
            json!([{}])
        } else if about.ends_with("a list of quotes") {
            json!([lie(at), lie(at + 1)])
        } else {
            Value::from(lie(at))
        };
        answer.insert(key.to_owned(), value);
    }
    Value::Object(answer).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_invention_of_a_model_becomes_a_value() -> Result<()> {
    let dialect = Dialect::Ollama;
    let server = Server::choosing(move |_, request| Some(dialect.saying(&ScriptedReply::text(&liar(request))))).await;
    let lying = || -> Result<AgentBuilder> {
        let budgets = Budgets { fills: 1, ..Budgets::default() };
        Ok(Agent::builder().planner(ModelPlanner::new(Ollama::new(&server.origin(), "liar")?)).budgets(budgets))
    };
    // Behind labels, what labels found stays; alone, nothing is left.
    let (both, judged) = ask(lying()?, Way::Both).await?;
    assert_eq!((both.wrong, both.invented, both.failed), (0, 0, 0), "{:#?}", faults(&judged));
    assert!(both.right >= RIGHT && both.refused > both.unfilled, "{both:?}");
    let (alone, judged) = ask(lying()?, Way::Model).await?;
    assert_eq!((alone.right, alone.wrong, alone.failed), (0, 0, 0), "{:#?}", faults(&judged));
    assert!(alone.refused > 100, "{alone:?}");
    Ok(())
}
