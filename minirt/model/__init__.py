"""From a model file to a graph in which every value has a type."""
