//! Sockets: of the file system, and of TCP.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SendFlags, send};
use units::ConfigError;

/// A connection.
pub enum Stream {
    /// Through a socket in the file system.
    Unix(UnixStream),
    /// Through TCP.
    Tcp(TcpStream),
}

impl Stream {
    /// Ends one direction or both, for the client and for every thread that waits.
    pub(crate) fn shut(&self, how: Shutdown) {
        // It may have ended already.
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(how),
            Stream::Tcp(stream) => stream.shutdown(how),
        };
    }

    /// Sends what can be sent without waiting; returns how much.
    pub(crate) fn send_now(&self, data: &[u8]) -> io::Result<usize> {
        match send(self, data, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(0),
            sent => Ok(sent?),
        }
    }
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
            let _ = std::fs::remove_file(path);
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

    /// Listens at an address, `HOST:PORT`.
    pub fn tcp(address: &str) -> Result<Listener, ConfigError> {
        let listener = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        listener.map(|listener| Listener(Kind::Tcp(listener))).map_err(|error| {
            let remedy = "write HOST:PORT with a port that is free, such as 127.0.0.1:10809; port 0 finds one";
            refused(format!("--listen {address}"), format!("is not accepted: {error}"), remedy)
        })
    }

    /// Where clients find an export, as they write it.
    pub fn uri(&self, export: &str) -> String {
        match &self.0 {
            Kind::Unix(_, path) => format!("nbd+unix:///{export}?socket={}", path.display()),
            Kind::Tcp(listener) => {
                let address = listener.local_addr().map_or_else(|_| "?".into(), |address| address.to_string());
                format!("nbd://{address}/{export}")
            }
        }
    }

    /// The next client, if one comes within a time.
    pub(crate) fn accept(&self, within: Duration) -> io::Result<Option<Stream>> {
        let descriptor = match &self.0 {
            Kind::Unix(listener, _) => listener.as_fd(),
            Kind::Tcp(listener) => listener.as_fd(),
        };
        let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            ready => ready?,
        };
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

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn refused(origin: String, problem: String, remedy: &str) -> ConfigError {
    ConfigError { origin, line: None, key: None, problem, remedy: remedy.into() }
}
