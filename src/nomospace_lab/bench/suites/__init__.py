"""One module per bench; `nomospace_lab.bench.benches` imports them all."""
