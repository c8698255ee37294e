//! Outcomes of decoding and prediction by RBER: a table that `ssdlab ecc simulate` profiles, so that a simulated drive
//! need not decode.

use units::table::Row;
use units::{ConfigError, Stream, Table};

use crate::decoder::ITERATIONS;

/// The columns that are read; the others of `ssdlab ecc simulate` are left out. Behind them stand `it_0` to `it_20`.
pub const COLUMNS: [&str; 5] = ["rber", "words", "failures", "predicted", "predicted_failures"];
const STEPS: usize = ITERATIONS as usize + 1;

/// A profile of a code: its points by rising RBER.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    points: Vec<Point>,
}

/// The outcomes of words of one RBER, as shares of all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    rber: f64,
    failed: f64,
    /// Predicted to fail, and failed.
    predicted_failed: f64,
    /// Predicted to fail, and corrected.
    predicted_fine: f64,
    /// Of the corrected words, those that took this many iterations or fewer.
    within: [f64; STEPS],
}

impl Point {
    /// The point of a row; `iterations` names the columns of words by their iterations.
    fn read(row: &Row, iterations: &[String]) -> Result<Point, ConfigError> {
        let count = |column: &str| row.number(column, 0.0..=1e15, "write a count");
        let [rber, words, failures, predicted, both] = COLUMNS.map(count);
        let (rber, words, failures, predicted, both) = (rber?, words?, failures?, predicted?, both?);
        let by_iterations = iterations.iter().map(|column| count(column)).collect::<Result<Vec<f64>, _>>()?;
        let adds_up = by_iterations.iter().sum::<f64>() == words && failures <= words && predicted <= words;
        if words == 0.0 || !adds_up || both > failures.min(predicted) {
            let problem = format!("the counts of RBER {rber} do not add up to {words} words");
            return Err(row.error("words", problem, "give the file as `ssdlab ecc simulate` wrote it"));
        }
        let mut within = [0.0; STEPS];
        let (mut sum, corrected) = (0.0, words - failures);
        for (share, count) in within.iter_mut().zip(by_iterations) {
            sum += count;
            // Words that failed are among those of the last iteration.
            *share = if corrected > 0.0 { (sum / corrected).min(1.0) } else { 0.0 };
        }
        within[STEPS - 1] = 1.0;
        Ok(Point {
            rber,
            failed: failures / words,
            predicted_failed: both / words,
            predicted_fine: (predicted - both) / words,
            within,
        })
    }
}

/// The outcome of decoding a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its first codeword is predicted to fail.
    pub predicted: bool,
    /// All its codewords are corrected.
    pub corrected: bool,
    /// Iterations of its slowest codeword.
    pub iterations: u32,
    /// Its codewords that are not corrected, a bit each by their number; those from 64 on in the last.
    pub failed: u64,
}

/// Where an RBER lies in a profile.
struct Between<'a> {
    /// The point below.
    low: &'a Point,
    /// The point above.
    high: &'a Point,
    /// How far it lies between them: 0 at `low`, 1 at `high`.
    part: f64,
}

impl Profile {
    /// The profile of the committed code, with independent errors and the flooding decoder, for pages sensed with this
    /// many bits a cell (presets/ecc/qc-ldpc.csv, qc-ldpc-2bit.csv, qc-ldpc-3bit.csv).
    pub fn preset(bits: u8) -> Profile {
        let text = match bits {
            2 => include_str!("../presets/qc-ldpc-2bit.csv"),
            3 => include_str!("../presets/qc-ldpc-3bit.csv"),
            _ => include_str!("../presets/qc-ldpc.csv"),
        };
        Profile::parse(text, "preset qc-ldpc").expect("Invariant: the preset is a profile")
    }

    /// Reads CSV text with the columns [`COLUMNS`] and `it_0` to `it_20`, in any order; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Profile, ConfigError> {
        let iterations: Vec<String> = (0..STEPS).map(|step| format!("it_{step}")).collect();
        let columns = COLUMNS.into_iter().chain(iterations.iter().map(String::as_str));
        let table = Table::parse(text, origin, columns, "give a file that `ssdlab ecc simulate` has written")?;
        let mut points: Vec<Point> = Vec::new();
        for row in table.rows() {
            let point = Point::read(&row, &iterations)?;
            if points.last().is_some_and(|last| last.rber >= point.rber) {
                return Err(row.error("rber", format!("{} does not rise", point.rber), "sort the lines by RBER"));
            }
            points.push(point);
        }
        let ends = points.first().zip(points.last()).map(|(first, last)| (first.failed, last.failed));
        if ends != Some((0.0, 1.0)) {
            let problem = "it does not reach from where no word fails to where all do".to_owned();
            return Err(table.error(Some("rber"), problem, "profile lower and higher RBERs as well"));
        }
        Ok(Profile { points })
    }

    /// The points about an RBER.
    fn between(&self, rber: f64) -> Between<'_> {
        let above = self.points.partition_point(|point| point.rber <= rber);
        let (low, high) = (&self.points[above.max(1) - 1], &self.points[above.min(self.points.len() - 1)]);
        let width = high.rber - low.rber;
        Between { low, high, part: if width > 0.0 { (rber - low.rber) / width } else { 0.0 } }
    }

    /// The RBER at which half of the words fail.
    pub fn capability(&self) -> f64 {
        let above = self.points.partition_point(|point| point.failed < 0.5);
        let (low, high) = (&self.points[above.max(1) - 1], &self.points[above]);
        let width = high.failed - low.failed;
        let part = if width > 0.0 { (0.5 - low.failed) / width } else { 0.0 };
        low.rber + part * (high.rber - low.rber)
    }

    /// The outcome of a page of whose codewords these have such RBERs, by number; `draws` decide, of each by its
    /// number. The first of them is looked at by the prediction.
    pub fn page(&self, rbers: impl Iterator<Item = (u64, f64)>, draws: Stream) -> Page {
        let mut page = Page { predicted: false, corrected: true, iterations: 0, failed: 0 };
        for (place, (index, rber)) in rbers.enumerate() {
            let Between { low, high, part } = self.between(rber);
            let between = |of: fn(&Point) -> f64| of(low) + part * (of(high) - of(low));
            // Of all words: failed and predicted, corrected and predicted, failed and not predicted, neither.
            let (both, fine) = (between(|point| point.predicted_failed), between(|point| point.predicted_fine));
            let draw = draws.uniform(2 * index);
            let predicted = draw < both + fine;
            let failed = draw < both || (!predicted && draw < fine + between(|point| point.failed));
            page.predicted |= predicted && place == 0;
            page.corrected &= !failed;
            page.failed |= u64::from(failed) << index.min(63);
            let takes = draws.uniform(2 * index + 1);
            let within = |step: &usize| low.within[*step] + part * (high.within[*step] - low.within[*step]) > takes;
            let iterations = if failed { STEPS - 1 } else { (0..STEPS).find(within).unwrap_or(STEPS - 1) };
            page.iterations = page.iterations.max(iterations as u32);
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_the_profile() {
        for bits in 1..=3 {
            follow(&Profile::preset(bits));
        }
    }

    fn follow(profile: &Profile) {
        let stream = Stream::new(1, "test");
        for point in &profile.points {
            const PAGES: u64 = 20_000;
            let four = [point.rber; 4];
            let pages = (0..PAGES).map(|page| profile.page((0..).zip(four), stream.entity(page)));
            let (mut corrected, mut predicted, mut iterations) = (0.0, 0.0, 0.0);
            for page in pages {
                corrected += f64::from(u8::from(page.corrected));
                predicted += f64::from(u8::from(page.predicted));
                iterations += f64::from(if page.corrected { page.iterations } else { 0 });
            }
            let pages = PAGES as f64;
            let near = |share: f64, expected: f64| (share - expected).abs() < 4.0 * (0.25 / pages).sqrt();
            assert!(near(corrected / pages, (1.0 - point.failed).powi(4)), "{point:?}");
            assert!(near(predicted / pages, point.predicted_failed + point.predicted_fine), "{point:?}");
            // The mean of the slowest of four: the sum over steps of the share that takes more.
            let slowest: f64 = point.within.iter().map(|share| 1.0 - share.powi(4)).sum();
            assert!(corrected < 1e3 || (iterations / corrected - slowest).abs() < 0.3, "{point:?}");
        }
        let lost = profile.page([(1, 0.2), (3, 0.2)].into_iter(), stream);
        assert_eq!((lost.iterations, lost.failed, lost.corrected), (ITERATIONS, 0b1010, false));
        assert!(profile.page((0..).zip([0.0; 4]), stream).corrected);
    }

    #[test]
    fn half_of_the_words_fail_at_the_capability() {
        // Between the points about it, as `presets/ecc` has them.
        assert!((Profile::preset(1).capability() - 0.0088).abs() < 1e-4);
        assert!((Profile::preset(2).capability() - 0.0182).abs() < 1e-4);
        assert!((Profile::preset(3).capability() - 0.0208).abs() < 2e-4);
    }

    #[test]
    fn a_profile_is_refused_by_line_and_column() {
        let steps: Vec<String> = (0..STEPS).map(|step| format!("it_{step}")).collect();
        let header = format!("rber,words,failures,predicted,predicted_failures,{}", steps.join(","));
        let row = |rber: f64, failures: u32| format!("{rber},10,{failures},0,0,{}10", "0,".repeat(STEPS - 1));
        let text = |rows: &[String]| format!("{header}\n{}\n", rows.join("\n"));
        assert!(Profile::parse(&text(&[row(0.001, 0), row(0.02, 10)]), "a.csv").is_ok());
        for (rows, wanted) in [
            (vec![row(0.001, 0), row(0.02, 9)], "no word fails to where all do"),
            (vec![row(0.02, 0), row(0.02, 10)], "a.csv:3"),
            (vec![row(0.001, 11), row(0.02, 10)], "do not add up"),
        ] {
            let error = Profile::parse(&text(&rows), "a.csv").unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(Profile::parse("rber\n", "a.csv").unwrap_err().to_string().contains("words"));
    }
}
