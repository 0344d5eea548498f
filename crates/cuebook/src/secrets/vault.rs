//! Secrets in the system's keyring: the Secret Service of a Linux desktop, the keychain of macOS, the credential manager
//! of Windows.

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::secret::Secret;
use serde::Deserialize;

/// Key of a password in the keyring.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    service: String,
    user: String,
}

impl Entry {
    /// Reads it. The keyring may ask the person to unlock it.
    pub(super) async fn read(&self, deadline: Deadline) -> Result<Secret, String> {
        let Self { service, user } = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            if keyring_core::get_default_store().is_none() {
                keyring_core::set_default_store(system()?);
            }
            keyring_core::Entry::new(&service, &user)?.get_password()
        });
        match tokio::time::timeout_at(deadline.instant().into(), reading).await {
            Ok(Ok(Ok(password))) => Ok(Secret::new(password)),
            Ok(Ok(Err(keyring_core::Error::NoEntry))) => {
                Err(format!("the keyring has no password of the user {:?} for {:?}", self.user, self.service))
            }
            Ok(Ok(Err(error))) => Err(format!("the keyring answers: {}", without_value(&error))),
            Ok(Err(_)) => Err("the keyring broke".to_owned()),
            Err(_) => Err("the keyring did not answer within the time of the step".to_owned()),
        }
    }
}

/// The error in words. One kind holds the password itself.
fn without_value(error: &keyring_core::Error) -> String {
    match error {
        keyring_core::Error::BadEncoding(_) => "the password is not UTF-8".to_owned(),
        other => other.to_string(),
    }
}

type Store = std::sync::Arc<keyring_core::CredentialStore>;

#[cfg(target_os = "macos")]
fn system() -> keyring_core::Result<Store> {
    Ok(apple_native_keyring_store::keychain::Store::new()?)
}

#[cfg(windows)]
fn system() -> keyring_core::Result<Store> {
    Ok(windows_native_keyring_store::Store::new()?)
}

#[cfg(not(any(target_os = "macos", windows)))]
fn system() -> keyring_core::Result<Store> {
    Ok(zbus_secret_service_keyring_store::Store::new()?)
}
