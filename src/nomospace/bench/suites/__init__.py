"""One module per bench; `nomospace.bench.benches` imports them all."""
