//! Values that are unique to a run: its id and its digest key.

use std::io;

use cuebook_datalayer::run_id as named;
use cuebook_grammar::id::RunId;
use cuebook_grammar::secret::DigestKey;
use cuebook_repair::now_ms;

/// The id of a run that starts now.
///
/// # Errors
/// The operating system has no random bytes.
pub fn run_id() -> io::Result<RunId> {
    Ok(named(now_ms(), random()?))
}

/// A key for digests of sensitive text.
///
/// # Errors
/// The operating system has no random bytes.
pub fn digest_key() -> io::Result<DigestKey> {
    Ok(DigestKey::new(random()?))
}

/// A seed for a recording of network traffic: two recordings never make the same identifiers.
///
/// # Errors
/// The operating system has no random bytes.
pub fn seed() -> io::Result<u32> {
    Ok(u32::from_le_bytes(random()?))
}

/// A token that nobody guesses: 32 hexadecimal digits.
///
/// # Errors
/// The operating system has no random bytes.
pub fn token() -> io::Result<String> {
    Ok(random::<16>()?.map(|byte| format!("{byte:02x}")).concat())
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}
