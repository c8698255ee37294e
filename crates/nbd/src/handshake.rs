//! The handshake: the client looks at the exports and chooses one (fixed newstyle).

use std::io::{self, Read, Write};

use units::Bytes;

use crate::wire::{self, Fields, info, option, reply, take, transmission, violation};

/// The longest data of an option that is looked at \[B]; names have 4096 at most.
const LONGEST_OPTION: u32 = 1 << 16;
/// The only metadata context: which parts of an export hold data.
const ALLOCATION: &[u8] = b"base:allocation";
/// The largest request that carries data \[B].
pub(crate) const LARGEST_PAYLOAD: u32 = 32 << 20;

/// What a client sees of an export before it chooses.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub about: String,
    /// Its size.
    pub size: Bytes,
    /// The size that requests had best be multiples of \[B]: a page of the drive.
    pub preferred: u32,
}

/// What has been agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Which of the exports.
    pub export: usize,
    /// Replies come in chunks.
    pub structured: bool,
    /// The client may ask which parts hold data.
    pub allocation: bool,
}

/// Agrees with a client on an export; none if the client only looked. With the session comes the last answer, which is
/// to be sent when all is ready. A client that breaks the protocol is an error.
pub fn handshake(
    input: &mut impl Read,
    output: &mut impl Write,
    offers: &[Offer],
) -> io::Result<Option<(Session, Vec<u8>)>> {
    let mut greeting = Vec::new();
    greeting.extend(wire::GREETING.to_be_bytes());
    greeting.extend(wire::OPTION.to_be_bytes());
    greeting.extend(((wire::FIXED_NEWSTYLE | wire::NO_ZEROES) as u16).to_be_bytes());
    output.write_all(&greeting)?;
    let flags = u32::from_be_bytes(take(input)?);
    if flags & !(wire::FIXED_NEWSTYLE | wire::NO_ZEROES) != 0 {
        return Err(violation("unknown flags in the handshake"));
    }
    let zeroes = flags & wire::NO_ZEROES == 0;
    let mut haggling = Haggling { input, answers: Vec::new(), offers, zeroes, structured: false, context: None };
    loop {
        match haggling.option()? {
            Next::Option => output.write_all(&std::mem::take(&mut haggling.answers))?,
            Next::Chosen(export) => {
                let Haggling { structured, context, answers, .. } = haggling;
                return Ok(Some((Session { export, structured, allocation: context == Some(export) }, answers)));
            }
            Next::Left => {
                // The client need not wait for the answer.
                let _ = output.write_all(&haggling.answers);
                return Ok(None);
            }
        }
    }
}

/// What follows an option.
enum Next {
    Option,
    Chosen(usize),
    Left,
}

struct Haggling<'a, I> {
    input: &'a mut I,
    /// What the client has not been sent.
    answers: Vec<u8>,
    offers: &'a [Offer],
    /// The client wants 124 zeros after the export's description.
    zeroes: bool,
    structured: bool,
    /// The export whose allocation the client wants to know of.
    context: Option<usize>,
}

impl<I: Read> Haggling<'_, I> {
    /// Takes an option and answers it.
    fn option(&mut self) -> io::Result<Next> {
        if u64::from_be_bytes(take(self.input)?) != wire::OPTION {
            return Err(violation("an option does not begin as one"));
        }
        let option = u32::from_be_bytes(take(self.input)?);
        let length = u32::from_be_bytes(take(self.input)?);
        if length > LONGEST_OPTION {
            wire::skip(self.input, length)?;
            if option == option::EXPORT_NAME {
                return Err(violation("the name of an export is too long"));
            }
            self.reply(option, reply::ERR_TOO_BIG, b"the option is too long");
            return Ok(Next::Option);
        }
        let mut data = vec![0; length as usize];
        self.input.read_exact(&mut data)?;
        match option {
            option::EXPORT_NAME => return self.export_name(&data).map(Next::Chosen),
            option::ABORT => {
                self.reply(option, reply::ACK, b"");
                return Ok(Next::Left);
            }
            option::LIST => self.list(&data),
            option::INFO | option::GO => {
                if let Some(export) = self.info(option, &data)
                    && option == option::GO
                {
                    return Ok(Next::Chosen(export));
                }
            }
            option::STRUCTURED_REPLY => self.structured_reply(&data),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(option, &data),
            _ => self.reply(option, reply::ERR_UNSUPPORTED, b"the server has no such option"),
        }
        Ok(Next::Option)
    }

    fn reply(&mut self, option: u32, kind: u32, data: &[u8]) {
        self.answers.extend(wire::OPTION_REPLY.to_be_bytes());
        self.answers.extend(option.to_be_bytes());
        self.answers.extend(kind.to_be_bytes());
        self.answers.extend((data.len() as u32).to_be_bytes());
        self.answers.extend(data);
    }

    fn invalid(&mut self, option: u32) {
        self.reply(option, reply::ERR_INVALID, b"the option is malformed");
    }

    /// The export of a name; the first one has none as well.
    fn export(&self, name: &[u8]) -> Option<usize> {
        match self.offers.iter().position(|offer| offer.name.as_bytes() == name) {
            None if name.is_empty() => Some(0),
            found => found,
        }
    }

    fn flags(&self) -> u16 {
        use transmission::{CAN_MULTI_CONN, HAS_FLAGS, SEND_DF, SEND_FLUSH, SEND_FUA, SEND_TRIM, SEND_WRITE_ZEROES};
        let always = HAS_FLAGS | SEND_FLUSH | SEND_FUA | SEND_TRIM | SEND_WRITE_ZEROES | CAN_MULTI_CONN;
        if self.structured { always | SEND_DF } else { always }
    }

    /// The old way to choose, which knows no errors.
    fn export_name(&mut self, name: &[u8]) -> io::Result<usize> {
        let export = self.export(name).ok_or_else(|| violation("there is no export of that name"))?;
        self.answers.extend(self.offers[export].size.0.to_be_bytes());
        self.answers.extend(self.flags().to_be_bytes());
        if self.zeroes {
            self.answers.extend([0; 124]);
        }
        Ok(export)
    }

    fn list(&mut self, data: &[u8]) {
        if !data.is_empty() {
            return self.invalid(option::LIST);
        }
        for Offer { name, about, .. } in self.offers {
            let mut entry = (name.len() as u32).to_be_bytes().to_vec();
            entry.extend(name.as_bytes());
            entry.extend(about.as_bytes());
            self.reply(option::LIST, reply::SERVER, &entry);
        }
        self.reply(option::LIST, reply::ACK, b"");
    }

    /// Describes an export; none if it could not be.
    fn info(&mut self, option: u32, data: &[u8]) -> Option<usize> {
        let mut fields = Fields(data);
        let asked = (|| {
            let name = fields.string()?;
            let count = fields.u16()?;
            let wanted = (0..count).map(|_| fields.u16()).collect::<Option<Vec<u16>>>()?;
            fields.ended().then_some((name, wanted))
        })();
        let Some((name, wanted)) = asked else {
            self.invalid(option);
            return None;
        };
        let Some(export) = self.export(name) else {
            self.reply(option, reply::ERR_UNKNOWN, b"there is no export of that name");
            return None;
        };
        let Offer { name, about, size, preferred } = &self.offers[export];
        let mut of_export = info::EXPORT.to_be_bytes().to_vec();
        of_export.extend(size.0.to_be_bytes());
        of_export.extend(self.flags().to_be_bytes());
        let mut blocks = info::BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [1, *preferred, LARGEST_PAYLOAD] {
            blocks.extend(size.to_be_bytes());
        }
        self.reply(option, reply::INFO, &of_export);
        self.reply(option, reply::INFO, &blocks);
        for (kind, text) in [(info::NAME, name), (info::DESCRIPTION, about)] {
            if wanted.contains(&kind) {
                self.reply(option, reply::INFO, &[&kind.to_be_bytes(), text.as_bytes()].concat());
            }
        }
        self.reply(option, reply::ACK, b"");
        Some(export)
    }

    fn structured_reply(&mut self, data: &[u8]) {
        if !data.is_empty() || self.structured {
            return self.invalid(option::STRUCTURED_REPLY);
        }
        self.structured = true;
        self.reply(option::STRUCTURED_REPLY, reply::ACK, b"");
    }

    /// Lists or chooses metadata contexts of an export.
    fn contexts(&mut self, option: u32, data: &[u8]) {
        let mut fields = Fields(data);
        let asked = (|| {
            let name = fields.string()?;
            let count = fields.u32()?;
            let queries = (0..count).map(|_| fields.string()).collect::<Option<Vec<&[u8]>>>()?;
            fields.ended().then_some((name, queries))
        })();
        let Some((name, queries)) = asked.filter(|_| self.structured) else { return self.invalid(option) };
        let Some(export) = self.export(name) else {
            return self.reply(option, reply::ERR_UNKNOWN, b"there is no export of that name");
        };
        let lists = option == option::LIST_META_CONTEXT;
        let all = lists && (queries.is_empty() || queries.contains(&b"base:".as_slice()));
        let found = all || queries.contains(&ALLOCATION);
        if !lists {
            self.context = found.then_some(export);
        }
        if found {
            self.reply(option, reply::META_CONTEXT, &[&[0; 4], ALLOCATION].concat());
        }
        self.reply(option, reply::ACK, b"");
    }
}
