"""The space operations, as laws see them: every way to a tuple."""

TAKES = ("in({})", "inp({})", "ing({})")
READS = ("rd({})", "rdp({})", "rdg({})")
REACTS = ("react({}, once)", "react({}, 'once-per-tuple')", "react({}, once, [at('bob@x')])")


def with_options(*forms: str) -> tuple[str, ...]:
    """Each form as it is, and with options as its second argument."""
    return tuple(f for form in forms for f in (form, form.replace("({})", "({}, [at('bob@x')])")))


TAKING = with_options(*TAKES)
READING = with_options(*READS) + REACTS
ENDING = ("unreact({})", *(f"cancel({form})" for form in READING))
GIVING_BACK = ("returned({})", *(f"cancel({form})" for form in TAKING))
WRITING = ("out({})", "out({}, [to('bob@x'), ttl(60)])")
ACCESS = TAKING + READING + ENDING + GIVING_BACK
"""Everything but writing."""
