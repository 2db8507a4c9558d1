//! Requests over one keep-alive connection. Bare sockets: on two cores a full client would measure itself.

use crate::Outcome;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection with its token.
pub(crate) struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    token: String,
}

impl Wire {
    pub(crate) async fn open(address: SocketAddr, token: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Self { stream, buffer: Vec::with_capacity(4_096), token: token.to_owned() })
    }

    /// Posts JSON, and reads the answer's body, which must be a 201.
    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Outcome<String> {
        let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        self.send("POST", path, &more, body).await?;
        self.receive("HTTP/1.1 201").await
    }

    /// Reads a page, which must be a 200.
    pub(crate) async fn get(&mut self, path: &str) -> Outcome<String> {
        self.send("GET", path, "", "").await?;
        self.receive("HTTP/1.1 200").await
    }

    async fn send(&mut self, method: &str, path: &str, more: &str, body: &str) -> Outcome {
        let token = &self.token;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n{more}\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).await.map_err(|error| error.to_string())
    }

    async fn receive(&mut self, status: &str) -> Outcome<String> {
        loop {
            if let Some((head, whole)) = testbed::reply_body(&self.buffer)
                && self.buffer.len() >= whole
            {
                let reply: Vec<u8> = self.buffer.drain(..whole).collect();
                let text = String::from_utf8_lossy(&reply);
                return if text.starts_with(status) {
                    Ok(text.get(head..).unwrap_or_default().to_owned())
                } else {
                    Err(text.into_owned())
                };
            }
            let read = self.stream.read_buf(&mut self.buffer).await;
            if read.map_err(|error| error.to_string())? == 0 {
                return Err("the server closed the connection".to_owned());
            }
        }
    }
}
