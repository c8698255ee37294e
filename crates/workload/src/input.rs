//! Lines of a file, plain, gzip or zstd, through a fixed buffer: constant memory however long the file or a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::TraceError;

/// The longest line accepted \[bytes]: trace lines are short, and a longer one means that this is no trace.
pub(crate) const LONGEST_LINE: usize = 4096;

/// An open file, read line by line.
pub(crate) struct Input {
    file: String,
    data: Data,
    /// Bytes of the file on disk; 0 where that is unknown (a pipe).
    size: u64,
    buffer: Box<[u8]>,
    /// The current line is `buffer[line.0..line.1]`.
    line: (usize, usize),
    /// What is not yet delivered is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Nothing further can be read.
    ended: bool,
    /// Why reading stopped early; reported once the lines before it are delivered.
    broken: Option<io::Error>,
    number: u64,
    /// The longest line that is accepted \[B].
    longest: usize,
}

enum Data {
    Plain(BufReader<Counted>),
    Gzip(Box<MultiGzDecoder<BufReader<Counted>>>),
    #[cfg(not(target_family = "wasm"))]
    Zstd(Box<zstd::Decoder<'static, BufReader<Counted>>>),
}

impl Input {
    /// Opens `path`; whether it is compressed is seen from its first bytes, not from its name.
    pub(crate) fn open(path: &Path) -> Result<Input, TraceError> {
        let name = path.display().to_string();
        let fail = |error: io::Error| {
            TraceError::new(&name, format!("cannot be opened: {error}"), "check the path and its permissions")
        };
        let file = File::open(path).map_err(fail)?;
        let size = file.metadata().map_err(fail)?.len();
        let mut reader = BufReader::with_capacity(64 << 10, Counted { file, count: 0 });
        let head = reader.fill_buf().map_err(fail)?;
        if let Some((_, kind)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(TraceError::new(
                &name,
                format!("is {kind}"),
                "decompress it, or compress it with gzip instead",
            ));
        }
        let data = if head.starts_with(&[0x1f, 0x8b]) {
            Data::Gzip(Box::new(MultiGzDecoder::new(reader)))
        } else if head.starts_with(b"\x28\xb5\x2f\xfd") {
            #[cfg(not(target_family = "wasm"))]
            {
                Data::Zstd(Box::new(zstd::Decoder::with_buffer(reader).map_err(fail)?))
            }
            #[cfg(target_family = "wasm")]
            return Err(TraceError::new(&name, "is compressed with zstd", "decompress it: this build has no zstd"));
        } else {
            Data::Plain(reader)
        };
        Ok(Input {
            file: name,
            data,
            size,
            buffer: vec![0; BUFFER].into(),
            line: (0, 0),
            start: 0,
            end: 0,
            ended: false,
            broken: None,
            number: 0,
            longest: LONGEST_LINE,
        })
    }

    /// This input, for lines as long as a quarter of the buffer. Its first lines are not to be asked for.
    pub(crate) fn with_long_lines(self) -> Input {
        Input { longest: BUFFER / 4, ..self }
    }

    /// Copies of the first lines, [`FIRST_LINES`] at most, which are delivered again afterwards. To be called once,
    /// before [`Input::advance`].
    pub(crate) fn first_lines(&mut self) -> Result<Vec<Vec<u8>>, TraceError> {
        while self.end < self.buffer.len() && !self.ended {
            self.read_more();
        }
        if self.buffer[..self.end].starts_with(b"\xef\xbb\xbf") {
            self.start = 3; // The byte-order mark that some Windows programs put first.
        }
        let start = self.start;
        let mut lines = Vec::new();
        // The buffer holds this many lines of any allowed length, so nothing moves and `start` stays good.
        const { assert!(FIRST_LINES * (LONGEST_LINE + 2) + 3 < BUFFER) };
        while lines.len() < FIRST_LINES && self.advance()? {
            lines.push(self.line().to_vec());
        }
        (self.start, self.number) = (start, 0);
        Ok(lines)
    }

    /// The beginning of the file, of a buffer's length at most. To be called before anything is read.
    pub(crate) fn head(&mut self) -> &[u8] {
        while self.end < self.buffer.len() && !self.ended {
            self.read_more();
        }
        &self.buffer[self.start..self.end]
    }

    /// Goes to the next record of `length` bytes, if there is one; it then is the current line.
    pub(crate) fn advance_record(&mut self, length: usize) -> Result<bool, TraceError> {
        while self.end - self.start < length {
            if self.ended {
                if let Some(error) = self.broken.take() {
                    return Err(self.unreadable(&error));
                }
                if self.start == self.end {
                    return Ok(false);
                }
                let rest = self.end - self.start;
                self.start = self.end;
                return Err(TraceError::new(
                    &self.file,
                    format!("the last record has {rest} bytes of {length}"),
                    "the file was cut short, or it is of another format: choose with --format",
                )
                .at(self.number + 1));
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            self.read_more();
        }
        self.number += 1;
        self.line = (self.start, self.start + length);
        self.start += length;
        Ok(true)
    }

    /// Goes to the next line, if there is one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, TraceError> {
        let length = match memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
            Some(length) => length,
            None => match self.refill()? {
                Some(length) => length,
                None => return Ok(false),
            },
        };
        let mut stop = self.start + length;
        self.number += 1;
        if length > 0 && self.buffer[stop - 1] == b'\r' {
            stop -= 1;
        }
        if stop - self.start > self.longest {
            return Err(self.too_long());
        }
        self.line = (self.start, stop);
        self.start = (self.start + length + 1).min(self.end);
        Ok(true)
    }

    /// The current line, without its end.
    #[inline]
    pub(crate) fn line(&self) -> &[u8] {
        &self.buffer[self.line.0..self.line.1]
    }

    /// The current line has no end: it is the file's last one, and may be cut short.
    pub(crate) fn is_unended(&self) -> bool {
        self.line.1 == self.start
    }

    /// The number of the current line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The file's name, for errors.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The share of the file, as it lies on disk, that has been delivered.
    pub(crate) fn progress(&self) -> Option<f64> {
        let unread = (self.end - self.start) as u64;
        if self.ended && unread == 0 {
            return Some(1.0);
        }
        let consumed = match &self.data {
            Data::Plain(reader) => reader.get_ref().count - reader.buffer().len() as u64 - unread,
            Data::Gzip(decoder) => decoder.get_ref().get_ref().count - decoder.get_ref().buffer().len() as u64,
            #[cfg(not(target_family = "wasm"))]
            Data::Zstd(decoder) => decoder.get_ref().get_ref().count - decoder.get_ref().buffer().len() as u64,
        };
        (self.size > 0).then(|| (consumed as f64 / self.size as f64).min(1.0))
    }

    /// Reads until the buffer holds a whole line at `start`, and gives its length; nothing at the end of the file.
    #[cold]
    fn refill(&mut self) -> Result<Option<usize>, TraceError> {
        loop {
            if self.ended {
                if let Some(error) = self.broken.take() {
                    return Err(self.unreadable(&error));
                }
                return Ok((self.start < self.end).then_some(self.end - self.start));
            }
            let held = self.end - self.start;
            if held > self.longest + 1 {
                self.number += 1;
                return Err(self.too_long());
            }
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, held);
            self.read_more();
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[held..self.end]) {
                return Ok(Some(held + length));
            }
        }
    }

    fn read_more(&mut self) {
        let space = &mut self.buffer[self.end..];
        let read = match &mut self.data {
            Data::Plain(reader) => reader.read(space),
            Data::Gzip(decoder) => decoder.read(space),
            #[cfg(not(target_family = "wasm"))]
            Data::Zstd(decoder) => decoder.read(space),
        };
        match read {
            Ok(0) => self.ended = true,
            Ok(length) => self.end += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => (self.ended, self.broken) = (true, Some(error)),
        }
    }

    fn too_long(&self) -> TraceError {
        TraceError::new(
            &self.file,
            format!("the line is longer than {} bytes", self.longest),
            "this is no text trace, or its line ends are lost: check the file",
        )
        .at(self.number)
    }

    fn unreadable(&self, error: &io::Error) -> TraceError {
        let (problem, remedy) = match (&self.data, error.kind()) {
            (Data::Plain(_), _) => (format!("cannot be read: {error}"), "check the disk and the file"),
            (Data::Gzip(_), io::ErrorKind::UnexpectedEof) => {
                ("the gzip data end in the middle: the file is cut short".into(), "fetch or copy the file again")
            }
            (Data::Gzip(_), _) => {
                (format!("the gzip data are damaged: {error}"), "test the file with `gzip -t` and fetch it again")
            }
            #[cfg(not(target_family = "wasm"))]
            (Data::Zstd(_), io::ErrorKind::UnexpectedEof) => {
                ("the zstd data end in the middle: the file is cut short".into(), "fetch or copy the file again")
            }
            #[cfg(not(target_family = "wasm"))]
            (Data::Zstd(_), _) => {
                (format!("the zstd data are damaged: {error}"), "test the file with `zstd -t` and fetch it again")
            }
        };
        TraceError::new(&self.file, problem, remedy).at(self.number + 1)
    }
}

/// How many lines [`Input::first_lines`] looks at.
pub(crate) const FIRST_LINES: usize = 32;
const BUFFER: usize = 256 << 10;

/// Compressions that are not read, by the bytes they begin with: a clear word instead of "binary".
const FOREIGN: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\x00", "compressed with xz"),
    (b"BZh", "compressed with bzip2"),
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
];

/// A file that counts what is read of it.
struct Counted {
    file: File,
    count: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.count += length as u64;
        Ok(length)
    }
}
