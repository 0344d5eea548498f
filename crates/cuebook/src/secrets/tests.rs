use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cuebook_grammar::deadline::Deadline;
use cuebook_grammar::id::CredentialRef;
use cuebook_grammar::seam::{SecretRefusal, SecretScope, SecretSource as _};

use super::Secrets;

const SHOP: &str = "https://shop.test";

/// A file with these permissions.
fn file(folder: &Path, text: &str, mode: u32) -> PathBuf {
    let path = folder.join("secrets.toml");
    std::fs::write(&path, text).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    path
}

fn secrets(text: &str) -> Secrets {
    let folder = tempfile::tempdir().unwrap();
    Secrets::on(Some(SHOP.to_owned())).with_file(&file(folder.path(), text, 0o600)).unwrap()
}

fn refused(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let error = Secrets::on(None).with_file(&file(folder.path(), text, 0o600)).unwrap_err();
    error.to_string().replace(&folder.path().display().to_string(), "")
}

fn field_of(origin: &str) -> SecretScope {
    SecretScope { origin: origin.to_owned(), page_origin: origin.to_owned(), is_password_field: true }
}

async fn within(secrets: &Secrets, name: &str, span: Duration) -> Result<String, SecretRefusal> {
    let deadline = Deadline::after(Instant::now(), span);
    let secret = secrets.resolve(&CredentialRef::new(name), &field_of(SHOP), deadline).await?;
    Ok(secret.expose().to_owned())
}

async fn value(secrets: &Secrets, name: &str) -> Result<String, SecretRefusal> {
    within(secrets, name, Duration::from_secs(20)).await
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [0o644, 0o640, 0o604, 0o620, 0o660] {
        let error = Secrets::on(None).with_file(&file(folder.path(), "a.value = \"x\"", mode)).unwrap_err().to_string();
        assert!(error.contains(&format!("mode {mode:o}")) && error.contains("chmod 600"), "{error}");
    }
    for mode in [0o600, 0o400] {
        let secrets = Secrets::on(None).with_file(&file(folder.path(), "a.value = \"x\"", mode)).unwrap();
        assert!(secrets.names().contains(&"a".to_owned()));
        std::fs::remove_file(folder.path().join("secrets.toml")).unwrap();
    }
}

#[test]
fn a_file_of_another_form_is_refused_without_its_values() {
    for (text, expected) in [
        ("[a]\nvalue = hunter2", "line 2: "),
        ("[a]\nvalue = 5", "invalid type: integer"),
        ("[a]\ncommand = \"hunter2\"", "invalid type: string [redacted], expected a sequence"),
        ("a = \"hunter2\"", "invalid type: string [redacted], expected struct Entry"),
        ("[a]\nvalue = \"hunter2\"\nkind = \"x\"", "unknown field `kind`"),
        ("[a]\nvalue = \"hunter2\"\nfields = \"hunter2\"", "unknown variant `hunter2`"),
        ("[a]", "the secret `a`: expected exactly one of"),
        ("[a]\nvalue = \"hunter2\"\nvariable = \"B\"", "expected exactly one of"),
        ("[a]\nvalue = \"\"", "the value is empty"),
        ("[a]\ncommand = []", "the command is empty"),
        ("[A]\nvalue = \"hunter2\"", "expected a name of a-z"),
        ("[a]\nvalue = \"hunter2\"\norigins = [\"shop.test\"]", "expected exact origins"),
        ("[a]\nvalue = \"hunter2\"\norigins = [\"https://shop.test/login\"]", "expected exact origins"),
        ("[a]\nvalue = \"hunter2\"\norigins = [\"https://*.shop.test\"]", "expected exact origins"),
    ] {
        let error = refused(text);
        assert!(error.contains(expected), "{text:?}: {error}");
        assert!(!error.contains("hunter2") || error.contains("variant"), "{text:?}: {error}");
    }
    assert!(refused(&"#".repeat(1 << 21)).contains("expected at most"));
    let missing = Secrets::on(None).with_file(Path::new("/nowhere/secrets.toml")).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/secrets.toml cannot be read"));
}

#[tokio::test]
async fn a_secret_goes_where_it_is_bound_to_and_nowhere_else() {
    let secrets = secrets(
        "[here]\nvalue = \"one\"\n[there]\nvalue = \"two\"\norigins = [\"https://other.test\", \"https://third.test:81\"]\n\
         [user]\nvalue = \"ada\"\nfields = \"any\"",
    );
    let resolve = async |name: &str, scope: &SecretScope| {
        let deadline = Deadline::after(Instant::now(), Duration::from_secs(5));
        secrets.resolve(&CredentialRef::new(name), scope, deadline).await.map(|secret| secret.expose().to_owned())
    };
    let (shop, other) = (field_of(SHOP), field_of("https://other.test"));
    assert_eq!(resolve("here", &shop).await.unwrap(), "one");
    assert_eq!(resolve("there", &other).await.unwrap(), "two");
    assert_eq!(resolve("there", &field_of("https://third.test:81")).await.unwrap(), "two");
    assert_eq!(resolve("user", &shop).await.unwrap(), "ada");

    // The frame decides, and the page around it.
    let framed = SecretScope { page_origin: SHOP.to_owned(), ..other.clone() };
    let lookalike = SecretScope { origin: "https://other.test".to_owned(), ..shop.clone() };
    for (name, scope) in [
        ("here", &other),
        ("there", &shop),
        ("there", &framed),
        ("here", &lookalike),
        ("there", &field_of("https://third.test")),
    ] {
        assert!(matches!(resolve(name, scope).await, Err(SecretRefusal::OutOfScope { .. })), "{name} {scope:?}");
    }
    let open = SecretScope { is_password_field: false, ..shop.clone() };
    assert!(matches!(resolve("here", &open).await, Err(SecretRefusal::NotHidden { .. })));
    assert_eq!(resolve("user", &open).await.unwrap(), "ada");
    assert!(matches!(resolve("nobody", &shop).await, Err(SecretRefusal::Unknown(_))));
    assert_eq!(secrets.names()[..3], ["here", "there", "user"]);
}

#[test]
fn a_value_in_the_clear_is_recognised() {
    let secrets = secrets("[a]\nvalue = \"hunter2\"\n[b]\ncommand = [\"printf\", \"other\"]");
    assert!(secrets.holds("hunter2"));
    assert!(!secrets.holds("a") && !secrets.holds("hunter") && !secrets.holds("other"));
    assert!(!format!("{secrets:?}").contains("hunter2"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_prints_a_secret() {
    let secrets = secrets(
        r#"
        plain.command = ["printf", '%s\n\n', "$HOME; `id` *"]
        none.command = ["true"]
        fails.command = ["false"]
        missing.command = ["/nowhere/op", "read"]
        bytes.command = ["printf", '\377']
        long.command = ["head", "-c", "65537", "/dev/zero"]
        longest.command = ["head", "-c", "65536", "/dev/zero"]
        "#,
    );
    // No shell reads it, and one line break at its end goes.
    assert_eq!(value(&secrets, "plain").await.unwrap(), "$HOME; `id` *\n");
    assert_eq!(value(&secrets, "longest").await.unwrap().len(), 65_536);
    for (name, expected) in [
        ("none", "printed nothing"),
        ("fails", "`false` failed (exit status: 1)"),
        ("missing", "`/nowhere/op` cannot be started"),
        ("bytes", "not UTF-8"),
        ("long", "more than 65536 bytes"),
    ] {
        let refusal = value(&secrets, name).await.unwrap_err();
        assert!(matches!(refusal, SecretRefusal::Unavailable { .. }), "{name}");
        assert!(refusal.to_string().contains(expected), "{name}: {refusal}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_does_not_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("alive");
    let script = format!("sleep 2; echo late > '{}'", mark.display());
    let secrets = secrets(&format!("slow.command = [\"sh\", \"-c\", \"{script}\"]"));
    let refusal = within(&secrets, "slow", Duration::from_millis(300)).await.unwrap_err();
    assert!(refusal.to_string().contains("did not end within the time"), "{refusal}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!mark.exists(), "it went on");
}

#[tokio::test]
async fn a_one_time_code_is_given_once() {
    let seed = "otpauth://totp/Shop:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&period=3";
    let secrets = secrets(&format!("[code]\nvalue = \"{seed}\"\ntotp = true\n[bad]\nvalue = \"?\"\ntotp = true"));
    let first = value(&secrets, "code").await.unwrap();
    assert_eq!(first.len(), 6);
    let refusal = within(&secrets, "code", Duration::ZERO).await.unwrap_err();
    assert!(matches!(refusal, SecretRefusal::NotYet { seconds: 1..=3, .. }), "{refusal}");
    assert!(refusal.to_string().contains("used already"), "{refusal}");
    // With more time it is waited for, also by two at once.
    let (second, third) = tokio::join!(value(&secrets, "code"), value(&secrets, "code"));
    let codes = std::collections::BTreeSet::from([first, second.unwrap(), third.unwrap()]);
    assert_eq!(codes.len(), 3, "no code twice");
    assert!(value(&secrets, "bad").await.unwrap_err().to_string().contains("expected a seed in base32"));
}

#[cfg(feature = "keyring")]
#[tokio::test]
async fn a_secret_is_read_from_the_keyring() {
    keyring_core::set_default_store(keyring_core::mock::Store::new().unwrap());
    keyring_core::Entry::new("shop", "ada").unwrap().set_password("from the keyring").unwrap();
    let secrets = secrets(
        "[kept]\nkeyring = { service = \"shop\", user = \"ada\" }\n[other]\nkeyring = { service = \"shop\", user = \"eve\" }",
    );
    assert_eq!(value(&secrets, "kept").await.unwrap(), "from the keyring");
    let refusal = value(&secrets, "other").await.unwrap_err();
    assert!(refusal.to_string().contains("no password of the user \"eve\" for \"shop\""), "{refusal}");
}

#[cfg(not(feature = "keyring"))]
#[test]
fn a_build_without_keyrings_names_the_one_that_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[kept]\nkeyring = { service = \"shop\", user = \"ada\" }";
    let refused = Secrets::on(None).with_file(&file(folder.path(), text, 0o600)).unwrap_err().to_string();
    assert!(refused.contains("--features keyring"), "{refused}");
}
