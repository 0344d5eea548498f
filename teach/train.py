"""Fine-tunes a small model on plans that worked: `train.py DATA BASE.gguf OUT.gguf`.

DATA is an export `--to hf` of Cuebook, of which all splits are learned: tasks that are held out are none of its runs. BASE
is a GGUF file of the architecture `llama`; its tokenizer, chat template and settings are copied to OUT, whose weights are
Q8_0. Runs on a GPU if there is one, else on the CPU; where that multiplies bfloat16, in bfloat16 with master weights in
float32. The examples come in stages: with `--curve 0.25 0.5`, OUT-25.gguf and OUT-50.gguf are models that have seen a
quarter and a half of them; in each stage the learning rate falls to a tenth, as if it were the last. Goes on from OUT.state
if a run broke off. The same data, base, seed and settings give the same model on the same machine.
"""

import argparse
import itertools
import json
import math
import random
import time
from pathlib import Path

import gguf
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

BATCH = 4_096  # tokens, padding included
SAVE = 600  # seconds between two states
HEAVIEST = 3.0  # what is very rare is learned by heart otherwise


def say(text):
    print(text, flush=True)


def multiplies_bfloat16(device):
    """True if bfloat16 is faster than float32: where a CPU emulates it, it takes twenty times as long."""
    able = torch.cpu.get_capabilities()
    return device.type == "cuda" or any(able.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))


def examples(data, tokenizer, longest):
    """Tokens, the number of those that were asked, and a weight, for each row."""
    weights = {name: share["weight"] for name, share in json.loads((data / "classes.json").read_text()).items()}
    kept, skipped = [], 0
    for line in (line for split in sorted((data / "data").glob("*.jsonl")) for line in split.read_text().splitlines()):
        row = json.loads(line)
        *asked, answered = row["messages"]
        prompt = tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
        prompt = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        answer = tokenizer(answered["content"], add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
        if len(prompt) + len(answer) > longest:
            skipped += 1
            continue
        kept.append((prompt + answer, len(prompt), min(HEAVIEST, max(weights[name] for name in row["classes"]))))
    say(f"{len(kept)} examples, {sum(len(tokens) for tokens, _, _ in kept)} tokens; {skipped} longer than {longest} skipped")
    return kept


def batches(kept, epoch, seed):
    """Batches of examples of about the same length, in an order that the seed decides."""
    order = random.Random(f"{seed}.{epoch}")
    shuffled = order.sample(kept, len(kept))
    shuffled.sort(key=lambda one: len(one[0]) // 32)
    out, batch = [], []
    for one in shuffled:
        if batch and max(len(one[0]), len(batch[-1][0])) * (len(batch) + 1) > BATCH:
            out.append(batch)
            batch = []
        batch.append(one)
    if batch:
        out.append(batch)
    order.shuffle(out)
    return out


def loss_of(model, batch, device):
    """The mean loss of the tokens of the answers, weighted; the logits of no other token are computed."""
    longest = max(len(tokens) for tokens, _, _ in batch)
    ids = torch.zeros((len(batch), longest), dtype=torch.long)
    rows, columns, weights = [], [], []
    for row, (tokens, asked, weight) in enumerate(batch):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        rows += [row] * (len(tokens) - asked)
        columns += range(asked, len(tokens))
        weights += [weight] * (len(tokens) - asked)
    rows, columns = torch.tensor(rows, device=device), torch.tensor(columns, device=device)
    ids, weights = ids.to(device), torch.tensor(weights, device=device)
    # Padding stands on the right, where no token of an answer looks.
    hidden = model.model(input_ids=ids).last_hidden_state
    logits = model.lm_head(hidden[rows, columns - 1]).float()
    losses = torch.nn.functional.cross_entropy(logits, ids[rows, columns], reduction="none")
    return (losses * weights).sum() / weights.sum()


def permuted(weight, heads):
    """Rows of a projection in the order in which GGUF has them: the halves of each head interleaved."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def publish(masters, model):
    """Rounds the master weights to those that the model computes with."""
    with torch.no_grad():
        for master, parameter in zip(masters, model.parameters()):
            parameter.copy_(master)


def write(model, masters, base, out):
    """Writes a GGUF file with everything that `base` has but its weights."""
    reader = gguf.GGUFReader(base)
    part = out.with_suffix(".part")  # what is called OUT is whole
    writer = gguf.GGUFWriter(part, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        sub = field.types[1] if len(field.types) > 1 else None
        writer.add_key_value(name, field.contents(), field.types[0], sub)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    state, config = dict(zip((name for name, _ in model.named_parameters()), masters)), model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    wanted = {tensor.name for tensor in reader.tensors}
    for name, weight in state.items():
        to = names.get_name(name, try_suffixes=(".weight",))
        if to not in wanted:
            continue
        weight = weight.cpu()
        if ".attn_q." in to or ".attn_k." in to:
            heads = config.num_attention_heads if ".attn_q." in to else config.num_key_value_heads
            weight = permuted(weight, heads)
        values = weight.numpy()
        kind = gguf.GGMLQuantizationType.Q8_0 if values.ndim > 1 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(to, gguf.quants.quantize(values, kind), raw_dtype=kind)
        wanted.remove(to)
    if wanted:
        raise SystemExit(f"{base}: no weights for {sorted(wanted)[:5]}")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.rename(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, default=1, help="(default: %(default)s)")
    parser.add_argument("--curve", type=float, nargs="*", default=[], help="shares of the examples, such as 0.25 0.5")
    parser.add_argument("--rate", type=float, default=4e-4, help="the highest learning rate (default: %(default)s)")
    parser.add_argument("--longest", type=int, default=1_024, help="tokens of an example (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(args.base.parent, gguf_file=args.base.name)
    model = AutoModelForCausalLM.from_pretrained(args.base.parent, gguf_file=args.base.name, dtype=torch.float32)
    model.to(device).train()
    masters = [parameter.detach().clone() for parameter in model.parameters()]
    if multiplies_bfloat16(device):
        for parameter in model.parameters():  # and no buffer: angles of positions need float32
            parameter.data = parameter.data.bfloat16()
    kept = examples(args.data, tokenizer, args.longest)
    optimizer = torch.optim.AdamW(masters, lr=args.rate, betas=(0.9, 0.95), weight_decay=0.01)
    plan, ends = [], {}  # the file of each stage by the step at which it ends
    shuffled = random.Random(args.seed).sample(kept, len(kept))
    bounds = [0, *(round(share * len(kept)) for share in sorted(args.curve)), len(kept)]
    for share, (since, until) in zip([*sorted(args.curve), None], itertools.pairwise(bounds)):
        plan += batches(shuffled[since:until], 0, args.seed)
        if share is None:
            plan += [batch for epoch in range(1, args.epochs) for batch in batches(kept, epoch, args.seed)]
        name = args.out if share is None else args.out.with_stem(f"{args.out.stem}-{round(100 * share)}")
        ends[len(plan)] = name

    state = args.out.with_suffix(".state")
    begin, spent = 0, 0.0
    if state.exists():
        known = torch.load(state, map_location=device)
        for master, weights in zip(masters, known["masters"]):
            master.copy_(weights)
        publish(masters, model)
        optimizer.load_state_dict(known["optimizer"])
        begin, spent = known["step"], known["spent"]
        say(f"going on from step {begin}")
    began = saved = time.monotonic()
    tokens, mean = 0, None
    for step in range(begin, len(plan)):
        first = max((end for end in ends if end <= step), default=0)
        last = min(end for end in ends if end > step)
        done, of = step - first, last - first
        rate = min((done + 1) / max(1, of // 20), 0.1 + 0.9 * (0.5 + 0.5 * math.cos(math.pi * done / of)))
        for group in optimizer.param_groups:
            group["lr"] = args.rate * rate
        loss = loss_of(model, plan[step], device)
        loss.backward()
        for master, parameter in zip(masters, model.parameters()):
            master.grad, parameter.grad = parameter.grad.float(), None
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        optimizer.step()
        publish(masters, model)
        tokens += sum(len(one) for one, _, _ in plan[step])
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if step % 10 == 9 or step + 1 == len(plan):
            pace = tokens / (time.monotonic() - began)
            say(f"step {step + 1} of {len(plan)}: loss {mean:.3f}, {pace:.0f} tokens a second")
        if step + 1 in ends:
            write(model, masters, args.base, ends[step + 1])
        if time.monotonic() - saved > SAVE:
            saved = time.monotonic()
            now = spent + saved - began
            torch.save({"masters": masters, "optimizer": optimizer.state_dict(), "step": step + 1, "spent": now}, state)
    state.unlink(missing_ok=True)
    say(f"{args.out}: {spent + time.monotonic() - began:.0f} s")


main()
