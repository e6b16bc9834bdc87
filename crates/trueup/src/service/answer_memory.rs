//! The memory for answers that something else than an endpoint makes, such as a report.

use super::body::{Body, BodyMemory, Chunk, CountedText};
use super::error::ServiceError;
use crate::{MemoryBudget, Reservation};
use std::io::{self, Write};

/// The memory for the answers to one caller, for a server that answers in another protocol than
/// [`Service::handle`](super::Service::handle). [`Service::answer_memory`](super::Service::answer_memory) returns it.
///
/// Answers leave as a [`Body`] or a [`Chunk`], which own the memory that is reserved for them. So they count against
/// the budget of the service, and against the caller's share of it, until their bytes are sent.
#[derive(Clone, Debug)]
pub struct AnswerMemory {
    /// The budget with the share of the caller; `None` if nothing is counted.
    budget: Option<MemoryBudget>,
}

impl AnswerMemory {
    pub(super) const fn new(budget: Option<MemoryBudget>) -> Self {
        Self { budget }
    }

    /// Returns the body that `write` writes. `write` is called twice and must write the same both times: the first time
    /// its bytes are only counted, and memory is reserved for them before the second time.
    ///
    /// # Errors
    /// There is no room for the body now, or `write` fails.
    ///
    /// ```
    /// use trueup::service::{Body, Service, ServiceError, SignedIn};
    ///
    /// fn greeting(service: &Service, caller: &SignedIn) -> Result<Body, ServiceError> {
    ///     service.answer_memory(caller).body(|out| write!(out, "Good morning, {}!", caller.user()))
    /// }
    /// ```
    pub fn body(&self, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<Body, ServiceError> {
        let mut length = ByteCount(0);
        write(&mut length)?;
        let mut text = CountedText::new(self.reserve(0)?);
        text.make_room(length.0).map_err(ServiceError::no_room)?;
        let (source, memory) = text.write_body(|text| write(text))?;
        Ok(Body::new(source, memory, false))
    }

    /// Returns bytes that something else has made as a chunk, for which memory is reserved.
    ///
    /// # Errors
    /// There is no room for them now.
    pub fn chunk(&self, bytes: Vec<u8>) -> Result<Chunk, ServiceError> {
        let memory = BodyMemory::from(self.reserve(bytes.capacity())?);
        Ok(Chunk::new(bytes, memory))
    }

    fn reserve(&self, bytes: usize) -> Result<Option<Reservation>, ServiceError> {
        self.budget.as_ref().map(|budget| budget.reserve(bytes)).transpose().map_err(ServiceError::no_room)
    }
}

/// Counts the bytes that are written, and keeps none.
struct ByteCount(usize);

impl Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &[u8] = &[b'x'; 100_000];

    fn page(memory: &AnswerMemory) -> Result<Body, ServiceError> {
        memory.body(|out| out.write_all(PAGE))
    }

    #[test]
    fn a_body_counts_until_its_last_chunk_is_dropped() {
        let budget = MemoryBudget::new(1 << 20);
        let mut body = page(&AnswerMemory::new(Some(budget.for_user("anna")))).unwrap();
        // The body, its chunks, and nothing while it was written.
        let held = budget.held();
        assert!(held >= 2 * PAGE.len() && budget.peak() == held, "{held} {}", budget.peak());
        assert_eq!(body.remaining_bytes(), Some(PAGE.len()));
        let chunks: Vec<Chunk> = body.by_ref().map(Result::unwrap).collect();
        assert_eq!(chunks.iter().flat_map(|chunk| chunk.to_vec()).collect::<Vec<_>>(), PAGE);
        drop(body);
        assert_eq!(budget.held(), held);
        drop(chunks);
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn unread_bodies_use_up_the_share_of_their_caller() {
        let budget = MemoryBudget::new(1 << 20);
        let [anna, ben] = ["anna", "ben"].map(|user| AnswerMemory::new(Some(budget.for_user(user))));
        let unread: Vec<Body> = std::iter::from_fn(|| page(&anna).ok()).collect();
        assert_eq!(unread.len(), 2);
        assert_eq!(page(&anna).unwrap_err().status(), 503);
        assert!(anna.chunk(PAGE.repeat(2)).is_err());
        assert!(page(&ben).is_ok());
        drop(unread);
        assert!(page(&anna).is_ok());
        assert!(AnswerMemory::new(None).chunk(PAGE.repeat(100)).is_ok());
    }
}
