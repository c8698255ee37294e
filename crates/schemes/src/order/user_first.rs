//! User I/O before the drive's own reads, writes and erases (electronics25 §7.1). Among user operations
//! reads go first, as in MQSim's scheduler, which that paper extends.

use super::contract::Class;

pub(super) fn rank(class: Class) -> u8 {
    match class {
        Class::UserRead => 0,
        Class::UserProgram => 1,
        Class::InternalRead | Class::InternalProgram | Class::Erase => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Class, Order};

    #[test]
    fn user_operations_go_before_internal_ones() {
        let ranks = Order::UserFirst.ranks();
        assert!(ranks[Class::UserRead as usize] < ranks[Class::UserProgram as usize]);
        assert!(ranks[Class::UserProgram as usize] < ranks[Class::InternalRead as usize]);
        assert_eq!(ranks[Class::InternalProgram as usize], ranks[Class::Erase as usize]);
    }
}
