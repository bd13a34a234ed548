"""One HTML file out of findings and figures, whatever experiment they come from."""
