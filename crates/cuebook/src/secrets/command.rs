//! Secrets that a program prints, such as `op read op://vault/shop/password`.
//!
//! Invariant: no shell reads its words, and what it prints is in no error.

use std::process::Stdio;

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::secret::Secret;
use tokio::io::AsyncReadExt as _;
use zeroize::Zeroizing;

/// The most bytes that a program may print.
const LONGEST: usize = 64 << 10;

/// Returns the standard output of the program, without a line break at its end. Ends the program at the deadline.
pub(super) async fn output(words: &[String], deadline: Deadline) -> Result<Secret, String> {
    let [program, arguments @ ..] = words else { return Err("its command is empty".to_owned()) };
    let running = async {
        let mut child = tokio::process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        // As large as it may become: a buffer that grows leaves copies behind.
        let mut printed = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
        if let Some(stdout) = child.stdout.take() {
            let read = stdout.take(LONGEST as u64 + 1).read_to_end(&mut printed).await;
            read.map_err(|error| format!("the output of `{program}` cannot be read: {error}"))?;
        }
        if printed.len() > LONGEST {
            return Err(format!("`{program}` printed more than {LONGEST} bytes"));
        }
        let status = child.wait().await.map_err(|error| format!("`{program}` cannot be waited for: {error}"))?;
        if !status.success() {
            return Err(format!("`{program}` failed ({status}); run it by hand to see why"));
        }
        let text = str::from_utf8(&printed).map_err(|_| format!("`{program}` printed what is not UTF-8"))?;
        let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
        if text.is_empty() {
            return Err(format!("`{program}` printed nothing"));
        }
        Ok(Secret::new(text))
    };
    let timed_out = |_| format!("`{program}` did not end within the time of the step");
    tokio::time::timeout_at(deadline.instant().into(), running).await.map_err(timed_out)?
}
