//! Every constant of the ranking, each with its reason.
//!
//! The scale: the best lexical candidate of an index has 1.0 before the signals are added, so a weight of
//! 0.5 means "worth half of the best possible word match".
//!
//! The values were chosen on plain questions over 35 packages, each package counting the same, by replaying recorded
//! candidates. Some of the gain was given up for web queries for functions; questions over abstracts lost 0.003 of nDCG@10.
//! A few (`verbatim`, `place_of_first`, `far_behind`, `other_index_floor`, `code_beside_prose`) were set by judgement.
//! The summit is flat: most weights may be changed by a third and lose less than 0.005 of nDCG@10, which is noise.

/// The hits for which candidates are gathered, whatever number is asked for: the first three of ten hits are the same as
/// three hits. Each ranking of each index offers this many times `rag.oversample_factor`.
pub const HITS: usize = 50;

/// The largest pool per index. The signals read every candidate's text; beyond this they would cost more
/// than the search itself.
pub const MAX_CANDIDATES: usize = 400;

/// Prose that is scored again by what the best passages say may end far from where it began, so more of it is
/// gathered.
pub const FEEDBACK_POOL_FACTOR: usize = 4;

/// Stop words rank a little (they decide between "to be" and "not to be") but never against a real word.
pub const STOP_WORD: f32 = 0.1;

/// A word that only says which of several is meant ("old contracts") ranks among those, not against them.
pub const SIDE_WORD: f32 = 0.1;

/// How much a repeated query word gains: `1 + ln(count)` of this, so that a long question's topic leads
/// without drowning its details.
pub const REPEATED_TERM: f32 = 0.5;

/// A part of a name (`adapter` of `HTTPAdapter`): the whole name was meant, a part finds its relatives.
pub const PART_OF_NAME: f32 = 0.5;

macro_rules! weights {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        /// What may be changed for an experiment, by name. Everything else uses [`Weights::default`].
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct Weights {
            $($(#[$doc])* pub $name: f32,)*
        }

        impl Default for Weights {
            fn default() -> Weights {
                Weights { $($name: $value,)* }
            }
        }

        impl Weights {
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];

            /// Changes one weight; false if there is none of that name.
            pub fn set(&mut self, name: &str, value: f32) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

weights! {
    /// Candidates read per index. Words, vectors and names put the candidates into an order before any text is read, and
    /// what their texts say seldom moves one from farther down to the top. Web queries for functions: 150 0.513, 200 0.515.
    read = 200.0;
    /// Share of the vector ranking in the base score, over code. Mean over the packages: 0.75 0.896, 0.85 0.895, 0.9 0.894; web
    /// queries for functions: 0.75 0.509, 0.8 0.514, 0.85 0.515, 0.9 0.518 ...
    vector_share_code = 0.9;
    /// ... over prose, where the words themselves say more ...
    vector_share_text = 0.4;
    /// ... and for a query that is one name, which is meant as it is spelled.
    vector_share_symbol = 0.3;
    /// The cosine that counts as nothing; the best of the index counts as 1.
    cosine_zero = 0.1;
    /// The nearest chunk of an index counts as near where its cosine is at least this share of the other index's best.
    far_behind = 0.5;
    /// A candidate that shares no word with the query needs at least this cosine to be a hit at all; nearest
    /// neighbours always exist, relevant ones do not.
    vector_floor = 0.3;
    /// Another form of a query word (`retries` for `retry`), compared with the word itself.
    variant = 0.4;
    /// A sentence mentions a name, and the chunk defines it. Mean over the packages: none 0.891, 0.25 0.894, 0.5 0.895, 1.0
    /// 0.896, 2.0 0.895, 4.0 0.893.
    defines_identifier = 1.0;
    /// The chunk defines a name made of the query's plain words (`class ConnectionPool` for "connection pool"). Mean over the
    /// packages: none 0.891, 0.2 0.893, 0.4 0.895; web queries for functions, which are called anything: 0.2 0.516, 0.4 0.515.
    defines_words = 0.2;
    /// The title of a document in prose says it. Over abstracts none gives 0.403, from 0.1 to 0.2 0.406, 0.4 0.404.
    title = 0.15;
    /// The file's own name is made of query words; people name a file after what it is about. Mean over the packages: none
    /// 0.893, 0.4 0.895, 0.8 0.896, 1.5 0.894.
    file_stem = 0.8;
    /// The folders' names, which say less than the file's.
    folders = 0.6;
    /// What the file and its folder are called means what the query means, whatever the words. Mean over the packages: 0.5
    /// 0.889, 0.9 and 1.3 0.896, 1.6 0.895.
    called = 1.3;
    /// The file as a whole is about the query: several of its chunks are candidates. More than this favours long files. Mean
    /// over the packages: none 0.879, 0.3 0.892, 0.5 0.896, 0.7 0.894.
    coherence = 0.5;
    /// The query's words occur in one chunk rather than spread over many: a chunk with all of them beats one
    /// that repeats the rarest. Small, because long chunks hold many words by chance.
    coverage = 0.3;
    /// It defines a name that the query asks for: more than all of the above together are worth. Mean over the packages: none
    /// 0.893, 1.0 to 8.0 0.896.
    definition = 4.0;
    /// The query, or what it quotes, occurs in it word for word.
    verbatim = 3.0;
    /// How much the place counts among several that come first by the two above.
    place_of_first = 0.3;
    /// Each further chunk of a file counts this much of its score, so that one file does not fill the answer.
    saturation = 0.5;
    /// A hit whose text is nearly that of a better hit goes below everything else: it is shown only where there is
    /// room, since it says nothing new, but it is not hidden, since it is another file.
    copy = 0.1;
    /// Files that mention what others implement. They sink unless the query or a filter asks for them.
    tests = 0.3;
    examples = 0.4;
    vendored = 0.3;
    generated = 0.3;
    /// Package fronts (`__init__.py`, `index.ts`, `mod.rs`) re-export names that are defined elsewhere.
    package_front = 0.4;
    /// Declarations without bodies (`.d.ts`, `.pyi`).
    declarations = 0.7;
    /// A header whose source was found too. Over those eight packages none gives 0.850, 0.8 0.854, 0.7 0.855.
    header = 0.8;
    /// What only tools read: project files, patches. They list every file by name and so match everything a little.
    tooling = 0.5;
    /// The variant for one of the less common systems or processors. Mean over the packages: 1.0 0.892, 0.8 0.895, 0.7 and
    /// 0.5 0.896.
    platform = 0.7;
    /// What is kept for the old ways of using something.
    legacy = 0.6;
    /// An older version of what is there in a newer one.
    older = 0.6;
    /// Prose that mentions a name, when the whole query is that name: its definition is meant.
    prose_for_symbol = 0.7;
    /// Prose in a corpus that is mostly code, where the code answers too.
    /// 0.6 gains up to 0.001 over 0.7, which is noise, but does so at every size of chunks that was tried.
    prose_beside_code = 0.6;
    /// Prose only: how much the words of the best passages count beside the query's own.
    feedback = 0.5;
    /// ... and how much their vectors count beside the query's.
    lean = 1.5;
    /// Code in a corpus that is mostly prose.
    code_beside_prose = 0.9;
    /// What the index that an automatic choice did not prefer offers below this share of the best score is no answer: the
    /// other index is searched too, not listed beside it.
    other_index_floor = 0.3;
}
