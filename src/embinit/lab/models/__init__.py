"""Models: R transformers of one shape, stacked along a leading run axis."""
