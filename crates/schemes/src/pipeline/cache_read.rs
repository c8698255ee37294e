//! PR2 (asplos21 section 6.1). The first sense of a read is not followed by speculation: most reads end with it.

pub(super) fn speculates(retry: bool) -> bool {
    retry
}
