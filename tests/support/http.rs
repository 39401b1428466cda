//! As much of HTTP/1.1 as the proxy needs to stand between the daemon and a server (RFC 9112): whole messages, no streaming.

use std::io;
use std::os::fd::AsFd;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request as it was read.
pub struct Raw {
    /// Upper case.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Raw {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// Whether the client wants to send another request on this connection.
    pub fn keep_alive(&self) -> bool {
        !self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// An answer to write.
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// Its headers, without those that describe the connection or the length.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A JSON answer.
    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        let headers = vec![("content-type".to_owned(), b"application/json".to_vec())];
        Self { status, headers, body: body.to_string().into_bytes() }
    }

    /// An answer that is no JSON; with no text it has no body.
    pub fn text(status: u16, text: &str) -> Self {
        let headers = vec![("content-type".to_owned(), b"text/html".to_vec())];
        Self { status, headers, body: text.as_bytes().to_vec() }
    }

    /// Sends the client elsewhere.
    pub fn redirect(to: &str) -> Self {
        let headers = vec![("location".to_owned(), to.as_bytes().to_vec())];
        Self { status: 302, headers, body: Vec::new() }
    }
}

/// Whether a header belongs to one connection, or is written anew by who forwards the message.
pub fn hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "keep-alive"
            | "transfer-encoding"
            | "content-length"
            | "host"
            | "upgrade"
            | "te"
            | "trailer"
    )
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Reads one request; `None` if the client closed instead. `buffer` keeps what was read beyond it.
pub async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Raw>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path)) = (first.next(), first.next()) else {
        return Err(invalid(format!("no request line: {head}")));
    };
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    let mut raw = Raw {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: headers.collect(),
        body: Vec::new(),
    };
    if raw.header("transfer-encoding").is_some() {
        return Err(invalid("the proxy reads bodies of a known length only".to_owned()));
    }
    let length: usize = raw
        .header("content-length")
        .map_or(Ok(0), str::parse)
        .map_err(|error| invalid(format!("content-length: {error}")))?;
    while buffer.len() < end + length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    raw.body = buffer[end..end + length].to_vec();
    buffer.drain(..end + length);
    Ok(Some(raw))
}

/// Whether the client has closed its side: nobody waits for an answer.
pub fn is_gone(stream: &TcpStream) -> io::Result<bool> {
    // Tokio's own calls answer from what it heard of the socket last; this asks the kernel now.
    let socket = std::net::TcpStream::from(stream.as_fd().try_clone_to_owned()?);
    match socket.peek(&mut [0; 1]) {
        Ok(read) => Ok(read == 0),
        Err(error) => Ok(error.kind() != io::ErrorKind::WouldBlock),
    }
}

/// Writes an answer; with `cut`, only so many bytes of the body that its length announces.
pub async fn write(
    stream: &mut TcpStream,
    reply: &Reply,
    close: bool,
    cut: Option<usize>,
) -> io::Result<()> {
    let mut bytes = format!("HTTP/1.1 {} Status\r\n", reply.status).into_bytes();
    for (name, value) in &reply.headers {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }
    // A 204 has no body and must not announce one (RFC 9110, 8.6).
    if reply.status != 204 {
        bytes.extend_from_slice(format!("content-length: {}\r\n", reply.body.len()).as_bytes());
    }
    bytes.extend_from_slice(if close { b"connection: close\r\n\r\n".as_slice() } else { b"\r\n" });
    bytes.extend_from_slice(&reply.body[..cut.unwrap_or(reply.body.len()).min(reply.body.len())]);
    stream.write_all(&bytes).await?;
    stream.flush().await
}
