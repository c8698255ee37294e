//! Workloads of phases: every law has its effect, and what cannot be met is refused.

use crate::common::drain;
use units::{Bytes, Document};
use workload::{Op, Request, Workload};

const CAPACITY: Bytes = Bytes(1 << 40);
const HEAD: &str = "[workload]\nrequests = 200000\n[gap]\nshort = { quantiles = \"1us:10us:100us\" }\nlong = { quantiles = \"5ms\" }\n";

fn read(text: &str) -> Result<Workload, String> {
    let document = Document::parse(text, "work.toml").unwrap();
    Workload::read(&document, &[], None).map_err(|error| error.to_string())
}

fn play(text: &str, seed: u64) -> Vec<Request> {
    drain(&mut *read(text).unwrap().source(CAPACITY, seed).unwrap(), 4096).unwrap()
}

/// One phase that draws `mix`, and one kind `k` with further keys.
fn one(kind: &str, mix: &str) -> String {
    format!("{HEAD}[kind.k]\n{kind}\n[phase]\na = {{ mix = \"{mix}\", next = \"a/1\" }}\n")
}

fn share(all: &[Request], of: impl Fn(&Request) -> bool) -> f64 {
    all.iter().filter(|request| of(request)).count() as f64 / all.len() as f64
}

fn near(found: f64, expected: f64, within: f64, what: &str) {
    assert!((found - expected).abs() <= within, "{what}: {found} for {expected}");
}

#[test]
fn a_phase_lasts_as_long_as_its_chain_says_and_draws_its_mix() {
    let text = format!(
        "{HEAD}[kind.r]\n[kind.w]\nrw = \"write\"\n[phase]\ncalm = {{ mix = \"r.long.new/3:w.long.new/1\", next = \"calm/90:burst/10\" }}\n\
         burst = {{ mix = \"w.short.new/1\", next = \"burst/95:calm/5\" }}\n"
    );
    let all = play(&text, 1);
    assert_eq!(all.len(), 200_000);
    assert!(all == play(&text, 1) && all != play(&text, 2));
    let gaps: Vec<u64> = all.windows(2).map(|pair| pair[1].time.0 - pair[0].time.0).collect();
    // A third of the requests are in phase calm (0.05 / 0.15), three quarters of which read; calm lasts 10 requests.
    let calm: Vec<bool> = gaps.iter().map(|gap| *gap >= 5_000_000).collect();
    near(calm.iter().filter(|calm| **calm).count() as f64 / calm.len() as f64, 1.0 / 3.0, 0.01, "share of calm");
    near(share(&all, |request| request.op == Op::Read), 0.25, 0.01, "reads");
    let ends = calm.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
    near(calm.iter().filter(|calm| **calm).count() as f64 / ends, 10.0, 0.3, "length of calm");
    // The gap stands behind the request that draws it.
    assert!(all.iter().zip(&gaps).all(|(request, gap)| request.op == Op::Write || *gap >= 5_000_000));
}

#[test]
fn gaps_have_their_quantiles_and_are_log_uniform_between() {
    let all = play(&one("", "k.short.new/1"), 1);
    let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1].time.0 - pair[0].time.0) as f64 / 1e3).collect();
    let below = |edge: f64| gaps.iter().filter(|gap| **gap < edge).count() as f64 / gaps.len() as f64;
    for (edge, expected) in [(1.0, 0.0), (3.162, 0.25), (10.0, 0.5), (31.62, 0.75), (100.1, 1.0)] {
        near(below(edge), expected, 0.005, "gaps");
    }
    let fixed = play(&one("", "k.long.new/1"), 1);
    assert!(fixed.windows(2).all(|pair| pair[1].time.0 - pair[0].time.0 == 5_000_000));
}

#[test]
fn new_requests_lie_in_zones_evenly_and_aligned() {
    let kind = "zones = \"0B:1MiB:9MiB\"\nalign = \"4KiB/50:64KiB/50\"\nbs = \"4KiB/50:8KiB/50\"";
    let all = play(&one(kind, "k.long.new/1"), 1);
    near(share(&all, |request| request.offset.0 < 1 << 20), 0.5, 0.005, "first zone");
    assert!(all.iter().all(|request| request.offset.0 < 9 << 20 && request.offset.0 % 4096 == 0));
    // Half, and of the other half one in sixteen.
    near(share(&all, |request| request.offset.0 % 65_536 == 0), 0.5 + 0.5 / 16.0, 0.01, "aligned to 64 KiB");
    near(share(&all, |request| request.bytes.0 == 8192), 0.5, 0.005, "8 KiB");
    // A zone of n places is covered by n requests far better than by chance (63 %).
    let text = one("zones = \"0B:1GiB\"\nalign = \"1MiB\"", "k.long.new/1");
    let mut met: Vec<u64> = play(&text, 1).iter().take(1024).map(|request| request.offset.0).collect();
    met.sort_unstable();
    met.dedup();
    assert!(met.len() > 900, "{}", met.len());
    // And in no pattern: no step from one to the next comes twice, so that they meet in dies as by chance.
    let all = play(&one("zones = \"0B:30GiB\"", "k.long.new/1"), 1);
    let mut steps: Vec<i64> = all.windows(2).map(|two| two[1].offset.0 as i64 - two[0].offset.0 as i64).collect();
    steps.truncate(10_000);
    steps.sort_unstable();
    steps.dedup();
    assert!(steps.len() > 9_900, "{}", steps.len());
    let moved = play(
        &one("zones = \"0B:1MiB\"", "k.long.new/1").replace("[workload]\n", "[workload]\noffset = \"1536B\"\n"),
        1,
    );
    assert!(moved.iter().all(|request| request.offset.0 % 4096 == 1536));
}

#[test]
fn next_goes_on_with_a_stream_of_the_same_operation() {
    let text = format!(
        "{HEAD}[kind.r]\nbs = \"16KiB\"\nstreams = \"0/50:1/50\"\n[kind.w]\nrw = \"write\"\n\
         [phase]\na = {{ mix = \"r.long.next/90:r.long.new/2:w.long.new/8\", next = \"a/1\" }}\n"
    );
    let all = play(&text, 1);
    let mut ends: Vec<u64> = Vec::new();
    let (mut front, mut second, mut reads) = (0.0, 0.0, 0.0);
    for request in all.iter().filter(|request| request.op == Op::Read) {
        reads += 1.0;
        let at = ends.iter().position(|end| *end == request.offset.0);
        front += f64::from(u8::from(at == Some(0)));
        second += f64::from(u8::from(at == Some(1)));
        if let Some(at) = at {
            ends.remove(at);
        }
        ends.insert(0, request.offset.0 + request.bytes.0);
        ends.truncate(32);
    }
    near(front / reads, 0.45 / 0.92, 0.01, "the last stream");
    near(second / reads, 0.45 / 0.92, 0.01, "the one before");
}

#[test]
fn skip_starts_near_the_end_of_a_stream() {
    let kind = "skips = \"8KiB/75:-12KiB/25\"\nzones = \"0B:1TiB\"";
    let all = play(&one(kind, "k.long.skip/99:k.long.new/1"), 1);
    let step = |pair: &[Request]| pair[1].offset.0 as i64 - (pair[0].offset.0 + pair[0].bytes.0) as i64;
    let of = |step_of: i64| all.windows(2).filter(|pair| step(pair) == step_of).count() as f64 / all.len() as f64;
    near(of(8192), 0.99 * 0.75, 0.01, "steps on");
    near(of(-12_288), 0.99 * 0.25, 0.01, "steps back");
    let aligned = play(&one(&format!("{kind}\nskip_align = \"64KiB\""), "k.long.skip/99:k.long.new/1"), 1);
    assert!(share(&aligned, |request| request.offset.0 % 65_536 == 0) > 0.98);
}

#[test]
fn recent_and_earlier_meet_addresses_again() {
    let text = format!(
        "{HEAD}[kind.r]\nrecent = \"write@1/1\"\nearlier = \"write@4096/1\"\n[kind.w]\nrw = \"write\"\nzones = \"0B:512GiB\"\n\
         [phase]\na = {{ mix = \"w.long.new/50:r.long.recent/30:r.long.earlier/20\", next = \"a/1\" }}\n"
    );
    let all = play(&text, 1);
    let mut written = std::collections::HashMap::new();
    let (mut soon, mut late) = (0.0, 0.0);
    for (i, request) in all.iter().enumerate() {
        if request.op == Op::Write {
            written.insert(request.offset.0, i);
        } else if let Some(then) = written.get(&request.offset.0) {
            let ago = i - then;
            soon += f64::from(u8::from(ago < 64));
            late += f64::from(u8::from((4096..8192 + 64).contains(&ago)));
        }
    }
    near(soon / all.len() as f64, 0.3, 0.01, "recent");
    // At the start there is nothing so long ago.
    near(late / all.len() as f64, 0.2, 0.02, "earlier");
}

#[test]
fn what_cannot_be_met_is_refused_with_key_and_remedy() {
    let refused = |text: &str| {
        let error = read(text).map(|workload| workload.source(CAPACITY, 1).map(|_| ()).unwrap_err());
        error.map_or_else(|text| text, |error| format!("{}: {error}", error.key.clone().unwrap()))
    };
    for (kind, mix, found) in [
        ("", "x.long.new/1", "phase.a.mix: configuration: phase.a.mix: there is no [kind.x]"),
        ("", "k.x.new/1", "there is no [gap.x]"),
        ("", "k.long.skip/1", "k.long.skip needs kind.k.skips"),
        ("", "k.long.recent/1", "needs kind.k.recent"),
        ("", "k.long.there/1", "is not accepted"),
        ("bs = \"0B\"", "k.long.new/1", "kind.k.bs"),
        ("align = \"mean:8KiB\"", "k.long.new/1", "kind.k.align"),
        ("zones = \"5MiB\"", "k.long.new/1", "kind.k.zones"),
        ("zones = \"5MiB:1MiB\"", "k.long.new/1", "ascending order"),
        ("streams = \"32/1\"", "k.long.next/1", "0 to 31"),
        ("recent = \"write@0/1\"", "k.long.recent/1", "is not accepted"),
        ("", "x.long/1", "there is no [burst.x]"),
        ("bx = 5", "k.long.new/1", "unknown key"),
    ] {
        let error = refused(&one(kind, mix));
        assert!(error.contains(found) && error.contains("help: "), "{error}");
    }
    let text = one("", "k.long.new/1");
    for (what, with, found) in [
        ("next = \"a/1\"", "next = \"b/1\"", "there is no [phase.b]"),
        ("next = \"a/1\"", "next = \"none\"", "leads nowhere"),
        ("next = \"a/1\"", "next = \"a/1\", stay = \"none\"", "lasts no request"),
        ("next = \"a/1\"", "next = \"a/1\", stay = \"0/1\"", "is not accepted"),
        (
            "[phase]",
            "[burst]\nb = { requests = \"\" }\n[phase]",
            "burst.b.requests: configuration: burst.b.requests: has no",
        ),
        ("[phase]", "[burst]\nb = { requests = \"k.long.new*0\" }\n[phase]", "is not accepted"),
        ("[phase]", "[burst]\nb = { requests = \"k.long.new*4000000000\" }\n[phase]", "has 4000000000 requests"),
        ("[phase]", "[burst]\nb = { requests = \"k.long.new k.x.new\" }\n[phase]", "there is no [gap.x]"),
        ("[phase]", "[burst]\nb = { requests = \"k.long.recent\" }\n[phase]", "needs kind.k.recent"),
        ("[workload]\n", "[workload]\nread_ratio = 0.5\n", "workload.read_ratio"),
        ("[workload]\n", "[workload]\nrate_iops = 5\n", "workload.rate_iops"),
        ("[workload]\n", "[job.x]\n[workload]\n", "is there beside phases"),
    ] {
        let error = refused(&text.replace(what, with));
        assert!(error.contains(found), "{error}");
    }
    assert!(read("[gap.x]\nquantiles = \"5ms\"").unwrap_err().contains("no phase draws from it"));
}

#[test]
fn phases_written_as_toml_read_back() {
    let kind = "skips = \"8KiB/75:-12KiB/25\"\nrecent = \"read@4/1:write@1/2\"\nalign = \"4KiB/50:64KiB/50\"\n\
                [burst]\nb = { requests = \"k.long.new k.short.next*3\" }";
    let text =
        one(kind, "k.short.new/3:k.long.recent/1:k.long.skip/1:b.long/2").replace("a/1", "a/1\", stay = \"3/1:1/2");
    let workload = read(&text).unwrap();
    let again = read(&workload.to_toml()).unwrap();
    assert_eq!((workload.jobs, workload.phases), (again.jobs, again.phases));
}

#[test]
fn a_stay_lasts_as_often_as_it_says() {
    let text = format!(
        "{HEAD}[kind.r]\n[kind.w]\nrw = \"write\"\n[phase]\na = {{ mix = \"r.short.new/1\", stay = \"1/1:7/3\", next = \"b/1\" }}\n\
         b = {{ mix = \"w.short.new/1\", stay = \"2/1\", next = \"a/1\", deck = 100 }}\n"
    );
    let all = play(&text, 1);
    let runs: Vec<(Op, usize)> = all.chunk_by(|one, two| one.op == two.op).map(|run| (run[0].op, run.len())).collect();
    let whole = &runs[..runs.len() - 1];
    assert!(whole.iter().all(|run| matches!(run, (Op::Read, 1 | 7) | (Op::Write, 2))));
    let stays = whole.iter().filter(|(op, _)| *op == Op::Read).count() as f64;
    near(whole.iter().filter(|run| run.1 == 7).count() as f64 / stays, 0.75, 0.01, "stays of seven");
}

#[test]
fn a_burst_comes_whole_and_the_phase_says_the_gap_behind_it() {
    let text = format!(
        "{HEAD}none = {{ quantiles = \"0ns\" }}\n[kind.r]\nbs = \"64KiB\"\n[kind.w]\nrw = \"write\"\n\
         [burst]\nlog = {{ requests = \"w.none.new w.none.next*2 r.short.new\" }}\n\
         [phase]\na = {{ mix = \"log.long/1:r.long.new/3\", next = \"a/1\", deck = 400 }}\n"
    );
    let all = play(&text, 1);
    let mut bursts = 0.0;
    let mut at = 0;
    while at + 4 < all.len() {
        let gap = |from: usize| all[from + 1].time.0 - all[from].time.0;
        if all[at].op == Op::Read {
            assert_eq!(gap(at), 5_000_000);
            at += 1;
            continue;
        }
        let burst = &all[at..at + 4];
        assert!(burst[..3].iter().all(|request| request.op == Op::Write && request.time == burst[0].time));
        assert!(burst[..3].windows(2).all(|two| two[1].offset.0 == two[0].offset.0 + two[0].bytes.0));
        assert_eq!(burst[3].op, Op::Read);
        assert_eq!(gap(at + 3), 5_000_000);
        bursts += 1.0;
        at += 4;
    }
    // One draw in four is a burst, of four requests.
    near(4.0 * bursts / all.len() as f64, 4.0 / 7.0, 0.001, "requests of bursts");
}

#[test]
fn a_deck_is_dealt_out_whole_and_shuffled() {
    let text = |deck: &str| {
        format!(
            "{HEAD}[kind.r]\n[kind.w]\nrw = \"write\"\n[phase]\n\
             a = {{ mix = \"w.short.new/1:r.long.new/99\", next = \"a/1\"{deck} }}\n"
        )
    };
    let writes = |deck: &str, seed| -> Vec<usize> {
        let all = play(&text(deck), seed);
        (0..all.len()).filter(|at| all[*at].op == Op::Write).collect()
    };
    for seed in 1..4 {
        let dealt = writes(", deck = 1000", seed);
        // Ten of each thousand, no more and no less; in another order each time, and not in step.
        for deck in 0..200 {
            assert_eq!(dealt.iter().filter(|at| **at / 1000 == deck).count(), 10, "deck {deck}");
        }
        let gaps: Vec<f64> = dealt.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        // 1 where they are geometric; ten of a deck are a little more even.
        near(deviation / mean, 0.9, 0.1, "spread of distances");
        let drawn = writes("", seed);
        assert!((0..200).any(|deck| drawn.iter().filter(|at| **at / 1000 == deck).count() != 10));
    }
}
