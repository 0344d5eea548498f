//! Where a session listens: at a Unix socket or, on Windows, at a named pipe whose name stands in a file at that place.
//!
//! Invariants: only the user who serves a session can use it; once the file is gone, another session can listen there.

#[cfg(unix)]
pub(crate) use unix::{FromClient, FromServer, Incoming, ToClient, ToServer, connect, is_served};
#[cfg(windows)]
pub(crate) use windows::{FromClient, FromServer, Incoming, ToClient, ToServer, connect, is_served};

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
    use tokio::net::{UnixListener, UnixStream};

    pub(crate) type FromClient = OwnedReadHalf;
    pub(crate) type ToClient = OwnedWriteHalf;
    pub(crate) type FromServer = OwnedReadHalf;
    pub(crate) type ToServer = OwnedWriteHalf;

    /// The connections of clients.
    #[derive(Debug)]
    pub(crate) struct Incoming(UnixListener);

    impl Incoming {
        pub(crate) fn bind(place: &Path) -> io::Result<Self> {
            let listener = UnixListener::bind(place)?;
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o600))?;
            Ok(Self(listener))
        }

        /// The next one. One that was not waited for to its end is not lost.
        pub(crate) async fn next(&mut self) -> io::Result<(FromClient, ToClient)> {
            Ok(self.0.accept().await?.0.into_split())
        }
    }

    pub(crate) async fn connect(place: &Path) -> io::Result<(FromServer, ToServer)> {
        Ok(UnixStream::connect(place).await?.into_split())
    }

    pub(crate) fn is_served(place: &Path) -> bool {
        std::os::unix::net::UnixStream::connect(place).is_ok()
    }
}

#[cfg(windows)]
mod windows {
    use std::io;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use tokio::io::{ReadHalf, WriteHalf, split};
    use tokio::net::windows::named_pipe::{ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions};

    pub(crate) type FromClient = ReadHalf<NamedPipeServer>;
    pub(crate) type ToClient = WriteHalf<NamedPipeServer>;
    pub(crate) type FromServer = ReadHalf<NamedPipeClient>;
    pub(crate) type ToServer = WriteHalf<NamedPipeClient>;

    /// `ERROR_PIPE_BUSY`: the server has not yet made an end for the next client.
    const BUSY: i32 = 231;
    const PATIENCE: Duration = Duration::from_millis(10);

    /// The connections of clients, to a pipe that is refused to other machines.
    #[derive(Debug)]
    pub(crate) struct Incoming {
        name: String,
        free: NamedPipeServer,
    }

    impl Incoming {
        pub(crate) fn bind(place: &Path) -> io::Result<Self> {
            let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            let name = format!(r"\\.\pipe\cuebook-{}-{}", std::process::id(), since.as_nanos());
            let free = ServerOptions::new().first_pipe_instance(true).create(&name)?;
            std::fs::write(place, &name)?;
            Ok(Self { name, free })
        }

        /// The next one. One that was not waited for to its end is not lost.
        pub(crate) async fn next(&mut self) -> io::Result<(FromClient, ToClient)> {
            self.free.connect().await?;
            let free = ServerOptions::new().create(&self.name)?;
            Ok(split(std::mem::replace(&mut self.free, free)))
        }
    }

    pub(crate) async fn connect(place: &Path) -> io::Result<(FromServer, ToServer)> {
        loop {
            match open(place) {
                Ok(client) => return Ok(split(client)),
                Err(error) if error.raw_os_error() == Some(BUSY) => tokio::time::sleep(PATIENCE).await,
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn is_served(place: &Path) -> bool {
        // Looked at without a runtime: a pipe is a file to whoever opens it.
        let name = std::fs::read_to_string(place);
        match name.and_then(|name| std::fs::OpenOptions::new().read(true).write(true).open(name.trim())) {
            Ok(_) => true,
            Err(error) => error.raw_os_error() == Some(BUSY),
        }
    }

    fn open(place: &Path) -> io::Result<NamedPipeClient> {
        ClientOptions::new().open(std::fs::read_to_string(place)?.trim())
    }
}
