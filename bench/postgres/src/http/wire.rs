//! Posts over one keep-alive connection. Bare sockets: on two cores a full client would measure itself.

use crate::Outcome;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(super) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    head: String,
}

impl Wire {
    /// Connects; every post is to this path, with this token.
    pub(super) async fn open(address: SocketAddr, path: &str, token: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await.map_err(|why| why.to_string())?;
        stream.set_nodelay(true).map_err(|why| why.to_string())?;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: "
        );
        Ok(Self { stream, buffer: Vec::with_capacity(4_096), head })
    }

    /// Posts, and reads the reply to its end: it must be a 200 in which `transfers` transfers are COMMITTED.
    pub(super) async fn post(&mut self, body: &str, transfers: usize) -> Outcome {
        let request = format!("{}{}\r\n\r\n{body}", self.head, body.len());
        self.stream.write_all(request.as_bytes()).await.map_err(|why| why.to_string())?;
        loop {
            if let Some((head, whole)) = testbed::reply_body(&self.buffer)
                && self.buffer.len() >= whole
            {
                let reply: Vec<u8> = self.buffer.drain(..whole).collect();
                let text = String::from_utf8_lossy(&reply);
                let ok = text.starts_with("HTTP/1.1 200");
                let done = text.get(head..).unwrap_or_default().matches("\"COMMITTED\"").count();
                return if ok && done == transfers { Ok(()) } else { Err(text.into_owned()) };
            }
            let read = self.stream.read_buf(&mut self.buffer).await;
            if read.map_err(|why| why.to_string())? == 0 {
                return Err("the server closed the connection".to_owned());
            }
        }
    }
}
