"""Everything about Numba's internals: how kernels become machine code for this processor, or for a GPU."""
