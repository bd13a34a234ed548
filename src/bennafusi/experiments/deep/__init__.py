"""The deep experiments: Figures 4, 5 and S1 to S5 of the paper, and ours on the same job."""
