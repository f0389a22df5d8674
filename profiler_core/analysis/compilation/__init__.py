"""What the compiler did and what it cost: breaks, recompiles, CUDA graphs, seconds."""
