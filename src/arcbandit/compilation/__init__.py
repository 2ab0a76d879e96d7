"""Everything that is inside Numba: kernels become machine code of this processor, or of a GPU."""
