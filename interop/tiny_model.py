"""Writes a language model of random weights for llama.cpp: `tiny_model.py OUT.gguf [--seed S]`.

It knows nothing, which is its use: whatever it writes under a grammar, the grammar made it write. Its tokens are
learnt from the words of the language and of the built-in site, so that they cross the borders of JSON's members as
those of real tokenizers do. They hold printable ASCII and line breaks only: a model of noise would otherwise write
bytes that are no text, which no engine can constrain away and no trained model writes.

The same seed gives the same file. Takes less than a second.
"""

import argparse
import itertools
import json
import pathlib

import gguf
import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

TOKENS = 1024
WIDTH = 64
LAYERS = 2
HEADS = 4
FEED_FORWARD = 128
CONTEXT = 131072
ROOT = pathlib.Path(__file__).resolve().parent.parent
# What prompts and answers are made of.
CORPUS = ("schemas/plan.schema.json", "examples/plans/*.json", "docs/*.md", "crates/planner/prompts/*")
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def corpus():
    """The lines of the texts, ASCII only, and plans as compact JSON writes them."""
    for path in sorted(itertools.chain.from_iterable(ROOT.glob(pattern) for pattern in CORPUS)):
        text = path.read_text(encoding="utf-8").encode("ascii", "ignore").decode()
        yield from text.splitlines()
        if path.suffix == ".json":
            yield json.dumps(json.loads(text), separators=(",", ":"))


def tokenizer():
    """Byte pairs over printable ASCII."""
    spelled = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = {piece for code in [9, 10, *range(32, 127)] for piece, _ in spelled.pre_tokenize_str(chr(code))}
    letters = sorted(set("".join(letters)))
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = spelled
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(
        corpus(),
        trainers.BpeTrainer(
            vocab_size=TOKENS, initial_alphabet=letters, special_tokens=["<|end|>"], show_progress=False
        ),
    )
    return json.loads(made.to_str())["model"]


def write(out, seed):
    """Writes the model."""
    vocabulary = tokenizer()
    tokens = sorted(vocabulary["vocab"], key=vocabulary["vocab"].get)
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in vocabulary["merges"]]
    writer = gguf.GGUFWriter(out, "llama")
    writer.add_name("noise")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token == "<|end|>" else gguf.TokenType.NORMAL for token in tokens]
    )
    writer.add_token_merges(merges)
    writer.add_bos_token_id(tokens.index("<|end|>"))
    writer.add_eos_token_id(tokens.index("<|end|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)

    random = numpy.random.default_rng(seed)

    def noise(*shape, scale=1.0):
        return (random.standard_normal(shape) * scale).astype(numpy.float32)

    writer.add_tensor("token_embd.weight", noise(len(tokens), WIDTH))
    for layer in range(LAYERS):
        name = f"blk.{layer}."
        writer.add_tensor(name + "attn_norm.weight", numpy.ones(WIDTH, numpy.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(name + part + ".weight", noise(WIDTH, WIDTH, scale=0.3))
        writer.add_tensor(name + "ffn_norm.weight", numpy.ones(WIDTH, numpy.float32))
        writer.add_tensor(name + "ffn_gate.weight", noise(FEED_FORWARD, WIDTH, scale=0.3))
        writer.add_tensor(name + "ffn_up.weight", noise(FEED_FORWARD, WIDTH, scale=0.3))
        writer.add_tensor(name + "ffn_down.weight", noise(WIDTH, FEED_FORWARD, scale=0.3))
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
    writer.add_tensor("output.weight", noise(len(tokens), WIDTH, scale=0.3))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write(arguments.out, arguments.seed)
