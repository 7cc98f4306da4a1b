//! What decides which files are indexed and how they are cut: one value that the engine, the scan and every reading thread
//! share, and the digest by which an index remembers it.

use extract::archive::Mode as ArchiveMode;
use policy::{PolicyConfig, SecretLevel, SecretPatterns};

use crate::chunk::ChunkOptions;

/// The rules of the program itself: extraction, classification, cutting, secret rules. Raised when any of them changes, so
/// that every file is looked at again.
const VERSION: u32 = 8;

/// Every setting that decides what is indexed.
#[derive(Debug, Clone)]
pub struct IngestRules {
    pub policy: PolicyConfig,
    /// `.gitignore` files are obeyed.
    pub gitignore: bool,
    /// Text of PDF files is wanted: the text layer, and what a recogniser reads on pages without one.
    pub pdf: bool,
    /// Text in pictures is wanted, where there is a recogniser.
    pub images: bool,
    /// Speech is wanted, where there is a transcriber.
    pub audio: bool,
    /// How far archives are looked into, if at all.
    pub archives: Option<ArchiveMode>,
    pub chunking: ChunkOptions,
}

/// The defaults of the configuration.
impl Default for IngestRules {
    fn default() -> IngestRules {
        IngestRules {
            policy: PolicyConfig::default(),
            gitignore: true,
            pdf: true,
            images: true,
            audio: true,
            archives: Some(ArchiveMode::Deep),
            chunking: ChunkOptions::default(),
        }
    }
}

impl IngestRules {
    /// `VERSION:digest`, stored in the index: another value means that a file with the same content must be looked at again.
    ///
    /// It is made of the settings' published names and values, not of how this program spells them: renaming a field changes
    /// nothing, and a new field does not compile until it is given a name here. A setting that is new is left out at its
    /// default, so that it re-reads only those who set it.
    pub fn digest(&self) -> String {
        let IngestRules { policy, gitignore, pdf, images, audio, archives, chunking } = self;
        let PolicyConfig {
            path_excludes,
            index_excludes,
            secret_patterns,
            secret_level,
            allow,
            max_file_bytes,
            max_bytes_by_type,
            follow_symlinks,
        } = policy;
        let ChunkOptions {
            max_chars,
            overlap_chars,
            min_chars,
            code_max_lines,
            code_overlap_lines,
            transcript_segment_ms,
            transcript_overlap_ms,
        } = chunking;
        let mut digest = Digest::default();
        digest.list("security.path_excludes", path_excludes);
        digest.list("index.exclude_globs", index_excludes);
        match secret_patterns {
            SecretPatterns::Default => digest.value("security.secret_patterns", "default"),
            SecretPatterns::Custom(patterns) => digest.list("security.secret_patterns", patterns),
            SecretPatterns::Extended(patterns) => digest.list("security.secret_patterns, extended", patterns),
        }
        digest.value(
            "security.secret_level",
            match secret_level {
                SecretLevel::Default => "default",
                SecretLevel::Strict => "strict",
            },
        );
        digest.list("security.allow", allow);
        digest.value("ingest.max_file_mb", max_file_bytes);
        for (doc_type, bytes) in max_bytes_by_type {
            digest.value(&format!("ingest.max_file_mb_by_type.{doc_type}"), bytes);
        }
        digest.value("ingest.follow_symlinks", follow_symlinks);
        digest.value("ingest.gitignore", gitignore);
        digest.value("ingest.pdf.mode", if *pdf { "text" } else { "off" });
        digest.value(
            "ingest.archives.mode",
            match archives {
                None => "off",
                Some(ArchiveMode::Shallow) => "shallow",
                Some(ArchiveMode::Deep) => "deep",
            },
        );
        digest.value("chunking.max_chars", max_chars);
        digest.value("chunking.overlap_chars", overlap_chars);
        digest.value("chunking.min_chars", min_chars);
        digest.value("chunking.code_max_lines", code_max_lines);
        digest.value("chunking.code_overlap_lines", code_overlap_lines);
        let default = IngestRules::default();
        digest.unless_default("ingest.images.mode", images, &default.images);
        digest.unless_default("ingest.audio.mode", audio, &default.audio);
        let default = default.chunking;
        let segment_ms = &default.transcript_segment_ms;
        digest.unless_default("chunking.transcript.segment_ms", transcript_segment_ms, segment_ms);
        let overlap_ms = &default.transcript_overlap_ms;
        digest.unless_default("chunking.transcript.overlap_ms", transcript_overlap_ms, overlap_ms);
        format!("{VERSION}:{}", &digest.0.finalize().to_hex()[..16])
    }
}

/// Names and values, each with its length, so that no two lists of them give the same bytes.
#[derive(Default)]
struct Digest(blake3::Hasher);

impl Digest {
    fn value(&mut self, name: &str, value: impl ToString) {
        self.text(name);
        self.text(&value.to_string());
    }

    fn unless_default<T: PartialEq + ToString>(&mut self, name: &str, value: &T, default: &T) {
        if value != default {
            self.value(name, value.to_string());
        }
    }

    fn list(&mut self, name: &str, values: &[String]) {
        self.text(name);
        self.0.update(&(values.len() as u64).to_le_bytes());
        values.iter().for_each(|value| self.text(value));
    }

    fn text(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use model::DocType;

    use super::*;

    fn rules() -> IngestRules {
        IngestRules {
            policy: PolicyConfig { path_excludes: vec!["a".into(), "bc".into()], ..PolicyConfig::default() },
            ..IngestRules::default()
        }
    }

    /// Users have this string in their indices: another one for the same settings makes all of them read everything again.
    #[test]
    fn the_digest_of_given_settings_never_changes() {
        assert_eq!(rules().digest(), "8:cea53cfa7fcf0e84");
    }

    #[test]
    fn every_setting_that_matters_changes_the_digest() {
        let changes: [fn(&mut IngestRules); 24] = [
            |rules| rules.policy.path_excludes = vec!["ab".into(), "c".into()],
            |rules| rules.policy.path_excludes = vec!["a".into()],
            |rules| rules.policy.index_excludes.push("x".into()),
            |rules| rules.policy.secret_patterns = SecretPatterns::Custom(vec![]),
            |rules| rules.policy.secret_patterns = SecretPatterns::Custom(vec!["x".into()]),
            |rules| rules.policy.secret_patterns = SecretPatterns::Extended(vec!["x".into()]),
            |rules| rules.policy.secret_level = SecretLevel::Strict,
            |rules| rules.policy.allow.push("x".into()),
            |rules| rules.policy.max_file_bytes = 1,
            |rules| rules.policy.max_bytes_by_type.extend([(DocType::Pdf, 1)]),
            |rules| rules.policy.follow_symlinks = true,
            |rules| rules.gitignore = false,
            |rules| rules.pdf = false,
            |rules| rules.images = false,
            |rules| rules.audio = false,
            |rules| rules.archives = None,
            |rules| rules.archives = Some(ArchiveMode::Shallow),
            |rules| rules.chunking.max_chars += 1,
            |rules| rules.chunking.overlap_chars += 1,
            |rules| rules.chunking.min_chars += 1,
            |rules| rules.chunking.code_max_lines += 1,
            |rules| rules.chunking.code_overlap_lines += 1,
            |rules| rules.chunking.transcript_segment_ms += 1,
            |rules| rules.chunking.transcript_overlap_ms += 1,
        ];
        let mut digests = std::collections::HashSet::from([rules().digest()]);
        for (number, change) in changes.iter().enumerate() {
            let mut rules = rules();
            change(&mut rules);
            assert!(digests.insert(rules.digest()), "change {number}");
        }
    }
}
