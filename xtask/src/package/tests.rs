//! Names and versions agree wherever something about packages is said.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;
use xtask::commands::root;

use super::manifests::{IMAGE, MCP_NAME, Project};
use super::platform::{PLATFORMS, Platform};
use super::{SHELLS, project};

fn file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn digests() -> BTreeMap<&'static str, String> {
    PLATFORMS.iter().map(|platform| (platform.target, format!("digest-of-{}", platform.target))).collect()
}

/// The address at which `cargo binstall` looks for the archive of a platform, and the program's place in it.
fn binstall(project: &Project, platform: &Platform) -> (String, String) {
    let manifest: toml::Value = toml::from_str(&file("crates/cli/Cargo.toml")).expect("a manifest");
    let all = &manifest["package"]["metadata"]["binstall"];
    let own = all["overrides"].get(platform.target);
    let text = |name: &str| {
        let found = own.and_then(|own| own.get(name)).or(all.get(name));
        found.and_then(toml::Value::as_str).unwrap_or_else(|| panic!("{name}")).to_owned()
    };
    let packed = match text("pkg-fmt").as_str() {
        "tgz" => "tar.gz",
        packed => packed,
    }
    .to_owned();
    let fill = |text: String| {
        let extension = if platform.is_windows() { ".exe" } else { "" };
        [
            ("repo", project.repository.as_str()),
            ("version", &project.version),
            ("target", platform.target),
            ("bin", "cuebook"),
            ("binary-ext", extension),
        ]
        .into_iter()
        .fold(text, |text, (name, value)| text.replace(&format!("{{ {name} }}"), value))
    };
    let url = fill(text("pkg-url"));
    assert!(url.ends_with(&format!(".{packed}")), "{url} is unpacked as {packed}");
    (url, fill(text("bin-dir")))
}

#[test]
fn binstall_looks_where_a_release_has_the_archive() {
    let project = project().expect("this workspace");
    for platform in &PLATFORMS {
        let (url, program) = binstall(&project, platform);
        assert_eq!(url, project.download(platform));
        assert_eq!(program, format!("{}/{}", platform.folder(&project.version), platform.program()));
    }
}

#[test]
fn the_workflow_builds_every_platform_and_no_other() {
    let workflow = file(".github/workflows/release.yml");
    let built: Vec<_> = workflow.lines().filter_map(|line| line.trim().strip_prefix("- target: ")).collect();
    assert_eq!(built, PLATFORMS.map(|platform| platform.target));
    assert!(workflow.contains(&format!("{IMAGE}:${{{{ needs.version.outputs.version }}}}")));
}

#[test]
fn the_formula_has_every_archive_that_it_may_with_its_digest() {
    let project = project().expect("this workspace");
    let formula = project.formula(&digests());
    for platform in &PLATFORMS {
        let stated = format!("url \"{}\"\n      sha256 \"digest-of-{}\"", project.download(platform), platform.target);
        assert_eq!(formula.contains(&stated), platform.brew.is_some(), "{}\n{formula}", platform.target);
    }
    for (shell, file) in SHELLS.iter().filter(|(shell, _)| *shell != "powershell") {
        assert!(formula.contains(&format!("{shell}_completion.install \"{file}\"")), "{formula}");
    }
    assert!(formula.contains(&format!("version \"{}\"", project.version)), "{formula}");
    let few = project.formula(&digests().into_iter().filter(|(target, _)| target.contains("linux-gnu")).collect());
    assert!(few.contains("on_linux") && !few.contains("on_macos"), "{few}");
}

#[test]
fn the_launcher_s_package_names_a_package_of_each_platform_in_its_own_version() {
    let project = project().expect("this workspace");
    let main = project.npm_main();
    let named: BTreeMap<String, String> =
        serde_json::from_value(main["optionalDependencies"].clone()).expect("names and versions");
    assert_eq!(named.len(), PLATFORMS.len(), "each has a name of its own");
    for platform in &PLATFORMS {
        let own = project.npm_platform(platform);
        let name = own["name"].as_str().expect("a name");
        assert_eq!(named.get(name), Some(&project.version));
        assert_eq!(own["version"], main["version"]);
        assert_eq!(own["files"][0], platform.program());
        let libc = if name.contains("linux") { own["libc"].as_array().map(Vec::len) } else { None };
        assert_eq!(libc.is_some(), name.contains("linux"), "{name}");
    }
    assert_eq!(main["version"], project.version.as_str());
}

#[test]
fn the_registry_s_entry_names_packages_that_name_it() {
    let project = project().expect("this workspace");
    let server = project.server();
    assert_eq!(server["name"], MCP_NAME);
    assert_eq!(server["name"], project.npm_main()["mcpName"]);
    assert!(
        file("packaging/image/Containerfile").contains(&format!("io.modelcontextprotocol.server.name=\"{MCP_NAME}\""))
    );
    assert!(server["description"].as_str().is_some_and(|text| text.len() <= 100));
    let versions = [&server["version"], &server["packages"][0]["version"]];
    assert_eq!(versions, [&Value::from(project.version.as_str()); 2]);
    assert_eq!(server["packages"][1]["identifier"], format!("{IMAGE}:{}", project.version));
}

#[test]
fn the_image_takes_archives_that_there_are() {
    let image = file("packaging/image/Containerfile");
    let taken: BTreeSet<&str> =
        image.lines().filter_map(|line| line.split_once("target=")?.1.split(' ').next()).collect();
    let linux = PLATFORMS.iter().map(|platform| platform.target).filter(|target| target.ends_with("linux-gnu"));
    assert_eq!(taken, linux.collect());
    assert!(image.contains("cuebook-${VERSION}-*-unknown-linux-gnu.tar.gz"));
}
