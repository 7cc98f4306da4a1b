//! The lexical index: Tantivy keeps postings, dictionaries and segments; scoring is ours, so that statistics
//! count live chunks only and an answer does not depend on how the index came to be.

mod directory;
mod gather;
mod holding;
mod merge;
mod search;
mod spelling;
mod terms;
mod view;
mod writer;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::schema::{Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer, TokenizerManager};
use tantivy::{Index, IndexSettings};

use crate::error::IndexError;
use crate::tokens;

pub(crate) use gather::{Part, Scratch, holders};
pub(crate) use holding::{defining, documents_with, holding, knows};
pub(crate) use search::search;
pub use search::{Bm25, LexicalQuery, QueryTerm};
pub(crate) use spelling::near;
pub(crate) use view::{LexicalView, Verify, kind_index};
pub(crate) use writer::{LexicalWriter, NewDoc, Slot};

pub(crate) const DIR_NAME: &str = "lexical";

/// Raised when fields or their meaning change; an index of another version is rebuilt.
const FORMAT_VERSION: u32 = 2;

/// The name under which our trivial tokenizer is registered.
const TOKENIZER: &str = "joined";

/// What is stored of a chunk. Texts and paths stay in the catalog.
#[derive(Clone)]
pub(crate) struct Fields {
    schema: Schema,
    /// Tokens of the chunk's text, with frequencies.
    body: Field,
    /// Tokens of its path.
    path: Field,
    /// The names that it defines, each as one token.
    defines: Field,
    chunk: Field,
    doc: Field,
    ordinal: Field,
    /// The exact number of tokens, doubled, plus one for code.
    length: Field,
    /// The commit that wrote the chunk; a removal names the commits before its own.
    generation: Field,
}

const CHUNK: &str = "chunk";
const DOC: &str = "doc";
const ORDINAL: &str = "ordinal";
const LENGTH: &str = "length";
const GENERATION: &str = "generation";

impl Fields {
    pub(crate) fn new() -> Fields {
        let mut schema = Schema::builder();
        let tokens = |record| {
            let indexing = TextFieldIndexing::default()
                .set_tokenizer(TOKENIZER)
                .set_index_option(record)
                .set_fieldnorms(false);
            TextOptions::default().set_indexing_options(indexing)
        };
        let fast = NumericOptions::default().set_fast();
        Fields {
            body: schema.add_text_field("body", tokens(IndexRecordOption::WithFreqs)),
            path: schema.add_text_field("path", tokens(IndexRecordOption::Basic)),
            defines: schema.add_text_field("defines", tokens(IndexRecordOption::Basic)),
            chunk: schema.add_u64_field(CHUNK, fast.clone()),
            doc: schema.add_u64_field(DOC, fast.clone()),
            ordinal: schema.add_u64_field(ORDINAL, fast.clone()),
            length: schema.add_u64_field(LENGTH, fast.clone()),
            generation: schema.add_u64_field(GENERATION, fast),
            schema: schema.build(),
        }
    }
}

/// What a commit says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payload {
    format: u32,
    tokens: u32,
    pub(crate) generation: u64,
    /// The corpus it was made from: a catalog that was exchanged behind our back is noticed.
    corpus: String,
    check: String,
}

impl Payload {
    fn new(generation: u64, corpus: &str) -> Payload {
        let mut payload = Payload {
            format: FORMAT_VERSION,
            tokens: tokens::VERSION,
            generation,
            corpus: corpus.to_owned(),
            check: String::new(),
        };
        payload.check = payload.checksum();
        payload
    }

    /// Tantivy guards its files by checksums, but not the list of them, which holds this.
    fn checksum(&self) -> String {
        let text = format!("{} {} {} {}", self.format, self.tokens, self.generation, self.corpus);
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }

    /// Reads a commit's payload; none if it is not one of ours for this corpus.
    fn read(text: Option<&str>, corpus: &str) -> Option<Payload> {
        let payload: Payload = serde_json::from_str(text?).ok()?;
        let current = payload.format == FORMAT_VERSION
            && payload.tokens == tokens::VERSION
            && payload.corpus == corpus
            && payload.check == payload.checksum();
        current.then_some(payload)
    }
}

/// The lexical index of one state directory, opened but not loaded.
#[derive(Clone)]
pub(crate) struct Lexical {
    pub(crate) dir: PathBuf,
    pub(crate) corpus: String,
    index: Index,
    fields: Fields,
}

impl Lexical {
    /// Opens what is there.
    pub(crate) fn open(dir: &Path, corpus: &str) -> Result<Lexical, IndexError> {
        let error = |error| IndexError::lexical(dir, error);
        let fields = Fields::new();
        let directory = directory::StateDirectory::open(dir).map_err(|source| error(source.into()))?;
        let mut index = Index::open(directory).map_err(error)?;
        if index.schema() != fields.schema || index.settings() != &settings() {
            return Err(IndexError::Lexical { detail: "it has other fields than expected".to_owned() });
        }
        index.set_tokenizers(tokenizers());
        Ok(Lexical { dir: dir.to_owned(), corpus: corpus.to_owned(), index, fields })
    }

    /// Makes an empty index, which holds generation 0.
    pub(crate) fn create(dir: &Path, corpus: &str) -> Result<Lexical, IndexError> {
        std::fs::create_dir_all(dir).map_err(|error| IndexError::io(dir, error))?;
        let error = |error| IndexError::lexical(dir, error);
        let fields = Fields::new();
        let directory = directory::StateDirectory::open(dir).map_err(|source| error(source.into()))?;
        let index = Index::builder()
            .schema(fields.schema.clone())
            .settings(settings())
            .tokenizers(tokenizers())
            .open_or_create(directory)
            .map_err(error)?;
        Ok(Lexical { dir: dir.to_owned(), corpus: corpus.to_owned(), index, fields })
    }

    /// Whether an index was ever begun here.
    pub(crate) fn exists(dir: &Path) -> bool {
        dir.join("meta.json").exists()
    }
}

fn settings() -> IndexSettings {
    IndexSettings {
        // Nothing is stored, so nothing needs a thread of its own to be compressed.
        docstore_compression: tantivy::store::Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::new();
    manager.register(TOKENIZER, TextAnalyzer::builder(Joined::default()).build());
    // Tantivy asks for a tokenizer of this name for fields that have none.
    manager.register("default", TextAnalyzer::builder(Joined::default()).build());
    manager
}

/// Cuts what [`tokens::join_tokens`] joined. The real work is done before, once, because the number of
/// tokens has to be known when the chunk is handed over.
#[derive(Clone, Default)]
struct Joined {
    token: Token,
}

struct JoinedStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl Tokenizer for Joined {
    type TokenStream<'a> = JoinedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> JoinedStream<'a> {
        self.token.reset();
        self.token.position = 0;
        JoinedStream { rest: text, token: &mut self.token }
    }
}

impl TokenStream for JoinedStream<'_> {
    fn advance(&mut self) -> bool {
        match self.rest.split_once(tokens::SEPARATOR) {
            Some((token, rest)) => {
                self.token.text.clear();
                self.token.text.push_str(token);
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
