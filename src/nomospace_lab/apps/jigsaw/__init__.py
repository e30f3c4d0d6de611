"""RoamingJigsaw: players who come and go assemble one puzzle (LIME 5.1).

`puzzle` knows pieces and the tray that a player sees, `player` what a player does, `world` builds
the worlds, and `properties` says what must hold in them.
"""
