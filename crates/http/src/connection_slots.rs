//! How many connections there may be at once, altogether and from one address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) struct ConnectionSlots {
    free: Arc<Semaphore>,
    per_address: usize,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A place for one connection, free again when this is dropped.
pub(crate) struct ConnectionSlot {
    address: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlots {
    /// One address gets three quarters at most: the rest stays for others, whatever it does.
    pub(crate) fn new(all: usize) -> ConnectionSlots {
        ConnectionSlots {
            free: Arc::new(Semaphore::new(all)),
            per_address: (all - all / 4).max(1),
            taken: Arc::default(),
        }
    }

    /// Waits until there is room for one more.
    pub(crate) async fn free(&self) -> Option<OwnedSemaphorePermit> {
        self.free.clone().acquire_owned().await.ok()
    }

    /// `None` where this address has its share. A proxy carries many clients and has no such limit.
    pub(crate) fn take(
        &self,
        permit: OwnedSemaphorePermit,
        address: IpAddr,
        is_proxy: bool,
    ) -> Option<ConnectionSlot> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(address).or_default();
        if *count >= self.per_address && !is_proxy {
            return None;
        }
        *count += 1;
        Some(ConnectionSlot { address, taken: Arc::clone(&self.taken), _permit: permit })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_address_leaves_room_for_others() {
        let slots = ConnectionSlots::new(8);
        let greedy: IpAddr = "127.0.0.2".parse().unwrap();
        let honest: IpAddr = "127.0.0.1".parse().unwrap();
        let mut held = Vec::new();
        for n in 0..8 {
            let permit = slots.free().await.unwrap();
            match slots.take(permit, greedy, false) {
                Some(slot) => held.push(slot),
                None => assert!(n >= 6, "refused at {n}"),
            }
        }
        assert_eq!(held.len(), 6);
        assert!(slots.take(slots.free().await.unwrap(), honest, false).is_some());
        assert!(
            slots.take(slots.free().await.unwrap(), greedy, true).is_some(),
            "a proxy carries many clients"
        );
        held.clear();
        assert!(slots.take(slots.free().await.unwrap(), greedy, false).is_some());
        assert!(slots.taken.lock().unwrap().is_empty());
    }
}
