"""A LLaMA-like decoder that generates with a static cache; random weights, nothing is loaded.

    python -m profiler_core capture docs/examples/llama_generate.py:build --option size=large \
        --variants eager,default,default+target=blocks,reduce-overhead --out runs/
"""

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

SIZES = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 128},
    "large": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
              "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000},
}  # fmt: skip


def build(size="tiny", batch_size=2, prompt=16, new_tokens=8):
    """`generate()` as a whole; the model's forward is compiled, the loop around it is not."""
    config = LlamaConfig(**SIZES[size], max_position_embeddings=2048)
    model = LlamaForCausalLM(config)
    generation = GenerationConfig(
        max_new_tokens=new_tokens,
        min_new_tokens=new_tokens,
        do_sample=False,
        cache_implementation="static",
        disable_compile=True,  # transformers compiles a static cache's forward itself on a GPU
        pad_token_id=0,
    )
    ids = torch.randint(3, config.vocab_size, (batch_size, prompt))

    def generate(input_ids, attention_mask):
        return model.generate(
            input_ids, attention_mask=attention_mask, generation_config=generation
        )

    return {
        "model": model,
        "generate": generate,
        "inputs": {"input_ids": ids, "attention_mask": torch.ones_like(ids)},
        "tokens": batch_size * new_tokens,
    }


def build_steps(size="tiny", batch_size=2, prompt=16, new_tokens=8, early=True):
    """One token of each sequence per step.

    The cache is emptied and filled with the prompt outside of what is timed.

    Args:
        size: of `SIZES`.
        batch_size: sequences.
        prompt: tokens of each.
        new_tokens: that are made of each.
        early: the cache is allocated before the compiled model first runs. What a compiled call
            allocates lies in the memory of its CUDA graph, and the next step reuses that.
    """
    from transformers import StaticCache

    config = LlamaConfig(**SIZES[size], max_position_embeddings=2048)
    model = LlamaForCausalLM(config)
    prompts = torch.randint(3, config.vocab_size, (batch_size, prompt))
    state = {}

    def reset():
        device = next(model.parameters()).device
        if "cache" in state:
            state["cache"].reset()
        else:
            state["cache"] = StaticCache(config=config, max_cache_len=prompt + new_tokens)
            if early:
                head_dim = config.hidden_size // config.num_attention_heads
                rounded = torch.is_autocast_enabled(device.type)
                dtype = torch.get_autocast_dtype(device.type) if rounded else model.dtype
                state["cache"].early_initialization(
                    batch_size, config.num_key_value_heads, head_dim, dtype, device
                )
        state["position"] = torch.arange(prompt, device=device)
        forward(prompts.to(device))

    def forward(ids):
        logits = model(
            ids,
            past_key_values=state["cache"],
            position_ids=state["position"][None],
            use_cache=True,
        ).logits
        state["position"] = state["position"][-1:] + 1
        state["token"] = logits[:, -1:].argmax(-1)
        return state["token"]

    return {
        "model": model,
        "step": lambda: forward(state["token"].clone()),
        "tokens": batch_size,
        "reset": reset,
        "reset_every": new_tokens,
    }
