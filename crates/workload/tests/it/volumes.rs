//! Several traces as one, and volumes apart on the drive.

use crate::common::{Scratch, drain};
use units::Bytes;
use workload::{Apart, Beyond, Merged, ReadOptions, Request, Source, TraceFile, Volumes};

/// Time, first sector and queue of each.
fn seen(requests: &[Request]) -> Vec<(u64, u64, u16)> {
    requests.iter().map(|request| (request.time.0, request.offset.0 / 512, request.queue)).collect()
}

#[test]
fn traces_are_merged_by_time_from_the_first_of_all() {
    let (a, b) =
        (Scratch::new(b"10 0 0 1 1\n30 0 1 1 1\n31 0 9 1 1\n"), Scratch::new(b"5 1 2 1 1\n10 1 3 1 0\n40 1 4 1 1\n"));
    let mut merged = Merged::open(&[&a.0, &b.0], None, ReadOptions::default()).unwrap();
    let found = drain(&mut merged, 2).unwrap();
    assert_eq!(seen(&found), [(0, 2, 1), (5, 0, 0), (5, 3, 1), (25, 1, 0), (26, 9, 0), (35, 4, 1)]);
    assert_eq!((merged.notes().count(), merged.progress()), (2, Some(1.0)));
    let missing = std::path::Path::new("/no/such/trace");
    let error = Merged::open(&[&a.0, missing], None, ReadOptions::default()).err().unwrap().to_string();
    assert!(error.starts_with("/no/such/trace"), "{error}");
}

fn apart(volumes: Volumes, beyond: Beyond, capacity: u64) -> Result<(Vec<Request>, u64), String> {
    // Volume 7 ends at sector 4,096 (2 MiB), volume 2 at sector 11.
    let file = Scratch::new(b"1 7 4095 1 1\n2 2 10 1 0\n3 7 0 1 1\n");
    let open = || TraceFile::open(&file.0, None).unwrap();
    let mut source =
        Apart::new(open(), open(), volumes, beyond, Bytes(capacity), "trace").map_err(|e| e.to_string())?;
    let requests = drain(&mut source, 2).map_err(|e| e.to_string())?;
    Ok((requests, source.counts().wrapped))
}

#[test]
fn volumes_lie_one_after_another_each_as_large_as_it_is_used() {
    let (requests, wrapped) = apart(Volumes::Concatenate, Beyond::Refuse, 1 << 30).unwrap();
    // Volume 2 comes first, by its number, and volume 7 starts at the next MiB.
    assert_eq!(seen(&requests), [(0, 2048 + 4095, 7), (1, 10, 2), (2, 2048, 7)]);
    assert_eq!(wrapped, 0);
}

#[test]
fn namespaces_are_equal_parts_in_which_addresses_wrap_or_are_refused() {
    let (requests, wrapped) = apart(Volumes::Namespaces, Beyond::Refuse, 16 << 20).unwrap();
    assert_eq!((seen(&requests), wrapped), (vec![(0, 16_384 + 4095, 7), (1, 10, 2), (2, 16_384, 7)], 0));
    let (requests, wrapped) = apart(Volumes::Namespaces, Beyond::Wrap, 2 << 20).unwrap();
    assert_eq!((seen(&requests), wrapped), (vec![(0, 2048 + 2047, 7), (1, 10, 2), (2, 2048, 7)], 1));
    let error = apart(Volumes::Namespaces, Beyond::Refuse, 2 << 20).unwrap_err();
    assert!(error.contains("volume 7 ends at byte 2097152, beyond its 1 MiB\n  help: "), "{error}");
}
