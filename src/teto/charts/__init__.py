"""Charts turn plain figures into SVG, with Altair; nothing here is imported from Altair before something is drawn."""
