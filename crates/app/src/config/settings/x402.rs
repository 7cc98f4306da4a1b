//! Payments for calls.

use std::path::PathBuf;

use super::SettingsCheck;
use crate::config::keys::Key;

#[derive(Debug, Clone)]
pub(crate) struct X402 {
    pub mode: X402Mode,
    pub facilitator_url: String,
    pub facilitator_token_file: Option<PathBuf>,
    pub resource_base_url: String,
    pub tools_call_enabled: bool,
    pub price: String,
    pub network: String,
    pub scheme: String,
    pub asset: String,
    pub pay_to: String,
    pub bazaar_enabled: bool,
    pub bazaar_description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum X402Mode {
    Off,
    On,
    Required,
}

impl SettingsCheck<'_> {
    pub(super) fn x402(&mut self) -> X402 {
        let values = self.values;
        let text = |key| values.text(key).to_string();
        let mode = match values.text(Key::X402Mode) {
            "on" => X402Mode::On,
            "required" => X402Mode::Required,
            _ => X402Mode::Off,
        };
        let mut valid = true;
        if !is_caip2(values.text(Key::X402Network)) {
            self.problem(Key::X402Network, "expected a CAIP-2 network such as eip155:8453");
            valid = false;
        }
        if !is_price(values.text(Key::X402Price)) {
            self.problem(Key::X402Price, "expected a price such as 1000 (smallest units) or 0.001");
            valid = false;
        }
        let x402 = X402 {
            mode,
            facilitator_url: self.url(Key::X402FacilitatorUrl),
            facilitator_token_file: Some(PathBuf::from(values.text(Key::X402FacilitatorTokenFile)))
                .filter(|path| !path.as_os_str().is_empty()),
            resource_base_url: self.url(Key::X402ResourceBaseUrl),
            tools_call_enabled: values.bool(Key::X402ToolsCallEnabled),
            price: text(Key::X402Price),
            network: text(Key::X402Network),
            scheme: text(Key::X402Scheme),
            asset: text(Key::X402Asset),
            pay_to: text(Key::X402PayTo),
            bazaar_enabled: values.bool(Key::X402BazaarEnabled),
            bazaar_description: text(Key::X402BazaarDescription),
        };
        if mode != X402Mode::Off && valid {
            self.problem(Key::X402Mode, "payments (x402) are not available yet; use off");
        } else if mode == X402Mode::Off && values.bool(Key::X402Enabled) {
            self.warnings.push("x402.enabled has no effect: x402.mode decides, and it is off".into());
        }
        x402
    }
}

/// A chain identifier: a namespace and a reference, as CAIP-2 has them.
pub(super) fn is_caip2(text: &str) -> bool {
    let Some((namespace, reference)) = text.split_once(':') else { return false };
    (1..=32).contains(&namespace.len())
        && namespace.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && (1..=128).contains(&reference.len())
        && reference.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// Whole smallest units, or a decimal amount.
pub(super) fn is_price(text: &str) -> bool {
    let digits =
        |part: &str| !part.is_empty() && part.len() <= 30 && part.chars().all(|c| c.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(text),
    }
}
