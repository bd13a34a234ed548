"""The deep experiments of the paper: Figures 4 and 5, and S1 to S5 of the supplement."""
