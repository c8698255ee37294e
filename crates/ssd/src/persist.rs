//! The state of a device as bytes: what checkpoints are made of
//! (docs/decisions/0017-a-checkpoint-is-the-state-alone.md).
//!
//! A value that is all state is [`Stored`]: it is written, and made again from what is read. A component that also
//! holds what follows from configuration and seed has [`State`]: it is built as for a new device, and what is read
//! takes the place of its state. Both are declared beside the type by naming its fields: a field that no list has does
//! not compile.
//!
//! What is made of drives has a state too, and declares it in the same way ([`crate::Drive::write_state`]).
//!
//! Numbers have their own width, the least significant byte first. Nothing is aligned or named: only the same build
//! reads it.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::io::{self, Read, Write};
use std::slice;
use std::sync::Arc;

use lru::LruCache;
use nand::model::outcomes::PageRead;
use nand::{BlockId, ChannelId, DieId, PlaneId};
use schemes::{Fine, ReadReference, Weighed};
use units::{Bytes, Id, Lpn, PerId, Ppn, Span, Time};
use workload::{Op, Request, ZoneAction};

/// Bytes that are collected before they go on.
const CHUNK: usize = 1 << 16;

/// Where the state goes.
pub struct Writer<'a> {
    bytes: Vec<u8>,
    to: &'a mut dyn Write,
    /// The first failure; after it nothing more is written.
    failed: Option<io::Error>,
}

impl<'a> Writer<'a> {
    /// It goes there.
    pub fn new(to: &'a mut dyn Write) -> Writer<'a> {
        Writer { bytes: Vec::with_capacity(CHUNK), to, failed: None }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= CHUNK {
            self.pass_on();
        }
    }

    #[cold]
    fn pass_on(&mut self) {
        if self.failed.is_none() {
            self.failed = self.to.write_all(&self.bytes).err();
        }
        self.bytes.clear();
    }

    /// A part of the state cannot be written.
    #[cold]
    pub fn fail(&mut self, error: io::Error) {
        self.failed.get_or_insert(error);
    }

    /// Ends the state.
    pub fn finish(mut self) -> io::Result<()> {
        self.pass_on();
        self.failed.map_or(Ok(()), Err)
    }
}

/// A state that several drives go on from: its large tables, which they share, and the bytes of all the rest.
#[derive(Default)]
pub struct SharedState {
    tables: Vec<Arc<dyn Any + Send + Sync>>,
    rest: Vec<u8>,
    bytes: usize,
}

impl SharedState {
    /// As many as the state has, tables included.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What becomes of large tables that are read.
enum Tables<'a> {
    /// Each drive has its own.
    Own,
    /// They are noted, and all the rest of the state, from this byte of those at hand on.
    Noted(&'a mut SharedState, Option<usize>),
    /// They are there.
    Known(slice::Iter<'a, Arc<dyn Any + Send + Sync>>),
}

/// A large table of a state.
pub enum Table<T> {
    /// Of the drive that reads it.
    Own(T),
    /// Shared with others that go on from the same state.
    Shared(Arc<T>),
}

/// Where the state comes from.
pub struct Reader<'a> {
    from: &'a mut dyn Read,
    bytes: Vec<u8>,
    at: usize,
    tables: Tables<'a>,
}

impl<'a> Reader<'a> {
    /// It comes from there.
    pub fn new(from: &'a mut dyn Read) -> Reader<'a> {
        Reader { from, bytes: Vec::new(), at: 0, tables: Tables::Own }
    }

    /// It comes from there, and is noted for those that go on from the same state ([`Reader::again`]).
    pub fn noting(from: &'a mut dyn Read, state: &'a mut SharedState) -> Reader<'a> {
        Reader { tables: Tables::Noted(state, Some(0)), ..Reader::new(from) }
    }

    /// It was read before; `rest` is empty, and lives as long.
    pub fn again(state: &'a SharedState, rest: &'a mut &'a [u8]) -> Reader<'a> {
        *rest = &state.rest;
        Reader { tables: Tables::Known(state.tables.iter()), ..Reader::new(rest) }
    }

    /// Hands all of it over, and checks that all has been read.
    pub fn whole<T>(mut self, take: impl FnOnce(&mut Reader<'a>) -> io::Result<T>) -> io::Result<T> {
        let taken = take(&mut self)?;
        self.finish().map(|()| taken)
    }

    /// A large table that a drive changes little of: it is read by `read`, or shared with those that go on from the
    /// same state.
    pub fn table<T: Any + Send + Sync>(
        &mut self,
        read: impl FnOnce(&mut Reader) -> io::Result<T>,
    ) -> io::Result<Table<T>> {
        if let Tables::Known(known) = &mut self.tables {
            let table = known.next().and_then(|table| Arc::clone(table).downcast().ok());
            return table.map(Table::Shared).ok_or_else(damaged);
        }
        self.note(None);
        let table = read(self)?;
        let Tables::Noted(..) = self.tables else { return Ok(Table::Own(table)) };
        let table = Arc::new(table);
        self.note(Some(self.at));
        if let Tables::Noted(state, _) = &mut self.tables {
            state.tables.push(table.clone());
        }
        Ok(Table::Shared(table))
    }

    /// Notes what has been taken of the bytes at hand; what comes from there on is noted next, if it is to be.
    fn note(&mut self, from: Option<usize>) {
        if let Tables::Noted(state, noted) = &mut self.tables {
            if let Some(begin) = *noted {
                state.rest.extend_from_slice(&self.bytes[begin..self.at]);
            }
            *noted = from;
        }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        if self.bytes.len() - self.at < N {
            self.fetch(N)?;
        }
        let taken = self.bytes[self.at..self.at + N].try_into().expect("Invariant: this many bytes are there");
        self.at += N;
        Ok(taken)
    }

    #[cold]
    fn fetch(&mut self, least: usize) -> io::Result<()> {
        let noted = matches!(self.tables, Tables::Noted(_, Some(_)));
        self.note(noted.then_some(0));
        if let Tables::Noted(state, _) = &mut self.tables {
            state.bytes += self.at;
        }
        self.bytes.drain(..self.at);
        self.at = 0;
        while self.bytes.len() < least {
            if (&mut *self.from).take(CHUNK as u64).read_to_end(&mut self.bytes)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    /// Checks that all has been read.
    pub fn finish(mut self) -> io::Result<()> {
        match self.fetch(self.bytes.len() - self.at + 1) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && self.bytes.is_empty() => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Err(damaged()),
        }
    }
}

/// The error of bytes that no state is written as.
#[cold]
fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// A value that is all state.
pub trait Stored: Sized {
    /// Writes it.
    fn write(&self, to: &mut Writer);
    /// Makes it again.
    fn read(from: &mut Reader) -> io::Result<Self>;
}

/// What a component holds beside what follows from configuration and seed.
pub trait State {
    /// Writes the state.
    fn save(&self, to: &mut Writer);
    /// Takes what was saved in place of the state of a component that was built for the same configuration.
    fn load(&mut self, from: &mut Reader) -> io::Result<()>;
}

/// Whether the component is there follows from the configuration.
impl<T: State> State for Option<T> {
    fn save(&self, to: &mut Writer) {
        self.is_some().write(to);
        if let Some(component) = self {
            component.save(to);
        }
    }
    fn load(&mut self, from: &mut Reader) -> io::Result<()> {
        match (bool::read(from)?, self) {
            (true, Some(component)) => component.load(from),
            (false, None) => Ok(()),
            _ => Err(damaged()),
        }
    }
}

impl<T: State> State for Box<T> {
    fn save(&self, to: &mut Writer) {
        T::save(self, to);
    }
    fn load(&mut self, from: &mut Reader) -> io::Result<()> {
        T::load(self, from)
    }
}

/// Declares the state of a component: the fields that are stored, then its components, then what follows from the
/// configuration. Of a field that is in none of the lists the compiler says "pattern requires `..` due to inaccessible
/// fields".
#[doc(hidden)]
#[macro_export]
macro_rules! state {
    ($($([$($generics:tt)+])? $type:ident $(<$($argument:ident),+>)? {
        stored { $($stored:ident),* $(,)? }
        $(parts { $($part:ident),+ $(,)? })?
        $(rebuilt { $($rebuilt:ident),+ $(,)? })?
    })+) => {$(
        impl $(<$($generics)+>)? $crate::persist::State for $type $(<$($argument),+>)? {
            #[allow(unused_variables)]
            fn save(&self, to: &mut $crate::persist::Writer) {
                let $type { $($stored,)* $($($part,)+)? $($($rebuilt: _,)+)? } = self;
                $($crate::persist::Stored::write($stored, to);)*
                $($($crate::persist::State::save($part, to);)+)?
            }
            fn load(&mut self, from: &mut $crate::persist::Reader) -> std::io::Result<()> {
                $(self.$stored = $crate::persist::Stored::read(from)?;)*
                $($($crate::persist::State::load(&mut self.$part, from)?;)+)?
                Ok(())
            }
        }
    )+};
}
pub use state;

/// Declares that every field of a struct is stored.
#[doc(hidden)]
#[macro_export]
macro_rules! stored {
    ($($([$($generics:tt)+])? $type:ident $(<$($argument:ident),+>)? { $($field:ident),* $(,)? })+) => {$(
        impl $(<$($generics)+>)? $crate::persist::Stored for $type $(<$($argument),+>)? {
            fn write(&self, to: &mut $crate::persist::Writer) {
                let $type { $($field),* } = self;
                $($crate::persist::Stored::write($field, to);)*
            }
            fn read(from: &mut $crate::persist::Reader) -> std::io::Result<Self> {
                $(let $field = $crate::persist::Stored::read(from)?;)*
                Ok($type { $($field),* })
            }
        }
    )+};
}
pub use stored;

/// Declares the variants of an enum and the bytes that stand for them; what a variant holds has names here.
#[doc(hidden)]
#[macro_export]
macro_rules! stored_enum {
    ($($type:ident { $($byte:literal = $variant:ident $(($($held:ident),+))? $({$($named:ident),+})?,)+ })+) => {$(
        impl $crate::persist::Stored for $type {
            fn write(&self, to: &mut $crate::persist::Writer) {
                match self {$(
                    $type::$variant $(($($held),+))? $({$($named),+})? => {
                        <u8 as $crate::persist::Stored>::write(&$byte, to);
                        $($($crate::persist::Stored::write($held, to);)+)?
                        $($($crate::persist::Stored::write($named, to);)+)?
                    }
                )+}
            }
            fn read(from: &mut $crate::persist::Reader) -> std::io::Result<Self> {
                Ok(match <u8 as $crate::persist::Stored>::read(from)? {
                    $($byte => {
                        $($(let $held = $crate::persist::Stored::read(from)?;)+)?
                        $($(let $named = $crate::persist::Stored::read(from)?;)+)?
                        $type::$variant $(($($held),+))? $({$($named),+})?
                    })+
                    _ => return Err(std::io::ErrorKind::InvalidData.into()),
                })
            }
        }
    )+};
}
pub use stored_enum;

macro_rules! numbers {
    ($($type:ty),+) => {$(
        impl Stored for $type {
            #[inline]
            fn write(&self, to: &mut Writer) {
                to.put(&self.to_le_bytes());
            }
            #[inline]
            fn read(from: &mut Reader) -> io::Result<$type> {
                from.take().map(<$type>::from_le_bytes)
            }
        }
    )+};
}
numbers!(u8, u16, u32, u64, u128, i64, f32, f64);

impl Stored for usize {
    fn write(&self, to: &mut Writer) {
        (*self as u64).write(to);
    }
    fn read(from: &mut Reader) -> io::Result<usize> {
        usize::try_from(u64::read(from)?).map_err(|_| damaged())
    }
}

impl Stored for bool {
    fn write(&self, to: &mut Writer) {
        u8::from(*self).write(to);
    }
    fn read(from: &mut Reader) -> io::Result<bool> {
        match u8::read(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged()),
        }
    }
}

/// Numbers with a unit, and ids that are numbers.
macro_rules! wrapped {
    ($($type:ident),+) => {$(
        impl Stored for $type {
            fn write(&self, to: &mut Writer) {
                self.0.write(to);
            }
            fn read(from: &mut Reader) -> io::Result<$type> {
                Stored::read(from).map($type)
            }
        }
    )+};
}
wrapped!(Time, Span, Bytes, Lpn, Ppn, ChannelId, DieId, PlaneId, BlockId, Fine);

stored! {
    Request { time, offset, bytes, op, queue, hint, limited }
    PageRead { first, last, weak }
    Weighed { step, weight }
}

stored_enum! {
    Op { 0 = Read, 1 = Write, 2 = Trim, 3 = Flush, 4 = Append, 5 = Zone(action), 6 = ZoneReport, 7 = HandleUpdate, }
    ZoneAction { 0 = Close, 1 = Finish, 2 = Open, 3 = Reset, 4 = Offline, 5 = Flush, 6 = OpenRandom, }
    ReadReference { 0 = Step(step), 1 = NearOptimal, 2 = Sentinel, 3 = Soft(fine), }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, to: &mut Writer) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }
    fn read(from: &mut Reader) -> io::Result<Option<T>> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl<T: Stored> Stored for Box<T> {
    fn write(&self, to: &mut Writer) {
        T::write(self, to);
    }
    fn read(from: &mut Reader) -> io::Result<Box<T>> {
        T::read(from).map(Box::new)
    }
}

macro_rules! tuples {
    ($(($($name:ident),+))+) => {$(
        impl<$($name: Stored),+> Stored for ($($name,)+) {
            #[allow(non_snake_case)]
            fn write(&self, to: &mut Writer) {
                let ($($name,)+) = self;
                $($name.write(to);)+
            }
            fn read(from: &mut Reader) -> io::Result<Self> {
                Ok(($($name::read(from)?,)+))
            }
        }
    )+};
}
tuples! { (A, B) (A, B, C) (A, B, C, D) }

impl<T: Stored> Stored for std::cmp::Reverse<T> {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }
    fn read(from: &mut Reader) -> io::Result<Self> {
        T::read(from).map(std::cmp::Reverse)
    }
}

impl<T: Stored> Stored for std::ops::Range<T> {
    fn write(&self, to: &mut Writer) {
        self.start.write(to);
        self.end.write(to);
    }
    fn read(from: &mut Reader) -> io::Result<Self> {
        Ok(T::read(from)?..T::read(from)?)
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    #[inline]
    fn write(&self, to: &mut Writer) {
        self.iter().for_each(|value| value.write(to));
    }
    #[inline]
    fn read(from: &mut Reader) -> io::Result<[T; N]> {
        let mut failed = None;
        let values: [Option<T>; N] = std::array::from_fn(|_| T::read(from).map_err(|error| failed = Some(error)).ok());
        match failed {
            None => Ok(values.map(|value| value.expect("Invariant: what did not fail is there"))),
            Some(error) => Err(error),
        }
    }
}

/// How many there are, then each.
fn write_each<'a, T: Stored + 'a>(values: impl ExactSizeIterator<Item = &'a T>, to: &mut Writer) {
    values.len().write(to);
    values.for_each(|value| value.write(to));
}

impl<T: Stored> Stored for Vec<T> {
    fn write(&self, to: &mut Writer) {
        write_each(self.iter(), to);
    }
    fn read(from: &mut Reader) -> io::Result<Vec<T>> {
        let len = usize::read(from)?;
        // A length that is wrong does not take memory for what is not there.
        let mut values = Vec::with_capacity(len.min(CHUNK));
        for _ in 0..len {
            values.push(T::read(from)?);
        }
        Ok(values)
    }
}

impl<T: Stored> Stored for Box<[T]> {
    fn write(&self, to: &mut Writer) {
        write_each(self.iter(), to);
    }
    fn read(from: &mut Reader) -> io::Result<Box<[T]>> {
        Vec::read(from).map(Vec::into_boxed_slice)
    }
}

impl<T: Stored> Stored for VecDeque<T> {
    fn write(&self, to: &mut Writer) {
        write_each(self.iter(), to);
    }
    fn read(from: &mut Reader) -> io::Result<VecDeque<T>> {
        Vec::read(from).map(VecDeque::from)
    }
}

impl<I: Id, T: Stored> Stored for PerId<I, T> {
    fn write(&self, to: &mut Writer) {
        write_each(self.iter(), to);
    }
    fn read(from: &mut Reader) -> io::Result<PerId<I, T>> {
        Vec::<T>::read(from).map(PerId::from_iter)
    }
}

impl<T: Stored + Ord> Stored for BinaryHeap<T> {
    fn write(&self, to: &mut Writer) {
        write_each(self.iter(), to);
    }
    fn read(from: &mut Reader) -> io::Result<BinaryHeap<T>> {
        Vec::read(from).map(BinaryHeap::from)
    }
}

impl<T: Stored + Ord> Stored for BTreeSet<T> {
    fn write(&self, to: &mut Writer) {
        write_each(self.iter(), to);
    }
    fn read(from: &mut Reader) -> io::Result<BTreeSet<T>> {
        Vec::read(from).map(BTreeSet::from_iter)
    }
}

/// By key: a device whose state is the same gives the same bytes.
impl<K: Stored + Ord + Hash, T: Stored, S: BuildHasher + Default> Stored for HashMap<K, T, S> {
    fn write(&self, to: &mut Writer) {
        let by_key: BTreeMap<&K, &T> = self.iter().collect();
        by_key.len().write(to);
        for (key, value) in by_key {
            key.write(to);
            value.write(to);
        }
    }
    fn read(from: &mut Reader) -> io::Result<HashMap<K, T, S>> {
        Ok(Vec::<(K, T)>::read(from)?.into_iter().collect())
    }
}

impl<K: Stored + Ord, T: Stored> Stored for BTreeMap<K, T> {
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        for (key, value) in self {
            key.write(to);
            value.write(to);
        }
    }
    fn read(from: &mut Reader) -> io::Result<BTreeMap<K, T>> {
        Ok(Vec::<(K, T)>::read(from)?.into_iter().collect())
    }
}

/// From the least recently used entry on, so that putting them in again leaves them in the same order.
impl<K: Stored + Eq + Hash, T: Stored> Stored for LruCache<K, T> {
    fn write(&self, to: &mut Writer) {
        self.len().write(to);
        for (key, value) in self.iter().rev() {
            key.write(to);
            value.write(to);
        }
    }
    fn read(from: &mut Reader) -> io::Result<LruCache<K, T>> {
        let mut cache = LruCache::unbounded();
        for (key, value) in Vec::<(K, T)>::read(from)? {
            cache.put(key, value);
        }
        Ok(cache)
    }
}
