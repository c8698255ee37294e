//! In-band authentication: DH-HMAC-CHAP (Base 2.0, 8.13 "NVMe In-band Authentication"). The host proves that it has a
//! secret, and the controller that it has one where the host asks for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

use hmac::{Hmac, KeyInit, Mac};
use num_bigint::BigUint;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::bytes::{Fields, u16_at, u32_at};
use crate::command::{Answer, Command, Outcome};
use crate::limits::LARGEST_TRANSFER;
use crate::status::Status;

/// A hash function (Base 2.0, 8.13.5.2: HashIDs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// 01h.
    Sha256,
    /// 02h.
    Sha384,
    /// 03h.
    Sha512,
}

impl Hash {
    /// That of an identifier.
    pub fn of(identifier: u8) -> Option<Hash> {
        match identifier {
            1 => Some(Hash::Sha256),
            2 => Some(Hash::Sha384),
            3 => Some(Hash::Sha512),
            _ => None,
        }
    }

    fn digest(self, data: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha256 => Sha256::digest(data).to_vec(),
            Hash::Sha384 => Sha384::digest(data).to_vec(),
            Hash::Sha512 => Sha512::digest(data).to_vec(),
        }
    }

    fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        fn of<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
            let mut mac = <M as KeyInit>::new_from_slice(key).expect("Invariant: keys have any length");
            parts.iter().for_each(|part| mac.update(part));
            mac.finalize().into_bytes().to_vec()
        }
        match self {
            Hash::Sha256 => of::<Hmac<Sha256>>(key, parts),
            Hash::Sha384 => of::<Hmac<Sha384>>(key, parts),
            Hash::Sha512 => of::<Hmac<Sha512>>(key, parts),
        }
    }

    fn id(self) -> u8 {
        self as u8 + 1
    }

    fn length(self) -> usize {
        [32, 48, 64][self as usize]
    }
}

/// A secret as it is given: with the hash function that transforms it, or as it is (Base 2.0, 8.13.5.8).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// None: it is used as it is.
    pub hash: Option<Hash>,
    /// The key.
    pub key: Vec<u8>,
}

impl Secret {
    fn transformed(&self, nqn: &str) -> Vec<u8> {
        let with = |hash: Hash| hash.hmac(&self.key, &[nqn.as_bytes(), b"NVMe-over-Fabrics"]);
        self.hash.map_or_else(|| self.key.clone(), with)
    }
}

/// The secrets of a host.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    /// It proves that it has this one.
    pub host: Secret,
    /// The controller proves that it has this one, if the host asks for it.
    pub controller: Option<Secret>,
}

/// Who may connect.
#[derive(Clone, Default)]
pub struct Access {
    /// Names of hosts; none for all.
    pub hosts: Option<BTreeSet<String>>,
    /// Secrets of hosts. Where there are some, no other host may connect to drives.
    pub secrets: BTreeMap<String, Secrets>,
}

/// A Diffie-Hellman group: none, or one of RFC 7919 by its bits and the number in its definition (appendix A).
struct Group {
    id: u8,
    bits: u32,
    number: u32,
}

const GROUPS: [Group; 6] = [
    Group { id: 0, bits: 0, number: 0 },
    Group { id: 1, bits: 2048, number: 560_316 },
    Group { id: 2, bits: 3072, number: 2_625_351 },
    Group { id: 3, bits: 4096, number: 5_736_041 },
    Group { id: 4, bits: 6144, number: 15_705_020 },
    Group { id: 5, bits: 8192, number: 10_965_728 },
];

impl Group {
    fn bytes(&self) -> usize {
        self.bits as usize / 8
    }

    /// p = 2^b - 2^(b-64) + ([2^(b-130) e] + number) 2^64 - 1 (RFC 7919, appendix A).
    fn prime(&self) -> BigUint {
        let one = BigUint::from(1u8);
        // e as the sum of 1/k!, with 64 bits more.
        let (mut e, mut term, mut k) = (BigUint::default(), &one << (self.bits - 130 + 64), 1u32);
        while term != BigUint::default() {
            e += &term;
            term /= k;
            k += 1;
        }
        (&one << self.bits) - (&one << (self.bits - 64)) + (((e >> 64) + self.number) << 64) - one
    }

    /// A number to this power, modulo the prime, as long as that is.
    fn power(&self, base: &BigUint, exponent: &BigUint) -> Vec<u8> {
        let value = base.modpow(exponent, &self.prime()).to_bytes_be();
        [vec![0; self.bytes() - value.len()], value].concat()
    }
}

/// Messages: AUTH_TYPE and AUTH_ID (Base 2.0, 8.13.5.1).
mod message {
    pub const NEGOTIATE: [u8; 2] = [0, 0x00];
    pub const CHALLENGE: [u8; 2] = [1, 0x01];
    pub const REPLY: [u8; 2] = [1, 0x02];
    pub const SUCCESS_1: [u8; 2] = [1, 0x03];
    pub const SUCCESS_2: [u8; 2] = [1, 0x04];
    pub const FAILURE_1: [u8; 2] = [0, 0xf0];
    pub const FAILURE_2: [u8; 2] = [0, 0xf1];
}

/// Why a host is not believed: the explanation of a failure (Base 2.0, 8.13.5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    Failed = 1,
    NoProtocol = 2,
    Concatenation = 3,
    NoHash = 4,
    NoGroup = 5,
    Payload = 6,
    Message = 7,
}

/// Whom it is about.
pub(crate) struct Parties<'a> {
    pub secrets: &'a Secrets,
    pub host: &'a str,
    pub subsystem: &'a str,
}

/// A queue's authentication.
pub(crate) struct Authentication {
    /// Commands are taken: none is needed, or it has succeeded. It stays so while the host proves who it is again.
    done: bool,
    state: State,
    /// What the host is to receive next.
    message: Option<Vec<u8>>,
}

#[derive(Default)]
enum State {
    #[default]
    Idle,
    /// The host is to answer a challenge.
    Challenged(Box<Challenge>),
    /// The host is to say that it believes the controller.
    Proven {
        transaction: u16,
    },
    Failed,
}

struct Challenge {
    transaction: u16,
    hash: Hash,
    group: &'static Group,
    /// The controller's private number.
    exponent: BigUint,
    sequence: u32,
    value: Vec<u8>,
}

/// Authentication Send and Receive are for DH-HMAC-CHAP: SECP and SPSP (Base 2.0, 6.1 and 6.2).
fn check(command: &Command) -> Result<usize, Status> {
    let length = command.dword(11);
    if command.0[41..44] != [1, 1, 0xe9] || length == 0 || length > LARGEST_TRANSFER {
        return Err(Status::INVALID_FIELD);
    }
    Ok(length as usize)
}

impl Authentication {
    /// Of a queue whose host has to prove who it is, or need not.
    pub fn new(needed: bool) -> Authentication {
        Authentication { done: !needed, state: State::Idle, message: None }
    }

    /// Whether commands are taken.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Authentication Send. What is wrong with a message is what the host receives next.
    pub fn send(&mut self, command: &Command, data: &[u8], parties: &Parties) -> Outcome {
        if check(command)? != data.len() || data.len() < 8 {
            return Err(Status::INVALID_FIELD.into());
        }
        if self.message.is_some() || matches!(self.state, State::Failed) {
            return Err(Status::COMMAND_SEQUENCE_ERROR.into());
        }
        let transaction = u16_at(data, 4);
        match self.take(data, parties) {
            Ok(message) => self.message = message,
            Err(why) => {
                (self.done, self.state) = (false, State::Failed);
                let [kind, id] = message::FAILURE_1;
                self.message =
                    Some(Fields::new(8).u8(0, kind).u8(1, id).u16(4, transaction).u8(6, 1).u8(7, why as u8).take());
            }
        }
        Ok(Answer::default())
    }

    /// Authentication Receive.
    pub fn receive(&mut self, command: &Command) -> Outcome {
        let length = check(command)?;
        let message = self.message.take().ok_or(Status::COMMAND_SEQUENCE_ERROR)?;
        if message.len() > length {
            return Err(Status::INVALID_FIELD.into());
        }
        Ok(Answer::data([message, vec![0; length]].concat()[..length].to_vec()))
    }

    fn take(&mut self, data: &[u8], parties: &Parties) -> Result<Option<Vec<u8>>, Why> {
        let (kind, transaction) = ([data[0], data[1]], u16_at(data, 4));
        match std::mem::take(&mut self.state) {
            State::Idle if kind == message::NEGOTIATE => {
                let challenge = negotiated(data)?;
                let message = challenge.message();
                self.state = State::Challenged(Box::new(challenge));
                Ok(Some(message))
            }
            State::Challenged(challenge) if kind == message::REPLY && transaction == challenge.transaction => {
                let (message, proves) = challenge.replied(data, parties)?;
                if proves {
                    self.state = State::Proven { transaction };
                } else {
                    self.done = true;
                }
                Ok(Some(message))
            }
            State::Proven { transaction: of } if kind == message::SUCCESS_2 && transaction == of => {
                self.done = true;
                Ok(None)
            }
            _ if kind == message::FAILURE_2 => {
                (self.done, self.state) = (false, State::Failed);
                Ok(None)
            }
            _ => Err(Why::Message),
        }
    }
}

/// What the host offers: the first hash function and group of its that there are (Base 2.0, 8.13.5.2).
fn negotiated(data: &[u8]) -> Result<Challenge, Why> {
    let protocols = usize::from(data[7]);
    if data.len() != 8 + 64 * protocols {
        return Err(Why::Payload);
    }
    // No secure channel is concatenated.
    if data[6] != 0 {
        return Err(Why::Concatenation);
    }
    let offered = data[8..].chunks_exact(64).find(|protocol| protocol[0] == 1).ok_or(Why::NoProtocol)?;
    let (hashes, groups) = (usize::from(offered[2]), usize::from(offered[3]));
    if hashes > 30 || groups > 30 {
        return Err(Why::Payload);
    }
    let hash = offered[4..4 + hashes].iter().find_map(|id| Hash::of(*id)).ok_or(Why::NoHash)?;
    let known = |id: &u8| GROUPS.iter().find(|group| group.id == *id);
    let group = offered[34..34 + groups].iter().find_map(known).ok_or(Why::NoGroup)?;
    let sequence = u32_at(&random(4), 0).max(1);
    let exponent = BigUint::from_bytes_be(&random(64));
    Ok(Challenge { transaction: u16_at(data, 4), hash, group, exponent, sequence, value: random(hash.length()) })
}

impl Challenge {
    fn message(&self) -> Vec<u8> {
        let public = match self.group.bits {
            0 => Vec::new(),
            _ => self.group.power(&BigUint::from(2u8), &self.exponent),
        };
        let ([kind, id], mut fields) = (message::CHALLENGE, Fields::new(16));
        fields.u8(0, kind).u8(1, id).u16(4, self.transaction).u8(6, self.hash.length() as u8);
        fields.u8(8, self.hash.id()).u8(9, self.group.id).u16(10, public.len() as u16).u32(12, self.sequence);
        [fields.take(), self.value.clone(), public].concat()
    }

    /// The host's reply (Base 2.0, 8.13.5.4): gives the message that it was right, and whether the controller has
    /// proven something too.
    fn replied(&self, data: &[u8], parties: &Parties) -> Result<(Vec<u8>, bool), Why> {
        let (length, hash) = (self.hash.length(), self.hash);
        if data.len() < 16 || usize::from(data[6]) != length {
            return Err(Why::Payload);
        }
        let (public, sequence) = (usize::from(u16_at(data, 10)), u32_at(data, 12));
        if data.len() != 16 + 2 * length + public || public != self.group.bytes() {
            return Err(Why::Payload);
        }
        let (response, challenge) = (&data[16..16 + length], &data[16 + length..16 + 2 * length]);
        let shared = self.shared(&data[16 + 2 * length..])?;
        let key = parties.secrets.host.transformed(parties.host);
        let proof = |key: &[u8], value: &[u8], sequence: u32, names: [&str; 3]| {
            let [role, first, second] = names.map(str::as_bytes);
            let value = if shared.is_empty() { value.to_vec() } else { hash.hmac(&hash.digest(&shared), &[value]) };
            let (sequence, transaction) = (sequence.to_le_bytes(), self.transaction.to_le_bytes());
            hash.hmac(key, &[&value, &sequence, &transaction, &[0], role, first, &[0], second])
        };
        let expected = proof(&key, &self.value, self.sequence, ["HostHost", parties.host, parties.subsystem]);
        if !same(&expected, response) {
            return Err(Why::Failed);
        }
        let wants = data[8] & 1 != 0;
        let ([kind, id], mut fields) = (message::SUCCESS_1, Fields::new(16));
        fields.u8(0, kind).u8(1, id).u16(4, self.transaction).u8(6, length as u8).u8(8, wants.into());
        let own = match (&parties.secrets.controller, wants) {
            (_, false) => vec![0; length],
            (None, true) => return Err(Why::Failed),
            (Some(secret), true) => {
                let key = secret.transformed(parties.subsystem);
                proof(&key, challenge, sequence, ["Controller", parties.subsystem, parties.host])
            }
        };
        Ok(([fields.take(), own].concat(), wants))
    }

    /// The number that both have; nothing without a group. One that anybody could guess is none (RFC 7919, 5.1).
    fn shared(&self, public: &[u8]) -> Result<Vec<u8>, Why> {
        if public.is_empty() {
            return Ok(Vec::new());
        }
        let (public, one) = (BigUint::from_bytes_be(public), BigUint::from(1u8));
        if public <= one || public >= self.group.prime() - one {
            return Err(Why::Payload);
        }
        Ok(self.group.power(&public, &self.exponent))
    }
}

/// Whether they are the same, in a time that does not tell where they differ.
fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

/// Random bytes of the machine's.
fn random(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    File::open("/dev/urandom")
        .and_then(|mut from| from.read_exact(&mut bytes))
        .expect("Invariant: Linux has random bytes");
    bytes
}
