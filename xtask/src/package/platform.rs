//! The platforms that a release has files for. Everything else about packages follows from this table.

/// Names of one platform in each of the packages.
#[derive(Debug)]
pub(crate) struct Platform {
    /// Rust's name of it.
    pub(crate) target: &'static str,
    /// Names as Node has them: `process.platform`, `process.arch`, and the C library on Linux.
    pub(crate) npm: (&'static str, &'static str, Option<&'static str>),
    /// The blocks of a Homebrew formula that it stands in, from the outside.
    pub(crate) brew: Option<(&'static str, &'static str)>,
}

pub(crate) const PLATFORMS: [Platform; 7] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        npm: ("linux", "x64", Some("glibc")),
        brew: Some(("on_linux", "on_intel")),
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        npm: ("linux", "arm64", Some("glibc")),
        brew: Some(("on_linux", "on_arm")),
    },
    Platform { target: "x86_64-unknown-linux-musl", npm: ("linux", "x64", Some("musl")), brew: None },
    Platform { target: "aarch64-unknown-linux-musl", npm: ("linux", "arm64", Some("musl")), brew: None },
    Platform { target: "x86_64-apple-darwin", npm: ("darwin", "x64", None), brew: Some(("on_macos", "on_intel")) },
    Platform { target: "aarch64-apple-darwin", npm: ("darwin", "arm64", None), brew: Some(("on_macos", "on_arm")) },
    Platform { target: "x86_64-pc-windows-msvc", npm: ("win32", "x64", None), brew: None },
];

impl Platform {
    pub(crate) fn of(target: &str) -> Option<&'static Self> {
        PLATFORMS.iter().find(|platform| platform.target == target)
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.target.contains("windows")
    }

    /// File name of the program.
    pub(crate) fn program(&self) -> &'static str {
        if self.is_windows() { "cuebook.exe" } else { "cuebook" }
    }

    /// Folder within its archive, and the archive's name without what says how it is packed.
    pub(crate) fn folder(&self, version: &str) -> String {
        format!("cuebook-{version}-{}", self.target)
    }

    /// File name of its archive.
    pub(crate) fn archive(&self, version: &str) -> String {
        let packed = if self.is_windows() { "zip" } else { "tar.gz" };
        format!("{}.{packed}", self.folder(version))
    }

    /// Name of the npm package with its program.
    pub(crate) fn package(&self) -> String {
        let (platform, arch, libc) = self.npm;
        let musl = if libc == Some("musl") { "-musl" } else { "" };
        format!("@cuebook/{platform}-{arch}{musl}")
    }
}
