"""`nomospace pipeline`: jobs over journals. Each job has a file of its own beside this one.

A job's options that others have too are in `cli.pipeline_options`. What was asked for is looked at
before Spark is started; progress goes to stderr, the result to stdout.
"""

from __future__ import annotations

from nomospace.cli.laboratory import plug
from nomospace.cli.pipeline.audit import audit
from nomospace.cli.pipeline.compact import compact
from nomospace.cli.pipeline.match import match
from nomospace.cli.pipeline.replay import replay
from nomospace.cli.pipeline.stream import stream
from nomospace.cli.remote_options import Commands

app = Commands(
    """Work through whole journals, on Spark or without it.

    A journal is the folder of a host's segments, or a folder of such folders; `nomospace journal
    make` writes one to try. The first job in a checkout installs Spark.
    """
)


app.command()(audit)
app.command()(compact)
app.command()(match)
app.command()(replay)
app.command()(stream)
plug(app, "pipeline")


@app.command()
def setup() -> None:
    """Install what the jobs need, before the first one has to."""
    from nomospace.cli.spark import need_spark, progress
    from nomospace.pipeline.jobs.session import make_archive

    need_spark()
    make_archive(say=progress)
    print("Spark is installed")
