"""Small models of torchvision, timm and transformers, with random weights, as workloads.

    fusionscope capture benchmarks/clean_models.py:model --option name=timm:ghostnet_100

Those of transformers are made from configurations of two layers. Nothing is downloaded.
"""

import importlib
from typing import Any

import torch
from torch import nn

TORCHVISION = (
    "resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0", "densenet121",
    "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_y_400mf", "convnext_tiny", "swin_t",
    "vgg11_bn", "mnasnet0_5", "maxvit_t", "vit_b_16",
)  # fmt: skip
TIMM = (
    "mixer_s32_224", "poolformer_s12", "res2net50_26w_4s", "ghostnet_100", "levit_128s",
    "deit_tiny_patch16_224", "edgenext_xx_small", "hrnet_w18_small", "gmlp_ti16_224",
    "tf_efficientnetv2_b0", "repvgg_a0", "xcit_nano_12_p16_224", "coatnet_0_rw_224",
    "fastvit_t8",
)  # fmt: skip
# Class of the model, of its configuration, and what to change of the latter.
TRANSFORMERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertModel", "BertConfig", {}),
    "roberta": ("RobertaModel", "RobertaConfig", {}),
    "distilbert": (
        "DistilBertModel", "DistilBertConfig", {"n_layers": 2, "dim": 128, "n_heads": 4},
    ),
    "albert": ("AlbertModel", "AlbertConfig", {"embedding_size": 64}),
    "electra": ("ElectraModel", "ElectraConfig", {}),
    "gpt2": ("GPT2Model", "GPT2Config", {"n_layer": 2, "n_embd": 128, "n_head": 4}),
    "opt": ("OPTModel", "OPTConfig", {"ffn_dim": 256, "word_embed_proj_dim": 128}),
    "bloom": ("BloomModel", "BloomConfig", {"n_layer": 2, "n_head": 4}),
    "llama": ("LlamaModel", "LlamaConfig", {"num_key_value_heads": 2}),
    "mistral": ("MistralModel", "MistralConfig", {"num_key_value_heads": 2}),
    "qwen2": ("Qwen2Model", "Qwen2Config", {"num_key_value_heads": 2}),
    "gemma": ("GemmaModel", "GemmaConfig", {"num_key_value_heads": 2, "head_dim": 32}),
    "phi": ("PhiModel", "PhiConfig", {}),
    "mamba": ("MambaModel", "MambaConfig", {}),
    "vit": ("ViTModel", "ViTConfig", {"image_size": 64}),
    "t5": (
        "T5EncoderModel", "T5Config",
        {"num_layers": 2, "d_model": 128, "d_kv": 32, "num_heads": 4},
    ),
}  # fmt: skip
_SMALL = {
    "num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 4,
    "intermediate_size": 256, "vocab_size": 1000,
}  # fmt: skip

NAMES = (
    *(f"torchvision:{name}" for name in TORCHVISION),
    *(f"timm:{name}" for name in TIMM),
    *(f"transformers:{name}" for name in TRANSFORMERS),
)


class _FirstOutput(nn.Module):
    """A model of transformers that answers with one tensor."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return self.model(values)[0]


def model(name: str = "torchvision:resnet18", batch_size: int = 2) -> tuple[nn.Module, Any]:
    """The model of that name and its input."""
    library, _, short = name.partition(":")
    if library == "transformers":
        transformers = importlib.import_module("transformers")
        model_class, config_class, changes = TRANSFORMERS[short]
        config = getattr(transformers, config_class)(**{**_SMALL, **changes})
        network = _FirstOutput(getattr(transformers, model_class)(config))
        if short == "vit":
            return network, torch.randn(batch_size, 3, 64, 64)
        return network, torch.randint(0, 1000, (batch_size, 32))
    if library == "timm":
        network = importlib.import_module("timm").create_model(short, pretrained=False)
    else:
        network = importlib.import_module("torchvision.models").get_model(short, weights=None)
    return network, torch.randn(batch_size, 3, 224, 224)
