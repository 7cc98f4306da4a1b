//! What the tests share: a client without real pauses, providers of stand-ins, and a meter that remembers.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::{Capability, ProviderError, ProviderFuture, Usage, UsageMeter};
use providers::ServiceAccount;
use providers::http::{HttpCore, HttpSettings, HttpTimer, RetryPolicy};
use providers::mistral::Mistral;
use providers::openai::OpenAi;
use secrecy::SecretString;
use testkit::standins::StandIn;

/// A clock that jumps ahead when something wants to wait.
#[derive(Debug, Default)]
pub(crate) struct JumpingTimer(Mutex<(Duration, Vec<Duration>)>);

impl JumpingTimer {
    /// The pauses so far.
    pub(crate) fn pauses(&self) -> Vec<Duration> {
        self.0.lock().unwrap().1.clone()
    }

    pub(crate) fn advance(&self, duration: Duration) {
        self.0.lock().unwrap().0 += duration;
    }
}

impl HttpTimer for JumpingTimer {
    fn elapsed(&self) -> Duration {
        self.0.lock().unwrap().0
    }

    fn now(&self) -> SystemTime {
        // 2015-10-21 07:27:30
        UNIX_EPOCH + Duration::from_secs(1_445_412_450)
    }

    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut state = self.0.lock().unwrap();
        state.0 += duration;
        state.1.push(duration);
        Box::pin(tokio::task::yield_now())
    }
}

/// Remembers what was used.
#[derive(Debug, Default)]
pub(crate) struct RememberingMeter(pub(crate) Mutex<Vec<(String, String, Capability, Usage)>>);

impl UsageMeter for RememberingMeter {
    fn reserve(&self, _provider: &str, _capability: Capability, _wanted: Usage) -> Result<(), ProviderError> {
        Ok(())
    }

    fn release(&self, _wanted: Usage) {}

    fn pages_left(&self) -> Option<u64> {
        None
    }

    fn record(&self, provider: &str, model: &str, capability: Capability, used: Usage) {
        self.0.lock().unwrap().push((provider.to_owned(), model.to_owned(), capability, used));
    }
}

pub(crate) struct World {
    pub(crate) core: Arc<HttpCore>,
    pub(crate) timer: Arc<JumpingTimer>,
    pub(crate) meter: Arc<RememberingMeter>,
}

impl World {
    pub(crate) fn new() -> World {
        World::allowing(None)
    }

    pub(crate) fn allowing(allowed_hosts: Option<Vec<String>>) -> World {
        let timer = Arc::new(JumpingTimer::default());
        let settings = HttpSettings {
            retry: RetryPolicy::default(),
            timer: timer.clone(),
            use_system_proxies: false,
            allowed_hosts,
        };
        World { core: HttpCore::new(settings).unwrap(), timer, meter: Arc::default() }
    }

    pub(crate) fn mistral(&self, stand_in: &StandIn) -> Mistral {
        self.mistral_with_key(stand_in, stand_in.key())
    }

    pub(crate) fn mistral_with_key(&self, stand_in: &StandIn, key: &str) -> Mistral {
        let account = self.account(stand_in, key);
        Mistral::new(account, Arc::clone(&self.core)).unwrap()
    }

    pub(crate) fn openai(&self, stand_in: &StandIn) -> OpenAi {
        let account = self.account(stand_in, stand_in.key());
        OpenAi::new(account, Arc::clone(&self.core)).unwrap()
    }

    /// An account with a stand-in, under a key of the test; an empty one is none.
    pub(crate) fn account(&self, stand_in: &StandIn, key: &str) -> ServiceAccount {
        ServiceAccount {
            key: Some(key).filter(|key| !key.is_empty()).map(SecretString::from),
            base_url: Some(stand_in.url()),
            meter: Some(self.meter.clone()),
        }
    }

    pub(crate) fn used(&self) -> Vec<(String, String, Capability, Usage)> {
        self.meter.0.lock().unwrap().clone()
    }
}

/// Polls a future once, which sends its request.
pub(crate) fn is_pending<T>(future: &mut ProviderFuture<'_, T>) -> bool {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
}
