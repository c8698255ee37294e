//! How large a volume is, and which of its blocks is what.

/// Bytes of a block, and of a segment (FAST'15, 3.1).
pub(super) const BLOCK: u64 = 4096;
pub(super) const SEGMENT: u64 = 512 * BLOCK;

/// Logs, at most.
pub(super) const LOGS: usize = 6;

/// Entries of a block of the NAT and of the SIT (include/linux/f2fs_fs.h: 9 and 74 bytes each).
pub(super) const NAT_ENTRIES: u64 = 455;
pub(super) const SIT_ENTRIES: u64 = 55;

/// Blocks that an inode addresses itself (DEF_ADDRS_PER_INODE): a larger file has further nodes.
pub(super) const OF_INODE: u64 = 923;

/// Blocks of a checkpoint pack: its header and footer, and the summaries of six logs.
pub(super) const PACK: u64 = 8;

/// How many of what there is. Blocks are numbered: data file by file; a node for each file, and another one where files
/// are large; of each directory the block of its entries, and its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub files: u64,
    pub blocks_of_file: u64,
    pub directories: u64,
    /// Files from this one on have cold data.
    pub first_cold: u64,
    /// Sections of the main area, and those of the tables before it.
    pub sections: u32,
    pub tables: u32,
    pub blocks_of_section: u32,
}

/// What a block is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data { cold: bool },
    Node,
    IndirectNode,
    Entries,
    DirectoryNode,
}

impl Shape {
    /// All blocks.
    pub fn blocks(&self) -> u64 {
        self.first_entries() + 2 * self.directories
    }

    pub fn first_node(&self) -> u64 {
        self.files * self.blocks_of_file
    }

    pub fn first_indirect(&self) -> u64 {
        self.first_node() + self.files
    }

    pub fn has_indirect(&self) -> bool {
        self.blocks_of_file > OF_INODE
    }

    pub fn first_entries(&self) -> u64 {
        self.first_indirect() + if self.has_indirect() { self.files } else { 0 }
    }

    pub fn kind(&self, number: u64) -> Kind {
        if number < self.first_node() {
            Kind::Data { cold: number / self.blocks_of_file >= self.first_cold }
        } else if number < self.first_indirect() {
            Kind::Node
        } else if number < self.first_entries() {
            Kind::IndirectNode
        } else if number < self.first_entries() + self.directories {
            Kind::Entries
        } else {
            Kind::DirectoryNode
        }
    }

    /// The number of a node, if a block is one.
    pub fn node(&self, number: u64) -> Option<u64> {
        let is_node = !matches!(self.kind(number), Kind::Data { .. } | Kind::Entries);
        is_node.then(|| number - self.first_node())
    }
}
