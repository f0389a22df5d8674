"""transformers' Trainer records itself: accumulated batches, an evaluation every ten steps.

fusionscope run -- python docs/examples/train_huggingface.py eager
fusionscope run -- python docs/examples/train_huggingface.py default
"""

import sys
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from fusionscope.integrations.huggingface import FusionscopeCallback

variant = sys.argv[1]
directory = sys.argv[2] if len(sys.argv) > 2 else "runs"

config = BertConfig(
    vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
)
samples = [
    {"input_ids": torch.randint(0, 100, (16,)), "labels": torch.tensor(row % 2)}
    for row in range(480)
]
with tempfile.TemporaryDirectory() as checkpoints:
    arguments = TrainingArguments(
        output_dir=checkpoints,
        max_steps=90,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=10,
        torch_compile=variant != "eager",
        torch_compile_mode=None if variant in ("eager", "default") else variant,
        use_cpu=not torch.cuda.is_available(),
        report_to="none",
        disable_tqdm=True,
    )
    recording = FusionscopeCallback(
        directory,
        warm_up_ceiling=20,
        rounds=8,
        round_steps=3,
        round_seconds=0,
        telemetry_seconds=0,
        steps=3,
    )
    Trainer(
        BertForSequenceClassification(config),
        arguments,
        train_dataset=samples,
        eval_dataset=samples[:40],
        callbacks=[recording],
    ).train()
