//! A slow link: a listener on the loopback interface that hands on what it gets, later.
//!
//! Invariant: bytes keep their order, whatever their delays.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::mixed;

/// Opens a link to `upstream` that takes `delay` each way, give or take half of it. It ends with the runtime.
///
/// # Errors
/// If there is no free port.
pub(crate) async fn open(upstream: SocketAddr, delay: Duration) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on 127.0.0.1")?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let Ok(far) = TcpStream::connect(upstream).await else { continue };
            let (near_read, near_write) = near.into_split();
            let (far_read, far_write) = far.into_split();
            tokio::spawn(carry(near_read, far_write, delay));
            tokio::spawn(carry(far_read, near_write, delay));
        }
    });
    Ok(address)
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (sender, mut receiver) = mpsc::channel::<(Instant, Vec<u8>)>(1024);
    tokio::spawn(async move {
        while let Some((due, bytes)) = receiver.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
    });
    let mut chunk = vec![0; 64 << 10];
    let mut due = Instant::now();
    let mut count = 0;
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        count += 1;
        let jitter = delay.mul_f64(0.5 + (mixed(count) % 1000) as f64 / 1000.0);
        due = due.max(Instant::now() + jitter);
        if sender.send((due, chunk[..read].to_vec())).await.is_err() {
            break;
        }
    }
}
