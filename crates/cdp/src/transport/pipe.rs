//! `--remote-debugging-pipe`: JSON messages, each ended by a NUL byte.
//!
//! Chrome exits by itself when its reading end closes, so it does not outlive us.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::Tasks;
use crate::connection::{INBOUND_CAP, Outgoing};
use crate::targets::{Hub, route};

/// Small messages are written together up to this many bytes.
const BATCH: usize = 256 << 10;
const CHUNK: usize = 256 << 10;

/// Starts to move messages. Must be called within a runtime.
pub(crate) fn start(hub: &Arc<Hub>, write: OwnedFd, read: OwnedFd, outgoing: Outgoing) -> io::Result<Tasks> {
    let sender = Sender::from_owned_fd(write)?;
    let receiver = Receiver::from_owned_fd(read)?;
    Ok(Tasks {
        reader: tokio::spawn(read_all(hub.clone(), receiver)),
        writer: tokio::spawn(write_all(sender, outgoing)),
    })
}

async fn write_all(mut sender: Sender, mut outgoing: Outgoing) {
    while let Some(mut batch) = outgoing.next().await {
        batch.push(0);
        while batch.len() < BATCH
            && let Some(message) = outgoing.try_next()
        {
            batch.extend_from_slice(&message);
            batch.push(0);
        }
        // A broken pipe shows on the reading side, which answers everything that waits.
        if sender.write_all(&batch).await.is_err() {
            return;
        }
    }
}

async fn read_all(hub: Arc<Hub>, mut receiver: Receiver) {
    let mut buffer = BytesMut::with_capacity(CHUNK);
    // The part of the buffer that is known to hold no end of a message.
    let mut searched = 0;
    loop {
        if buffer.capacity() - buffer.len() < CHUNK / 4 {
            buffer.reserve(CHUNK.max(buffer.len()));
        }
        match receiver.read_buf(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        while let Some(end) = end_of_message(&buffer, searched) {
            let message = buffer.split_to(end + 1).freeze().slice(..end);
            searched = 0;
            route(&hub, &message);
        }
        searched = buffer.len();
        if searched > INBOUND_CAP {
            tracing::warn!(bytes = searched, limit = INBOUND_CAP, "message too large, connection given up");
            break;
        }
    }
    hub.gone();
}

/// Where the first NUL byte at or after `from` stands. The standard library searches for it a word at a time.
fn end_of_message(buffer: &[u8], from: usize) -> Option<usize> {
    let rest = CStr::from_bytes_until_nul(buffer.get(from..)?).ok()?;
    from.checked_add(rest.count_bytes())
}

#[cfg(test)]
mod tests {
    use super::end_of_message;

    #[test]
    fn a_message_ends_at_the_first_nul_after_what_was_searched() {
        assert_eq!(end_of_message(b"{}\0{}", 0), Some(2));
        assert_eq!(end_of_message(b"{}\0{}", 2), Some(2));
        assert_eq!(end_of_message(b"{}\0{}", 3), None);
        assert_eq!(end_of_message(b"", 1), None);
    }
}
