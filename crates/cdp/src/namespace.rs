//! A network namespace of Linux with nothing in it but a loopback interface.
//!
//! A process started in it reaches neither the network nor the servers that listen on this machine, whatever its flags
//! say: only sockets that were made inside.
//!
//! Invariant: only threads of this module enter it, and they end with their work. No other thread of the program leaves
//! its own network.

use std::io;

/// A network namespace. It exists as long as this value, a process or a socket in it.
#[derive(Debug)]
pub struct Namespace(imp::Handle);

impl Namespace {
    /// Makes one, with its loopback interface up. Takes some milliseconds and a short-lived thread.
    ///
    /// # Errors
    /// `PermissionDenied` without `CAP_SYS_ADMIN`: as root, or below
    /// `unshare --user --map-current-user --keep-caps`. `Unsupported` on other systems than Linux.
    pub fn new() -> io::Result<Self> {
        imp::make().map(Self)
    }

    /// Runs `work` on a thread inside. Sockets that it makes and processes that it starts belong to the namespace.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        imp::within(&self.0, work)
    }

    /// Returns `true` if a process is inside.
    ///
    /// # Errors
    /// If the process is gone, or belongs to somebody else.
    pub fn holds(&self, process_id: u32) -> io::Result<bool> {
        imp::holds(&self.0, process_id)
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd as _;
    use std::os::linux::fs::MetadataExt as _;
    use std::panic::resume_unwind;
    use std::thread;

    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
    use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

    pub(super) type Handle = File;

    pub(super) fn make() -> io::Result<Handle> {
        on_a_thread(|| {
            #[expect(deprecated, reason = "unsafe only with FILES; a network namespace shares no memory")]
            rustix::thread::unshare(UnshareFlags::NEWNET)?;
            raise_loopback()?;
            File::open("/proc/thread-self/ns/net")
        })
    }

    pub(super) fn within<T: Send>(namespace: &Handle, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_a_thread(|| {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(work())
        })
    }

    pub(super) fn holds(namespace: &Handle, process_id: u32) -> io::Result<bool> {
        let (own, theirs) = (namespace.metadata()?, std::fs::metadata(format!("/proc/{process_id}/ns/net"))?);
        Ok((own.st_dev(), own.st_ino()) == (theirs.st_dev(), theirs.st_ino()))
    }

    fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// A request of rtnetlink(7): the interface with index 1, which is the loopback interface of every namespace, is up.
    const RAISE: [u32; 8] = {
        const RTM_NEWLINK: u32 = 16;
        const NLM_F_REQUEST: u32 = 1;
        const NLM_F_ACK: u32 = 4;
        const IFF_UP: u32 = 1;
        // Length; type and flags (16 bits each); sequence; sender. Family and type; index; flags; which of them change.
        let kind = if cfg!(target_endian = "little") {
            RTM_NEWLINK | (NLM_F_REQUEST | NLM_F_ACK) << 16
        } else {
            RTM_NEWLINK << 16 | NLM_F_REQUEST | NLM_F_ACK
        };
        [32, kind, 1, 0, 0, 1, IFF_UP, IFF_UP]
    };

    fn raise_loopback() -> io::Result<()> {
        // Protocol 0 is NETLINK_ROUTE.
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        let request: Vec<u8> = RAISE.iter().flat_map(|word| word.to_ne_bytes()).collect();
        rustix::net::sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        // The answer: a header of 16 bytes, then an error number, negative, or 0.
        let mut answer = [0_u8; 256];
        let (_, length) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
        let code = answer.get(16..20).filter(|_| length >= 20).and_then(|code| code.try_into().ok());
        match code.map(i32::from_ne_bytes) {
            Some(0) => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(code.saturating_neg())),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::convert::Infallible;
    use std::io;

    pub(super) type Handle = Infallible;

    pub(super) fn make() -> io::Result<Handle> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn within<T>(namespace: &Handle, _: impl FnOnce() -> T) -> io::Result<T> {
        match *namespace {}
    }

    pub(super) fn holds(namespace: &Handle, _: u32) -> io::Result<bool> {
        match *namespace {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::Namespace;

    #[test]
    #[expect(clippy::print_stderr, reason = "what is skipped has to be in plain sight")]
    fn only_sockets_from_inside_are_reached_from_inside() {
        let namespace = match Namespace::new() {
            Ok(namespace) => namespace,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                eprintln!("skipped: no right to make a network namespace");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let outside = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let inside = namespace.within(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap().unwrap();
        let connect = |listener: &TcpListener| {
            let address = listener.local_addr().unwrap();
            namespace.within(|| TcpStream::connect(address)).unwrap()
        };
        assert_eq!(connect(&outside).err().map(|error| error.kind()), Some(ErrorKind::ConnectionRefused));
        let mut client = connect(&inside).unwrap();
        client.write_all(b"x").unwrap();
        let mut byte = [0];
        inside.accept().unwrap().0.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"x");
        let interfaces = namespace.within(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap().unwrap();
        let names: Vec<&str> = interfaces.lines().skip(2).filter_map(|line| line.split(':').next()).collect();
        assert_eq!(names.iter().filter(|name| name.trim() != "lo").count(), 0, "{interfaces}");
        assert!(!namespace.holds(std::process::id()).unwrap());
    }
}
