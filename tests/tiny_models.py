"""Tiny models of five architectures, with tokenizers, made from configurations."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers

with warnings.catch_warnings():
    # What transformers imports warns of its own age, and warnings are errors in tests.
    warnings.simplefilter("ignore")
    import transformers
    from transformers import PreTrainedTokenizerFast

ROWS, DIM = 300, 64
WORDS = ("[PAD]", "[UNK]", *(f"w{number}" for number in range(2, ROWS)))
DECODER = {
    "hidden_size": DIM,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": ROWS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
}


def configurations() -> dict[str, tuple[type, object]]:
    """Model classes and configurations by architecture."""
    t = transformers
    ends = {"vocab_size": ROWS, "eos_token_id": 1}
    gpt2 = {"n_embd": DIM, "n_layer": 2, "n_head": 4, "n_positions": 64, "bos_token_id": 1}
    t5 = {"d_model": DIM, "d_ff": 128, "d_kv": 16, "num_layers": 2, "num_heads": 4}
    padded = {"pad_token_id": 0, "decoder_start_token_id": 0}
    gemma = {"num_key_value_heads": 1, "head_dim": 16}
    return {
        "llama": (t.LlamaForCausalLM, t.LlamaConfig(num_key_value_heads=2, **DECODER)),
        "gemma": (t.GemmaForCausalLM, t.GemmaConfig(**gemma, **DECODER)),
        "gpt2": (t.GPT2LMHeadModel, t.GPT2Config(**gpt2, **ends)),
        "bert": (t.BertForMaskedLM, t.BertConfig(**DECODER, max_position_embeddings=64)),
        "t5": (t.T5ForConditionalGeneration, t.T5Config(**t5, **ends, **padded)),
    }


def tokenizer(words=WORDS) -> PreTrainedTokenizerFast:
    """Words at white space, with padding and an unknown word."""
    whole = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    whole.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=whole,
        pad_token="[PAD]",
        unk_token="[UNK]",
        model_input_names=["input_ids"],
    )


@functools.cache
def _made(architecture: str, seed: int) -> Path:
    directory = Path(tempfile.mkdtemp(prefix=f"embinit-{architecture}-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    make, config = configurations()[architecture]
    torch.manual_seed(seed)
    make(config).save_pretrained(directory)
    tokenizer().save_pretrained(directory)
    return directory


def model_directory(architecture: str, to: Path, seed: int = 5000) -> Path:
    """A fresh copy of a tiny model's directory."""
    return Path(shutil.copytree(_made(architecture, seed), to / architecture))


def change(directory: Path, config=None, **tensors) -> Path:
    """Changes a model's directory: settings by name, tensors by what their names end in.

    A tensor is given as a function of the old one; a dictionary under ``add`` adds new ones, and
    ``drop`` lists names to leave out.
    """
    weights = load_file(directory / "model.safetensors")
    weights |= tensors.pop("add", {})
    for name in tensors.pop("drop", ()):
        del weights[name]
    for end, function in tensors.items():
        [name] = [key for key in weights if key.replace(".", "_").endswith(end)]
        weights[name] = function(weights[name].clone()).contiguous()
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    if config is not None:
        path = directory / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | config))
    return directory


TABLES = {
    "llama": "model_embed_tokens_weight",
    "gemma": "model_embed_tokens_weight",
    "gpt2": "transformer_wte_weight",
    "bert": "word_embeddings_weight",
    "t5": "shared_weight",
}
"""The end of the input table's name, with underscores."""

ARCHITECTURES = tuple(TABLES)
TIED = ARCHITECTURES[1:]


def sharded(directory: Path) -> Path:
    """Puts a model's tensors into three shards, in the form that they are stored in."""
    [path] = [*directory.glob("model.safetensors"), *directory.glob("pytorch_model.bin")]
    load, save = (torch.load, torch.save) if path.suffix == ".bin" else (load_file, save_file)
    weights = load(path)
    path.unlink()
    where = {
        name: f"{path.stem}-{number % 3 + 1:05}-of-00003{path.suffix}"
        for number, name in enumerate(sorted(weights))
    }
    for file in {*where.values()}:
        save({name: weights[name] for name in where if where[name] == file}, directory / file)
    (directory / f"{path.name}.index.json").write_text(json.dumps({"weight_map": where}))
    return directory


def as_bin(directory: Path, **more: object) -> Path:
    """Puts a model's tensors, and ``more``, into a file of PyTorch's own."""
    weights = load_file(directory / "model.safetensors")
    torch.save({**weights, **more}, directory / "pytorch_model.bin")
    (directory / "model.safetensors").unlink()
    return directory
