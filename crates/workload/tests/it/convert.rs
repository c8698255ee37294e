//! What is converted reads back as it was, and parts are the parts that were asked for.

use crate::common::{Scratch, drain, read};
use proptest::prelude::*;
use units::{Bytes, Span, Time};
use workload::convert::{Cut, Loss, Target, Writer};
use workload::{Op, Request, TraceFile};

fn requests(rows: &[(u64, u64, u64, u8, u16)], step: u64) -> Vec<Request> {
    let mut time = 0;
    rows.iter()
        .enumerate()
        .map(|(index, &(gap, offset, bytes, op, queue))| {
            time += if index > 0 { gap * step } else { 0 };
            let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][usize::from(op)];
            let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset * 512, bytes * 512) };
            Request::new(Time(time), op, Bytes(offset), Bytes(bytes)).on(queue)
        })
        .collect()
}

proptest! {
    #[test]
    fn a_round_trip_is_lossless(rows in prop::collection::vec((0u64..1 << 30, 0u64..1 << 30, 1u64..1 << 16, 0..4u8, 0..9u16), 1..60)) {
        for (target, step, name) in [(Target::Msr, 100, "msr"), (Target::Mqsim, 1, "mqsim"), (Target::Fio, 1000, "fio3")] {
            let mut expected = requests(&rows, step);
            let mut text = Vec::new();
            let mut writer = Writer::new(&mut text, target);
            expected.iter().for_each(|request| writer.push(request).unwrap());
            let (written, loss) = writer.finish().unwrap();
            if target != Target::Fio {
                expected.retain(|request| matches!(request.op, Op::Read | Op::Write));
                let first = expected.first().map_or(0, |request| request.time.0);
                expected.iter_mut().for_each(|request| request.time.0 -= first);
            }
            prop_assert_eq!((written, loss.times, loss.widened), (expected.len() as u64, 0, 0));
            prop_assert_eq!(loss.left_out + written, rows.len() as u64);
            if !expected.is_empty() {
                let mut found = read(&text, Some(name)).unwrap();
                if target == Target::Fio {
                    // Devices are numbered as they appear.
                    let mut order: Vec<u16> = Vec::new();
                    for request in &mut expected {
                        let at = order.iter().position(|queue| *queue == request.queue);
                        request.queue = at.unwrap_or_else(|| { order.push(request.queue); order.len() - 1 }) as u16;
                    }
                    let first = found[0].time.0;
                    found.iter_mut().for_each(|request| request.time.0 -= first);
                }
                prop_assert_eq!(found, expected);
            }
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_counted() {
    let request = Request::new(Time(150), Op::Read, Bytes(100), Bytes(1000));
    let write = |target: Target, request: Request| {
        let mut text = Vec::new();
        let mut writer = Writer::new(&mut text, target);
        writer.push(&request).unwrap();
        let loss = writer.finish().unwrap().1;
        (String::from_utf8(text).unwrap(), loss)
    };
    assert_eq!(
        write(Target::Msr, request),
        ("1,trace,0,Read,100,1000,0\n".into(), Loss { times: 1, ..Loss::default() })
    );
    assert_eq!(write(Target::Mqsim, request), ("150 0 0 3 1\n".into(), Loss { widened: 1, ..Loss::default() }));
    for (target, step) in [(Target::Msr, 100), (Target::Mqsim, 1), (Target::Fio, 1000)] {
        let hinted = Request::new(Time(5 * step), Op::Write, Bytes(512), Bytes(512)).hinted(2);
        assert_eq!(write(target, hinted).1, Loss { hints: 1, ..Loss::default() });
        assert_eq!(write(target, hinted.hinted(0)).1, Loss::default());
    }
    // fio passes over a sync without an extent.
    let flush = Request::new(Time(3000), Op::Flush, Bytes(0), Bytes(0));
    let log = "fio version 3 iolog\n3 device0 add\n3 device0 open\n3 device0 sync 0 0\n3 device0 close\n";
    assert_eq!(write(Target::Fio, flush).0, log);
    let trim = Request { op: Op::Trim, ..request };
    assert_eq!(write(Target::Msr, trim), (String::new(), Loss { left_out: 1, ..Loss::default() }));
}

#[test]
fn a_cut_keeps_what_lies_within_its_bounds() {
    let file = Scratch::new(b"10 0 0 8 1\n20 1 8 8 0\n30 0 16 8 1\n40 1 0 8 1\n50 0 100 8 1\n");
    let cut = |set: &dyn Fn(&mut Cut<TraceFile>)| {
        let mut cut = Cut::new(TraceFile::open(&file.0, None).unwrap());
        set(&mut cut);
        drain(&mut cut, 2).unwrap().iter().map(|r| (r.time.0, r.offset.0 / 512)).collect::<Vec<_>>()
    };
    assert_eq!(cut(&|_| ()), [(0, 0), (10, 8), (20, 16), (30, 0), (40, 100)]);
    assert_eq!(cut(&|c| (c.from, c.until) = (Span(10), Some(Span(30)))), [(0, 8), (10, 16)]);
    assert_eq!(cut(&|c| (c.requests, c.device) = (Some(2), Some(0))), [(0, 0), (20, 16)]);
    assert_eq!(cut(&|c| c.range = Some((Bytes(512 * 15), Bytes(512 * 17)))), [(0, 8), (10, 16)]);
}
