//! The module's interface: bytes in and out through its memory, and a bound on that memory.
//!
//! The page writes a question where `room` says, calls `ask`, and reads the answer at `answer`. After a trap (an
//! internal fault, or memory that is used up) it reads `used_up` and `fault`, and starts the module again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Lab;

/// What a run and its drive may take (assumed: what phones give a page).
pub(crate) const MOST_BYTES: usize = 1 << 30;

/// The system's allocator, up to [`MOST_BYTES`].
struct Bounded;

static USED: AtomicUsize = AtomicUsize::new(0);
static USED_UP: AtomicBool = AtomicBool::new(false);

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

// SAFETY: every call goes to the system's allocator unchanged, or is refused with a null pointer, as the trait allows.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if USED.load(Ordering::Relaxed).saturating_add(layout.size()) > MOST_BYTES {
            USED_UP.store(true, Ordering::Relaxed);
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises on the layout are those that the system's allocator asks for.
        let given = unsafe { System.alloc(layout) };
        if given.is_null() {
            USED_UP.store(true, Ordering::Relaxed);
        } else {
            USED.fetch_add(layout.size(), Ordering::Relaxed);
        }
        given
    }

    unsafe fn dealloc(&self, given: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `given` was allocated above with this layout, as the caller promises.
        unsafe { System.dealloc(given, layout) }
    }
}

/// What crosses the module's border, and the laboratory.
struct Module {
    lab: Option<Lab>,
    question: Vec<u8>,
    answer: Vec<u8>,
}

static MODULE: Mutex<Module> = Mutex::new(Module { lab: None, question: Vec::new(), answer: Vec::new() });

/// What an internal fault has said.
static FAULT: Mutex<String> = Mutex::new(String::new());

fn module() -> MutexGuard<'static, Module> {
    MODULE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the question is to be written, which has this many bytes.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    let mut module = module();
    module.question = vec![0; bytes];
    module.question.as_mut_ptr()
}

/// Answers the question that has been written; how many bytes the answer has.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let mut lab = module().lab.take().unwrap_or_else(|| {
        panic::set_hook(Box::new(|fault| {
            FAULT.lock().unwrap_or_else(PoisonError::into_inner).push_str(&fault.to_string())
        }));
        Lab::new()
    });
    let question = String::from_utf8_lossy(&std::mem::take(&mut module().question)).into_owned();
    let answer = lab.ask(&question).into_bytes();
    let mut module = module();
    module.lab = Some(lab);
    module.answer = answer;
    module.answer.len()
}

/// Where the answer is.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    module().answer.as_ptr()
}

/// Whether memory was used up.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn used_up() -> bool {
    USED_UP.load(Ordering::Relaxed)
}

/// After a trap: puts what the internal fault has said where answers are; how many bytes it has.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn fault() -> usize {
    let mut module = module();
    module.answer = std::mem::take(&mut *FAULT.lock().unwrap_or_else(PoisonError::into_inner)).into_bytes();
    module.answer.len()
}
