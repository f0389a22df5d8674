"""TORCH_LOGS text of any PyTorch from 2.1 on."""
