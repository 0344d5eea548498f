//! `cuebook site`: serves the built-in site until it is interrupted.

use cuebook_grammar::report::ErrorCode;
use cuebook_site::Site;
use serde::Serialize;

use crate::args::SiteArgs;
use crate::exit::{Exit, Output, Refusal, print_text};
use crate::text::with_sources;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Open<'a> {
    origin: &'a str,
    second_origin: &'a str,
}

pub(crate) async fn run(args: SiteArgs, output: Output) -> Exit {
    let site = match Site::builder().seed(args.seed).build().bind(args.port).await {
        Ok(site) => site,
        Err(error) => return Refusal::unusable(ErrorCode::SiteUnavailable, with_sources(&error)).print(output),
    };
    if output.json {
        let open = Open { origin: site.origin(), second_origin: site.second_origin() };
        // One line, flushed: the parent process waits for it.
        if let Ok(line) = serde_json::to_string(&open) {
            print_text(&format!("{line}\n"));
        }
    } else {
        print_text(&format!(
            "the shop is open at {}, for ann with password correct-horse (stop it with Ctrl-C)\n",
            site.origin()
        ));
    }
    tokio::signal::ctrl_c().await.ok();
    site.stop().await;
    Exit::OK
}
