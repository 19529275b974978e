"""Privacy: what a text holds that should not leave, and the rules that keep a request here.

`find` runs the detectors over a text, `texts` reads every string of a request, `rules` says whether a request may
leave. Nothing here repeats what was found: a finding is a kind and a place.
"""
