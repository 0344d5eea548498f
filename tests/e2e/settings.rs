//! Settings, completions, pages and clients, as a person sets up a machine. None of it needs a browser.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use cuebook_tests::command;
use serde_json::Value;

/// A home, and a repository in it.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Result<Self> {
        let home = Self { folder: tempfile::tempdir()? };
        std::fs::create_dir_all(home.project().join(".git"))?;
        Ok(home)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap_or_default()
    }

    fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    fn command(&self, words: &[&str]) -> Result<Command> {
        let mut command = command()?;
        command.args(words).current_dir(self.project()).env("HOME", self.path()).env_remove("CUEBOOK_CONFIG");
        command.env("XDG_CONFIG_HOME", self.path().join(".config")).env("USERPROFILE", self.path());
        command.env("APPDATA", self.path().join(".config")).env("TMPDIR", self.path());
        command.env_remove("XDG_RUNTIME_DIR").env_remove("CODEX_HOME");
        Ok(command)
    }

    fn run(&self, words: &[&str]) -> Result<String> {
        let output = self.command(words)?.output()?;
        ensure!(output.status.success(), "{words:?}: {}", spoken(&output));
        Ok(String::from_utf8(output.stdout)?)
    }

    fn fails(&self, words: &[&str]) -> Result<(i32, String)> {
        let output = self.command(words)?.output()?;
        Ok((output.status.code().context("a signal")?, spoken(&output)))
    }
}

fn spoken(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// The origin of a key, as `config show` names it.
fn origin(home: &Home, key: &str, variables: &[(&str, &str)]) -> Result<(Value, String)> {
    let output = home.command(&["config", "show", key, "--json"])?.envs(variables.iter().copied()).output()?;
    let shown: Value = serde_json::from_slice(&output.stdout).with_context(|| spoken(&output))?;
    let value = &shown["values"][0];
    Ok((value["value"].clone(), value["origin"]["kind"].as_str().unwrap_or_default().to_owned()))
}

#[test]
fn a_setting_is_from_the_nearest_of_the_user_the_project_and_a_variable() -> Result<()> {
    let home = Home::new()?;
    assert_eq!(origin(&home, "timeout", &[])?.1, "default");
    home.run(&["config", "set", "timeout", "1s"])?;
    assert_eq!(origin(&home, "timeout", &[])?, ("1s".into(), "user".to_owned()));
    home.run(&["config", "set", "timeout", "2s", "--project"])?;
    assert_eq!(origin(&home, "timeout", &[])?, ("2s".into(), "project".to_owned()));
    assert_eq!(origin(&home, "timeout", &[("CUEBOOK_TIMEOUT", "3s")])?, ("3s".into(), "variable".to_owned()));
    assert_eq!(origin(&home, "timeout", &[("CUEBOOK_TIMEOUT", " ")])?.1, "project", "one that is blank");
    assert_eq!(origin(&home, "headed", &[("CUEBOOK_HEADED", "1")])?, (true.into(), "variable".to_owned()));
    assert_eq!(origin(&home, "timeout", &[("CUEBOOK_CONFIG", "none")])?.1, "default");
    let (code, said) = home.fails(&["config", "set", "timout", "1s"])?;
    ensure!(code == 2 && said.contains("the nearest is `timeout`"), "{code} {said}");
    let shown = home.run(&["config", "show", "--origin"])?;
    ensure!(shown.contains("timeout = \"2s\"  # ") && shown.contains("cuebook.toml"), "{shown}");
    Ok(())
}

#[test]
fn variables_set_lists_and_flags_and_give_way_to_what_is_typed() -> Result<()> {
    let home = Home::new()?;
    let explained = |variables: &[(&str, &str)], flags: &[&str]| -> Result<bool> {
        let words = [&["policy", "explain", "https://b.test/", "--url", "https://a.test/"][..], flags].concat();
        let said = spoken(&home.command(&words)?.envs(variables.iter().copied()).output()?);
        ensure!(said.contains("act     "), "{said}");
        Ok(said.contains("act     allowed"))
    };
    ensure!(!explained(&[], &[])?);
    ensure!(explained(&[("CUEBOOK_ALLOW", "c.test,b.test")], &[])?, "a list");
    ensure!(!explained(&[("CUEBOOK_ALLOW", "b.test")], &["--allow", "c.test"])?, "what is typed replaces it");
    // The command line is wrong before anything happens, or else the plan is missing.
    let test = |variables: &[(&str, &str)], flags: &[&str]| -> Result<String> {
        let words = [&["exec", "missing.json"][..], flags].concat();
        Ok(spoken(&home.command(&words)?.envs(variables.iter().copied()).output()?))
    };
    for value in ["1", "yes", "true", "0", "off"] {
        let said = test(&[("CUEBOOK_HEADED", value)], &[])?;
        ensure!(said.contains("missing.json"), "{value}: {said}");
    }
    home.run(&["config", "set", "timeout", "1s"])?;
    let said = test(&[("CUEBOOK_TIMEOUT", " "), ("CUEBOOK_VIEWPORT", "")], &[])?;
    ensure!(said.contains("missing.json"), "blank ones: {said}");
    let said = test(&[("CUEBOOK_HEADED", "maybe")], &[])?;
    ensure!(said.contains("maybe") && !said.contains("missing.json"), "{said}");
    for (name, flags) in [
        ("CUEBOOK_HEADED", &["--cdp", "1"][..]),
        ("CUEBOOK_DIRECT", &["--cdp", "1"]),
        ("CUEBOOK_DIRECT", &["--isolation", "flags"]),
        ("CUEBOOK_NO_REPAIR", &["--repair-rungs", "wait"]),
    ] {
        let said = test(&[(name, "true")], flags)?;
        ensure!(said.contains("missing.json"), "{name}: {said}");
    }
    let said = test(&[("CUEBOOK_PORT", "9000")], &[])?;
    ensure!(said.contains("missing.json"), "a port without a page: {said}");
    let said = test(&[("CUEBOOK_CDP", "1"), ("CUEBOOK_HEADED", "1")], &[])?;
    ensure!(said.contains("cannot be used with"), "two variables: {said}");
    Ok(())
}

#[test]
fn the_file_of_a_cloned_repository_widens_nothing_until_it_is_trusted() -> Result<()> {
    let home = Home::new()?;
    let file = home.project().join("cuebook.toml");
    std::fs::write(
        &file,
        "allow = [\"b.test\"]\npolicy = \"no.json\"\nplanner = \"exec:rm -rf x\"\nchrome = \"./evil\"\nsecrets = \"s\"\n",
    )?;
    let explain = ["policy", "explain", "https://b.test/", "--url", "https://a.test/"];
    let (code, said) = home.fails(&explain)?;
    ensure!(
        code == 0
            && said.contains("act     denied")
            && said.contains("note: ")
            && said.contains("`allow`")
            && said.contains("not trusted"),
        "{code} {said}"
    );
    ensure!(!said.contains("`chrome`"), "it names what the command has: {said}");
    // A folder below is of the project, too.
    std::fs::create_dir(home.project().join("src"))?;
    let below = home.command(&["config", "show", "--json"])?.current_dir(home.project().join("src")).output()?;
    let below: Value = serde_json::from_slice(&below.stdout)?;
    assert_eq!(below["ignored"].as_array().map(Vec::len), Some(5));
    assert_eq!(below["files"][0]["isTrusted"], false);
    std::fs::write(&file, "allow = [\"b.test\"]\n")?;
    let trusted = home.command(&["config", "trust"])?.output()?;
    ensure!(trusted.status.success() && spoken(&trusted).contains("which sets allow"), "{}", spoken(&trusted));
    let said = home.run(&explain)?;
    ensure!(said.contains("act     allowed"), "{said}");
    // What is wrong is an error for commands, but not for those that help to find it.
    std::fs::write(&file, "allow = 1\n")?;
    let (code, said) = home.fails(&explain)?;
    ensure!(code == 2 && said.contains("`allow`: expected an array of strings, saw a number"), "{code} {said}");
    home.run(&["config", "path"])?;
    let (code, said) = home.fails(&["doctor", "--quick", "--json"])?;
    ensure!(code != 0 && said.contains("\"configuration\"") && said.contains("expected an array"), "{code} {said}");
    Ok(())
}

#[test]
fn bash_completes_commands_on_a_session() -> Result<()> {
    let home = Home::new()?;
    if Command::new("bash").arg("--version").output().is_err() {
        return Ok(());
    }
    let script = home.path().join("cuebook.bash");
    std::fs::write(&script, home.run(&["completions", "bash"])?)?;
    let complete = |typed: &[&str]| -> Result<String> {
        let words = typed.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let (last, before) = typed.split_last().context("words")?;
        let before = before.last().context("a word before")?;
        let program = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD={}; _cuebook cuebook '{last}' '{before}'; echo \"${{COMPREPLY[*]}}\"",
            script.display(),
            typed.len() - 1
        );
        let output = Command::new("bash").args(["--norc", "-c", &program]).output()?;
        ensure!(output.status.success(), "{}", spoken(&output));
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    assert_eq!(complete(&["cuebook", "cli"])?, "click");
    assert_eq!(complete(&["cuebook", "click", "--dou"])?, "--double-click");
    assert_eq!(complete(&["cuebook", "config", "sh"])?, "show");
    for shell in ["zsh", "fish", "powershell"] {
        ensure!(home.run(&["completions", shell])?.contains("double-click"), "{shell}");
    }
    Ok(())
}

#[test]
fn every_command_has_a_page_of_the_manual() -> Result<()> {
    let home = Home::new()?;
    let pages = home.path().join("man");
    home.run(&["man", &pages.display().to_string()])?;
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).with_context(|| name.to_owned());
    ensure!(read("cuebook-click.1")?.contains("Clicks"), "{}", read("cuebook-click.1")?);
    ensure!(read("cuebook-config-set.1")?.contains("cuebook"));
    ensure!(read("cuebook-exec.1")?.contains("CUEBOOK_TIMEOUT"));
    let Ok(formatted) =
        Command::new("groff").args(["-Kutf8", "-man", "-Tutf8", "-ww", "-z"]).arg(pages.join("cuebook-run.1")).output()
    else {
        return Ok(());
    };
    ensure!(formatted.status.success() && formatted.stderr.is_empty(), "{}", spoken(&formatted));
    Ok(())
}

#[test]
fn a_client_gets_its_entry_once_and_a_broken_file_stays_as_it_is() -> Result<()> {
    let home = Home::new()?;
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| path.display().to_string());
    for (client, user, project) in [
        ("claude", ".claude.json", ".mcp.json"),
        ("codex", ".codex/config.toml", ".codex/config.toml"),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    ] {
        home.run(&["install", "--for", client])?;
        let path = home.path().join(user);
        let once = read(&path)?;
        ensure!(once.contains("cuebook") && once.contains("mcp"), "{once}");
        home.run(&["install", "--for", client])?;
        assert_eq!(read(&path)?, once, "{client} has it twice");
        let printed = home.run(&["install", "--for", client, "--project", "--print"])?;
        ensure!(!home.project().join(project).exists(), "--print wrote {project}");
        home.run(&["install", "--for", client, "--project"])?;
        assert_eq!(read(&home.project().join(project))?, printed, "{client}");
    }
    home.run(&["install", "--for", "vscode", "--project"])?;
    let vscode = home.project().join(".vscode/mcp.json");
    ensure!(read(&vscode)?.contains("\"servers\""));
    std::fs::write(&vscode, "{ \"servers\": { // mine\n")?;
    let (code, said) = home.fails(&["install", "--for", "vscode", "--project"])?;
    ensure!(
        code == 2 && said.contains("Nothing was written") && said.contains("\"command\": \"cuebook\""),
        "{code} {said}"
    );
    assert_eq!(read(&vscode)?, "{ \"servers\": { // mine\n");

    #[cfg(unix)]
    {
        let victim = home.path().join("victim");
        std::fs::write(&victim, "mine")?;
        std::fs::create_dir_all(home.project().join(".claude/skills/cuebook"))?;
        std::os::unix::fs::symlink(&victim, home.project().join(".claude/skills/cuebook/SKILL.md"))?;
        let (code, said) = home.fails(&["install", "--for", "claude", "--skill", "--project"])?;
        ensure!(code == 2 && said.contains("leads out of the project"), "{code} {said}");
        assert_eq!(read(&victim)?, "mine");
    }
    home.run(&["install", "--for", "claude", "--skill"])?;
    let skill = read(&home.path().join(".claude/skills/cuebook/SKILL.md"))?;
    assert_eq!(skill, home.run(&["skill"])?);
    ensure!(skill.starts_with("---\nname: cuebook\ndescription: "), "{skill}");
    Ok(())
}

#[cfg(unix)]
#[test]
fn the_doctor_mends_permissions_and_entries() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new()?;
    let secrets = home.path().join("secrets.toml");
    std::fs::write(&secrets, "[shop_password]\nvariable = \"SHOP\"\n")?;
    std::fs::set_permissions(&secrets, std::fs::Permissions::from_mode(0o644))?;
    let cursor = home.path().join(".cursor/mcp.json");
    std::fs::create_dir_all(home.path().join(".cursor"))?;
    std::fs::write(&cursor, r#"{"mcpServers":{"cuebook":{"command":"/gone/cuebook","args":["mcp"]}}}"#)?;
    home.run(&["config", "set", "secrets", &secrets.display().to_string()])?;
    let check = |flags: &[&str], name: &str| -> Result<Value> {
        let output =
            home.command(&[&["doctor", "--quick", "--json", "--planner", "lexical"][..], flags].concat())?.output()?;
        let diagnosis: Value = serde_json::from_slice(&output.stdout).with_context(|| spoken(&output))?;
        assert_eq!(diagnosis["ok"].as_bool(), Some(output.status.success()), "{diagnosis}");
        let checks = diagnosis["checks"].as_array().context("checks")?;
        Ok(checks.iter().find(|check| check["name"] == name).context(name.to_owned())?.clone())
    };
    for name in ["secrets", "clients"] {
        let found = check(&[], name)?;
        ensure!(found["state"] == "fail" && found["isFixable"] == true && found["isFixed"] == false, "{found}");
    }
    let mended = check(&["--fix"], "clients")?;
    ensure!(mended["state"] == "ok" && mended["isFixed"] == true, "{mended}");
    for name in ["configuration", "secrets", "clients", "sessions", "profiles", "out"] {
        assert_eq!(check(&[], name)?["state"], "ok", "{name}");
    }
    assert_eq!(secrets.metadata()?.permissions().mode() & 0o777, 0o600);
    Ok(())
}
