"""FineWeb: rules on lines, and the kernel that counts them."""
