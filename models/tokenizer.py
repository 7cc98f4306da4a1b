"""Text to token ids. README.md, "Tokenizer", states the same algorithm in numbered steps; the two must agree."""

import re
import unicodedata

MAX_TOKENS = 4096
MAX_WORD = 40
HASH_ROWS = 1024

_RUN = re.compile(r"[^\W_]+")
# Borders inside a run: aB, ABc, a1, 1a; a plural s stays with its capitals (URLs).
_PARTS = re.compile(r"[0-9]+|[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def normalise(text):
    """Accents stripped, compatibility forms unified; ASCII passes untouched."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    kept = "".join(c for c in decomposed if unicodedata.category(c)[0] != "M")
    return unicodedata.normalize("NFC", kept)


def is_ideograph(char):
    """Scripts written without spaces: each character is a word."""
    c = ord(char)
    return (
        0x3040 <= c <= 0x30FF  # Hiragana, Katakana
        or 0x3400 <= c <= 0x4DBF
        or 0x4E00 <= c <= 0x9FFF
        or 0xAC00 <= c <= 0xD7AF  # Hangul syllables
        or 0xF900 <= c <= 0xFAFF
        or 0x20000 <= c <= 0x323AF
        or 0x0E00 <= c <= 0x0E7F  # Thai
    )


def fnv1a(data):
    h = 0x811C9DC5
    for byte in data:
        h = ((h ^ byte) * 0x01000193) & 0xFFFFFFFF
    return h


class Tokenizer:
    """`words` lists the vocabulary; the rows after it are the HASH_ROWS rows for what it cannot spell."""

    def __init__(self, words):
        self.words = list(words)
        self.ids = {w: i for i, w in enumerate(self.words)}
        self._cache = {}

    def rows(self):
        return len(self.words) + HASH_ROWS

    def encode(self, text):
        cache = self._cache
        out = []
        for run in _RUN.findall(normalise(text)):
            ids = cache.get(run)
            if ids is None:
                ids = tuple(self._run(run))
                if len(cache) < 2_000_000:
                    cache[run] = ids
            out.extend(ids)
            if len(out) >= MAX_TOKENS:
                return out[:MAX_TOKENS]
        return out

    def _run(self, run):
        if not run.isascii():
            return self._foreign_run(run)
        parts = _PARTS.findall(run)
        ids = []
        if len(parts) > 1:
            whole = self.ids.get(run.lower())
            if whole is not None:
                ids.append(whole)
        for part in parts:
            ids.extend(self._word(part.lower()))
        return ids

    def _word(self, word):
        """A whole vocabulary word, else greedy longest-match pieces."""
        known = self.ids.get(word)
        if known is not None:
            return [known]
        if len(word) > MAX_WORD:
            return []
        pieces, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else "##" + word[start:end]
                known = self.ids.get(piece)
                if known is not None:
                    pieces.append(known)
                    start = end
                    break
            else:
                start += 1
        return pieces

    def _foreign_run(self, run):
        """A run with at least one character beyond ASCII: ideographs one by one and in pairs, the rest as a word."""
        ids, word, previous = [], "", None
        for char in run.lower():
            if is_ideograph(char):
                if word:
                    ids.extend(self._foreign_word(word))
                    word = ""
                ids.append(self._known_or_hashed(char))
                if previous is not None:
                    ids.append(self._known_or_hashed(previous + char))
                previous = char
            else:
                word += char
                previous = None
        if word:
            ids.extend(self._foreign_word(word))
        return ids

    def _foreign_word(self, word):
        if word.isascii():
            return self._word(word)
        known = self.ids.get(word)
        if known is not None:
            return [known]
        if len(word) > MAX_WORD:
            return []
        ids = [self._hashed(word)]
        if len(word) > 4:
            ids.append(self._hashed(word[:4] + "*"))
        return ids

    def _known_or_hashed(self, text):
        known = self.ids.get(text)
        return known if known is not None else self._hashed(text)

    def _hashed(self, text):
        return len(self.words) + fnv1a(text.encode("utf-8")) % HASH_ROWS
