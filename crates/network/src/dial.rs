//! How names become addresses, and addresses connections.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;

use tokio::net::{TcpStream, lookup_host};

/// A boxed future, so that a [`Dial`] can be selected at run time.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// The network beyond the proxy. Time limits are the caller's.
pub trait Dial: Send + Sync + 'static {
    /// The addresses of a name. Called once per connection; every address is judged before one is used.
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>>;

    /// A connection to exactly this address.
    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream>;
}

/// The system's resolver and its routes.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Dial for System {
    fn resolve<'a>(&'a self, name: &'a str) -> Pending<'a, Vec<IpAddr>> {
        Box::pin(async move { Ok(lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }

    fn connect(&self, address: SocketAddr) -> Pending<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}
