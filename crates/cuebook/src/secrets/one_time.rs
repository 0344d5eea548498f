//! One-time codes by time (RFC 6238).
//!
//! Invariant: of a time step, one code is given at most. Another process may give the same one.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::seam::SecretRefusal;
use cuebook_grammar::secret::Secret;
use totp_rs::{Builder, Totp};
use zeroize::Zeroizing;

/// The last time step of which a code was given.
#[derive(Default)]
pub(super) struct OneTime(Mutex<Option<u64>>);

impl fmt::Debug for OneTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneTime")
    }
}

impl OneTime {
    /// The code of the present time step, or, if that one was given, of the next one, which is waited for.
    pub(super) async fn code(
        &self,
        seed: &Secret,
        reference: &CredentialRef,
        deadline: Deadline,
    ) -> Result<Secret, SecretRefusal> {
        let unavailable =
            |reason: &str| SecretRefusal::Unavailable { reference: reference.clone(), reason: reason.to_owned() };
        let totp = parsed(seed).map_err(unavailable)?;
        loop {
            let now_ms = cuebook_repair::now_ms();
            if let Some(code) = self.unused(&totp, now_ms / 1_000) {
                return Ok(code);
            }
            let wait = Duration::from_millis((totp.next_step(now_ms / 1_000) * 1_000).saturating_sub(now_ms).max(1));
            if deadline.remaining(Instant::now()) <= wait {
                let seconds = wait.as_secs().max(1);
                return Err(SecretRefusal::NotYet { reference: reference.clone(), seconds });
            }
            tokio::time::sleep(wait).await;
        }
    }

    fn unused(&self, totp: &Totp, seconds: u64) -> Option<Secret> {
        let step = seconds / totp.step();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| step <= last) {
            return None;
        }
        *last = Some(step);
        Some(Secret::new(totp.generate(seconds).to_string()))
    }
}

/// From a seed in base32, with or without spaces, or an `otpauth://totp/` URL.
fn parsed(seed: &Secret) -> Result<Totp, &'static str> {
    const EXPECTED: &str = "expected a seed in base32 or an otpauth://totp/ URL";
    let text = seed.expose().trim();
    let totp = if text.starts_with("otpauth:") {
        Totp::from_url_unchecked(text).map_err(|_| EXPECTED)?
    } else {
        let digits = text.chars().filter(|c| !matches!(c, ' ' | '-' | '=')).map(|c| c.to_ascii_uppercase());
        let digits: Zeroizing<String> = Zeroizing::new(digits.collect());
        let seed = totp_rs::Secret::try_from_base32(digits.as_str()).map_err(|_| EXPECTED)?;
        Builder::new().with_secret(seed).build_noncompliant()
    };
    // Codes of other lengths, and steps of no time, would be a panic.
    if !(6..=8).contains(&totp.digits()) || !(1..=3_600).contains(&totp.step()) || text.is_empty() {
        return Err("expected a seed of codes with 6 to 8 digits, in steps of 1 to 3600 seconds");
    }
    Ok(totp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_at(seed: &str, seconds: u64) -> String {
        OneTime::default().unused(&parsed(&Secret::new(seed)).unwrap(), seconds).unwrap().expose().to_owned()
    }

    /// RFC 6238, appendix B.
    #[test]
    fn codes_are_those_of_the_standard() {
        let seed = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        let url = format!("otpauth://totp/Shop:ada?secret={seed}&digits=8&issuer=Shop");
        for (seconds, code) in [(59, "94287082"), (1_111_111_109, "07081804"), (20_000_000_000, "65353130")] {
            assert_eq!(code_at(&url, seconds), code);
            assert_eq!(code_at(seed, seconds), code[2..]);
        }
        assert_eq!(code_at("gezd gnbv-gy3t qojq gezd gnbv gy3t qojq", 59), "287082");
    }

    #[test]
    fn a_seed_of_another_kind_is_refused() {
        for wrong in [
            "",
            "not base32!",
            "otpauth://hotp/x?secret=GEZDGNBV",
            "otpauth://totp/x",
            "otpauth://totp/x?secret=GEZDGNBV&period=0",
            "otpauth://totp/x?secret=GEZDGNBV&digits=12",
        ] {
            let why = parsed(&Secret::new(wrong)).unwrap_err();
            assert!(why.starts_with("expected a seed"), "{wrong}: {why}");
        }
    }

    #[test]
    fn of_a_time_step_there_is_one_code() {
        let totp = parsed(&Secret::new("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")).unwrap();
        let codes = OneTime::default();
        assert!(codes.unused(&totp, 60).is_some());
        assert!(codes.unused(&totp, 89).is_none());
        assert!(codes.unused(&totp, 90).is_some());
        // A clock that is set back gives no code again.
        assert!(codes.unused(&totp, 60).is_none());
    }
}
