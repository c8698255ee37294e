//! Prints the shifts of the committed code: `cargo run -p ssdlab-ecc --example search > crates/ecc/src/shifts.rs`.

fn main() {
    println!("//! The shifts of the code: `Code::search(1)`, written by `cargo run -p ssdlab-ecc --example search`.\n");
    println!("/// The shift of every block; 65535 stands for a zero block.");
    println!("#[rustfmt::skip]");
    println!("pub const SHIFTS: [[u16; 36]; 4] = [");
    for row in ecc::Code::search(1).shifts {
        println!("    {row:?},");
    }
    println!("];");
}
