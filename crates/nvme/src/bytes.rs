//! Structures of fixed size. All numbers of NVMe are little-endian (Base 2.0, 1.4.2 "Numerical Descriptions").

use crate::limits::LONGEST_NAME;

/// A structure that is filled in field by field; what is not filled in is zero.
pub(crate) struct Fields(Vec<u8>);

impl Fields {
    /// One of this many bytes.
    pub fn new(bytes: usize) -> Fields {
        Fields(vec![0; bytes])
    }

    /// Bytes from `at` on.
    pub fn bytes(&mut self, at: usize, value: &[u8]) -> &mut Fields {
        self.0[at..at + value.len()].copy_from_slice(value);
        self
    }

    pub fn u8(&mut self, at: usize, value: u8) -> &mut Fields {
        self.bytes(at, &[value])
    }

    pub fn u16(&mut self, at: usize, value: u16) -> &mut Fields {
        self.bytes(at, &value.to_le_bytes())
    }

    pub fn u32(&mut self, at: usize, value: u32) -> &mut Fields {
        self.bytes(at, &value.to_le_bytes())
    }

    /// Writes one value to several places.
    pub fn u16s(&mut self, places: impl IntoIterator<Item = usize>, value: u16) -> &mut Fields {
        places.into_iter().fold(self, |fields, at| fields.u16(at, value))
    }

    pub fn u32s(&mut self, places: impl IntoIterator<Item = usize>, value: u32) -> &mut Fields {
        places.into_iter().fold(self, |fields, at| fields.u32(at, value))
    }

    pub fn u64(&mut self, at: usize, value: u64) -> &mut Fields {
        self.bytes(at, &value.to_le_bytes())
    }

    pub fn u128(&mut self, at: usize, value: u128) -> &mut Fields {
        self.bytes(at, &value.to_le_bytes())
    }

    /// ASCII on the left of a field, with spaces behind (Base 2.0, 1.4.2): what does not fit is left out.
    pub fn ascii(&mut self, at: usize, length: usize, value: &str) -> &mut Fields {
        let printable = |byte: u8| if (0x20..0x7f).contains(&byte) { byte } else { b'?' };
        let text = value.bytes().map(printable).chain(std::iter::repeat(b' '));
        self.0[at..at + length].iter_mut().zip(text).for_each(|(place, byte)| *place = byte);
        self
    }

    /// UTF-8 with a null behind, as names of subsystems are.
    pub fn name(&mut self, at: usize, value: &str) -> &mut Fields {
        self.bytes(at, value.as_bytes())
    }

    /// The structure.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]))
}

/// The name in a field of 256 bytes, up to its null; none if it is no UTF-8 or longer than names are.
pub(crate) fn name_at(bytes: &[u8], at: usize) -> Option<&str> {
    let field = &bytes[at..at + 256];
    let end = field.iter().position(|byte| *byte == 0).filter(|end| *end <= LONGEST_NAME)?;
    std::str::from_utf8(&field[..end]).ok()
}
