//! When something happens next in each drive: a tournament of which the earliest is the winner, of those of one time that with the least number.

use std::io;

use ssd::persist::{Reader, Stored, Writer};
use units::Time;

/// The times, by the numbers of drives.
#[derive(Debug)]
pub(crate) struct Nexts {
    /// As many as is a power of two; those of no drive never come.
    times: Vec<Time>,
    drives: usize,
    /// The winner of each match, the last one in place 1; below them stand the drives themselves.
    winners: Vec<u32>,
}

impl Nexts {
    /// Of this many drives in which nothing happens.
    pub fn new(drives: usize) -> Nexts {
        Nexts::of(&vec![Time::NEVER; drives])
    }

    fn of(times: &[Time]) -> Nexts {
        let drives = times.len();
        let places = drives.next_power_of_two();
        let never = std::iter::repeat_n(Time::NEVER, places - drives);
        let mut nexts = Nexts { times: times.iter().copied().chain(never).collect(), drives, winners: vec![0; places] };
        for place in (1..places).rev() {
            nexts.winners[place] = nexts.winner(place);
        }
        nexts
    }

    /// How many drives there are.
    pub fn len(&self) -> usize {
        self.drives
    }

    /// Who has come to a place.
    #[inline]
    fn at(&self, place: usize) -> u32 {
        if place < self.winners.len() { self.winners[place] } else { (place - self.winners.len()) as u32 }
    }

    #[inline]
    fn winner(&self, place: usize) -> u32 {
        let (one, other) = (self.at(2 * place), self.at(2 * place + 1));
        if self.times[other as usize] < self.times[one as usize] { other } else { one }
    }

    /// Something happens in a drive at another time.
    #[inline]
    pub fn set(&mut self, drive: usize, time: Time) {
        if std::mem::replace(&mut self.times[drive], time) == time {
            return;
        }
        let mut place = (self.winners.len() + drive) / 2;
        while place > 0 {
            self.winners[place] = self.winner(place);
            place /= 2;
        }
    }

    /// The earliest, and which drive that is.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        let drive = if self.winners.len() == 1 { 0 } else { self.winners[1] as usize };
        (self.times[drive], drive)
    }

    /// The earliest but for that drive: who has lost against it.
    #[inline]
    pub fn second(&self, first: usize) -> (Time, usize) {
        let (mut place, mut best) = (self.winners.len() + first, (Time::NEVER, usize::MAX));
        while place > 1 {
            let other = self.at(place ^ 1) as usize;
            best = best.min((self.times[other], other));
            place /= 2;
        }
        best
    }
}

impl Stored for Nexts {
    fn write(&self, to: &mut Writer) {
        self.times[..self.drives].to_vec().write(to);
    }
    fn read(from: &mut Reader) -> io::Result<Nexts> {
        Ok(Nexts::of(&Vec::<Time>::read(from)?))
    }
}

#[cfg(test)]
mod tests {
    use units::Stream;

    use super::*;

    #[test]
    fn the_first_two_are_those_of_a_search() {
        for drives in [1, 2, 3, 8, 13] {
            let (mut nexts, mut times) = (Nexts::new(drives), vec![Time::NEVER; drives]);
            let random = Stream::new(3, "nexts").entity(drives as u64);
            for step in 0..2000 {
                let drive = random.below(2 * step, drives as u64) as usize;
                // Times that are equal, and none.
                let time = Time(random.below(2 * step + 1, 6));
                times[drive] = if time.0 == 5 { Time::NEVER } else { time };
                nexts.set(drive, times[drive]);
                let mut order: Vec<(Time, usize)> = times.iter().copied().zip(0..).collect();
                order.sort_unstable();
                assert_eq!(nexts.first(), order[0]);
                let second = order.get(1).filter(|(time, _)| *time != Time::NEVER);
                assert_eq!(nexts.second(order[0].1).0, second.map_or(Time::NEVER, |(time, _)| *time));
                if let Some((_, drive)) = second {
                    assert_eq!(nexts.second(order[0].1).1, *drive);
                }
            }
        }
    }
}
