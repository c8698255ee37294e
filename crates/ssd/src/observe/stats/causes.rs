//! The causes by which times and relocations are counted.

/// What a die's time goes into.
pub mod die {
    /// Nothing.
    pub const IDLE: usize = 0;
    /// Sensing, the read command included.
    pub const READ: usize = 1;
    /// Holding sensed pages that have not left.
    pub const HOLD: usize = 2;
    /// Receiving the data of a program.
    pub const LOAD: usize = 3;
    /// Programming.
    pub const PROGRAM: usize = 4;
    /// Erasing, the command included.
    pub const ERASE: usize = 5;
    /// The causes' names and meanings.
    pub const CAUSES: [(&str, &str); 6] = [
        ("idle", "nothing to do"),
        ("read", "sensing, the read command included"),
        ("hold", "holding sensed pages that wait for the bus or leave over it"),
        ("load", "receiving the data of a program"),
        ("program", "programming"),
        ("erase", "erasing, the command included"),
    ];

    /// What an idle die with work waits for. To a die's share of time this is idleness; to a request that waits for
    /// the die it is what keeps it.
    pub const WAITS: [(&str, &str); 4] = [
        ("bus wait", "waiting for the bus, to take a command or data"),
        ("chip wait", "another die of the chip works, and they do not interleave"),
        ("collection wait", "collection of a block that nothing may interrupt, between its operations"),
        ("energy wait", "what was used is to be paid for first (energy.power_states)"),
    ];
    /// For the bus.
    pub const WAIT_BUS: usize = CAUSES.len();
    /// For another die of the chip.
    pub const WAIT_CHIP: usize = CAUSES.len() + 1;
    /// For a collection.
    pub const WAIT_COLLECTION: usize = CAUSES.len() + 2;
    /// For energy.
    pub const WAIT_ENERGY: usize = CAUSES.len() + 3;
    /// How many causes and waits there are.
    pub const SPENT: usize = CAUSES.len() + WAITS.len();
    /// Time by cause, then by wait; idleness is what is left over.
    pub type Spent = [units::Span; SPENT];

    /// The causes and waits by name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CAUSES.iter().chain(&WAITS).map(|(name, _)| *name)
    }
}

/// What a channel's time goes into.
pub mod channel {
    /// Nothing.
    pub const IDLE: usize = 0;
    /// Read and erase commands.
    pub const COMMAND: usize = 1;
    /// Pages out of dies.
    pub const READ_DATA: usize = 2;
    /// Pages into dies, the program command included.
    pub const WRITE_DATA: usize = 3;
    /// Pages wait, and the ECC engine has no room for them.
    pub const ECC_WAIT: usize = 4;
    /// Pages out of dies that cannot be corrected (UNCOR of hpca24 Fig. 18).
    pub const FAILED_READS: usize = 5;
    /// The causes' names and meanings.
    pub const CAUSES: [(&str, &str); 6] = [
        ("idle", "nothing to move"),
        ("command", "read and erase commands"),
        ("read_data", "pages out of dies that are corrected"),
        ("write_data", "pages into dies, the program command included"),
        ("ecc_wait", "pages wait to leave, and the ECC engine has no room for them"),
        (
            "failed_reads",
            "pages out of dies that cannot be corrected, and sentinel cells: they are read again, or lost",
        ),
    ];
}

/// Why a block's data is relocated.
pub mod relocation_causes {
    /// Garbage collection.
    pub const COLLECTION: usize = 0;
    /// Static wear levelling.
    pub const WEAR_LEVELLING: usize = 1;
    /// Old data.
    pub const REFRESH: usize = 2;
    /// A block that was read often.
    pub const READ_RECLAIM: usize = 3;
    /// A block that failed.
    pub const BAD_BLOCK: usize = 4;
    /// A block of the SLC cache.
    pub const FOLD: usize = 5;
    /// A block whose data is to be in the SLC cache.
    pub const CONVERSION: usize = 6;
    /// A block of a zone that was reset: nothing of it moves.
    pub const RESET: usize = 7;
    /// The causes' names and meanings.
    pub const CAUSES: [(&str, &str); 8] = [
        ("gc", "garbage collection"),
        ("wear_levelling", "static wear levelling"),
        ("refresh", "refresh of old data"),
        ("read_reclaim", "read reclaim"),
        ("bad_block", "saving the data of blocks that failed"),
        ("fold", "folding blocks of the SLC cache into the chip's own cells"),
        ("convert", "relocating data into the SLC cache that is read often or with retries"),
        ("reset", "erasing blocks of zones that were reset"),
    ];
}
