//! The site as a client on the network sees it; the oracle confirms what the pages claim.

mod client;

use serde_json::json;

use client::Client;

const SCRIPT: &str = "\"><script>alert('x')</script>";

#[tokio::test]
async fn signing_in_leads_to_the_dashboard() {
    for (email, password) in [("user@example.com", "hunter2"), ("ann", "correct-horse")] {
        let mut client = Client::new(0).await;
        let answer = client.post("/login", &[("email", email), ("password", password)]).await;
        assert_eq!((answer.status, answer.location.as_deref()), (303, Some("/dashboard")));
        assert!(client.get("/dashboard").await.body.contains("Welcome back"));
        assert_eq!(client.state().await["logins"], json!([{ "user": email, "accepted": true }]));
    }
}

#[tokio::test]
async fn a_wrong_password_is_told_and_counted() {
    let mut client = Client::new(0).await;
    let answer = client.post("/login", &[("email", "ann"), ("password", "hunter2")]).await;
    assert_eq!(answer.status, 422);
    assert!(answer.body.contains("role=\"alert\""));
    assert!(!answer.body.contains("hunter2"));
    let answer = client.get("/dashboard").await;
    assert_eq!(answer.location.as_deref(), Some("/login?next=/dashboard"));
    assert_eq!(client.state().await["logins"][0]["accepted"], json!(false));
}

#[tokio::test]
async fn the_login_page_offers_what_plans_name() {
    let page = Client::new(0).await.get("/login").await.body;
    for part in [
        "<form id=\"login\"",
        "data-testid=\"email-input\"",
        "data-testid=\"password-input\"",
        "<label for=\"email\">Email</label>",
        "<label for=\"password\">Password</label>",
        "<button type=\"submit\">Log in</button>",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[tokio::test]
async fn logging_out_ends_the_session() {
    let mut client = Client::new(0).await;
    client.log_in().await;
    client.post("/logout", &[]).await;
    assert_eq!(client.get("/dashboard").await.status, 303);
    assert_eq!(client.state().await["logouts"], json!(1));
}

#[tokio::test]
async fn an_order_goes_from_shop_to_confirmation() {
    let mut client = Client::new(0).await;
    client.log_in().await;
    let choice = [("sku", "fountain-pen"), ("size", "Large"), ("quantity", "2")];
    assert_eq!(client.post("/cart/add", &choice).await.location.as_deref(), Some("/cart"));
    assert!(client.get("/cart").await.body.contains("$49.00"));
    let checkout = [
        ("name", "Ann"),
        ("email", "ann@example.com"),
        ("date", "2026-12-01"),
        ("card", "4242 4242 4242 4242"),
        ("terms", "yes"),
    ];
    let answer = client.post("/checkout", &checkout).await;
    assert_eq!((answer.status, answer.location.as_deref()), (303, Some("/order/5001")));
    let page = client.get("/order/5001").await;
    assert!(page.body.contains("<h1>Order confirmed</h1>"));
    let order = client.state().await["orders"][0].clone();
    assert_eq!(order["user"], json!("ann"));
    assert_eq!(order["cents"], json!(4_900));
    assert_eq!(order["lines"][0]["size"], json!("Large"));
    assert!(client.get("/cart").await.body.contains("Your cart is empty"));
}

#[tokio::test]
async fn a_quick_order_is_confirmed_at_once() {
    let mut client = Client::new(0).await;
    let order = [("sku", "notebook"), ("size", "Large")];
    assert_eq!(client.post("/quick-order", &order).await.location.as_deref(), Some("/login?next=/dashboard"));
    client.log_in().await;
    assert_eq!(client.post("/quick-order", &order).await.location.as_deref(), Some("/order/5001"));
    assert_eq!(client.state().await["orders"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_checkout_filled_in_badly_places_no_order() {
    let mut client = Client::new(0).await;
    client.post("/cart/add", &[("sku", "notebook")]).await;
    let answer = client.post("/checkout", &[("email", "nowhere"), ("notes", "ring twice")]).await;
    assert_eq!(answer.status, 422);
    for field in ["name", "email", "date", "card", "terms"] {
        assert!(answer.body.contains(&format!("aria-errormessage=\"{field}-error\"")), "{field}");
        assert!(answer.body.contains(&format!("id=\"{field}-error\"")), "{field}");
    }
    assert!(answer.body.contains("value=\"nowhere\"") && answer.body.contains("ring twice"));
    assert_eq!(client.state().await["orders"], json!([]));
}

#[tokio::test]
async fn what_visitors_send_is_shown_escaped() {
    let mut client = Client::new(0).await;
    client.post("/cart/add", &[("sku", "notebook")]).await;
    let checkout = [
        ("name", SCRIPT),
        ("email", "ann@example.com"),
        ("date", "2026-12-01"),
        ("card", "4242424242424242"),
        ("notes", SCRIPT),
        ("terms", "yes"),
    ];
    client.post("/checkout", &checkout).await;
    let edit = [("customer", SCRIPT), ("email", SCRIPT), ("status", SCRIPT)];
    client.post("/orders/INV-1001/edit", &edit).await;
    let upload = format!(
        "--b\r\ncontent-disposition: form-data; name=\"f\"; filename=\"{}\"\r\n\r\nx\r\n--b--\r\n",
        SCRIPT.replace('"', "%22")
    );
    client.send("POST", "/upload", "multipart/form-data; boundary=b", &upload).await;
    let query = "%22%3E%3Cscript%3Ealert('x')%3C/script%3E";
    let pages = [
        client.post("/login", &[("email", SCRIPT), ("next", SCRIPT)]).await.body,
        client.post("/checkout", &[("name", SCRIPT), ("notes", SCRIPT)]).await.body,
        client.get("/order/5001").await.body,
        client.get("/orders").await.body,
        client.get("/orders/INV-1001/edit").await.body,
        client.get("/editors").await.body,
        client.get(&format!("/orders?q={query}&status={query}&sort={query}&done={query}")).await.body,
        client.get(&format!("/login?next={query}")).await.body,
        client.get(&format!("/frames/form?name={query}")).await.body,
        client.send_as("x\"><script>alert('x')</script>", "GET", "/frames", "", "").await.body,
    ];
    for (index, page) in pages.iter().enumerate() {
        assert!(page.contains("</html>"), "page {index} was not served");
        assert!(!page.contains("<script>alert("), "page {index}");
    }
    assert!(pages[2].contains("&lt;script&gt;alert("));
}

#[tokio::test]
async fn a_reset_restores_the_seed() {
    let mut client = Client::new(7).await;
    let fresh = client.state().await;
    client.log_in().await;
    client.post("/orders/INV-1002/delete", &[]).await;
    client.post("/hit?name=x", &[]).await;
    client.post("/quick-order", &[("sku", "notebook")]).await;
    assert_ne!(client.state().await, fresh);
    assert_eq!(client.post("/reset?seed=7", &[]).await.status, 204);
    assert_eq!(client.state().await, fresh);
    assert_eq!(client.get("/dashboard").await.status, 303, "the session is gone");
    client.post("/reset?seed=8", &[]).await;
    assert_ne!(client.state().await["invoices"], fresh["invoices"]);
}

#[tokio::test]
async fn the_oracle_counts_what_pages_report_and_not_its_own_reading() {
    let mut client = Client::new(0).await;
    for expected in ["1", "2", "3"] {
        assert_eq!(client.post("/hit?name=counter", &[]).await.body, expected);
    }
    assert_eq!(client.post("/counter/hit", &[]).await.location.as_deref(), Some("/counter?sync=1"));
    assert_eq!(client.post("/hit", &[]).await.status, 400);
    let report = r#"{"form":"note","fields":{"text":"hello"}}"#;
    assert_eq!(client.send("POST", "/report", "application/json", report).await.status, 204);
    assert!(client.send("POST", "/report", "application/json", "{").await.status >= 400);
    let state = client.state().await;
    assert_eq!(state["hits"], json!({ "counter": 4 }));
    assert_eq!(state["submissions"], json!([{ "form": "note", "fields": { "text": "hello" } }]));
    assert_eq!(state["requests"], json!(7));
    assert_eq!(state["requestsByPath"]["/hit"], json!(4));
    assert_eq!(client.state().await, state);
    assert_eq!(client.site.state(), state);
}

#[tokio::test]
async fn the_order_desk_deletes_the_row_it_was_told() {
    let mut client = Client::new(0).await;
    let page = client.get("/orders").await.body;
    assert_eq!(page.matches(">Delete</button>").count(), 8);
    let answer = client.post("/orders/INV-1002/delete", &[("confirm", "dialog")]).await;
    assert_eq!(answer.location.as_deref(), Some("/orders?confirm=dialog&done=deleted"));
    assert_eq!(client.post("/orders/INV-1002/delete", &[]).await.status, 404);
    assert!(!client.get("/orders").await.body.contains("INV-1002"));
    assert_eq!(client.state().await["deleted"], json!(["INV-1002"]));
}

#[tokio::test]
async fn an_upload_is_known_by_name_and_size() {
    let mut client = Client::new(0).await;
    let body = "--b\r\ncontent-disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\
                content-type: text/plain\r\n\r\nhello\r\n--b\r\n\
                content-disposition: form-data; name=\"f\"; filename=\"\"\r\n\r\n\r\n--b--\r\n";
    let answer = client.send("POST", "/upload", "multipart/form-data; boundary=b", body).await;
    assert_eq!(answer.status, 303);
    assert_eq!(client.state().await["uploads"], json!([{ "name": "a.txt", "size": 5 }]));
    let answer = client.send("POST", "/upload", "multipart/form-data; boundary=b", "--b\r\nbroken").await;
    assert!(answer.status >= 400);
}

#[tokio::test]
async fn frames_embed_the_other_origin() {
    let mut client = Client::new(0).await;
    let (first, second) = (client.site.origin().to_owned(), client.site.second_origin().to_owned());
    assert!(client.get("/frames").await.body.contains(&format!("src=\"{second}/frames/form")));
    let host = second.trim_start_matches("http://").to_owned();
    let page = client.send_as(&host, "GET", "/frames/outer", "", "").await.body;
    assert!(page.contains(&format!("src=\"{first}/frames/form")));
}

#[tokio::test]
async fn every_page_of_the_start_page_is_there() {
    let mut client = Client::new(0).await;
    let home = client.get("/").await.body;
    let links: Vec<String> = home
        .split("href=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|link| link.starts_with('/'))
        .map(str::to_owned)
        .collect();
    assert!(links.len() > 20);
    for link in links {
        let status = client.get(&link).await.status;
        let expected = if link == "/dashboard" { 303 } else { 200 };
        assert_eq!(status, expected, "{link}");
    }
}

#[tokio::test]
async fn statuses_redirects_and_downloads_behave_as_named() {
    let mut client = Client::new(0).await;
    for (path, status) in [
        ("/status/500", 500),
        ("/status/404", 404),
        ("/status/99999", 400),
        ("/nowhere", 404),
        ("/order/none", 404),
        ("/redirect?to=%0d%0ax:y", 400),
        ("/download", 200),
    ] {
        assert_eq!(client.get(path).await.status, status, "{path}");
    }
    let answer = client.get("/redirect?to=https://example.com/").await;
    assert_eq!(answer.location.as_deref(), Some("https://example.com/"));
}

#[tokio::test]
async fn a_drifting_page_differs_by_load_and_repeats_by_number() {
    let mut client = Client::new(3).await;
    let (one, two) = (client.get("/drift").await.body, client.get("/drift").await.body);
    assert_ne!(one, two);
    assert_eq!(client.get("/drift?load=0").await.body, one);
    assert_ne!(client.get("/drift?load=0&seed=4").await.body, one);
}

#[tokio::test]
async fn stopping_ends_an_endless_stream() {
    let client = Client::new(0).await;
    let address = client.site.origin().trim_start_matches("http://").to_owned();
    let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
    let request = format!("GET /slow/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut first = [0_u8; 1];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut first).await.unwrap();
    client.site.stop().await;
    let mut rest = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await.unwrap();
    assert!(tokio::net::TcpStream::connect(&address).await.is_err());
}

#[tokio::test]
async fn a_taken_port_is_an_error() {
    let client = Client::new(0).await;
    let port = client.site.origin().rsplit(':').next().unwrap().parse().unwrap();
    assert!(crate::Site::builder().build().bind(port).await.is_err());
}
