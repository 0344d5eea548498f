//! Each way in which `Page::goto` ends.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use cuebook_cdp::{GoneReason, GotoError, Navigated, WaitUntil};

use crate::lab::{eventually, lab, main_world, serve, soon};

#[tokio::test(flavor = "multi_thread")]
async fn goto_returns_once_the_document_of_the_url_is_loaded() {
    let port =
        serve(&[("/", "first"), ("/next", "<script>addEventListener('load', () => { loaded = 1 })</script>next")]);
    let lab = lab().await;
    let page = lab.page();
    for (path, wait) in [("/", WaitUntil::Commit), ("/next", WaitUntil::Load), ("/", WaitUntil::DomContentLoaded)] {
        let url = format!("http://127.0.0.1:{port}{path}");
        let navigated = page.goto(&url, wait, soon()).await.unwrap();
        assert_eq!(page.url(), url);
        assert_eq!(navigated, Navigated::NewDocument(page.main_frame().document));
        let state: String = main_world(&page).await.evaluate("document.readyState", soon()).await.unwrap();
        match wait {
            WaitUntil::Load => assert_eq!(state, "complete"),
            WaitUntil::DomContentLoaded => assert_ne!(state, "loading"),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn goto_follows_a_page_that_goes_on_by_itself() {
    let port = serve(&[("/", "<script>location.replace('/there')</script>"), ("/there", "there")]);
    let lab = lab().await;
    let page = lab.page();
    page.goto(&format!("http://127.0.0.1:{port}/"), WaitUntil::Load, soon()).await.unwrap();
    eventually("the page went on", || page.url().ends_with("/there")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn goto_another_fragment_stays_in_the_document() {
    let port = serve(&[("/", "page")]);
    let lab = lab().await;
    let page = lab.page();
    let url = format!("http://127.0.0.1:{port}/");
    page.goto(&url, WaitUntil::Load, soon()).await.unwrap();
    let document = page.main_frame().document;
    let navigated = page.goto(&format!("{url}#part"), WaitUntil::Load, soon()).await.unwrap();
    assert_eq!(navigated, Navigated::SameDocument);
    assert_eq!(page.main_frame().document, document);
}

#[tokio::test(flavor = "multi_thread")]
async fn goto_reports_what_refuses_the_url() {
    let lab = lab().await;
    let page = lab.page();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = page.goto(&format!("http://{closed}/"), WaitUntil::Commit, soon()).await.unwrap_err();
    assert!(
        matches!(&refused, GotoError::Refused { error_text } if error_text == "net::ERR_CONNECTION_REFUSED"),
        "{refused:?}"
    );
    let invalid = page.goto("no url", WaitUntil::Commit, soon()).await.unwrap_err();
    assert!(matches!(&invalid, GotoError::InvalidUrl { url } if url == "no url"), "{invalid:?}");
}

/// A response that never ends.
const BEGUN: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n<p>begun";

/// Accepts connections and sends `head`; nothing ever ends a response.
fn endless(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            // A request fits into one read, or is of no interest.
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(head.as_bytes());
            open.push(stream);
        }
    });
    format!("http://{address}/")
}

#[tokio::test(flavor = "multi_thread")]
async fn goto_times_out_with_the_point_that_was_not_reached() {
    let lab = lab().await;
    let page = lab.page();
    let short = || Instant::now() + Duration::from_millis(700);
    let silent = page.goto(&endless(""), WaitUntil::Load, short()).await.unwrap_err();
    assert!(matches!(silent, GotoError::TimedOut { waited_for: WaitUntil::Commit }), "{silent:?}");
    let unending = endless(BEGUN);
    page.goto(&unending, WaitUntil::Commit, soon()).await.unwrap();
    let begun = page.goto(&unending, WaitUntil::Load, Instant::now() + Duration::from_secs(3)).await.unwrap_err();
    assert!(matches!(begun, GotoError::TimedOut { waited_for: WaitUntil::Load }), "{begun:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn goto_ends_with_its_page() {
    let lab = lab().await;
    let page = lab.browser.new_page("about:blank", soon()).await.unwrap();
    let going = tokio::spawn({
        let (page, url) = (page.clone(), endless(BEGUN));
        async move { page.goto(&url, WaitUntil::Load, soon()).await }
    });
    eventually("the document is there", || page.url().starts_with("http")).await;
    page.close(soon()).await.unwrap();
    let error = going.await.unwrap().unwrap_err();
    assert!(matches!(error, GotoError::SessionClosed { reason: GoneReason::Detached }), "{error:?}");
    let late = page.goto("about:blank", WaitUntil::Load, soon()).await.unwrap_err();
    assert!(matches!(late, GotoError::SessionClosed { .. }), "{late:?}");
}
