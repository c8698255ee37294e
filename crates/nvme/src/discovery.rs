//! The discovery log: which subsystems there are, and where (Base 2.0, 5.16.1.23 "Discovery Log Page").

use std::net::SocketAddr;

use crate::bytes::Fields;
use crate::limits::QUEUE_ENTRIES;
use crate::subsystem::Subsystem;

/// The length of its header, and of each entry \[B].
const ENTRY: usize = 1024;

/// The log as a host that came to an address sees it.
pub fn log(drives: &[Subsystem], at: Option<SocketAddr>) -> Vec<u8> {
    let mut header = Fields::new(ENTRY);
    // Generation, entries, record format 0.
    let mut log = header.u64(0, 1).u64(8, drives.len() as u64).take();
    for (number, drive) in drives.iter().enumerate() {
        let mut entry = Fields::new(ENTRY);
        // TCP; an NVM subsystem; no secure channel is required.
        entry.u8(0, 3).u8(2, 2).u8(3, 2).u16(4, number as u16);
        // Any controller, and the entries of its admin queue.
        entry.u16(6, 0xffff).u16(8, QUEUE_ENTRIES).name(256, &drive.nqn);
        if let Some(at) = at {
            // A listener of both families has hosts of the older one come by addresses that are mapped.
            let address = at.ip().to_canonical();
            entry.u8(1, if address.is_ipv4() { 1 } else { 2 });
            entry.ascii(32, 32, &at.port().to_string()).ascii(512, 256, &address.to_string());
        }
        log.extend(entry.take());
    }
    log
}

#[cfg(test)]
mod tests {
    use units::Bytes;

    use super::*;

    #[test]
    fn the_family_of_an_address_is_that_of_its_text() {
        let drives = [Subsystem::new("drive", "a drive", "1", Bytes(1 << 20))];
        for (at, family, text) in
            [("127.0.0.1:4420", 1, "127.0.0.1"), ("[::ffff:127.0.0.1]:4420", 1, "127.0.0.1"), ("[::1]:4420", 2, "::1")]
        {
            let log = log(&drives, Some(at.parse().unwrap()));
            let entry = &log[ENTRY..];
            assert_eq!((entry[1], entry[512..].starts_with(text.as_bytes())), (family, true), "{at}");
        }
    }
}
