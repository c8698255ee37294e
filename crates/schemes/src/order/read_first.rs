//! Read priority scheduling (RPS, fast12 §3.2): reads before programs and erases.

use super::contract::Class;

pub(super) fn rank(class: Class) -> u8 {
    u8::from(!class.is_read())
}

#[cfg(test)]
mod tests {
    use super::super::{Class, Order};

    #[test]
    fn every_read_goes_before_every_program_and_erase() {
        let ranks = Order::ReadFirst.ranks();
        assert!(ranks[Class::InternalRead as usize] < ranks[Class::UserProgram as usize]);
        assert_eq!(ranks[Class::UserProgram as usize], ranks[Class::Erase as usize]);
    }
}
