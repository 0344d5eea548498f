//! The environment: no proxy of it stands between an engine and a server on loopback, and no key or address in it
//! replaces the one that an engine was given.

use std::process::Command;

use crate::servers::{Play, Server};

/// A test of this binary that asks every engine once.
const ASKS: &str = "answers::a_plan_needs_one_request_and_its_steps_are_reported_in_order";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_environment_changes_neither_the_server_nor_the_key() {
    let proxy = Server::playing([Play::whole(502, "text/plain", "I am the proxy")]).await;
    let origin = proxy.origin();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", ASKS]).env_remove("NO_PROXY").env_remove("no_proxy");
    for variable in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        child.env(variable, &origin);
    }
    for variable in ["OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"] {
        child.env(variable, &origin);
    }
    for variable in ["OPENAI_API_KEY", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY"] {
        child.env(variable, "sk-of-somebody-else");
    }
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!((proxy.requests().len(), proxy.connections()), (0, 0));
}
