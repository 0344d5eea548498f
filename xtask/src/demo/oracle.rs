//! What the site's server says happened.

use std::fmt;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The part of the server's account that the demonstration is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Witness {
    pub(super) logins: usize,
    pub(super) orders: usize,
    /// Orders with at least one line of size Large.
    pub(super) large_orders: usize,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { logins, orders, large_orders } = self;
        write!(f, "{logins} accepted logins and {orders} orders, {large_orders} of size Large")
    }
}

/// Asks the server at `origin`.
///
/// # Errors
/// If it does not answer with its state.
pub(super) fn witness(origin: &str) -> Result<Witness> {
    let host = origin.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).with_context(|| format!("cannot reach {host}"))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // HTTP/1.0, so that the answer ends where the connection does and is not chunked.
    write!(stream, "GET /state HTTP/1.0\r\nhost: {host}\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").context("the server's answer has no body")?;
    Ok(read(&serde_json::from_str(body).context("the server's state is not JSON")?))
}

fn read(state: &Value) -> Witness {
    let list = |key: &str| state[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let lines_of = |order: &Value| order["lines"].as_array().cloned().unwrap_or_default();
    Witness {
        logins: list("logins").iter().filter(|login| login["accepted"] == true).count(),
        orders: list("orders").len(),
        large_orders: list("orders")
            .iter()
            .filter(|order| lines_of(order).iter().any(|line| line["size"] == "Large"))
            .count(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Witness, read};

    #[test]
    fn only_what_the_server_accepted_counts() {
        let state = json!({
            "logins": [{ "accepted": false }, { "accepted": true }],
            "orders": [{ "lines": [{ "size": "Small" }] }, { "lines": [{ "size": "Large" }] }],
        });
        assert_eq!(read(&state), Witness { logins: 1, orders: 2, large_orders: 1 });
        assert_eq!(read(&json!({})), Witness { logins: 0, orders: 0, large_orders: 0 });
    }
}
