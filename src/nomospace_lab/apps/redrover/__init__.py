"""RedRover: two teams on a field seek each other's flag, and gather around who finds it (LIME 5.2).

`ground` is the field with bodies that walk and flags that lie there, `display` what a player's
device shows, `player` what a player does, `world` builds the worlds, and `properties` says what
must hold in them.
"""
