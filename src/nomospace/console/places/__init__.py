"""The places of the console, one module each: `show(frame)` fills the middle of a window."""
