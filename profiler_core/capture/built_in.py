"""The workloads that a capture knows by name."""

# name -> what it is, shown by doctor and by the page. Any other torchvision model goes by its own
# name; the child knows how each is built.
BUILT_IN_WORKLOADS: dict[str, str] = {
    "customcnn": "three-convolution CNN, batch 1, 224 x 224",
    "simplecnn": "SimpleCNN training loop, batch 64, 32 x 32",
    "resnet50": "ResNet-50 of torchvision, batch 8, 224 x 224",
    "bert": "BERT-base of transformers with random weights, batch 8, length 128",
    "transformer": "transformer encoder block, batch 8, length 256, width 512",
    "unet": "U-Net block of the Stable Diffusion kind, batch 2, 64 x 64",
    "breaky": "two linear layers with graph breaks: data-dependent if, print, counter",
    "dynshape": "two convolutions under twelve input shapes in turn: recompiles",
    "moe": "mixture of experts, each token to 2 of 4: shapes that depend on data",
    "decode": "one token of a decoder, batch 1: grouped queries over a static cache",
    "dit": "diffusion transformer, batch 4, 16 x 16 latents, blocks that a time modulates",
    "gnn": "message passing over 4000 edges of 500 nodes: gathers and scattered sums",
    "flex": "causal attention within a window by flex_attention, batch 2, length 128",
    "dlrm": "recommender, batch 64: bags of embeddings, their products, and an MLP",
    "ddp": "transformer blocks trained on several ranks with DistributedDataParallel",
    "fsdp": "transformer blocks trained on several ranks with FSDP2 (fully_shard)",
    "tp": "transformer blocks trained on several ranks with tensor parallelism",
    "pp": "transformer blocks trained as pipeline stages, one on each rank, by microbatches",
}

# These are training loops, asked for or not.
DISTRIBUTED_WORKLOADS = frozenset({"ddp", "fsdp", "tp", "pp"})
TRAINING_WORKLOADS = DISTRIBUTED_WORKLOADS | {"simplecnn"}
