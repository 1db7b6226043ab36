"""A vision-language model with random weights reads an image: `sam`, `clip` and `projector` inside `prefill`.

The model is transformers' DeepSeek-VL hybrid, which has two vision towers: SAM's for the large image
and a CLIP-like one (SigLIP) for the small.
"""

from rangefinder import attach, warmup

from . import torch_setup
from .generation import generate
from .llm_session import report
from .options import Missing, Option, Usage, default_warmup, run

OPTIONS = {
    "size": Option(str, "small", "tiny, small"),
    "prompt_tokens": Option(int, 32, "tokens of text after the image's"),
    "max_new_tokens": Option(int, 16, "tokens to generate, the prefill's one included"),
    "batch": Option(int, 1, "images at once"),
    "warmup": Option(int, default_warmup(), "sessions before the first range"),
    "repeats": Option(int, 1, "sessions"),
}
OPTIONS.update(torch_setup.OPTIONS)

RANGES = {
    "model.high_res_vision_model": "sam",
    "model.vision_model": "clip",
    "model.aligner": "projector",
}

# hidden size, layers and heads of: the language model, SAM, CLIP; images in pixels: SAM's, CLIP's
_SIZES = {
    "tiny": ((64, 2, 4), (32, 2, 2), (32, 2, 2), 64, 32),
    "small": ((512, 8, 8), (384, 6, 6), (384, 6, 6), 512, 224),
}
_PATCH = 16
_VOCABULARY = 8000
_IMAGE_TOKEN = _VOCABULARY - 1


def vlm_config(transformers, size):
    """The configuration of the model."""
    if size not in _SIZES:
        raise Usage("`size` wants %s, not `%s`" % (", ".join(_SIZES), size))
    (hidden, layers, heads), sam, clip, sam_pixels, clip_pixels = _SIZES[size]
    return transformers.DeepseekVLHybridConfig(
        image_token_id=_IMAGE_TOKEN,
        text_config={
            "model_type": "llama",
            "hidden_size": hidden,
            "intermediate_size": 3 * hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": heads,
            "vocab_size": _VOCABULARY,
        },
        high_res_vision_config=dict(
            _tower("sam_vision_model", sam, sam_pixels),
            output_channels=sam[0] // 4,
            global_attn_indexes=[sam[1] // 2 - 1],
            window_size=4,
            mlp_dim=3 * sam[0],
        ),
        vision_config=dict(_tower("siglip_vision_model", clip, clip_pixels), intermediate_size=3 * clip[0]),
    )


def _tower(kind, shape, pixels):
    hidden, layers, heads = shape
    return {
        "model_type": kind,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "image_size": pixels,
        "patch_size": _PATCH,
    }


def image_and_text(torch, config, values, device, dtype):
    """What the model reads: a place for each patch of the small image, then the text."""
    batch, pixels = values["batch"], config.vision_config.image_size
    large = config.high_res_vision_config.image_size
    places = torch.full((batch, (pixels // _PATCH) ** 2), _IMAGE_TOKEN)
    text = torch.randint(0, _IMAGE_TOKEN, (batch, values["prompt_tokens"]))
    return {
        "input_ids": torch.cat([places, text], 1).to(device),
        "pixel_values": torch.randn(batch, 3, pixels, pixels).to(device, dtype),
        "high_res_pixel_values": torch.randn(batch, 3, large, large).to(device, dtype),
    }


def main(values):
    for key in ("prompt_tokens", "max_new_tokens", "batch"):
        if values[key] < 1:
            raise Usage("`%s` wants at least 1" % key)
    torch, transformers = torch_setup.package("torch"), torch_setup.package("transformers")
    if not hasattr(transformers, "DeepseekVLHybridConfig"):
        raise Missing("transformers %s has no DeepSeek-VL hybrid: 4.54 or later is needed" % transformers.__version__)
    torch.manual_seed(values["seed"])
    device = torch_setup.device_of(torch, values)
    dtype = torch_setup.dtype_of(torch, values, device)
    config = vlm_config(transformers, values["size"])
    with torch_setup.born_on(torch, device, dtype):
        model = transformers.DeepseekVLHybridForConditionalGeneration(config).eval()
    inputs = image_and_text(torch, config, values, device, dtype)

    sessions = []
    with attach(model, RANGES):
        warmup(lambda: generate(torch, model, inputs, values["max_new_tokens"]), times=values["warmup"])
        for _ in range(values["repeats"]):
            tokens, seconds = generate(torch, model, inputs, values["max_new_tokens"])
            sessions.append(dict(seconds, prompt_tokens=inputs["input_ids"].numel(), new_tokens=tokens.numel()))
    report(torch, "vlm_session", values, model, device, dtype, sessions)


if __name__ == "__main__":
    run("vlm_session", OPTIONS, main)
