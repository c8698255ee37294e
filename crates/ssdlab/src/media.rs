//! Flash without a drive: its host names the pages that are read and programmed and the blocks that are erased.
//!
//! For what has a flash translation layer of its own, or needs none: host-managed flash beside a processor (the preset
//! `hbf`), a key-value store on open channels, another simulator's FTL.
//!
//! ```
//! use ssdlab::media::{Command, Op, Page, Status};
//! use ssdlab::{Config, Media, Time};
//!
//! let mut media = Media::open(&Config::named("hbf").age("pec=1000,retention=6mo"))?;
//! let pages = media.shape().pages;
//! let page = |block, page| Page { die: 0, plane: 0, block, page };
//! // A block is erased and written, then its first page is read.
//! let erase = [Command::new(Time(0), Op::Erase, page(7, 0))];
//! let programs = (0..pages).map(|number| Command::new(Time(0), Op::Program, page(7, number)));
//! let read = [Command::new(Time(0), Op::Read, page(7, 0))];
//! let commands: Vec<Command> = erase.into_iter().chain(programs).chain(read).collect();
//! media.submit_all(&commands)?;
//! while media.advance_to_completion(Time::NEVER)? {
//!     assert!(media.take_completions().all(|done| done.status == Status::Success));
//! }
//! # Ok::<(), ssdlab::Error>(())
//! ```

use std::ops::Range;
use std::path::Path;

use units::{Span, Time};

use crate::{Config, Error};

/// A command: when the controller has it, what is asked, of which page.
///
/// ```
/// use ssdlab::Time;
/// use ssdlab::media::{Command, Op, Page};
/// let at = Page { die: 3, plane: 1, block: 40, page: 0 };
/// let part = Command { bytes: 512, ..Command::new(Time(0), Op::Read, at) };
/// assert_eq!(part.at.to_string(), "page 0 of block 40 of plane 1 of die 3");
/// ```
#[doc(inline)]
pub use ssd::media::MediaCommand as Command;
/// A command that has ended: when, its status, and of a read its retries.
///
/// ```
/// # use ssdlab::media::{Command, Op, Page};
/// # use ssdlab::{Config, Media, Time};
/// let mut media = Media::open(&Config::named("qlc").age("pec=1000,retention=3mo").scheme("baseline"))?;
/// media.submit(Command::new(Time(0), Op::Read, Page { die: 0, plane: 0, block: 0, page: 5 }))?;
/// media.advance_to_completion(Time::NEVER)?;
/// let done = media.take_completions().next().expect("it ends");
/// assert!(done.problem().is_none() && done.retries > 0);
/// # Ok::<(), ssdlab::Error>(())
/// ```
#[doc(inline)]
pub use ssd::media::MediaCompletion as Completion;
/// What a command asks for.
///
/// ```
/// assert_eq!(ssdlab::media::Op::named("erase"), Some(ssdlab::media::Op::Erase));
/// ```
#[doc(inline)]
pub use ssd::media::MediaOp as Op;
/// What the flash is made of.
///
/// ```
/// # use ssdlab::{Config, Media};
/// let shape = Media::open(&Config::named("tlc"))?.shape();
/// assert_eq!((shape.page_size.0, shape.program_pages), (16_384, 3));
/// # Ok::<(), ssdlab::Error>(())
/// ```
#[doc(inline)]
pub use ssd::media::MediaShape as Shape;
/// What became of a command.
///
/// ```
/// assert_eq!(ssdlab::media::Status::ProgramFailed.name(), "program-failed");
/// ```
#[doc(inline)]
pub use ssd::media::MediaStatus as Status;
/// A page of the flash, as its chips number it.
///
/// ```
/// let page = ssdlab::media::Page { die: 0, plane: 0, block: 7, page: 3 };
/// assert!(page < ssdlab::media::Page { page: 4, ..page });
/// ```
#[doc(inline)]
pub use ssd::media::PageAddress as Page;
/// A rule of the chip that a command breaks.
///
/// ```
/// # use ssdlab::media::{Command, Op, Page, Rule, Status};
/// # use ssdlab::{Config, Media, Time};
/// let mut media = Media::open(&Config::named("hbf").age("fill=0"))?;
/// media.submit(Command::new(Time(0), Op::Program, Page { die: 0, plane: 0, block: 0, page: 9 }))?;
/// media.advance_to_completion(Time::NEVER)?;
/// let done = media.take_completions().next().expect("it ends");
/// assert_eq!(done.status, Status::Refused(Rule::InOrder { next: 0 }));
/// # Ok::<(), ssdlab::Error>(())
/// ```
#[doc(inline)]
pub use ssd::media::Rule;

/// Flash that its host manages. See the [module's documentation](crate::media).
///
/// ```
/// use ssdlab::media::{Command, Op, Page};
/// use ssdlab::{Config, Media, Time};
/// let mut media = Media::open(&Config::named("tlc"))?;
/// media.submit(Command::new(Time(0), Op::Read, Page { die: 0, plane: 0, block: 0, page: 0 }))?;
/// media.advance(Time(1_000_000))?;
/// assert_eq!(media.take_completions().count(), 1);
/// # Ok::<(), ssdlab::Error>(())
/// ```
pub struct Media(ssd::Media);

impl Media {
    /// Builds the flash of a drive, or goes on from a checkpoint of one. Of each plane the first blocks, by `age.fill`,
    /// hold data of the age that is given; the rest are erased.
    ///
    /// # Errors
    /// The configuration is refused: the error names the key. Settings of sections that flash alone has not (`ftl`,
    /// `host`, …) are.
    ///
    /// ```
    /// use ssdlab::{Config, Media};
    /// let error = Media::open(&Config::named("tlc").set("gc.start", "4")).err().expect("nothing collects here");
    /// assert!(error.to_string().contains("has no effect on flash without a drive"));
    /// ```
    pub fn open(config: &Config) -> Result<Media, Error> {
        Ok(Media(config.media()?))
    }

    /// What it is made of.
    ///
    /// ```
    /// # use ssdlab::{Config, Media};
    /// assert_eq!(Media::open(&Config::named("hbf"))?.shape().pages, 128);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn shape(&self) -> Shape {
        self.0.shape()
    }

    /// Submits a command; returns its number, which counts from 0. Commands of one block take effect in the order in
    /// which they are submitted; what breaks a rule of the chip says so in its completion.
    ///
    /// # Errors
    /// There is no such page, or it comes too late. Then nothing has changed.
    ///
    /// ```
    /// # use ssdlab::media::{Command, Op, Page};
    /// # use ssdlab::{Config, Media, Time};
    /// let mut media = Media::open(&Config::named("tlc"))?;
    /// let nowhere = Page { die: 0, plane: 9, block: 0, page: 0 };
    /// let error = media.submit(Command::new(Time(0), Op::Read, nowhere)).unwrap_err();
    /// assert!(error.to_string().contains("write a plane from 0 to 3"));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn submit(&mut self, command: Command) -> Result<u64, Error> {
        Ok(self.0.submit(command)?)
    }

    /// Submits commands, as [`Media::submit`] does one by one: a million in a call are fine. Those that come at the
    /// same time reach their dies together, so that planes can go together. Returns their numbers.
    ///
    /// # Errors
    /// One is refused: the error names its index. Those before it have been submitted, it and those after it have not.
    ///
    /// ```
    /// # use ssdlab::media::{Command, Op, Page};
    /// # use ssdlab::{Config, Media, Time};
    /// let mut media = Media::open(&Config::named("hbf"))?;
    /// let read = |die| Command::new(Time(0), Op::Read, Page { die, plane: 0, block: 0, page: 0 });
    /// assert_eq!(media.submit_all(&[read(0), read(1)])?, 0..2);
    /// let error = media.submit_all(&[read(0), read(256)]).unwrap_err();
    /// assert!(error.to_string().starts_with("commands[1]: media: there is no page 0"), "{error}");
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn submit_all(&mut self, commands: &[Command]) -> Result<Range<u64>, Error> {
        Ok(self.0.submit_all(commands)?)
    }

    /// Plays everything that happens up to and including `time`.
    ///
    /// # Errors
    /// It cannot go on.
    ///
    /// ```
    /// # use ssdlab::{Config, Media, Time};
    /// let mut media = Media::open(&Config::named("tlc"))?;
    /// media.advance(Time(1_000))?;
    /// assert_eq!(media.now(), Time(1_000));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn advance(&mut self, time: Time) -> Result<(), Error> {
        Ok(self.0.advance(time)?)
    }

    /// Plays until commands end, or until nothing happens up to `limit`; whether completions can be taken.
    ///
    /// # Errors
    /// It cannot go on.
    ///
    /// ```
    /// # use ssdlab::{Config, Media, Time};
    /// let mut media = Media::open(&Config::named("tlc"))?;
    /// assert!(!media.advance_to_completion(Time::NEVER)?); // nothing was asked
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn advance_to_completion(&mut self, limit: Time) -> Result<bool, Error> {
        Ok(self.0.advance_to_completion(limit)?)
    }

    /// Takes what has ended, in the order in which it did.
    ///
    /// ```
    /// # use ssdlab::{Config, Media};
    /// assert_eq!(Media::open(&Config::named("tlc"))?.take_completions().count(), 0);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn take_completions(&mut self) -> impl Iterator<Item = Completion> {
        self.0.take_completions()
    }

    /// When something happens next, if nothing is submitted before; nothing ends earlier.
    ///
    /// ```
    /// # use ssdlab::{Config, Media};
    /// assert_eq!(Media::open(&Config::named("tlc"))?.next_event(), None);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn next_event(&self) -> Option<Time> {
        self.0.next_event()
    }

    /// What is under way is played; then all data grows older by `span`, at the temperature of its rest.
    ///
    /// # Errors
    /// It cannot go on.
    ///
    /// ```
    /// # use ssdlab::{Config, Media, Span};
    /// let mut media = Media::open(&Config::named("tlc"))?;
    /// media.rest(Span(90 * 86_400 * 1_000_000_000))?; // three months
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn rest(&mut self, span: Span) -> Result<(), Error> {
        Ok(self.0.rest(span, None)?)
    }

    /// The page of a block that is programmed next; none where the block is full, not erased or bad.
    ///
    /// # Errors
    /// There is no such page.
    ///
    /// ```
    /// # use ssdlab::media::Page;
    /// # use ssdlab::{Config, Media};
    /// let media = Media::open(&Config::named("tlc").age("fill=0.5"))?;
    /// let next = |block| media.next_page(Page { die: 0, plane: 0, block, page: 0 });
    /// assert_eq!((next(0)?, next(479)?), (None, Some(0)));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn next_page(&self, of: Page) -> Result<Option<u32>, Error> {
        Ok(self.0.next_page(of)?)
    }

    /// Whether the factory found the block of a page bad (`wear.factory_bad`).
    ///
    /// # Errors
    /// There is no such page.
    ///
    /// ```
    /// # use ssdlab::media::Page;
    /// # use ssdlab::{Config, Media};
    /// let media = Media::open(&Config::named("tlc").set("wear.factory_bad", "1"))?;
    /// assert!(media.is_bad(Page { die: 0, plane: 0, block: 0, page: 0 })?);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn is_bad(&self, of: Page) -> Result<bool, Error> {
        Ok(self.0.is_bad(of)?)
    }

    /// Writes the whole state to a file: [`Config::named`] with its path goes on from it, to the byte.
    ///
    /// # Errors
    /// The file cannot be written.
    ///
    /// ```
    /// # use ssdlab::media::{Command, Op, Page};
    /// # use ssdlab::{Config, Media, Time};
    /// let path = std::env::temp_dir().join(format!("ssdlab-doc-media-{}.ckpt", std::process::id()));
    /// let mut media = Media::open(&Config::named("tlc"))?;
    /// media.submit(Command::new(Time(0), Op::Read, Page { die: 0, plane: 0, block: 0, page: 0 }))?;
    /// media.save(&path)?;
    /// let again = Media::open(&Config::named(path.to_str().expect("a path of text")))?;
    /// assert_eq!(again.outstanding(), 1);
    /// # std::fs::remove_file(path).ok();
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        Ok(ssd::run::write_media(&self.0, path)?)
    }

    /// The present.
    ///
    /// ```
    /// # use ssdlab::{Config, Media, Time};
    /// assert_eq!(Media::open(&Config::named("tlc"))?.now(), Time(0));
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// Commands that were submitted and have not ended.
    ///
    /// ```
    /// # use ssdlab::{Config, Media};
    /// assert_eq!(Media::open(&Config::named("tlc"))?.outstanding(), 0);
    /// # Ok::<(), ssdlab::Error>(())
    /// ```
    pub fn outstanding(&self) -> u64 {
        self.0.outstanding()
    }
}
