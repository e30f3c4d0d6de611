"""The live side of the pipeline: a host's journal as it grows, and tuples written back.

| file | what it has |
| --- | --- |
| `tail` | rows of a journal, from a running host and from its segments, by record numbers |
| `writing` | rows written as tuples by an agent under law, each once |
| `source` | both as Spark's data source `nomospace` |
| `state` | the tuples that a stream has seen, kept beside its checkpoint |
| `answering` | which answers to a question a batch has brought, from these tuples in memory |

Three things make a stream exact through failures. A batch is a range of record numbers, which Spark
writes down before it reads them, and a record never changes; so a batch that is done again has the
same rows. The state after a batch depends on the state before it and its rows alone. And a tuple is
written under a key of its own, which the host keeps with the tuple (`out(…, once=key)`).
"""
