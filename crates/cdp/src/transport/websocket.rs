//! A websocket: for an existing endpoint, and where there are no inheritable pipes.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::Tasks;
use crate::connection::{INBOUND_CAP, Outgoing};
use crate::error::AttachError;
use crate::targets::{Hub, route};

pub(crate) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Connects to a `ws://` address.
pub(crate) async fn connect(address: &str, until: Instant) -> Result<Socket, AttachError> {
    let config = WebSocketConfig::default().max_message_size(Some(INBOUND_CAP)).max_frame_size(Some(INBOUND_CAP));
    let connecting = connect_async_with_config(address, Some(config), true);
    match tokio::time::timeout_at(until.into(), connecting).await {
        Err(_) => Err(AttachError::DeadlineExceeded { endpoint: address.to_owned() }),
        Ok(Err(source)) => Err(AttachError::WebSocket { endpoint: address.to_owned(), source: Box::new(source) }),
        Ok(Ok((socket, _))) => Ok(socket),
    }
}

/// Starts to move messages.
pub(crate) fn start(hub: &Arc<Hub>, socket: Socket, mut outgoing: Outgoing) -> Tasks {
    let (mut sink, mut stream) = socket.split();
    let writer = tokio::spawn(async move {
        while let Some(message) = outgoing.next().await {
            // What serde_json wrote is UTF-8.
            let Ok(text) = Utf8Bytes::try_from(Bytes::from(message)) else { continue };
            // A broken socket shows on the reading side, which answers everything that waits.
            if sink.send(Message::Text(text)).await.is_err() {
                return;
            }
        }
    });
    let hub = hub.clone();
    let reader = tokio::spawn(async move {
        while let Some(Ok(message)) = stream.next().await {
            match message {
                Message::Text(text) => route(&hub, &Bytes::from(text)),
                Message::Binary(bytes) => route(&hub, &bytes),
                Message::Close(_) => break,
                _ => {}
            }
        }
        hub.gone();
    });
    Tasks { reader, writer }
}
