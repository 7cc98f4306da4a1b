//! The default secret rules: what a credential looks like, and what only looks like one.
//!
//! A file with a hit is held back whole, so a rule that is wrong once in a hundred files hides more than
//! it protects. What was decided about the patterns of the specification, with figures, is in `docs/secrets.md`; each decision has
//! lines in `tests/fixtures/secrets`. Besides:
//!
//! - Placeholders pass: `EXAMPLE`, `your-…`, `changeme`, `xxxx`, `<…>`, `${…}`, one character repeated.
//!   So does AWS's documentation key `AKIAIOSFODNN7EXAMPLE`. A single letter repeated after `token =`
//!   does not pass, unless it is an x: contract tests use such values.
//! - Hashes of passwords (`pbkdf2_sha256$…`, `$2b$…`) are not passwords.
//! - Test keys of payment providers (`sk_test_…`) are made to be shown.
//! - What a line means depends on the file it is in: see [`crate::place`].

use std::ops::RangeInclusive;

use crate::checks::*;
use crate::lookalike::{is_drawn_key, is_repetition};
use crate::passwords::*;
use crate::randomness::word_share;
use crate::site::*;

/// The default patterns of the dir2mcp specification, section 16.2, as printed there.
pub const SPEC_PATTERNS: [&str; 5] = [
    r"AKIA[0-9A-Z]{16}",
    r"(?i)aws(.{0,20})?secret|([0-9a-zA-Z/+=]{40})",
    r"(?i)(?:authorization\s*[:=]\s*bearer\s+|(?:access|id|refresh)_token\s*[:=]\s*)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"(?i)token\s*[:=]\s*[A-Za-z0-9_.-]{20,}",
    r"sk_[a-z0-9]{32}|api_[A-Za-z0-9]{32}",
];

/// One kind of credential.
#[derive(Debug)]
pub(crate) struct CredentialRule {
    /// Shown to the owner of a file.
    pub(crate) name: &'static str,
    /// Any of these, in any case, makes the rule look.
    pub(crate) keywords: &'static [&'static str],
    form: RuleForm,
}

#[derive(Debug)]
enum RuleForm {
    /// The keyword, exactly so, starts the key; this many characters of the alphabet follow.
    Key(fn(u8) -> bool, RangeInclusive<usize>),
    Check(fn(KeywordSite<'_>) -> Option<&[u8]>),
}

const fn key(
    name: &'static str,
    prefixes: &'static [&'static str],
    alphabet: fn(u8) -> bool,
    length: RangeInclusive<usize>,
) -> CredentialRule {
    CredentialRule { name, keywords: prefixes, form: RuleForm::Key(alphabet, length) }
}

const fn check(
    name: &'static str,
    keywords: &'static [&'static str],
    check: fn(KeywordSite<'_>) -> Option<&[u8]>,
) -> CredentialRule {
    CredentialRule { name, keywords, form: RuleForm::Check(check) }
}

#[rustfmt::skip]
pub(crate) const RULES: &[CredentialRule] = &[
    // The specification's five.
    check("aws-access-key-id", &["AKIA", "ASIA"], aws_access_key_id),
    check("aws-secret-access-key", &["aws", "secret"], aws_secret_access_key),
    check("jwt", &["_token", "bearer", "eyJ"], jwt),
    check("token-assignment", &["token"], token_assignment),
    check("api-key", &["sk_", "api_"], plain_api_key),
    // Credentials by the name they are given.
    check("bearer-token", &["bearer"], bearer_token),
    check("password-assignment", &["pass", "pwd"], password_assignment),
    check("password-column", &["pass", "pwd"], password_column),
    check("basic-authorization", &["basic"], basic_authorization),
    check("jwk-private-key", &["\"kty\""], jwk_private_key),
    check("credential-assignment", &["secret", "passw", "pwd", "api_key", "apikey", "api-key", "access_key",
        "accesskey", "access-key", "account_key", "accountkey", "private_key", "privatekey", "auth_key", "authkey",
        "encryption_key", "signing_key", "master_key"], credential_assignment),
    check("password-in-url", &["://"], password_in_url),
    check("private-key", &["-----BEGIN", "Private-Lines:"], private_key),
    // Credentials by their form.
    key("age-secret-key", &["AGE-SECRET-KEY-1"], upper_digit, 58..=58),
    key("anthropic-key", &["sk-ant-"], dashed, 40..=LONGEST),
    key("atlassian-token", &["ATATT3"], dashed_padded, 100..=LONGEST),
    check("azure-storage-key", &["AccountKey="], azure_storage_key),
    key("databricks-token", &["dapi"], lower_hex, 32..=32),
    key("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], lower_hex, 64..=64),
    key("docker-token", &["dckr_pat_", "dckr_oat_"], dashed, 27..=40),
    key("doppler-token", &["dp.pt.", "dp.st.", "dp.sa."], alphanumeric, 40..=44),
    key("figma-token", &["figd_", "figo_"], dashed, 40..=48),
    key("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], alphanumeric, 36..=255),
    key("github-fine-grained-token", &["github_pat_"], word, 82..=255),
    key("gitlab-token", &["glpat-", "glrt-", "gldt-", "glcbt-", "glptt-", "glsoat-"], dashed, 20..=LONGEST),
    key("google-api-key", &["AIza"], dashed, 35..=35),
    key("google-oauth-secret", &["GOCSPX-"], dashed, 28..=28),
    key("google-oauth-token", &["ya29."], dashed, 30..=LONGEST),
    key("grafana-token", &["glsa_"], word, 40..=60),
    key("groq-key", &["gsk_"], alphanumeric, 52..=52),
    key("huggingface-token", &["hf_"], alphanumeric, 34..=40),
    key("linear-key", &["lin_api_"], alphanumeric, 40..=40),
    key("mailgun-key", &["key-"], lower_hex, 32..=32),
    key("newrelic-key", &["NRAK-"], upper_digit, 27..=27),
    key("notion-token", &["ntn_"], alphanumeric, 40..=60),
    key("npm-token", &["npm_"], alphanumeric, 36..=36),
    key("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], dashed, 40..=LONGEST),
    key("openai-style-key", &["sk-"], alphanumeric, 32..=64),
    key("openrouter-key", &["sk-or-v1-"], lower_hex, 64..=64),
    key("perplexity-key", &["pplx-"], alphanumeric, 40..=56),
    key("planetscale-token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], dashed, 32..=64),
    key("postman-key", &["PMAK-"], dashed, 59..=59),
    key("pulumi-token", &["pul-"], lower_hex, 40..=40),
    key("pypi-token", &["pypi-AgE"], dashed, 50..=LONGEST),
    key("replicate-token", &["r8_"], alphanumeric, 37..=37),
    key("rubygems-key", &["rubygems_"], lower_hex, 48..=48),
    check("sendgrid-key", &["SG."], sendgrid_key),
    key("sentry-token", &["sntryu_", "sntrys_"], dashed_padded, 60..=LONGEST),
    key("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], hex, 32..=32),
    check("slack-token", &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], slack_token),
    check("slack-webhook", &["hooks.slack.com/"], slack_webhook),
    key("square-token", &["sq0csp-", "sq0atp-"], dashed, 22..=43),
    key("stripe-key", &["sk_live_", "rk_live_"], alphanumeric, 16..=247),
    key("stripe-webhook-secret", &["whsec_"], base64, 32..=64),
    key("supabase-token", &["sbp_"], lower_hex, 40..=40),
    key("tailscale-key", &["tskey-auth-", "tskey-api-", "tskey-client-"], dashed, 24..=80),
    check("telegram-bot-token", &[":AA"], telegram_bot_token),
    check("twilio-key", &["SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9",
        "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"], twilio_key),
    key("vault-token", &["hvs.", "hvb."], dashed, 24..=LONGEST),
    key("xai-key", &["xai-"], alphanumeric, 70..=90),
];

impl CredentialRule {
    /// The credential that the keyword led to: a part of the site's text.
    pub(crate) fn credential<'t>(&self, site: KeywordSite<'t>) -> Option<&'t [u8]> {
        match &self.form {
            RuleForm::Check(check) => check(site),
            RuleForm::Key(alphabet, length) => {
                let value = self.key(site, *alphabet, length.end() + 1)?;
                (length.contains(&value.len()) && is_drawn_key(value)).then(|| site.with(value))
            }
        }
    }

    /// The same where only the credential is blanked and not the whole file held back: a key that was cut
    /// short, is longer than its like or holds a word is blanked too.
    pub(crate) fn likely_credential<'t>(&self, site: KeywordSite<'t>) -> Option<&'t [u8]> {
        let RuleForm::Key(alphabet, length) = &self.form else { return self.credential(site) };
        let value = self.key(site, *alphabet, LONGEST)?;
        let long_enough = value.len() >= (length.start() * 2 / 3).max(14);
        (long_enough && !is_repetition(value) && word_share(value) < 0.85).then(|| site.with(value))
    }

    fn key<'t>(&self, site: KeywordSite<'t>, alphabet: fn(u8) -> bool, most: usize) -> Option<&'t [u8]> {
        let exact = self.keywords.iter().any(|prefix| prefix.as_bytes() == site.keyword());
        (exact && site.starts_word()).then(|| run(site.after(most), alphabet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::SecretPlace;
    use crate::randomness::drawn;

    #[test]
    fn hardly_a_drawn_key_is_missed() {
        let dashed = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
        for (prefix, alphabet, length) in [
            ("glpat-", &dashed[..], 20),
            ("sk_live_", &dashed[..62], 24),
            ("ghp_", &dashed[..62], 36),
            ("hf_", &dashed[..52], 34),
            ("dapi", b"0123456789abcdef", 32),
        ] {
            let rule = RULES.iter().find(|rule| rule.keywords.contains(&prefix)).unwrap();
            let missed = drawn(alphabet, length)
                .take(2000)
                .map(|value| [prefix.as_bytes(), &value].concat())
                .filter(|text| {
                    let site = KeywordSite { text, start: 0, end: prefix.len(), place: SecretPlace::SHOWN };
                    rule.credential(site).is_none()
                })
                .count();
            assert!(missed <= 10, "{missed} of 2000 after {prefix}");
        }
    }
}
