//! Sends requests over one keep-alive connection of a thread. It uses bare sockets: on two cores a full client
//! would measure itself.

use crate::{Outcome, reply_body};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// One connection with its token.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    token: String,
}

impl Wire {
    /// Connects.
    ///
    /// # Errors
    /// The connection's.
    pub fn open(address: SocketAddr, token: &str) -> Outcome<Self> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Self { stream, buffer: Vec::with_capacity(4_096), token: token.to_owned() })
    }

    /// Posts JSON with further headers, each in a line that ends with CR LF, and reads the answer's body.
    ///
    /// # Errors
    /// An answer that is neither a 200 nor a 201, as it is; the connection's.
    pub fn post(&mut self, path: &str, headers: &str, body: &str) -> Outcome<String> {
        let length = body.len();
        let more =
            format!("{headers}Content-Type: application/json\r\nContent-Length: {length}\r\n");
        self.send("POST", path, &more, body)?;
        self.receive()
    }

    /// Reads a page.
    ///
    /// # Errors
    /// As [`Self::post`].
    pub fn get(&mut self, path: &str) -> Outcome<String> {
        self.send("GET", path, "", "")?;
        self.receive()
    }

    fn send(&mut self, method: &str, path: &str, more: &str, body: &str) -> Outcome {
        let token = &self.token;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n{more}\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).map_err(|error| error.to_string())
    }

    fn receive(&mut self) -> Outcome<String> {
        let mut part = [0; 16_384];
        loop {
            if let Some((head, whole)) = reply_body(&self.buffer)
                && self.buffer.len() >= whole
            {
                let reply: Vec<u8> = self.buffer.drain(..whole).collect();
                let text = String::from_utf8_lossy(&reply);
                let well = ["HTTP/1.1 200 ", "HTTP/1.1 201 "].iter().any(|ok| text.starts_with(ok));
                return if well {
                    Ok(text.get(head..).unwrap_or_default().to_owned())
                } else {
                    Err(text.into_owned())
                };
            }
            let read = self.stream.read(&mut part).map_err(|error| error.to_string())?;
            match part.get(..read) {
                Some([]) | None => return Err("the server closed the connection".to_owned()),
                Some(some) => self.buffer.extend_from_slice(some),
            }
        }
    }
}
