"""A language model answers prompts: `prefill` once and `decode` for each further token.

Any causal LM that transformers loads from a local path, or random weights of a known shape.
"""

import glob
import os

from rangefinder import warmup

from . import dataset, torch_setup
from .generation import generate, keeps_last
from .options import Missing, Option, Usage, default_warmup, run, write_session

OPTIONS = {
    "model": Option(str, None, "a local folder with config.json and weights; null: random weights"),
    "architecture": Option(str, "llama", "of random weights: llama, qwen2, mixtral"),
    "size": Option(str, "small", "of random weights: tiny, small, 1b"),
    "attention": Option(str, "sdpa", "transformers' attention: eager, sdpa, flash_attention_2"),
    "prompt_tokens": Option(int, 128, "each prompt is cut or repeated to so many"),
    "max_new_tokens": Option(int, 16, "tokens to generate, the prefill's one included"),
    "batch": Option(int, 1, "prompts at once"),
    "warmup": Option(int, default_warmup(), "sessions before the first range"),
    "repeats": Option(int, 1, "times through all prompts"),
}
OPTIONS.update(torch_setup.OPTIONS)
OPTIONS.update(dataset.OPTIONS)

# hidden size, its multiple in the MLP, layers, heads, key-value heads, vocabulary
_SIZES = {
    "tiny": (64, 2, 2, 4, 2, 512),
    "small": (512, 3, 8, 8, 4, 8000),
    "1b": (2048, 4, 16, 32, 8, 128256),
}
_ARCHITECTURES = {"llama": "LlamaConfig", "qwen2": "Qwen2Config", "mixtral": "MixtralConfig"}


def random_config(transformers, architecture, size, positions):
    """The configuration of a model with random weights."""
    if architecture not in _ARCHITECTURES:
        raise Usage("`architecture` wants %s, not `%s`" % (", ".join(_ARCHITECTURES), architecture))
    if size not in _SIZES:
        raise Usage("`size` wants %s, not `%s`" % (", ".join(_SIZES), size))
    hidden, multiple, layers, heads, kv_heads, vocabulary = _SIZES[size]
    more = {}
    if architecture == "mixtral":
        # Eight experts, two for each token; each so small that the model stays about as large.
        more = {"num_local_experts": 8, "num_experts_per_tok": 2}
        multiple = max(1, multiple // 4)
    return getattr(transformers, _ARCHITECTURES[architecture])(
        hidden_size=hidden,
        intermediate_size=hidden * multiple,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        vocab_size=vocabulary,
        max_position_embeddings=max(positions, 2048),
        tie_word_embeddings=True,
        **more,
    )


def load(torch, transformers, values, device, dtype):
    """The model, and its tokenizer where it has one."""
    path, attention = values["model"], values["attention"]
    if path is None:
        positions = values["prompt_tokens"] + values["max_new_tokens"]
        config = random_config(transformers, values["architecture"], values["size"], positions)
        with torch_setup.born_on(torch, device, dtype):
            model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
        return model.eval(), None
    if not os.path.isfile(os.path.join(path, "config.json")):
        raise Missing("no model in `%s` (model): there is no config.json; leave `model` out for random weights" % path)
    if not any(glob.glob(os.path.join(path, one)) for one in ("*.safetensors", "*.bin")):
        raise Missing("no weights in `%s` (model); leave `model` out for random ones" % path)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path, local_files_only=True, attn_implementation=attention
    )
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    except (OSError, ValueError, ImportError):
        tokenizer = None
    return model.to(device, dtype).eval(), tokenizer


def prompts(torch, values, vocabulary, tokenizer):
    """Batches of token ids, `batch` x `prompt_tokens`."""
    length, batch = values["prompt_tokens"], values["batch"]
    if values["dataset.root"] is None:
        return [torch.randint(0, vocabulary, (batch, length))]
    rows = [_fit(_tokens(path, tokenizer, vocabulary), length) for path in dataset.chosen(values)]
    if not rows:
        raise Usage("no samples: see sampling.epochs and sampling.samples_per_epoch")
    # The last batch is filled from the beginning.
    rows += [rows[at % len(rows)] for at in range(-len(rows) % batch)]
    return [torch.tensor(rows[at : at + batch]) for at in range(0, len(rows), batch)]


def _tokens(path, tokenizer, vocabulary):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if tokenizer is not None:
        return tokenizer(text)["input_ids"]
    return [byte % vocabulary for byte in text.encode()]


def _fit(tokens, length):
    """
    >>> _fit([1, 2], 3)
    [1, 2, 1]
    """
    tokens = tokens or [0]
    return [tokens[at % len(tokens)] for at in range(length)]


def main(values):
    for key in ("prompt_tokens", "max_new_tokens", "batch"):
        if values[key] < 1:
            raise Usage("`%s` wants at least 1" % key)
    torch, transformers = torch_setup.package("torch"), torch_setup.package("transformers")
    torch.manual_seed(values["seed"])
    device = torch_setup.device_of(torch, values)
    dtype = torch_setup.dtype_of(torch, values, device)
    model, tokenizer = load(torch, transformers, values, device, dtype)
    batches = [batch.to(device) for batch in prompts(torch, values, model.config.vocab_size, tokenizer)]
    steps = values["max_new_tokens"]

    warmup(lambda: generate(torch, model, {"input_ids": batches[0]}, steps), times=values["warmup"])
    sessions = []
    for batch in batches * values["repeats"]:
        tokens, seconds = generate(torch, model, {"input_ids": batch}, steps)
        sessions.append(dict(seconds, prompt_tokens=batch.numel(), new_tokens=tokens.numel()))
    report(torch, "llm_session", values, model, device, dtype, sessions)


def report(torch, name, values, model, device, dtype, sessions):
    """One line for people, one file for programs."""
    parameters = sum(one.numel() for one in model.parameters())
    seconds = {key: sum(one[key] for one in sessions) for key in ("prefill_s", "decode_s")}
    new = sum(one["new_tokens"] for one in sessions)
    what = {
        "workload": name,
        "options": values,
        "model_type": model.config.model_type,
        "parameters": parameters,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "dtype": str(dtype).replace("torch.", ""),
        "torch": torch.__version__,
        "head_tokens": 1 if keeps_last(model) else values["prompt_tokens"],
        "new_tokens": new,
        "sessions": sessions,
    }
    write_session(dict(what, **seconds), model.config)
    print(
        "%s: %s, %.1f M parameters, %d sessions, %d new tokens, prefill %.3f s, decode %.3f s"
        % (name, what["model_type"], parameters / 1e6, len(sessions), new, seconds["prefill_s"], seconds["decode_s"])
    )


if __name__ == "__main__":
    run("llm_session", OPTIONS, main)
