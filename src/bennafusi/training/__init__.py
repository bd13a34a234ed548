"""Where agents meet tasks: states that hold all a resume needs, and the loops that advance them."""
