//! A connection that ends when its peer takes nothing for too long. The HTTP library bounds only what it reads.
#![expect(clippy::disallowed_methods, reason = "it is about real time")]

use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// A stream of which no write may wait for longer than this.
pub(super) struct Impatient {
    stream: TcpStream,
    limit: Duration,
    /// When the write that waits has waited long enough.
    over: Pin<Box<Sleep>>,
    waits: bool,
}

impl Impatient {
    pub(super) fn new(stream: TcpStream, limit: Duration) -> Impatient {
        Impatient { stream, limit, over: Box::pin(sleep(limit)), waits: false }
    }

    /// What came of a write, or that it has waited for too long.
    fn unless_over<T>(
        &mut self,
        write: Poll<Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T>> {
        if write.is_ready() {
            self.waits = false;
            return write;
        }
        if !self.waits {
            self.waits = true;
            self.over.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.over.as_mut().poll(context));
        Poll::Ready(Err(Error::from(ErrorKind::TimedOut)))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let write = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_over(write, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let write = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.unless_over(write, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
