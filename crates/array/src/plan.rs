//! How a stripe is written: which pieces are read before, and which are written. A pure function of the code, of what
//! is written and of the units that are there.

use crate::layout::{Code, Piece, hull};
use crate::rewrite::{Rewrite, Way, WriteKind};

/// What is read, then written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritePlan {
    /// The way.
    pub kind: WriteKind,
    /// Pieces that are read before.
    pub reads: Vec<Piece>,
    /// Pieces that are written then.
    pub writes: Vec<Piece>,
}

/// Plans a write of `pieces` (of data units of one stripe, in order). `stored` says of each unit whether it holds its
/// data and can be written, `readable` whether it can be read too. None where the stripe's data is lost.
pub fn plan(
    policy: Rewrite,
    code: Code,
    pieces: &[Piece],
    stored: impl Fn(usize) -> bool,
    readable: impl Fn(usize) -> bool,
) -> Option<WritePlan> {
    let (start, end) = hull(pieces);
    let whole = |unit| Piece { unit, start, end };
    let parity = code.data..code.width();
    let mut writes: Vec<Piece> = pieces.iter().copied().filter(|piece| stored(piece.unit)).collect();
    writes.extend(parity.clone().filter(|unit| stored(*unit)).map(whole));
    let there = (0..code.width()).filter(|unit| stored(*unit)).count();
    if there < code.data {
        return None;
    }
    // Without parity that is there, and of copies, nothing is worked out.
    if code.copies() || !parity.clone().any(&stored) {
        return Some(WritePlan { kind: WriteKind::Full, reads: Vec::new(), writes });
    }
    let rest = rest_of_data(code, pieces, (start, end));
    if rest.is_empty() {
        return Some(WritePlan { kind: WriteKind::Full, reads: Vec::new(), writes });
    }
    let mut ways: Vec<(WriteKind, Vec<Piece>)> = Vec::with_capacity(3);
    if rest.iter().all(|piece| readable(piece.unit)) {
        ways.push((WriteKind::Reconstruct, rest));
    }
    let old: Vec<Piece> = pieces.iter().copied().chain(parity.filter(|unit| stored(*unit)).map(whole)).collect();
    if old.iter().all(|piece| readable(piece.unit)) {
        ways.push((WriteKind::ReadModifyWrite, old));
    }
    if ways.is_empty() {
        let reads: Vec<Piece> = (0..code.width()).filter(|unit| readable(*unit)).take(code.data).map(whole).collect();
        if reads.len() < code.data {
            return None;
        }
        ways.push((WriteKind::Decode, reads));
    }
    let way = |(kind, reads): &(WriteKind, Vec<Piece>)| Way {
        kind: *kind,
        bytes: reads.iter().map(|piece| piece.bytes()).sum(),
        requests: reads.len(),
    };
    let seen: Vec<Way> = ways.iter().map(way).collect();
    let (kind, reads) = ways.swap_remove(policy.choose(&seen));
    Some(WritePlan { kind, reads, writes })
}

/// The data of the range that is not written: one piece of each unit at most, since what is written is one range of
/// addresses.
fn rest_of_data(code: Code, pieces: &[Piece], (start, end): (u64, u64)) -> Vec<Piece> {
    let rest = |unit: usize| match pieces.iter().find(|piece| piece.unit == unit) {
        None => Piece { unit, start, end },
        Some(piece) if piece.start > start => Piece { unit, start, end: piece.start },
        Some(piece) => Piece { unit, start: piece.end, end },
    };
    (0..code.data).map(rest).filter(|piece| piece.bytes() > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = 64;

    /// Whole pieces of the first `count` data units from `first`.
    fn whole(first: usize, count: usize) -> Vec<Piece> {
        (first..first + count).map(|unit| Piece { unit, start: 0, end: CHUNK }).collect()
    }

    fn counts(code: Code, pieces: &[Piece], missing: &[usize]) -> Option<(WriteKind, usize, usize)> {
        let there = |unit: usize| !missing.contains(&unit);
        plan(Rewrite::FewestReads, code, pieces, there, there)
            .map(|plan| (plan.kind, plan.reads.len(), plan.writes.len()))
    }

    /// Of `x` whole units of `k + m` a read-modify-write reads x + m, a reconstruct-write k - x, and both write x + m.
    #[test]
    fn whichever_reads_less_is_chosen_by_the_formulas() {
        for (k, m) in (1..12).flat_map(|k| (1..4).map(move |m| (k, m))) {
            let code = Code { data: k, parity: m };
            for x in 1..=k {
                let expected = match (k - x, x + m) {
                    _ if k == 1 || x == k => (WriteKind::Full, 0, x + m),
                    (rest, old) if rest <= old => (WriteKind::Reconstruct, rest, x + m),
                    (_, old) => (WriteKind::ReadModifyWrite, old, x + m),
                };
                assert_eq!(counts(code, &whole(k - x, x), &[]), Some(expected), "{x} of {k}+{m}");
            }
        }
    }

    #[test]
    fn bytes_count_where_pieces_are_parts_of_units() {
        let code = Code { data: 4, parity: 1 };
        // The end of unit 0 and the beginning of unit 1: the parity of the whole unit changes.
        let pieces = [Piece { unit: 0, start: 48, end: 64 }, Piece { unit: 1, start: 0, end: 8 }];
        let plan = plan(Rewrite::FewestReads, code, &pieces, |_| true, |_| true).unwrap();
        // 16 + 8 + 64 bytes against 48 + 56 + 64 + 64.
        assert_eq!(plan.kind, WriteKind::ReadModifyWrite);
        assert_eq!(plan.reads, [pieces[0], pieces[1], Piece { unit: 4, start: 0, end: 64 }]);
        assert_eq!(plan.writes, plan.reads);
    }

    #[test]
    fn a_missing_unit_rules_ways_out() {
        let code = Code { data: 4, parity: 2 };
        // What is written is missing: its old data is not there, and the others are read. It lives in the parity then.
        assert_eq!(counts(code, &whole(0, 1), &[0]), Some((WriteKind::Reconstruct, 3, 2)));
        // Another one is missing: the difference needs it not.
        assert_eq!(counts(code, &whole(0, 1), &[3]), Some((WriteKind::ReadModifyWrite, 3, 3)));
        // Both: any four of the others give everything.
        assert_eq!(counts(code, &whole(0, 1), &[0, 3]), Some((WriteKind::Decode, 4, 2)));
        assert_eq!(counts(code, &whole(0, 1), &[4, 5]), Some((WriteKind::Full, 0, 1)));
        assert_eq!(counts(code, &whole(0, 1), &[0, 3, 4]), None);
        assert_eq!(counts(Code { data: 1, parity: 2 }, &whole(0, 1), &[0, 2]), Some((WriteKind::Full, 0, 1)));
    }
}
