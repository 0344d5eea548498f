//! The account that the site's server gives of the events.

use std::fmt;

use serde_json::Value;

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

/// The server's own account, cut down to what matters here.
pub(super) fn read(state: &Value) -> Witness {
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
