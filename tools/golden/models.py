#!/usr/bin/env python3
"""Writes the golden files of the parity tests: reference numbers in fp32 from transformers and torch.

Usage: models.py MODEL_DIR OUTPUT_DIR [PART ...]     parts: smollm2 minilm tiny_llama tiny_bert; default: all

MODEL_DIR holds smollm2-135m-instruct-q4_1.gguf and all-minilm-l6-v2/. Needs torch, transformers, safetensors, gguf.

OUTPUT_DIR gets
  smollm2.safetensors           prompts, greedy continuations, logits (real weights, dequantised to fp32)
  minilm.safetensors            sentences and their embeddings
  tiny_llama.gguf               random weights, F16 and F32: untied head, 4 heads, 2 kv heads, head size 16, hidden 48
  tiny_llama.safetensors        its golden numbers
  tiny_llama_quant.gguf         random weights, Q4_0, Q4_1, Q8_0, F32: tied head, hidden 64
  tiny_llama_quant.safetensors  its golden numbers, from the dequantised weights
  tiny_bert/                    random weights: model.safetensors, config.json, tokenizer.json
  tiny_bert.safetensors         its golden numbers
What each tensor is: docs of the functions below.
"""
import json
import pathlib
import shutil
import sys

import gguf
import numpy as np
import torch
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

import tokenizer_tables

CONTINUATION = 16

CHAT = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PROMPTS = [
    CHAT.format("What is the capital of France? Answer in one sentence."),
    CHAT.format("Write a Python function that returns the sum of the squares of a list of numbers."),
    "Water boils at 100 degrees Celsius at sea level. At higher altitudes the pressure of the air is lower, and so water "
    "boils at a lower temperature. This is why, high up in the mountains, cooking an egg in boiling water takes",
]

SENTENCES = [
    "A man is eating a piece of bread.", "Someone eats food.", "The cat sits outside on the wall.", "A woman plays the violin.",
    "Neural networks are compiled to machine code.", "The compiler turns a model into instructions.", "How do I reset my password?",
    "I forgot the password of my account and cannot log in.", "The stock market fell sharply on Monday.", "Shares lost value at the start of the week.",
    "Caf\u00e9 cr\u00e8me, s'il vous pla\u00eet!", "\u6771\u4eac is the capital of Japan.", "2 + 2 = 4", "Hello", "", "Roof tiles are made of clay, and the Latin word is tegula.",
    "Photosynthesis converts light into chemical energy that plants store as sugar. " * 6, "not good at all", "very good indeed", "\U0001f600 emoji only \u200d\u2764\ufe0f",
]

TINY_TEXTS = ["hello world, hello tile", "The model reads a text and cuts it into tokens; the tokens are numbers.", "It's what we'll do: 12345!\n\n  x"]


def text_tensor(text):
    return np.frombuffer(text.encode() or b"\0", dtype=np.uint8)[: len(text.encode())].copy()


def ids_tensor(ids):
    return np.array(ids, dtype=np.int32)


def unpermute(weight, heads):
    """GGUF stores the rows of q and k of each head as pairs (i, i + half) side by side; transformers keeps halves."""
    rows, cols = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, cols).swapaxes(1, 2).reshape(rows, cols)


def permute(weight, heads):
    rows, cols = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, cols).swapaxes(1, 2).reshape(rows, cols)


LAYER_NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def hf_name(name):
    """blk.3.attn_q.weight -> model.layers.3.self_attn.q_proj.weight"""
    parts = name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{LAYER_NAMES[parts[2]]}.{parts[3]}"
    return f"{TOP_NAMES[parts[0]]}.{parts[1]}"


def load_llama(path):
    """LlamaForCausalLM in fp32 with exactly the (dequantised) weights of a GGUF file."""
    reader = gguf.GGUFReader(path)
    get = lambda key: reader.fields["llama." + key].contents()
    heads, kv_heads = get("attention.head_count"), get("attention.head_count_kv")
    tensors = {t.name: gguf.quants.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    config = LlamaConfig(
        vocab_size=tensors["token_embd.weight"].shape[0], hidden_size=get("embedding_length"), num_hidden_layers=get("block_count"),
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=get("rope.dimension_count"),
        intermediate_size=get("feed_forward_length"), rms_norm_eps=get("attention.layer_norm_rms_epsilon"),
        rope_theta=get("rope.freq_base"), rope_parameters={"rope_type": "default", "rope_theta": get("rope.freq_base")},
        max_position_embeddings=get("context_length"), tie_word_embeddings="output.weight" not in tensors)
    state = {}
    for name, value in tensors.items():
        if ".attn_q." in name:
            value = unpermute(value, heads)
        if ".attn_k." in name:
            value = unpermute(value, kv_heads)
        state[hf_name(name)] = torch.from_numpy(value.astype(np.float32))
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model = LlamaForCausalLM(config)
    model.load_state_dict(state, strict=True)
    return model.float().eval()


def logits_of(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0].float().numpy()


def check_against_transformers(model, path, ids):
    """The loader of transformers itself reads the same file: both must agree."""
    other = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
    difference = np.abs(logits_of(model, ids) - logits_of(other, ids)).max()
    print(path.name, "largest difference of logits to transformers' own loading:", difference)
    assert difference < 1e-3


def greedy(model, ids, golden, name):
    """NAME.ids I32[n]; NAME.logits F32[vocab], of the last position; NAME.continuation I32[16], greedy; NAME.margins F32[16]:
    best minus second logit where each token of the continuation was chosen."""
    with torch.no_grad():
        generated = model.generate(torch.tensor([ids]), max_new_tokens=CONTINUATION, min_new_tokens=CONTINUATION, do_sample=False,
                                   eos_token_id=-1, pad_token_id=0)[0].tolist()
    continuation = generated[len(ids):]
    # All numbers come from one pass over prompt and continuation, in which each token must win again.
    logits = logits_of(model, generated)[len(ids) - 1:-1]
    assert logits.argmax(axis=1).tolist() == continuation
    best = np.sort(logits, axis=1)[:, -2:]
    golden[f"{name}.ids"] = ids_tensor(ids)
    golden[f"{name}.logits"] = logits[0].copy()
    golden[f"{name}.continuation"] = ids_tensor(continuation)
    golden[f"{name}.margins"] = best[:, 1] - best[:, 0]
    return continuation


def smollm2(model_dir, out):
    """prompt0 .. prompt2: .text U8[bytes] and what greedy() writes."""
    path = model_dir / "smollm2-135m-instruct-q4_1.gguf"
    model, tokenizer = load_llama(path), tokenizer_tables.smollm2(path)
    golden = {}
    for i, prompt in enumerate(PROMPTS):
        ids = tokenizer.encode(prompt).ids
        assert len(ids) >= 32
        if i == 0:
            check_against_transformers(model, path, ids)
        golden[f"prompt{i}.text"] = text_tensor(prompt)
        continuation = greedy(model, ids, golden, f"prompt{i}")
        print(i, len(ids), repr(tokenizer.decode(continuation, skip_special_tokens=False)),
              "smallest margin", golden[f"prompt{i}.margins"].min())
    save_file(golden, out / "smollm2.safetensors")


def embed(model, ids):
    """Last hidden states, and their mean over the tokens with length 1."""
    with torch.no_grad():
        hidden = model(torch.tensor([ids])).last_hidden_state[0].float()
    return hidden.numpy(), torch.nn.functional.normalize(hidden.mean(dim=0), dim=0).numpy()


def minilm(model_dir, out):
    """sentence00 .. sentence19: .text U8[bytes], .ids I32[n]; embeddings F32[20,384]."""
    directory = model_dir / "all-minilm-l6-v2"
    model = BertModel.from_pretrained(directory, dtype=torch.float32).eval()
    tokenizer = tokenizer_tables.minilm(directory / "tokenizer.json")
    golden, rows = {}, []
    for i, sentence in enumerate(SENTENCES):
        ids = tokenizer.encode(sentence).ids
        rows.append(embed(model, ids)[1])
        golden[f"sentence{i:02}.text"] = text_tensor(sentence)
        golden[f"sentence{i:02}.ids"] = ids_tensor(ids)
    golden["embeddings"] = np.stack(rows)
    similar = golden["embeddings"] @ golden["embeddings"].T
    print("like", similar[6, 7], similar[8, 9], similar[0, 1], "unlike", similar[6, 8], similar[2, 4])
    assert min(similar[6, 7], similar[8, 9], similar[0, 1]) > 0.4 > 0.2 > max(similar[6, 8], similar[2, 4])
    save_file(golden, out / "minilm.safetensors")


class RandomWeights:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def matrix(self, rows, cols, gain=1.0):
        return (self.generator.standard_normal((rows, cols)) * gain / np.sqrt(cols)).astype(np.float32)

    def around(self, center, size, spread=0.1):
        return (center + spread * self.generator.standard_normal(size)).astype(np.float32)


def byte_tokenizer(vocab):
    """A byte-level BPE of the given size, trained on the corpus of the tokenizer tables."""
    return tokenizer_tables.tiny_bpe(vocab)


def add_tokenizer(writer, tokenizer):
    model = json.loads(tokenizer.to_str())["model"]
    tokens = [t for t, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if i < 3 else 1 for i in range(len(tokens))])
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
                             "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def tiny_llama_tensors(shape, seed):
    random, hidden, rows = RandomWeights(seed), shape["hidden"], shape["heads"] * shape["head_dim"]
    kv_rows = shape["kv_heads"] * shape["head_dim"]
    tensors = {"token_embd.weight": random.matrix(shape["vocab"], hidden, gain=2.0), "output_norm.weight": random.around(1.0, hidden)}
    if not shape["tied"]:
        tensors["output.weight"] = random.matrix(shape["vocab"], hidden, gain=2.0)
    for layer in range(shape["layers"]):
        for name, value in {
                "attn_norm": random.around(1.0, hidden), "attn_q": random.matrix(rows, hidden, 1.5), "attn_k": random.matrix(kv_rows, hidden, 1.5),
                "attn_v": random.matrix(kv_rows, hidden), "attn_output": random.matrix(hidden, rows), "ffn_norm": random.around(1.0, hidden),
                "ffn_gate": random.matrix(shape["ffn"], hidden), "ffn_up": random.matrix(shape["ffn"], hidden),
                "ffn_down": random.matrix(hidden, shape["ffn"])}.items():
            tensors[f"blk.{layer}.{name}.weight"] = value
    return tensors


def write_tiny_llama(path, shape, types, seed, tokenizer):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny random llama")
    writer.add_context_length(256)
    writer.add_embedding_length(shape["hidden"])
    writer.add_block_count(shape["layers"])
    writer.add_feed_forward_length(shape["ffn"])
    writer.add_head_count(shape["heads"])
    writer.add_head_count_kv(shape["kv_heads"])
    writer.add_key_length(shape["head_dim"])
    writer.add_value_length(shape["head_dim"])
    writer.add_rope_dimension_count(shape["head_dim"])
    writer.add_rope_freq_base(shape["rope_base"])
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(shape["vocab"])
    add_tokenizer(writer, tokenizer)
    for name, value in tiny_llama_tensors(shape, seed).items():
        # The weights are made in the order that transformers uses and stored in GGUF's.
        if ".attn_q." in name:
            value = permute(value, shape["heads"])
        if ".attn_k." in name:
            value = permute(value, shape["kv_heads"])
        kind = gguf.GGMLQuantizationType[types(name)]
        writer.add_tensor(name, gguf.quants.quantize(value, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def plain_type(name):
    return "F16" if name in ("token_embd.weight", "output.weight") else "F32"


def quantised_type(name):
    if "norm" in name:
        return "F32"
    if name == "token_embd.weight" or ".attn_v." in name:
        return "Q8_0"
    return "Q4_0" if ".ffn_" in name else "Q4_1"


def tiny_llama_golden(path, tokenizer, out):
    """prompt0 .. prompt2: .text U8[bytes], .all_logits F32[n,vocab] for every position, and what greedy() writes."""
    model, golden = load_llama(path), {}
    for i, text in enumerate(TINY_TEXTS):
        ids = tokenizer.encode(text).ids
        if i == 0:
            check_against_transformers(model, path, ids)
        golden[f"prompt{i}.text"] = text_tensor(text)
        golden[f"prompt{i}.all_logits"] = logits_of(model, ids)
        greedy(model, ids, golden, f"prompt{i}")
        print(path.name, len(ids), "spread of logits", golden[f"prompt{i}.logits"].std(), "margins", golden[f"prompt{i}.margins"].min())
    save_file(golden, out)


def tiny_llama(_, out):
    tokenizer = byte_tokenizer(300)
    plain = dict(vocab=300, hidden=48, layers=2, heads=4, kv_heads=2, head_dim=16, ffn=96, rope_base=500000.0, tied=False)
    write_tiny_llama(out / "tiny_llama.gguf", plain, plain_type, 7, tokenizer)
    tiny_llama_golden(out / "tiny_llama.gguf", tokenizer, out / "tiny_llama.safetensors")
    quant = dict(vocab=300, hidden=64, layers=2, heads=4, kv_heads=2, head_dim=16, ffn=96, rope_base=10000.0, tied=True)
    write_tiny_llama(out / "tiny_llama_quant.gguf", quant, quantised_type, 8, tokenizer)
    tiny_llama_golden(out / "tiny_llama_quant.gguf", tokenizer, out / "tiny_llama_quant.safetensors")


def tiny_bert(_, out):
    """sentence0 .. sentence3: .text U8[bytes], .ids I32[n], .hidden F32[n,32], the last layer; embeddings F32[4,32]."""
    directory = out / "tiny_bert"
    directory.mkdir(exist_ok=True)
    shutil.copy(out / "tiny_wordpiece.json", directory / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=64, max_position_embeddings=64, type_vocab_size=2, layer_norm_eps=1e-12)
    random, model = RandomWeights(9), BertModel(config, add_pooling_layer=False).eval()
    state = {}
    for name, value in model.state_dict().items():
        if not value.is_floating_point():
            continue
        if name.endswith("LayerNorm.weight"):
            new = random.around(1.0, value.shape)
        elif value.dim() == 1:
            new = random.around(0.0, value.shape)
        else:
            new = random.matrix(*value.shape, gain=1.0)
        state[name] = torch.from_numpy(new)
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys and all("ids" in k for k in missing.missing_keys), missing
    save_file({k: v.numpy() for k, v in state.items()}, directory / "model.safetensors", metadata={"format": "pt"})
    keys = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings",
            "type_vocab_size", "layer_norm_eps", "hidden_act", "pad_token_id")
    described = {"architectures": ["BertModel"], "model_type": "bert", "position_embedding_type": "absolute"}
    described.update({key: getattr(config, key) for key in keys})
    (directory / "config.json").write_text(json.dumps(described, indent=2) + "\n")
    golden, rows = {}, []
    for i, text in enumerate(["hello world", "Hello tiles, do not text it's!", "", "what is the array? " * 5]):
        ids = tokenizer.encode(text).ids
        golden[f"sentence{i}.text"], golden[f"sentence{i}.ids"] = text_tensor(text), ids_tensor(ids)
        golden[f"sentence{i}.hidden"], row = embed(model, ids)
        rows.append(row)
    golden["embeddings"] = np.stack(rows)
    save_file(golden, out / "tiny_bert.safetensors")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model_dir, out = map(pathlib.Path, sys.argv[1:3])
    parts = {"smollm2": smollm2, "minilm": minilm, "tiny_llama": tiny_llama, "tiny_bert": tiny_bert}
    for name in sys.argv[3:] or parts:
        parts[name](model_dir, out)


if __name__ == "__main__":
    main()
