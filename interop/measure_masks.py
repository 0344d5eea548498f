"""Compiles grammars with XGrammar and llguidance, and writes random sentences under their masks, each of which is timed.

`masks.py` runs this where both are installed. XGrammar needs PyTorch only to apply masks on a graphics card; here its
masks go into arrays of numpy, and PyTorch is not installed.
"""

import argparse
import base64
import json
import random
import statistics
import sys
import time
from pathlib import Path
from unittest.mock import MagicMock

import llguidance
import llguidance.numpy
import numpy

# The bindings of XGrammar look for PyTorch themselves, and must see that it is absent.
import tvm_ffi  # noqa: F401

for absent in ("torch", "transformers", "triton"):
    sys.modules.setdefault(absent, MagicMock())
import xgrammar  # noqa: E402

WALKS = 40
TOKENS = 400
# How often a token with a quote is chosen where one is allowed: texts seldom run to their greatest length.
CLOSING = 0.2


def vocabulary(path: Path) -> list[bytes]:
    """The tokens of a file of tiktoken, and one that ends a sentence."""
    ranks = (line.split() for line in path.read_text().splitlines() if line)
    known = {int(rank): base64.b64decode(token) for token, rank in ranks}
    tokens = [known.get(number, f"<|unused{number}|>".encode()) for number in range(max(known) + 1)]
    return [*tokens, b"<|end|>"]


class Guidance:
    """llguidance, as vLLM and SGLang use it."""

    name = "llguidance"
    dialects = {"json-schema": "json", "openai": "json", "compatible": "json", "lark": "lark"}

    def __init__(self, tokens: list[bytes]):
        self.tokens = len(tokens)
        self.closes = numpy.array([b'"' in token for token in tokens])
        end = len(tokens) - 1

        class Vocabulary:
            eos_token_id = end
            bos_token_id = None
            special_token_ids = [end]

            def __init__(self):
                self.tokens = tokens

            def __call__(self, text):
                # Only tokens that were masked are fed back: nothing is tokenised.
                return [tokens.index(bytes([byte])) for byte in (text if isinstance(text, bytes) else text.encode())]

        wrapped = llguidance.TokenizerWrapper(Vocabulary())
        self.tokenizer = llguidance.LLTokenizer(wrapped)
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)

    def compile(self, kind: str, text: str):
        if kind == "json":
            text = llguidance.LLMatcher.grammar_from_json_schema(
                text, defaults={"whitespace_flexible": False}
            )
        else:
            text = llguidance.LLMatcher.grammar_from_lark(text)
        matcher = llguidance.LLMatcher(self.tokenizer, text)
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return matcher

    def start(self, compiled):
        return compiled.deep_copy()

    def fill(self, matcher):
        llguidance.numpy.fill_next_token_bitmask(matcher, self.mask)
        return self.mask[0]

    def accept(self, matcher, token: int):
        if not matcher.consume_token(token):
            raise RuntimeError(matcher.get_error())

    def is_over(self, matcher):
        return matcher.is_stopped()


class XGrammar:
    """XGrammar, as vLLM and SGLang use it."""

    name = "XGrammar"
    # Not `json-schema`: it takes seconds for strings with a greatest length.
    dialects = {"openai": "json", "compatible": "json", "ebnf": "ebnf"}

    def __init__(self, tokens: list[bytes]):
        self.tokens = len(tokens)
        self.closes = numpy.array([b'"' in token for token in tokens])
        self.info = xgrammar.TokenizerInfo(tokens, stop_token_ids=[len(tokens) - 1])
        self.mask = numpy.zeros((1, (len(tokens) + 31) // 32), dtype=numpy.int32)

    def compile(self, kind: str, text: str):
        # With the threads of both servers. Each compilation is a first one.
        compiler = xgrammar.GrammarCompiler(self.info, max_threads=8, cache_enabled=False)
        if kind == "json":
            return compiler.compile_json_schema(text, any_whitespace=False, separators=(",", ":"))
        return compiler.compile_grammar(text)

    def start(self, compiled):
        return xgrammar.GrammarMatcher(compiled)

    def fill(self, matcher):
        matcher.fill_next_token_bitmask(self.mask)
        return self.mask[0]

    def accept(self, matcher, token: int):
        if not matcher.accept_token(token):
            raise RuntimeError(f"token {token} was in the mask and is refused")

    def is_over(self, matcher):
        return matcher.is_terminated()


def walk(engine, compiled, generator: random.Random, times: list[float]) -> int:
    """One random sentence, or its first tokens; how many tokens it has."""
    matcher = engine.start(compiled)
    for written in range(TOKENS):
        if engine.is_over(matcher):
            return written
        # Of this thread's processor time, so that other processes do not count.
        begun = time.thread_time()
        mask = engine.fill(matcher)
        times.append((time.thread_time() - begun) * 1_000)
        # The last bits are beyond the vocabulary.
        allowed = numpy.flatnonzero(numpy.unpackbits(mask.view(numpy.uint8), bitorder="little")[: engine.tokens])
        closing = allowed[engine.closes[allowed]] if generator.random() < CLOSING else allowed
        engine.accept(matcher, int(generator.choice(closing if len(closing) else allowed)))
    return TOKENS


def measure(engine, kind: str, text: str, seed: int) -> dict:
    begun = time.perf_counter()
    compiled = engine.compile(kind, text)
    # Some engines do a part of the work with the first mask.
    engine.fill(engine.start(compiled))
    compile_s = time.perf_counter() - begun
    times: list[float] = []
    generator = random.Random(seed)
    tokens = sum(walk(engine, compiled, generator, times) for _ in range(WALKS))
    times.sort()
    return {
        "compileMs": round(compile_s * 1_000, 1),
        "maskP50Ms": round(statistics.median(times), 3),
        "maskP99Ms": round(times[int(len(times) * 0.99)], 3),
        "tokens": tokens,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", action="append", required=True, type=Path, help="a file of tiktoken")
    parser.add_argument("--grammars", required=True, type=Path, help="a folder with files such as 100.openai")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    for path in options.vocabulary:
        tokens = vocabulary(path)
        for make in (Guidance, XGrammar):
            engine = make(tokens)
            for file in sorted(options.grammars.iterdir(), key=lambda file: (int(file.stem), file.suffix)):
                dialect = file.suffix.removeprefix(".")
                if dialect in make.dialects:
                    row = {"engine": make.name, "vocabulary": len(tokens), "dialect": dialect, "controls": int(file.stem)}
                    text = file.read_text()
                    result = measure(engine, make.dialects[dialect], text, options.seed)
                    print(json.dumps({**row, "grammarBytes": len(text), **result}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
