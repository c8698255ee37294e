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
/// `idiag_wqueue` and `idiag_inode` of a `struct inet_diag_msg` (linux/inet_diag.h) [B from the message's begin].
const WRITE_QUEUE: usize = HEADER + 60;
const INODE: usize = HEADER + 68;

/// An end of a connection.
pub(crate) struct End {
    /// Bytes that it was given to send and that have not been acknowledged.
    pub unacknowledged: u32,
    inode: u32,
}

impl End {
    /// That at `own` of a connection with `other`; none where it is closed, of another machine, or not to be seen.
    pub fn of(own: SocketAddr, other: SocketAddr) -> Option<End> {
        let asks =
            socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG));
        let asks = asks.ok()?;
        send(&asks, &question(own, other), SendFlags::empty()).ok()?;
        let mut answer = [0; 512];
        let (length, _) = recv(&asks, &mut answer, RecvFlags::empty()).ok()?;
        let answer = &answer[..length];
        // Anything else is an error: there is none.
        let found = answer.get(4..6)? == BY_FAMILY.to_ne_bytes();
        let word = |at: usize| Some(u32::from_ne_bytes(answer.get(at..at + 4)?.try_into().ok()?));
        found.then_some(End { unacknowledged: word(WRITE_QUEUE)?, inode: word(INODE)? })
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

/// The message that asks for it: `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn question(own: SocketAddr, other: SocketAddr) -> Vec<u8> {
    let address = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => [&ip.octets()[..], &[0; 12]].concat(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    // In any state; of any interface, whatever its cookie.
    let asked = [
        &[if own.is_ipv4() { INET } else { INET6 }, TCP, 0, 0][..],
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
            let ends = || [End::of(own, peer), End::of(peer, own)].map(|end| end.unwrap().unacknowledged);
            assert_eq!(ends(), [0, 0]);
            assert_eq!(End::of(peer, own).unwrap().process(), Some(process::id()));
            // More than the other end takes without being read.
            client.set_nonblocking(true).unwrap();
            while client.write(&[0; 1 << 16]).is_ok() {}
            let [of_server, of_client] = ends();
            assert!(of_server == 0 && of_client > 0, "{of_server} {of_client}");
            drop(client);
            server.read_to_end(&mut Vec::new()).unwrap();
            drop(server);
            let nobody = SocketAddr::new(own.ip(), 1);
            assert!(End::of(nobody, own).is_none());
        }
    }
}
