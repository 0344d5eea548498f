//! Files that name the archives and packages of a release: of npm, of Homebrew, and of the MCP registry.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::platform::{PLATFORMS, Platform};

/// Facts of the workspace that packages repeat.
pub(crate) struct Project {
    pub(crate) version: String,
    pub(crate) repository: String,
    pub(crate) license: String,
}

/// Description that all packages share; the MCP registry takes at most 100 characters.
const DESCRIPTION: &str = "Drives a browser by typed, checked plans: a model cannot invent a target or a success.";
/// Its name in the MCP registry, which npm packages and images repeat as a proof of their owner.
pub(crate) const MCP_NAME: &str = "io.github.cuebook/cuebook";
const MCP_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
pub(crate) const IMAGE: &str = "ghcr.io/cuebook/cuebook";
const KEYWORDS: [&str; 5] = ["browser", "automation", "mcp", "agent", "chrome"];

impl Project {
    /// Where a release has an archive.
    pub(crate) fn download(&self, platform: &Platform) -> String {
        format!("{}/releases/download/v{}/{}", self.repository, self.version, platform.archive(&self.version))
    }

    fn npm(&self, name: &str) -> Value {
        json!({
            "name": name,
            "version": self.version,
            "description": DESCRIPTION,
            "license": self.license,
            "repository": { "type": "git", "url": format!("git+{}.git", self.repository) },
            "homepage": self.repository,
        })
    }

    /// `package.json` of the npm package that has the program of a platform.
    pub(crate) fn npm_platform(&self, platform: &Platform) -> Value {
        let (os, cpu, libc) = platform.npm;
        let mut package = self.npm(&platform.package());
        package["os"] = json!([os]);
        package["cpu"] = json!([cpu]);
        if let Some(libc) = libc {
            package["libc"] = json!([libc]);
        }
        // Package managers that keep packages zipped have to unpack a program.
        package["preferUnplugged"] = json!(true);
        package["files"] = json!([platform.program()]);
        package
    }

    /// `package.json` of the npm package that people name.
    pub(crate) fn npm_main(&self) -> Value {
        let programs: BTreeMap<_, _> =
            PLATFORMS.iter().map(|platform| (platform.package(), self.version.clone())).collect();
        let mut package = self.npm("cuebook");
        package["keywords"] = json!(KEYWORDS);
        package["mcpName"] = json!(MCP_NAME);
        package["bin"] = json!({ "cuebook": "bin/cuebook.js" });
        package["files"] = json!(["bin"]);
        package["engines"] = json!({ "node": ">=18" });
        package["optionalDependencies"] = json!(programs);
        package
    }

    /// A formula over the archives whose digests are there, by target.
    pub(crate) fn formula(&self, digests: &BTreeMap<&'static str, String>) -> String {
        let mut blocks = String::new();
        for system in ["on_macos", "on_linux"] {
            let mut within = String::new();
            for platform in &PLATFORMS {
                let Some((_, processor)) = platform.brew.filter(|(of, _)| *of == system) else { continue };
                let Some(digest) = digests.get(platform.target) else { continue };
                let url = self.download(platform);
                let _ = write!(within, "    {processor} do\n      url \"{url}\"\n      sha256 \"{digest}\"\n    end\n");
            }
            if !within.is_empty() {
                let _ = write!(blocks, "  {system} do\n{within}  end\n\n");
            }
        }
        let alternatives: Vec<String> = self.license.split(" OR ").map(|one| format!("{one:?}")).collect();
        format!(
            r##"# Written by `cargo xtask package`.
class Cuebook < Formula
  desc "Drives a browser by typed, checked plans"
  homepage "{}"
  version "{}"
  license any_of: [{}]

{blocks}  def install
    bin.install "cuebook"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/cuebook.bash" => "cuebook" if File.exist?("completions/cuebook.bash")
    zsh_completion.install "completions/_cuebook" if File.exist?("completions/_cuebook")
    fish_completion.install "completions/cuebook.fish" if File.exist?("completions/cuebook.fish")
  end

  def caveats
    <<~EOS
      cuebook drives Chrome, Chromium or a headless shell of it, and does not install one: `cuebook doctor` says what it finds.
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/cuebook --version")
  end
end
"##,
            self.repository,
            self.version,
            alternatives.join(", ")
        )
    }

    /// `server.json` of the MCP registry.
    pub(crate) fn server(&self) -> Value {
        let stdio = json!({ "type": "stdio" });
        let arguments = json!([{ "type": "positional", "value": "mcp" }]);
        json!({
            "$schema": MCP_SCHEMA,
            "name": MCP_NAME,
            "title": "Cuebook",
            "description": DESCRIPTION,
            "version": self.version,
            "repository": { "url": self.repository, "source": "github" },
            "packages": [
                {
                    "registryType": "npm",
                    "identifier": "cuebook",
                    "version": self.version,
                    "runtimeHint": "npx",
                    "transport": stdio,
                    "packageArguments": arguments,
                },
                {
                    "registryType": "oci",
                    "identifier": format!("{IMAGE}:{}", self.version),
                    "runtimeHint": "docker",
                    "transport": stdio,
                },
            ],
        })
    }
}
