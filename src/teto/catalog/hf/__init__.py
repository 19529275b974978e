"""How each family of models turns the fields of its config.json into layers with their parameters."""
