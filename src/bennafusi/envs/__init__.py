"""The tasks, as pure functions; ``gym`` is the only adapter to Gymnasium.

Importing this package tells Gymnasium their names, as its users expect. Since version 1.0 it looks
for no plugins; ``gymnasium.make("bennafusi.envs:bennafusi/Catcher-v0")`` makes the import itself.
"""

from bennafusi.envs.registration import register

register()
