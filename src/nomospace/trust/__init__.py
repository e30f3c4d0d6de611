"""Who may be believed: pure functions over bytes.

| module | what it answers |
| --- | --- |
| `keys` | Ed25519 keys, in files and in the text of laws |
| `authority` | makes certificates about hosts, controllers, agents and their roles |
| `certificates` | what a certificate says, and whether it counts now |
| `revocation` | which certificates count no longer |
| `seals` | a controller answers for its messages, many with one signature |
| `channels` | keys that only two hosts have, for what others carry between them |
| `presented` | the role certificates of members, until they end |
| `proof` | an agent proves to its host who it is |
| `tokens` | a script says which agent it is |
| `bundles` | the source of a program, and who answers for it |

Keys, nonces, serials and the time come in as arguments; where keys are kept is others' business.
The two functions that draw on the system's randomness say so: `SecretKey.generate`, `new_serial`.

Most modules bring X.509 along, which a host without an identity does not need: import from them.
"""
