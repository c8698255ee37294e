//! The code, its encoder and decoder, and every way to a syndrome weight.

use std::time::Instant;

use ecc::code::{BITS, DATA, LIMBS, SIZE, Segment};
use ecc::prediction::{FETCHES, Syndromes, expected_weight, on_die_weight, predicts_failure, rearranged, restored};
use ecc::simulation::{Errors, Simulation};
use ecc::soft::Channel;
use ecc::{Code, Decoder, Encoder, Fineness, Received, Schedule, Word, reference};
use units::Stream;

fn data(draws: Stream) -> [Segment; DATA] {
    std::array::from_fn(|segment| std::array::from_fn(|limb| draws.bits((segment * LIMBS + limb) as u64)))
}

#[test]
fn the_committed_code_is_what_the_search_finds() {
    let code = Code::default();
    assert_eq!(code, Code::search(1));
    assert!(code.has_girth_6());
    let mut broken = code.clone();
    broken.shifts[1][1] = (broken.shifts[0][1] + broken.shifts[1][0] + 1024 - broken.shifts[0][0]) % 1024;
    assert!(!broken.has_girth_6());
}

#[test]
fn codewords_are_systematic_and_satisfy_every_check() {
    let code = Code::default();
    for seed in 1..4 {
        let encoder = Encoder::new(&if seed == 3 { Code::search(7) } else { code.clone() }).unwrap();
        let checked = if seed == 3 { Code::search(7) } else { code.clone() };
        for number in 0..5 {
            let data = data(Stream::new(seed, "data").entity(number));
            let word = encoder.encode(&data);
            assert_eq!(word.0[..DATA], data);
            assert!(checked.is_codeword(&word));
            let mut wrong = word.clone();
            wrong.flip((number as usize * 7_919 + 13) % BITS);
            assert!(!checked.is_codeword(&wrong));
        }
    }
}

#[test]
fn errors_are_corrected_and_the_data_comes_back() {
    let code = Code::default();
    let encoder = Encoder::new(&code).unwrap();
    let mut decoder = Decoder::new(&code);
    for number in 0..60 {
        let draws = Stream::new(2, "words").entity(number);
        let word = encoder.encode(&data(draws));
        for (schedule, errors) in [(Schedule::Layered, 220), (Schedule::Flooding, 200), (Schedule::Layered, 1)] {
            let mut received = word.clone();
            received.add_exact_errors(errors, draws.entity(1));
            assert_eq!(received.distance(&word), errors);
            let decoded = decoder.decode(&received, schedule, 20);
            assert!(decoded.converged && decoded.word == word, "{errors} errors, {schedule:?}");
        }
    }
    assert_eq!(decoder.decode(&Word::zero(), Schedule::Layered, 20).iterations, 0);
    // Any single error, and any pair within a segment, whatever the data: the code's distance is larger.
    for place in (0..BITS).step_by(97) {
        let mut received = Word::zero();
        received.flip(place);
        received.flip((place + 501) % BITS);
        let decoded = decoder.decode(&received, Schedule::Layered, 20);
        assert!(decoded.converged && decoded.word == Word::zero(), "{place}");
    }
}

#[test]
fn the_fast_decoder_is_the_plain_one_bit_for_bit() {
    let code = Code::default();
    let mut decoder = Decoder::new(&code);
    for (number, rber) in [0.001, 0.006, 0.0085, 0.0088, 0.012, 0.4].into_iter().enumerate() {
        for schedule in [Schedule::Layered, Schedule::Flooding] {
            let mut word = Word::zero();
            word.add_errors(rber, Stream::new(3, "plain").entity(number as u64));
            let plain = reference::decode(&code, Received::Hard(&word), schedule, 20);
            assert_eq!(decoder.decode(&word, schedule, 20), plain, "{rber} {schedule:?}");
        }
    }
}

#[test]
fn the_fast_decoder_is_the_plain_one_on_beliefs_too() {
    let code = Code::default();
    let mut decoder = Decoder::new(&code);
    for (number, rber) in [0.002, 0.009, 0.012, 0.0135, 0.02].into_iter().enumerate() {
        for fineness in [Fineness::TwoBit, Fineness::ThreeBit] {
            let channel = Channel::new(rber, fineness);
            let (beliefs, _) = channel.sense(Stream::new(6, "plain").entity(number as u64));
            for schedule in [Schedule::Layered, Schedule::Flooding] {
                let received = Received::Soft(&beliefs);
                let plain = reference::decode(&code, received, schedule, 20);
                assert_eq!(decoder.decode(received, schedule, 20), plain, "{rber} {fineness:?} {schedule:?}");
            }
        }
    }
    // Beliefs of one size are a hard word, wherever its errors are.
    let mut word = Word::zero();
    word.add_errors(0.0085, Stream::new(7, "plain"));
    let beliefs: Vec<i8> = (0..BITS).map(|bit| if word.bit(bit) { -24 } else { 24 }).collect();
    let hard = decoder.decode(&word, Schedule::Flooding, 20);
    assert_eq!(decoder.decode(Received::Soft(&beliefs), Schedule::Flooding, 20), hard);
}

#[test]
fn finer_sensing_corrects_more() {
    let code = Code::default();
    let failures = |rber: f64, fineness: Fineness| {
        let (errors, schedule) = (Errors::Independent, Schedule::Flooding);
        Simulation { rber, errors, fineness, schedule, seed: 1 }.run(&code, 0, 60, 2).failures
    };
    let of =
        |rber: f64| [Fineness::Hard, Fineness::TwoBit, Fineness::ThreeBit].map(|fineness| failures(rber, fineness));
    assert_eq!(of(0.006), [0, 0, 0]);
    let [hard, two, three] = of(0.0105);
    assert!(hard == 60 && two == 0 && three == 0, "{hard} {two} {three}");
    assert_eq!(of(0.03), [60, 60, 60]);
}

#[test]
fn every_way_to_a_syndrome_weight_agrees() {
    let code = Code::default();
    for number in 0..10_000 {
        let draws = Stream::new(4, "weights").entity(number);
        let mut word = Word::zero();
        for (segment, bits) in word.0.iter_mut().flatten().zip(0..) {
            *segment = draws.bits(bits);
        }
        let direct = code.weight(&word, 1);
        let stored = rearranged(&code, &word);
        assert_eq!(on_die_weight(&stored), (direct, FETCHES));
        if number < 100 {
            assert_eq!(restored(&code, &stored), word);
            // Bit by bit, as the matrix says.
            let check = |row: usize, r: usize| {
                let places = code.shifts[row].iter().enumerate().filter(|(_, shift)| **shift != u16::MAX);
                let bits = places.filter(|(j, shift)| word.bit(j * SIZE + (r + usize::from(**shift)) % SIZE));
                bits.count() as u32 % 2
            };
            assert_eq!((0..SIZE).map(|r| check(0, r)).sum::<u32>(), direct);
            let all: u32 = (0..4).flat_map(|row| (0..SIZE).map(move |r| (row, r))).map(|(row, r)| check(row, r)).sum();
            assert_eq!(code.weight(&word, 4), all);
        }
    }
}

#[test]
fn the_weight_is_what_the_error_rate_says() {
    let code = Code::default();
    for (syndromes, within) in [(Syndromes::Pruned, 2.5), (Syndromes::All, 5.0)] {
        for rber in [0.002, 0.0085] {
            let sum: u32 = (0..200)
                .map(|number| {
                    let mut word = Word::zero();
                    word.add_errors(rber, Stream::new(5, "mean").entity(number));
                    code.weight(&word, syndromes.rows())
                })
                .sum();
            let expected = expected_weight(&code, rber, syndromes);
            assert!((f64::from(sum) / 200.0 - expected).abs() < within, "{sum} for {expected}");
        }
    }
    let mut word = Word::zero();
    word.add_errors(0.02, Stream::new(6, "much"));
    let threshold = expected_weight(&code, 0.0085, Syndromes::Pruned).round() as u32;
    assert!(predicts_failure(&code, &word, Syndromes::Pruned, threshold));
    assert!(!predicts_failure(&code, &Word::zero(), Syndromes::Pruned, threshold));
}

#[test]
fn counts_do_not_depend_on_the_threads() {
    let code = Code::default();
    let (errors, schedule) = (Errors::Independent, Schedule::Layered);
    let simulation = Simulation { rber: 0.0087, errors, fineness: Fineness::Hard, schedule, seed: 1 };
    let one = simulation.run(&code, 0, 100, 1);
    assert_eq!(one, simulation.run(&code, 0, 100, 2));
    let mut parts = simulation.run(&code, 0, 48, 2);
    parts.add(&simulation.run(&code, 48, 100, 1));
    assert_eq!(one, parts);
    assert!(one.failures > 0 && one.failures < 100 && one.miscorrected == 0);
    assert_eq!(one.by_iterations.iter().sum::<u64>(), 100);
    assert_eq!(one.correct_predictions(Syndromes::Pruned, 0), one.failures);
}

/// `make bench`: information decoded a second on one core, and one prediction.
#[test]
#[ignore = "a measurement"]
fn bench_ecc() {
    let code = Code::default();
    let mut decoder = Decoder::new(&code);
    for (schedule, rber) in [
        (Schedule::Layered, 0.002),
        (Schedule::Layered, 0.004),
        (Schedule::Layered, 0.006),
        (Schedule::Layered, 0.008),
        (Schedule::Flooding, 0.006),
    ] {
        let words: Vec<Word> = (0..300)
            .map(|number| {
                let mut word = Word::zero();
                word.add_errors(rber, Stream::new(7, "speed").entity(number));
                word
            })
            .collect();
        words[..20].iter().for_each(|word| drop(decoder.decode(word, schedule, 20)));
        let start = Instant::now();
        let iterations: u32 = words.iter().map(|word| decoder.decode(word, schedule, 20).iterations).sum();
        let took = start.elapsed().as_secs_f64();
        println!(
            "decode {schedule:?} at {rber}: {:.0} Mb/s of information, {:.1} iterations, {:.1} us an iteration",
            300.0 * 32_768.0 / took / 1e6,
            f64::from(iterations) / 300.0,
            took * 1e6 / f64::from(iterations)
        );
    }
    let mut word = Word::zero();
    word.add_errors(0.0085, Stream::new(8, "one"));
    let stored = rearranged(&code, &word);
    let start = Instant::now();
    let sum: u64 = (0..100_000).map(|_| u64::from(on_die_weight(std::hint::black_box(&stored)).0)).sum();
    println!("prediction: {:.0} ns (weight {})", start.elapsed().as_secs_f64() * 1e4, sum / 100_000);
}
