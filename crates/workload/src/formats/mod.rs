//! The trace formats: one file a format, and one line each in [`ALL`].

mod ascii;
mod binary;
mod blkparse;
mod columns;
mod declared;
mod delimited;
mod entry;
mod fio;
mod layout;
mod line;
mod mlperf;
mod msr;
mod named;
mod unit;

use std::fmt;

use units::ConfigError;
use units::value::nearest;

use entry::{Column, Entry, Reader};
use line::Separator;
use unit::Units;

pub(crate) use layout::Scales;
pub(crate) use line::{Fault, LineReader, Why, is_blank};
pub(crate) use named::names_columns;

/// How a format was found whose file names its columns.
pub(crate) const BY_NAMES: &str = "read by the names of its columns";

/// Every format. When the content fits several, the first is taken.
const ALL: &[&Entry] = &[
    &msr::MSR,
    &ascii::MQSIM,
    &ascii::DISKSIM,
    &delimited::ALIBABA,
    &delimited::SYSTOR,
    &delimited::SPC,
    &delimited::TENCENT,
    &delimited::FLASHNET,
    &delimited::FLASHNET_LOG,
    &delimited::BIOTRACER,
    &blkparse::BLKPARSE,
    &fio::FIO2,
    &fio::FIO3,
    &mlperf::MLPERF_KV,
    &binary::VSCSI,
    &binary::ORACLE,
];

/// A format, and how it was chosen.
pub(crate) struct Detected {
    pub(crate) format: Format,
    /// Other formats that the content fits.
    pub(crate) others: Vec<&'static str>,
    chosen: Chosen,
}

/// How a format was chosen.
enum Chosen {
    /// By the user.
    Given,
    /// By the content of the file.
    ByContent,
    /// By the names of its columns, which leave open what is guessed.
    ByNames(Vec<String>),
}

impl Detected {
    /// What the user has chosen.
    pub(crate) fn chosen(format: Format) -> Detected {
        Detected { format, others: Vec::new(), chosen: Chosen::Given }
    }

    fn first_of(mut fitting: impl Iterator<Item = &'static &'static Entry>) -> Option<Detected> {
        let entry = *fitting.next()?;
        let format = Format { entry, units: entry.units };
        Some(Detected { format, others: fitting.map(|entry| entry.name).collect(), chosen: Chosen::ByContent })
    }

    /// A note for the user on a format that was detected.
    pub(crate) fn note(&self) -> Option<String> {
        let (taken, name) = (self.format.describe(), self.format.name());
        Some(match (&self.chosen, self.others.as_slice()) {
            (Chosen::Given, _) => return None,
            (Chosen::ByNames(guesses), _) if guesses.is_empty() => format!("{BY_NAMES}: {name}"),
            (Chosen::ByNames(guesses), _) => {
                let guesses = guesses.join(", ");
                format!("{BY_NAMES}; guessed: {guesses}; to say otherwise change --format {name}")
            }
            (Chosen::ByContent, []) => format!("read as {taken}; use --format to choose another"),
            (Chosen::ByContent, others) => {
                format!("read as {taken}; it also fits {}: use --format {name} or another", others.join(" and "))
            }
        })
    }
}

/// A trace format in a list of all of them.
#[derive(Clone, Copy, Debug)]
pub struct ListedFormat {
    /// Its word.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What its lines hold.
    pub layout: &'static str,
}

/// A trace format with the units of its columns.
#[derive(Clone, Copy)]
pub struct Format {
    entry: &'static Entry,
    units: Option<Units>,
}

impl Format {
    /// Reads a format as users write it: `msr`, `mqsim`, `disksim:time=ms,offset=B,size=B`.
    pub fn parse(word: &str) -> Result<Format, ConfigError> {
        let fail = |problem: String, remedy: String| ConfigError {
            origin: format!("--format {}", crate::error::excerpt(word.as_bytes())),
            line: None,
            key: None,
            problem,
            remedy,
        };
        for (start, separator) in Separator::DECLARED {
            if let Some(columns) = word.strip_prefix(start) {
                let declared = declared::declared(word, separator, columns);
                let entry = declared.map_err(|(problem, remedy)| fail(problem, remedy))?;
                return Ok(Format { entry, units: None });
            }
        }
        let (name, options) = word.split_once(':').map_or((word, None), |(name, options)| (name, Some(options)));
        let Some(entry) = ALL.iter().find(|entry| entry.name == name) else {
            let known = || ALL.iter().map(|entry| entry.name);
            let remedy = match nearest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "the formats are {}; or declare columns: csv:time=us,op=R/W,offset=B,size=B",
                    known().collect::<Vec<_>>().join(", ")
                ),
            };
            return Err(fail("there is no such format".into(), remedy));
        };
        let mut format = Format { entry, units: entry.units };
        if let Some(options) = options {
            let Some(units) = &mut format.units else {
                return Err(fail(format!("{} has fixed units", entry.title), format!("write `{name}`")));
            };
            units.apply(options).map_err(|(problem, remedy)| fail(problem, remedy))?;
        }
        Ok(format)
    }

    /// The format that the first lines of a file show.
    pub(crate) fn detect<Line: AsRef<[u8]>>(first_lines: &[Line]) -> Option<Detected> {
        let lines: Vec<&[u8]> =
            first_lines.iter().map(|line| line.as_ref().trim_ascii()).filter(|line| !is_blank(line)).collect();
        if lines.is_empty() {
            return None;
        }
        Detected::first_of(ALL.iter().filter(|entry| (entry.looks_like)(&lines)))
    }

    /// The format that the names of a file's columns declare, where its first line holds names, and whether they leave
    /// no doubt that it is meant. An error is the problem and its remedy.
    pub(crate) fn of_names<'a, Line: AsRef<[u8]>>(
        first_lines: &'a [Line],
    ) -> Option<Result<(Detected, bool), (String, String)>> {
        // A tab at the beginning stands behind an empty column.
        let whole = |line: &'a Line| line.as_ref().strip_suffix(b"\r").unwrap_or(line.as_ref());
        let mut lines = first_lines.iter().map(whole).filter(|line| !is_blank(line));
        let head = lines.next()?;
        let lines: Vec<&[u8]> = lines.collect();
        Some(named::named(head, &lines)?.map(|found| {
            let format = Format::parse(&found.word).expect("Invariant: names declare a format");
            let detected = Detected { format, others: Vec::new(), chosen: Chosen::ByNames(found.guesses) };
            (detected, found.is_certain)
        }))
    }

    /// The binary format that the beginning of a file shows.
    pub(crate) fn detect_binary(head: &[u8]) -> Option<Detected> {
        Detected::first_of(ALL.iter().filter(|entry| binary::looks_like(entry, head)))
    }

    /// The length of a record, for a format that is no text.
    pub(crate) fn record(self) -> Option<usize> {
        match self.entry.separator {
            Separator::Record(length) => Some(length),
            Separator::Comma | Separator::Semicolon | Separator::Tab | Separator::Blanks => None,
        }
    }

    /// Every format.
    pub fn list() -> impl Iterator<Item = ListedFormat> {
        ALL.iter().map(|entry| ListedFormat { name: entry.name, title: entry.title, layout: entry.layout })
    }

    /// The format's word, without options.
    pub fn name(self) -> &'static str {
        self.entry.name
    }

    /// The format and its units in words.
    pub fn describe(self) -> String {
        match self.units {
            None => self.entry.title.to_owned(),
            Some(units) => format!("{} ({})", self.entry.title, units.describe()),
        }
    }

    /// The format in words, with the content of its columns where their units are fixed.
    pub(crate) fn describe_columns(self) -> String {
        match (self.units, &self.entry.read) {
            (Some(_), _) => self.describe(),
            (None, Reader::Columns(_)) if self.is_declared() => self.entry.name.to_owned(),
            (None, _) => format!("{} ({})", self.entry.title, self.entry.layout),
        }
    }

    /// What one of its offsets and sizes stands for, where the user may have another unit in mind.
    pub(crate) fn scales(self) -> Option<Scales> {
        match (self.units, &self.entry.read) {
            (Some(units), _) => Some(Scales { offset: units.offset.bytes(), size: units.size.bytes() }),
            (None, Reader::Columns(layout)) => Some(layout.scales()),
            (None, Reader::Own(_)) => None,
        }
    }

    /// How many columns a line has.
    pub(crate) fn words(self, line: &[u8]) -> usize {
        match self.entry.separator {
            Separator::Record(_) => 1,
            separator => columns::split(line, separator).count(),
        }
    }

    /// Whether a quote that a column of a line begins with is not closed.
    pub(crate) fn has_open_quote(self, line: &[u8]) -> bool {
        let is_quoted = matches!(self.entry.read, Reader::Columns(_)) && self.record().is_none();
        let mut texts = columns::split(line, self.entry.separator);
        is_quoted
            && texts.any(|text| text.first() == Some(&b'"'))
            && line.iter().filter(|byte| **byte == b'"').count() % 2 == 1
    }

    /// Whether the user has named its columns.
    pub(crate) fn is_declared(self) -> bool {
        self.entry.name.contains(':')
    }

    /// The option that reads these columns in other units, where units may be chosen: `options` is
    /// time=…,offset=…,size=….
    pub(crate) fn remedy(self, options: &str) -> Option<String> {
        match self.units {
            Some(_) => Some(format!("--format {}:{options}", self.entry.name)),
            // The columns of a declared format stay what they are but for one unit.
            None => self.is_declared().then(|| format!("{options} in --format")),
        }
    }

    pub(crate) fn title(self) -> &'static str {
        self.entry.title
    }

    pub(crate) fn columns(self) -> &'static [Column] {
        self.entry.columns
    }

    pub(crate) fn time_column(self) -> usize {
        self.entry.time_column
    }

    /// The text of one column; everything from there on when it is beyond the last.
    pub(crate) fn field(self, line: &[u8], column: usize) -> &[u8] {
        columns::field(line, column, self.entry.columns.len(), self.entry.separator)
    }

    pub(crate) fn lines(self) -> Box<dyn LineReader> {
        match self.entry.read {
            Reader::Own(lines) => lines(self.units),
            Reader::Columns(layout) => layout::reader(layout),
        }
    }
}

/// Equal when they read every file alike.
impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.entry.name == other.entry.name && self.units == other.units
    }
}

/// As [`Format::parse`] reads it back, with every option.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.entry.name)?;
        self.units.map_or(Ok(()), |units| write!(f, ":{units}"))
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(word: &str) -> String {
        Format::parse(word).unwrap_err().to_string()
    }

    #[test]
    fn a_format_reads_back_as_it_prints() {
        for word in ["msr", "mqsim", "disksim", "disksim:time=us", "mqsim:size=KiB,offset=B,time=s"] {
            let format = Format::parse(word).unwrap();
            assert_eq!(Format::parse(&format.to_string()), Ok(format), "{word}");
        }
        assert_eq!(Format::parse("disksim").unwrap().to_string(), "disksim:time=ms,offset=sector,size=sector");
        assert_ne!(Format::parse("disksim"), Format::parse("disksim:size=B"));
    }

    #[test]
    fn a_misspelt_format_is_answered_with_its_neighbour() {
        assert_eq!(refused("diksim"), "--format diksim: there is no such format\n  help: did you mean `disksim`?");
        assert!(refused("zzzz").contains("the formats are msr, mqsim, disksim"));
        assert!(refused("").contains("the formats are"));
        assert!(refused("msr:time=ns").contains("fixed units"));
        assert!(refused("disksim:tmie=ms").contains("did you mean `time`?"));
        assert!(refused("disksim:offset=sectr").contains("did you mean `sector`?"));
        assert!(refused("disksim:time=parsec").contains("ns, us, ms, s"));
        assert!(refused("disksim:size=B,size=KiB").contains("twice"));
        assert!(refused("disksim:").contains("key=value"));
        assert!(refused("disksim:time").contains("key=value"));
    }

    #[test]
    fn content_shows_the_format() {
        let detect = |lines: &[&str]| Format::detect(lines).map(|found| found.format.name());
        assert_eq!(detect(&["128166481075232275,rsrch,1,Write,281358336,45056,94872"]), Some("msr"));
        assert_eq!(detect(&["", "938513000 4 264719034 16 0"]), Some("mqsim"));
        assert_eq!(detect(&["0 4 264719034 16 0", "0.5 4 264719034 16 0"]), Some("disksim"));
        assert_eq!(detect(&["1,2,3,4,5"]), None);
        assert_eq!(detect(&["0.000,0,4923392,4096,1", "0.3,0,13873152,4096,0"]), Some("flashnet"));
        assert_eq!(detect(&["0.000,120,1,4096,4923392,0.091,4096"]), Some("flashnet-log"));
        assert_eq!(
            detect(&["419,W,8792731648,16384,1577808144360767", "725,R,59110326272,360448,1577808144360937"]),
            Some("alibaba")
        );
        assert_eq!(
            detect(&["Timestamp,Response,IOType,LUN,Offset,Size", "1455516001.013,0.0003,R,1,4096,512"]),
            Some("systor")
        );
        assert_eq!(detect(&["0,20941264,8192,W,0.551706", "0,20939840,8192,r,0.554041"]), Some("spc"));
        assert_eq!(detect(&["1538323200,12910952,128,0,1063"]), Some("tencent"));
        assert_eq!(
            detect(&["8681184\t\t88\t\t45056\t\t0\t\t1398403999.64\t\t1398403999.65\t1.5\t1.6"]),
            Some("biotracer")
        );
        assert_eq!(detect(&["259,2    0        1     0.000000000  4020  Q   R 282624 + 8 [java]"]), Some("blkparse"));
        assert_eq!(detect(&["fio version 2 iolog", "/dev/sda add"]), Some("fio2"));
        assert_eq!(detect(&["fio version 3 iolog", "0 /dev/sda add"]), Some("fio3"));
        assert_eq!(detect(&["now 4 264719034 16 0"]), None);
        assert_eq!(detect(&["hello"]), None);
        assert_eq!(detect(&["", "  "]), None);
        let note = Format::detect(&["0.5\t4 264719034 16 0"]).unwrap().note().unwrap();
        assert_eq!(note, "read as DiskSim ASCII (time in ms, sectors of 512 B); use --format to choose another");
    }
}
