//! When something happens next in each drive: a tournament of which the earliest is the winner, of those of one time
//! that with the least number.

use std::io;

use ssd::persist::{Reader, Stored, Writer};
use units::Time;

/// Who wins a match, and when something happens there.
type Winner = (Time, u32);

/// The times, by the numbers of drives.
#[derive(Debug)]
pub(crate) struct Nexts {
    /// The winner of each match, the last one in place 1; the second half are the drives themselves, as many as is a
    /// power of two. Those of no drive never come.
    winners: Vec<Winner>,
    drives: usize,
}

impl Nexts {
    /// Of this many drives in which nothing happens.
    pub fn new(drives: usize) -> Nexts {
        Nexts::of(&vec![Time::NEVER; drives])
    }

    fn of(times: &[Time]) -> Nexts {
        let (drives, places) = (times.len(), times.len().next_power_of_two());
        let time = |drive: usize| times.get(drive).copied().unwrap_or(Time::NEVER);
        let of_drives = (0..places).map(|drive| (time(drive), drive as u32));
        let mut winners: Vec<Winner> = vec![(Time::NEVER, 0); places];
        winners.extend(of_drives);
        for place in (1..places).rev() {
            winners[place] = winners[2 * place].min(winners[2 * place + 1]);
        }
        Nexts { winners, drives }
    }

    /// How many drives there are.
    pub fn len(&self) -> usize {
        self.drives
    }

    /// Something happens in a drive at another time.
    #[inline]
    pub fn set(&mut self, drive: usize, time: Time) {
        let mut place = self.winners.len() / 2 + drive;
        let mut winner = (time, drive as u32);
        while self.winners[place] != winner {
            self.winners[place] = winner;
            if place == 1 {
                return;
            }
            let other = self.winners[place ^ 1];
            // Of one time the least number, which is that of the left one.
            let other_wins = if place & 1 == 0 { other.0 < winner.0 } else { other.0 <= winner.0 };
            winner = if other_wins { other } else { winner };
            place /= 2;
        }
    }

    /// The earliest, and which drive that is.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        let (time, drive) = self.winners[1];
        (time, drive as usize)
    }

    /// Until when the earliest goes on before all others: the earliest of these, who have lost against it, or the time
    /// before that where it has the greater number.
    #[inline]
    pub fn until(&self, first: usize) -> Time {
        let (mut place, mut until) = (self.winners.len() / 2 + first, Time::NEVER);
        while place > 1 {
            let (time, _) = self.winners[place ^ 1];
            // Those to the left have less numbers.
            let time = if place & 1 == 1 && time != Time::NEVER { Time(time.0 - 1) } else { time };
            until = until.min(time);
            place /= 2;
        }
        until
    }
}

impl Stored for Nexts {
    fn write(&self, to: &mut Writer) {
        let of_drives = self.winners[self.winners.len() / 2..].iter().take(self.drives);
        of_drives.map(|(time, _)| *time).collect::<Vec<Time>>().write(to);
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
    fn the_first_is_that_of_a_search_and_goes_on_until_another_one_is() {
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
                let (time, first) = order[0];
                assert_eq!(nexts.first(), (time, first));
                // The last time at which it comes before all others.
                let comes_first = |at: u64| order[1..].iter().all(|other| (Time(at), first) < *other);
                let last = (0..6).rev().find(|at| comes_first(*at));
                if time != Time::NEVER {
                    assert_eq!(nexts.until(first).0.min(5), last.expect("the time itself"), "{order:?}");
                }
            }
        }
    }
}
