//! The proxy as a client meets it, byte by byte, without a browser.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test that calls them")]

mod lab;

use std::net::SocketAddr;
use std::time::Duration;

use cuebook_grammar::policy::Policy;
use cuebook_network::{Egress, Limits, System, Verdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::lab::{Lab, PUBLIC};

const DENIED: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";

fn get(url: &str) -> String {
    format!("GET {url} HTTP/1.1\r\nHost: shop.test\r\n\r\n")
}

fn connect(authority: &str) -> String {
    format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n")
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[tokio::test]
async fn an_allowed_request_goes_to_the_checked_address_as_its_server_expects() {
    let lab = Lab::open().await;
    let request = "GET http://cdn.test/a?b HTTP/1.1\r\nHost: evil.test\r\nProxy-Connection: keep-alive\r\n\
        Proxy-Authorization: Basic eA==\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n";
    let response = lab.ask(request).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("\r\n\r\nok"), "{response}");
    assert!(!response.to_lowercase().contains("keep-alive"), "{response}");
    assert_eq!(lab.heads().len(), 1);
    let head = lab.heads()[0].to_lowercase();
    assert!(head.starts_with("get /a?b http/1.1\r\n") && head.contains("host: cdn.test\r\n"), "{head}");
    assert!(head.contains("x-end: 2") && !head.contains("x-hop") && !head.contains("proxy-"), "{head}");
    assert_eq!(lab.net.connected(), [format!("{PUBLIC}:80")]);
    let [decision] = &lab.egress.decisions().take()[..] else { panic!("expected one decision") };
    assert_eq!((decision.method.as_str(), decision.host.as_str(), decision.port), ("GET", "cdn.test", 80));
    assert_eq!((decision.verdict.rule(), decision.listener), ("read", lab.egress.address().port()));
}

#[tokio::test]
async fn what_is_denied_gets_an_empty_403_and_no_name_is_resolved() {
    let lab = Lab::open().await;
    for request in [
        get("http://evil.test/"),
        get("http://shop.test:8080/"),
        get("http://shop.test.evil.test/"),
        get("http://shop.test@evil.test/"),
        get("https://pay.test/"),
        get("/"),
        connect("evil.test:443"),
        connect("pay.test:80"),
        connect("pay.test..:443"),
        connect("127.0.0.1:22"),
        connect("update.googleapis.com:443"),
    ] {
        assert_eq!(lab.ask(&request).await, DENIED, "{request}");
    }
    assert_eq!((lab.net.resolved(), lab.net.connected()), (Vec::new(), Vec::new()));
    let expected = [
        "origin",
        "origin",
        "origin",
        "userInfo",
        "scheme",
        "unparsable",
        "origin",
        "origin",
        "origin",
        "privateAddress",
        "browserInternal",
    ];
    assert_eq!(lab.rules(), expected);
}

#[tokio::test]
async fn a_private_address_is_denied_in_every_spelling() {
    let lab = Lab::closed(Limits::default()).await;
    // Public origins are open.
    lab.egress.set_policy(Policy::default().starting_at("http://shop.test/").unwrap());
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "127.0.0.1.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::7f00:1]",
        "[64:ff9b::7f00:1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "10.0.0.5",
        "100.64.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "localhost",
        "a.localhost.",
        "metadata.google.internal",
        "printer.local",
    ] {
        for request in [get(&format!("http://{host}/")), connect(&format!("{host}:443"))] {
            assert_eq!(lab.ask(&request).await, DENIED, "{request}");
        }
    }
    assert!(lab.rules().iter().all(|rule| *rule == "privateAddress"));
    assert_eq!((lab.net.resolved(), lab.net.connected()), (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn spellings_of_an_allowed_name_are_one_name_and_look_alikes_are_not() {
    let lab = Lab::open().await;
    lab.net.name("shop.test.", &[&[PUBLIC]]);
    for url in ["http://SHOP.TEST/", "http://shop.test.:80/"] {
        assert!(lab.ask(&get(url)).await.ends_with("ok"), "{url}");
    }
    // Browsers send names in ASCII; anything else is no request line.
    for host in ["ＳＨＯＰ.test", "shоp.test", "shop\u{ad}.test", "%73hop.test"] {
        let response = lab.ask(&get(&format!("http://{host}/"))).await;
        assert!(!response.contains("200"), "{host}: {response}");
    }
    assert_eq!(lab.ask(&get("http://xn--shp-ted.test/")).await, DENIED);
    assert_eq!(lab.net.connected().len(), 2);
}

#[tokio::test]
async fn a_name_that_is_rebound_reaches_nothing_private() {
    let lab = Lab::open().await;
    lab.net.name("shop.test", &[&[PUBLIC], &["127.0.0.1"], &[PUBLIC, "10.0.0.5"], &["::ffff:127.0.0.1"]]);
    lab.net.name("pay.test", &[&["169.254.169.254"]]);
    let mut client = lab.client().await;
    assert!(client.ask(&get("http://shop.test/1")).await.ends_with("ok"));
    // The same connection, and so the same address.
    assert!(client.ask(&get("http://shop.test/2")).await.ends_with("ok"));
    for _ in 0..3 {
        assert_eq!(lab.ask(&get("http://shop.test/3")).await, DENIED);
    }
    assert_eq!(lab.ask(&connect("pay.test:443")).await, DENIED);
    assert_eq!(lab.net.resolved().len(), 5);
    assert_eq!(lab.net.connected(), [format!("{PUBLIC}:80")]);
    let rules = ["start", "start", "privateAddress", "privateAddress", "privateAddress", "privateAddress"];
    assert_eq!(lab.rules(), rules);
}

#[tokio::test]
async fn each_request_on_an_open_connection_is_judged() {
    let lab = Lab::open().await;
    let mut client = lab.client().await;
    assert!(client.ask(&get("http://shop.test/")).await.ends_with("ok"));
    assert_eq!(client.ask(&get("http://evil.test/")).await, DENIED);
    assert!(client.ask(&get("http://cdn.test/")).await.ends_with("ok"));
    assert!(client.ask(&get("http://cdn.test/again")).await.ends_with("ok"));
    assert_eq!(client.ask(&connect("evil.test:443")).await, DENIED);
    assert!(client.ask(&get("http://shop.test/")).await.ends_with("ok"));
    assert_eq!(lab.rules(), ["start", "origin", "read", "read", "origin", "start"]);
    assert_eq!(lab.net.connected().len(), 3, "a connection serves one host");
    let pipelined = format!("{}{}", get("http://evil.test/"), get("http://shop.test/"));
    let both = client.ask(&pipelined).await + &client.response().await;
    assert!(both.starts_with(DENIED), "{both}");
}

#[tokio::test]
async fn a_tunnel_carries_early_bytes_and_half_closes() {
    let lab = Lab::open().await;
    let mut client = lab.client().await;
    let early = format!("{}GET tunnel HTTP/1.1\r\n\r\n", connect("pay.test:443"));
    let response = client.ask(&early).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    client.0.write_all(b"hello").await.unwrap();
    let mut echo = [0; 5];
    client.0.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"hello");
    client.0.shutdown().await.unwrap();
    assert_eq!(client.rest().await, "bye", "the other direction stays open");
    assert_eq!(lab.net.connected(), [format!("{PUBLIC}:443")]);
}

#[tokio::test]
async fn a_websocket_passes_in_absolute_form_and_through_a_tunnel() {
    let lab = Lab::open().await;
    let live = "Host: shop.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    for (before, request) in [
        ("", "GET http://shop.test/live HTTP/1.1\r\n"),
        ("CONNECT shop.test:80 HTTP/1.1\r\n\r\n", "GET /live HTTP/1.1\r\n"),
    ] {
        let mut client = lab.client().await;
        if !before.is_empty() {
            assert!(client.ask(before).await.starts_with("HTTP/1.1 200"));
        }
        let response = client.ask(&format!("{request}{live}")).await;
        assert!(response.starts_with("HTTP/1.1 101"), "{response}");
        assert!(response.to_lowercase().contains("upgrade: websocket"), "{response}");
        client.0.write_all(b"ping").await.unwrap();
        client.0.shutdown().await.unwrap();
        assert_eq!(client.rest().await, "pingbye");
    }
    assert_eq!(lab.ask(&format!("GET ws://evil.test/live HTTP/1.1\r\n{live}")).await, DENIED);
    assert_eq!(lab.ask(&connect("evil.test:80")).await, DENIED);
    // Only WebSockets may switch.
    let plain = format!("GET http://shop.test/live HTTP/1.1\r\n{}", live.replace("websocket", "h2c"));
    assert!(lab.ask(&plain).await.starts_with("HTTP/1.1 502"));
}

#[tokio::test]
async fn a_challenge_of_a_server_is_no_challenge_of_the_proxy() {
    let lab = Lab::open().await;
    let response = lab.ask(&get("http://shop.test/407")).await;
    assert!(response.starts_with("HTTP/1.1 502") && !response.to_lowercase().contains("proxy-"), "{response}");
}

#[tokio::test]
async fn bytes_that_are_no_request_leave_the_proxy_alive() {
    let lab = Lab::open().await;
    for garbage in [
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "CONNECT HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n",
        "CONNECT pay.test:99999 HTTP/1.1\r\n\r\n",
        "CONNECT pay.test:-1 HTTP/1.1\r\n\r\n",
        "CONNECT pay.test HTTP/1.1\r\n\r\n",
        "CONNECT http://pay.test:443/ HTTP/1.1\r\n\r\n",
        "CONNECT [::1 HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\n\r\n",
        "GET http:///shop.test HTTP/1.1\r\n\r\n",
        "GET http:\\\\shop.test\\ HTTP/1.1\r\n\r\n",
        "GET http://shop.test:port/ HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n",
        "GET shop.test HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET http://shop.test/ HTTP/9.9\r\n\r\n",
        "GET http://evil.test/ HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST http://evil.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "\u{0}\u{1}\u{2}\u{16}\u{3}\u{1}\r\n\r\n",
    ] {
        let mut client = lab.client().await;
        client.0.write_all(garbage.as_bytes()).await.unwrap();
        client.0.shutdown().await.unwrap();
        let answer = client.rest().await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{garbage:?}: {answer}");
    }
    assert!(lab.net.connected().is_empty(), "{:?}", lab.net.connected());
    assert!(lab.ask(&get("http://shop.test/")).await.ends_with("ok"));
}

#[tokio::test]
async fn a_header_that_is_too_large_is_refused() {
    let lab = Lab::within(limits(|limits| limits.header_bytes = 16 << 10)).await;
    let mut client = lab.client().await;
    // The proxy may close before it is written.
    let huge = format!("GET http://shop.test/ HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(64 << 10));
    client.0.write_all(huge.as_bytes()).await.ok();
    let answer = client.rest().await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let many: String = (0..500).map(|index| format!("X-{index}: 1\r\n")).collect();
    let answer = lab.ask(&format!("GET http://shop.test/ HTTP/1.1\r\n{many}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert!(lab.heads().is_empty());
}

#[tokio::test]
async fn a_slow_header_ends_its_connection_only() {
    let lab = Lab::within(limits(|limits| limits.header_time = Duration::from_millis(300))).await;
    let mut slow = lab.client().await;
    slow.0.write_all(b"GET http://shop.test/ HTTP/1.1\r\nX:").await.unwrap();
    assert!(lab.ask(&get("http://shop.test/")).await.ends_with("ok"));
    let answer = slow.rest().await;
    assert!(!answer.contains("200"), "{answer}");
}

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let lab = Lab::within(limits(|limits| limits.connections = 1)).await;
    let mut first = lab.client().await;
    assert!(first.ask(&get("http://shop.test/")).await.ends_with("ok"));
    let mut second = lab.client().await;
    second.0.write_all(get("http://shop.test/").as_bytes()).await.unwrap();
    assert!(first.ask(&get("http://shop.test/")).await.ends_with("ok"));
    drop(first);
    assert!(second.response().await.ends_with("ok"));
}

#[tokio::test]
async fn without_a_policy_everything_is_denied_and_a_new_one_holds_at_once() {
    let lab = Lab::closed(Limits::default()).await;
    let mut client = lab.client().await;
    assert_eq!(client.ask(&get("http://shop.test/")).await, DENIED);
    lab.egress.set_policy(Policy::default().starting_at("http://shop.test/").unwrap());
    assert!(client.ask(&get("http://shop.test/")).await.ends_with("ok"));
    lab.egress.set_policy(Policy::default().starting_at("http://other.test/").unwrap().allowing("a.test").unwrap());
    assert_eq!(client.ask(&get("http://shop.test/")).await, DENIED);
    assert_eq!(lab.rules(), ["closed", "start", "origin"]);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_a_closed_connection() {
    let lab = Lab::open().await;
    assert_eq!(lab.ask(&get("http://shop.test/mute")).await, "");
    lab.net.name("shop.test", &[&[]]);
    assert_eq!(lab.ask(&get("http://shop.test/")).await, "");
    lab.net.name("pay.test", &[&[]]);
    assert!(lab.ask(&connect("pay.test:443")).await.starts_with("HTTP/1.1 502"));
    assert_eq!(lab.rules(), ["start", "unreachable", "unreachable"]);
}

#[tokio::test]
async fn dropping_the_proxy_closes_its_tunnels_and_its_port() {
    let lab = Lab::open().await;
    let address: SocketAddr = lab.egress.address();
    let mut client = lab.client().await;
    assert!(client.ask(&connect("pay.test:443")).await.starts_with("HTTP/1.1 200"));
    drop(lab);
    assert_eq!(client.rest().await, "");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn the_system_network_reaches_what_was_named_only() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.ok();
        }
    });
    let egress = Egress::bind(System).await.unwrap();
    let policy = Policy::default().starting_at(&format!("http://localhost:{port}/")).unwrap();
    egress.set_policy(policy.allowing("https://pay.test").unwrap());
    let mut client = lab::Client(TcpStream::connect(egress.address()).await.unwrap());
    assert!(client.ask(&get(&format!("http://localhost:{port}/"))).await.ends_with("ok"));
    assert_eq!(client.ask(&get(&format!("http://127.0.0.1:{port}/"))).await, DENIED);
    let verdicts: Vec<Verdict> = egress.decisions().take().iter().map(|decision| decision.verdict).collect();
    assert!(!verdicts[0].is_denial() && verdicts[1].is_denial(), "{verdicts:?}");
}
