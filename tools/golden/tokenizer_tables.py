#!/usr/bin/env python3
"""Writes the golden files of the tokenizer tests, all from the reference library (PyPI: tokenizers).

Usage: tokenizer_tables.py MODEL_DIR OUTPUT_DIR

MODEL_DIR holds smollm2-135m-instruct-q4_1.gguf and all-minilm-l6-v2/tokenizer.json. Needs tokenizers and gguf.

OUTPUT_DIR gets
  tokenizer_real.tsv     text, SmolLM2 ids, MiniLM ids with special tokens, MiniLM decoded
  tiny_bpe.json          a tokenizer.json trained here (pre-tokenizer gpt-2)
  tiny_bpe.tsv           text, ids for gpt-2, smollm, llama-bpe, qwen2, default
  tiny_wordpiece.json    a tokenizer.json written here
  tiny_wordpiece.tsv     text, ids with special tokens, decoded; then ids of the cased variant
Texts are bytes in hex, ids decimal with spaces between.
"""
import json
import pathlib
import sys

from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tokenizer_strings import all_strings

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,%s}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def sequence(*steps):
    return pre_tokenizers.Sequence(list(steps))


def pre_tokenizer(name):
    return {
        "gpt-2": lambda: byte_level(True),
        "smollm": lambda: sequence(pre_tokenizers.Digits(individual_digits=True), byte_level(True)),
        "llama-bpe": lambda: sequence(split(LLAMA % 3), byte_level(False)),
        "qwen2": lambda: sequence(split((LLAMA % 1).replace("{1,1}", "")), byte_level(False)),
        # llama.cpp, src/llama-vocab.cpp, the default case of the BPE expressions
        "default": lambda: sequence(split(r"[\p{P}\$\+<=>\^~\|]+"), split(GPT2), split(r"\p{N}+"), split("[0-9][0-9][0-9]"),
                                    byte_level(False)),
    }[name]()


def special(tokens):
    return [AddedToken(t, special=True, normalized=False) for t in tokens]


def text_of(raw):
    return raw.decode("utf-8", errors="replace")


def ids_column(ids):
    return " ".join(map(str, ids))


def hex_column(text):
    return text.encode().hex()


def write_table(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows))


def smollm2(path):
    fields = GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ", 1)) for m in fields["tokenizer.ggml.merges"].contents()]
    assert fields["tokenizer.ggml.pre"].contents() == "smollm"
    # Digits stand alone: no token of the vocabulary has two.
    assert not any(sum(c.isdigit() for c in t) > 1 for t, kind in zip(tokens, types) if kind == 1)
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizer("smollm")
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special(t for t, kind in zip(tokens, types) if kind == 3))
    assert tokenizer.get_vocab_size() == len(tokens)
    return tokenizer


def minilm(path):
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def real_rows(model_dir):
    bpe = smollm2(model_dir / "smollm2-135m-instruct-q4_1.gguf")
    bert = minilm(model_dir / "all-minilm-l6-v2" / "tokenizer.json")
    for raw in all_strings():
        text = text_of(raw)
        bert_ids = bert.encode(text).ids
        yield [raw.hex(), ids_column(bpe.encode(text).ids), ids_column(bert_ids), hex_column(bert.decode(bert_ids))]


CORPUS = ["The model reads a text and cuts it into tokens; the tokens are numbers.", "It's what we'll do: they've said they're done.",
          "hello world, hello tile, hello array", "for (int i = 0; i < 10; ++i) {\n    sum += values[i];\n}\n",
          "caf\u00e9 na\u00efve \u00fcber Stra\u00dfe", "\u4f60\u597d\u4e16\u754c \u4f60\u597d", "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
          "    indented\n        twice\n\n\nthen nothing", "12345 678 90 2026", "\U0001f600 \U0001f601 \U0001f600", "a  b   c    d"] * 4


def tiny_bpe(vocab=520):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = byte_level(True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=special(["<|endoftext|>", "<|im_start|>", "<|im_end|>"]))
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def tiny_bpe_variant(source, name):
    definition = json.loads(source.to_str())
    definition["model"]["ignore_merges"] = name == "llama-bpe"
    tokenizer = Tokenizer.from_str(json.dumps(definition))
    tokenizer.pre_tokenizer = pre_tokenizer(name)
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def short_strings():
    return [s for s in all_strings() if len(s) <= 60]


def tiny_bpe_rows(source):
    variants = [tiny_bpe_variant(source, name) for name in ("gpt-2", "smollm", "llama-bpe", "qwen2", "default")]
    for raw in short_strings():
        columns = [ids_column(v.encode(text_of(raw)).ids) for v in variants]
        # Repeated columns are written as "=": like the first.
        yield [raw.hex(), columns[0]] + ["=" if c == columns[0] else c for c in columns[1:]]


def tiny_wordpiece():
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)] + list("0123456789") + ["\u00e9", "\u00df", "i\u0307"]
    words = ["the", "hello", "world", "he", "hell", "do", "not", "it", "text", "tile", "array", "what", "is", "\u4f60", "\u597d", "\u4e16",
             "\u043f\u0440\u0438\u0432\u0435\u0442", "\u03c3\u03bf", "A", "The", "Hello", "\u00e4"]
    parts = ["##lo", "##ing", "##ed", "##s", "##t", "##ld", "##wor", "##\u03c5", "##\u00e9"]
    marks = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["\u3002", "\uff0c", "\u00a7", "\u20ac"]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + letters + ["##" + c for c in letters] + words + parts + marks
    vocab = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                             special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.add_special_tokens(special(["[PAD]", "[UNK]", "[CLS]", "[SEP]"]))
    tokenizer.add_special_tokens([AddedToken("[MASK]", special=True, normalized=False, lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("B\u00c9RT", special=False, normalized=True)])
    return tokenizer


def tiny_wordpiece_rows(source):
    cased = Tokenizer.from_str(source.to_str())
    cased.normalizer = normalizers.BertNormalizer(lowercase=False)
    extra = [s.encode() for s in ("a bert b", "aB\u00c9RTb BE\u0301RT", "x  [MASK]  [MASK] y", "hello tiles, do not text it's")]
    for raw in short_strings() + extra:
        ids = source.encode(text_of(raw)).ids
        yield [raw.hex(), ids_column(ids), hex_column(source.decode(ids)), ids_column(cased.encode(text_of(raw)).ids)]


def compact(tokenizer):
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n"


def main():
    model_dir, out = map(pathlib.Path, sys.argv[1:3])
    write_table(out / "tokenizer_real.tsv", real_rows(model_dir))
    bpe = tiny_bpe()
    (out / "tiny_bpe.json").write_text(compact(bpe))
    write_table(out / "tiny_bpe.tsv", tiny_bpe_rows(bpe))
    wordpiece = tiny_wordpiece()
    (out / "tiny_wordpiece.json").write_text(compact(wordpiece))
    write_table(out / "tiny_wordpiece.tsv", tiny_wordpiece_rows(wordpiece))


if __name__ == "__main__":
    main()
