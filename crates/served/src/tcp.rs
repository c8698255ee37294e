//! Connections of TCP as the kernel has them, asked by `NETLINK_SOCK_DIAG` (sock_diag(7)). Listing all of them
//! (`/proc/net/tcp`) takes milliseconds, in which clients that are watched begin to work again; this takes
//! microseconds.

use std::fs;
use std::net::{IpAddr, SocketAddr};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

/// `SOCK_DIAG_BY_FAMILY` and `NLM_F_REQUEST` (linux/sock_diag.h, linux/netlink.h).
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
/// `IPPROTO_TCP`, and the families (linux/socket.h).
const TCP: u8 = 6;
const INET: u8 = 2;
const INET6: u8 = 10;
/// Of a `struct nlmsghdr` \[B].
const HEADER: usize = 16;
/// `idiag_wqueue` and `idiag_inode` of a `struct inet_diag_msg`, and its end (linux/inet_diag.h) [B from the message's
/// begin].
const WRITE_QUEUE: usize = HEADER + 60;
const INODE: usize = HEADER + 68;
const ATTRIBUTES: usize = HEADER + 72;
/// `INET_DIAG_INFO`: the attribute that is a `struct tcp_info`; asked for by a bit (linux/inet_diag.h).
const INFO: u16 = 2;
/// `tcpi_bytes_acked` and `tcpi_bytes_received` of a `struct tcp_info` (linux/tcp.h) \[B].
const BYTES_ACKED: usize = 120;
const BYTES_RECEIVED: usize = 128;

/// An end of a connection.
pub(crate) struct End {
    /// Bytes that it was given to send and that have not been acknowledged.
    unacknowledged: u32,
    /// Bytes of its that have been acknowledged, and those that it has received, if the kernel counts them.
    counted: Option<Counted>,
    inode: u32,
}

struct Counted {
    acknowledged: u64,
    received: u64,
}

impl End {
    /// That at `own` of a connection with `other`; none where it is closed, of another machine, or not to be seen.
    pub fn of(own: SocketAddr, other: SocketAddr) -> Option<End> {
        let asks =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG));
        let asks = asks.ok()?;
        send(&asks, &question(own, other), SendFlags::empty()).ok()?;
        let mut answer = [0; 1024];
        let (length, _) = recv(&asks, &mut answer, RecvFlags::empty()).ok()?;
        let answer = &answer[..length];
        // Anything else is an error: there is none.
        let found = answer.get(4..6)? == BY_FAMILY.to_ne_bytes();
        let word = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
        let counted = answer.get(ATTRIBUTES..).and_then(Counted::of);
        found.then_some(End { unacknowledged: word(WRITE_QUEUE)?, counted, inode: word(INODE)? })
    }

    /// Whether the `other` end has been given all that this one was to send. It need not have acknowledged it: an end
    /// that answers does so with its next message, or later if it sends none (RFC 1122, 4.2.3.2; Linux: 40 ms). If this
    /// end has `called`, the first byte that was acknowledged is the call.
    pub fn has_arrived(&self, called: bool, other: Option<&End>) -> bool {
        let acknowledged = self.counted.as_ref().map(|counted| counted.acknowledged);
        let received = other.and_then(|other| Some(other.counted.as_ref()?.received));
        let sent = acknowledged.map(|bytes| bytes.saturating_sub(called.into()) + u64::from(self.unacknowledged));
        self.unacknowledged == 0 || sent.zip(received).is_some_and(|(sent, received)| sent <= received)
    }

    /// A process that has it.
    pub fn process(self) -> Option<u32> {
        let target = format!("socket:[{}]", self.inode);
        let has_it = |pid: &u32| {
            let files = fs::read_dir(format!("/proc/{pid}/fd")).ok();
            let mut targets = files.into_iter().flatten().filter_map(|file| fs::read_link(file.ok()?.path()).ok());
            targets.any(|found| found.to_str() == Some(&target))
        };
        let mut processes: Vec<u32> =
            fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        processes.sort_unstable();
        processes.into_iter().find(has_it)
    }
}

impl Counted {
    /// Those of the attributes of an answer: each has its length with these four bytes, its kind, and is padded to
    /// four.
    fn of(mut attributes: &[u8]) -> Option<Counted> {
        loop {
            let half = |at: usize| Some(u16::from_ne_bytes(attributes.get(at..at + 2)?.try_into().ok()?));
            let (length, kind) = (usize::from(half(0)?), half(2)?);
            let info = attributes.get(4..length)?;
            if kind == INFO {
                let long = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
                return Some(Counted { acknowledged: long(BYTES_ACKED)?, received: long(BYTES_RECEIVED)? });
            }
            attributes = attributes.get(length.next_multiple_of(4)..)?;
        }
    }
}

/// The message that asks for it: `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn question(own: SocketAddr, other: SocketAddr) -> Vec<u8> {
    let address = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => [&ip.octets()[..], &[0; 12]].concat(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    // In any state; of any interface, whatever its cookie.
    let asked = [
        &[if own.is_ipv4() { INET } else { INET6 }, TCP, 1 << (INFO - 1), 0][..],
        &[0xff; 4],
        &own.port().to_be_bytes(),
        &other.port().to_be_bytes(),
        &address(own),
        &address(other),
        &[0; 4],
        &[0xff; 8],
    ]
    .concat();
    let length = (HEADER + asked.len()) as u32;
    [&length.to_ne_bytes()[..], &BY_FAMILY.to_ne_bytes(), &REQUEST.to_ne_bytes(), &[0; 8], &asked].concat()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process;

    use super::*;

    #[test]
    fn what_is_sent_and_who_has_an_end_are_seen() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut server, peer) = listener.accept().unwrap();
            let own = server.local_addr().unwrap();
            // Whether all of the server's and of the client's has arrived, and whether either has been acknowledged.
            let seen = || {
                let [of_server, of_client] = [End::of(own, peer), End::of(peer, own)].map(Option::unwrap);
                let arrived =
                    [of_server.has_arrived(false, Some(&of_client)), of_client.has_arrived(true, Some(&of_server))];
                (arrived, [of_server, of_client].map(|end| end.unacknowledged == 0))
            };
            assert_eq!(seen(), ([true; 2], [true; 2]));
            assert_eq!(End::of(peer, own).unwrap().process(), Some(process::id()));
            // A client that answers each message acknowledges the last one late.
            let mut unacknowledged = 0;
            for length in 1..100 {
                server.write_all(&vec![7; length]).unwrap();
                client.read_exact(&mut vec![0; length]).unwrap();
                assert!(seen().0[0], "what was read has arrived");
                unacknowledged += u32::from(!seen().1[0]);
                client.write_all(&[8]).unwrap();
                server.read_exact(&mut [0]).unwrap();
            }
            assert!(unacknowledged > 0);
            // More than the other end takes without being read.
            client.set_nonblocking(true).unwrap();
            while client.write(&[0; 1 << 16]).is_ok() {}
            assert!(!seen().0[1]);
            let of_client = End::of(peer, own).unwrap();
            assert!(!of_client.has_arrived(true, None), "who has not acknowledged may not have got it");
            drop(client);
            server.read_to_end(&mut Vec::new()).unwrap();
            drop(server);
            let nobody = SocketAddr::new(own.ip(), 1);
            assert!(End::of(nobody, own).is_none());
        }
    }
}
