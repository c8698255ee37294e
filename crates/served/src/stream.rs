//! Sockets: of the file system, and of TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, process};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send, sockopt};
use units::ConfigError;

use crate::tcp::End;

/// A connection.
pub enum Stream {
    /// Through a socket in the file system.
    Unix(UnixStream),
    /// Through TCP.
    Tcp(TcpStream),
}

impl Stream {
    /// Ends one direction or both, for the client and for every thread that waits.
    pub fn shut(&self, how: Shutdown) {
        // It may have ended already.
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(how),
            Stream::Tcp(stream) => stream.shutdown(how),
        };
    }

    /// The process at the other end, where it is of this machine; otherwise why it is not known.
    pub fn process(&self) -> Result<u32, String> {
        let found = match self {
            Stream::Unix(stream) => {
                sockopt::socket_peercred(stream).ok().map(|peer| peer.pid.as_raw_nonzero().get() as u32)
            }
            Stream::Tcp(stream) => match (stream.local_addr(), stream.peer_addr()) {
                (Ok(own), Ok(peer)) if peer.ip().to_canonical().is_loopback() => {
                    End::of(peer, own).and_then(End::process)
                }
                _ => return Err("is on another machine".into()),
            },
        };
        match found {
            None => Err("is no process that can be seen".into()),
            Some(pid) if pid == process::id() => Err("is part of the server".into()),
            Some(pid) => Ok(pid),
        }
    }

    /// Whether the other end has been given all that was sent here, and this one all that was sent there. A socket of
    /// the file system hands over as it sends.
    pub(crate) fn has_arrived(&self) -> bool {
        let Stream::Tcp(stream) = self else { return true };
        let (Ok(own), Ok(peer)) = (stream.local_addr(), stream.peer_addr()) else { return true };
        // An end that has been closed is not there. Clients have called.
        let (own_end, peer_end) = (End::of(own, peer), End::of(peer, own));
        let arrived = |end: &Option<End>, called: bool, other: &Option<End>| {
            end.as_ref().is_none_or(|end| end.has_arrived(called, other.as_ref()))
        };
        arrived(&own_end, false, &peer_end) && arrived(&peer_end, true, &own_end)
    }

    /// Whether something may be read, or the end has come.
    pub(crate) fn has_input(&self) -> bool {
        has_input(self)
    }

    /// Whether the other end sends nothing any more.
    pub(crate) fn is_left(&self) -> bool {
        self.is_ready(PollFlags::RDHUP, Some(&Timespec::default()))
    }

    /// Whether more would be taken at once.
    pub(crate) fn takes_more(&self) -> bool {
        self.is_ready(PollFlags::OUT, Some(&Timespec::default()))
    }

    /// The address that the client came to, where it is one of TCP.
    pub fn local(&self) -> Option<SocketAddr> {
        match self {
            Stream::Unix(_) => None,
            Stream::Tcp(stream) => stream.local_addr().ok(),
        }
    }

    /// Waits until something may be read, for so long at most; returns whether something may be.
    pub(crate) fn await_input(&self, patience: Option<Duration>) -> bool {
        if let Stream::Tcp(stream) = self {
            // What has been taken is acknowledged at once: a client with Nagle's algorithm waits for that, and where
            // the kernel does not count what has arrived it is how a client is seen to have sent all.
            let _ = sockopt::set_tcp_quickack(stream, true);
        }
        let Some(patience) = patience else {
            while !self.is_ready(PollFlags::IN, None) {}
            return true;
        };
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if self.is_ready(PollFlags::IN, Some(&timespec(left))) {
                return true;
            }
            if left.is_zero() {
                return false;
            }
        }
    }

    fn is_ready(&self, what: PollFlags, timeout: Option<&Timespec>) -> bool {
        poll(&mut [PollFd::new(self, what)], timeout).is_ok_and(|ready| ready > 0)
    }

    /// Sends what can be sent without waiting; returns how much.
    pub(crate) fn send_now(&self, data: &[u8]) -> io::Result<usize> {
        match send(self, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            sent => Ok(sent?),
        }
    }
}

fn timespec(span: Duration) -> Timespec {
    Timespec { tv_sec: span.as_secs() as i64, tv_nsec: span.subsec_nanos().into() }
}

/// Whether something may be read, or a client be let in.
pub(crate) fn has_input(of: &impl AsFd) -> bool {
    poll(&mut [PollFd::new(of, PollFlags::IN)], Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).read(into),
            Stream::Tcp(stream) => (&*stream).read(into),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&*stream).write(data),
            Stream::Tcp(stream) => (&*stream).write(data),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where clients come in. A socket in the file system goes with it.
pub struct Listener(Kind);

/// Where clients come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a path of the file system.
    Unix(PathBuf),
    /// At an address of TCP, if it can be found out.
    Tcp(Option<SocketAddr>),
}

enum Kind {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at a path, which no other server may listen at.
    pub fn unix(path: &Path) -> Result<Listener, ConfigError> {
        let origin = format!("--socket {}", path.display());
        let stale = path.symlink_metadata().is_ok_and(|about| about.file_type().is_socket())
            && UnixStream::connect(path).is_err();
        if stale {
            // A server that was killed has left it.
            let _ = fs::remove_file(path);
        }
        let listener = UnixListener::bind(path).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        match listener {
            Ok(listener) => Ok(Listener(Kind::Unix(listener, path.into()))),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                Err(refused(origin, "exists already".into(), "name another path, or end the server that listens there"))
            }
            Err(error) => {
                let remedy = "name a path of less than 108 bytes in a folder that can be written";
                Err(refused(origin, format!("cannot be made: {error}"), remedy))
            }
        }
    }

    /// Listens at an address, `HOST:PORT`, that an option has given; `example` is one.
    pub fn tcp(option: &str, address: &str, example: &str) -> Result<Listener, ConfigError> {
        let listener = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        listener.map(|listener| Listener(Kind::Tcp(listener))).map_err(|error| {
            let remedy = format!("write HOST:PORT with a port that is free, such as {example}; port 0 finds one");
            refused(format!("{option} {address}"), format!("is not accepted: {error}"), &remedy)
        })
    }

    /// Where clients come in.
    pub fn place(&self) -> Place {
        match &self.0 {
            Kind::Unix(_, path) => Place::Unix(path.clone()),
            Kind::Tcp(listener) => Place::Tcp(listener.local_addr().ok()),
        }
    }

    /// Waits for a client for a time; returns whether one is there.
    pub(crate) fn is_called(&self, within: Duration) -> io::Result<bool> {
        let timeout = timespec(within);
        match poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
            ready => Ok(ready.map(|_| true)?),
        }
    }

    /// The next client, if one is there.
    pub(crate) fn accept(&self) -> io::Result<Option<Stream>> {
        let accepted = match &self.0 {
            Kind::Unix(listener, _) => listener.accept().and_then(|(stream, _)| {
                stream.set_nonblocking(false)?;
                Ok(Stream::Unix(stream))
            }),
            Kind::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(false)?;
                Ok(Stream::Tcp(stream))
            }),
        };
        match accepted {
            Ok(stream) => Ok(Some(stream)),
            // The client has gone again.
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Kind::Unix(listener, _) => listener.as_fd(),
            Kind::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

fn refused(origin: String, problem: String, remedy: &str) -> ConfigError {
    ConfigError { origin, line: None, key: None, problem, remedy: remedy.into() }
}
